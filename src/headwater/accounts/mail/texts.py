"""The texts of emails about accounts."""

from headwater.accounts.mail.types import DIGESTS, AccountEmail, MailKind, QueuedMail


def write_email(mail: QueuedMail, token: str, *, to: str) -> AccountEmail:
    """`token` is for the link, if the email has one."""
    subject, text = _TEXTS[mail.kind]
    unsubscribe = f"{mail.site}/unsubscribe/{token}" if mail.kind in DIGESTS else ""
    written = text.format(site=mail.site, token=token, detail=mail.detail, unsubscribe=unsubscribe)
    return AccountEmail(to, subject, written, unsubscribe)


_END = "To get no more of these emails, open:\n{unsubscribe}\n"


_TEXTS = {
    MailKind.RESET: ("A new password for Headwater", """\
A new password was requested for your account. Choose one here:

{site}/auth/reset?token={token}

The link is valid for one hour and can be used once. If you did not request it, ignore this email: your password stays
as it is.
"""),
    MailKind.CONFIRM: ("Confirm your address for Headwater", """\
Welcome to Headwater. Confirm that this address is yours:

{site}/auth/confirm?token={token}

If you did not register, ignore this email.
"""),
    MailKind.NEW_EMAIL: ("Your new address for Headwater", """\
You asked to use this address from now on. Confirm that it is yours:

{site}/auth/confirm?token={token}

Until then your old address is used.
"""),
    MailKind.REMINDER: ("You already have an account", """\
There was a registration with this address, which already has an account. Log in:

{site}/auth/login
"""),
    MailKind.PASSWORD_CHANGED: ("Your Headwater password was changed", """\
The password of your Headwater account was changed. All other sessions, all API tokens and all mailed links have ended.
So have the addresses of your views' feeds; webhooks and browsers that your rules notified are disabled.

If it was you, there is nothing to do. If it was not, set a new password at once, which ends every session again:

{site}/auth/forgot

Then inform the operator of this Headwater.
"""),
    MailKind.EMAIL_ASKED: ("A change of your Headwater email was requested", """\
A change of the email of your Headwater account to {detail} was requested, with its password.

If it was you, follow the link that was sent there. If it was not, set a new password at once: that cancels the change
and ends every session and API token.

{site}/auth/forgot
"""),
    MailKind.EMAIL_CHANGED: ("Your Headwater email was changed", """\
The email of your Headwater account was changed to {detail}. This address neither logs in nor
resets the password any more.

If it was you, there is nothing to do. If it was not, inform the operator of this Headwater at once. They can restore
the old email with `headwater user email`:

{site}
"""),
    MailKind.DIGEST: ("Articles that match your rules", "{detail}You get one such email a day at most. " + _END),
    MailKind.UNREAD: ("Your unread articles", "{detail}Change how often this email is sent: {site}/settings\n" + _END),
}  # fmt: skip
