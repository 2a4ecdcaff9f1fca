"""What the mails about accounts say."""

from headwater.accounts.mail.types import Letter, MailKind, QueuedMail


def write_letter(mail: QueuedMail, token: str, *, to: str) -> Letter:
    """The text of a mail to this address; `token` goes into its link, where it has one."""
    subject, text = _SUBJECTS[mail.kind], _TEXTS[mail.kind]
    return Letter(to, subject, text.format(site=mail.site, token=token, detail=mail.detail))


_SUBJECTS = {
    MailKind.RESET: "A new password for Headwater",
    MailKind.CONFIRM: "Confirm your address for Headwater",
    MailKind.NEW_EMAIL: "Your new address for Headwater",
    MailKind.REMINDER: "You have an account already",
    MailKind.PASSWORD_CHANGED: "Your Headwater password was changed",
    MailKind.EMAIL_ASKED: "A change of your Headwater email was requested",
    MailKind.EMAIL_CHANGED: "Your Headwater email was changed",
}
_TEXTS = {
    MailKind.RESET: """\
Somebody, most likely you, asked for a new password. Choose one here:

{site}/auth/reset?token={token}

The link is good for an hour and once. If it was not you, do nothing: your password stays as it is.
""",
    MailKind.CONFIRM: """\
Welcome to Headwater. Confirm that this address is yours:

{site}/auth/confirm?token={token}

If you did not register, do nothing.
""",
    MailKind.NEW_EMAIL: """\
You asked to use this address from now on. Confirm that it is yours:

{site}/auth/confirm?token={token}

Until then everything stays as it is.
""",
    MailKind.REMINDER: """\
Somebody registered with this address, which has an account already. Log in:

{site}/auth/login
""",
    MailKind.PASSWORD_CHANGED: """\
The password of your Headwater account was changed. All other sessions, all API tokens and all mailed links have ended.

If it was you, there is nothing to do. If it was not, set a new password at once, which ends every session again:

{site}/auth/forgot

Then tell whoever runs this Headwater.
""",
    MailKind.EMAIL_ASKED: """\
Somebody who is logged in to your Headwater account and knows its password asked to change its email to {detail}.

If it was you, follow the link that was sent there. If it was not, set a new password at once: that cancels the change
and ends every session and API token.

{site}/auth/forgot
""",
    MailKind.EMAIL_CHANGED: """\
The email of your Headwater account was changed to {detail}. This address neither logs in nor
resets the password any more.

If it was you, there is nothing to do. If it was not, tell whoever runs this Headwater at once. They can give the
account its old email back with `headwater user email`:

{site}
""",
}
