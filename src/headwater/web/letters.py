"""What is mailed to a person, in words."""

from dataclasses import dataclass

from headwater.accounts.access import Mailed
from headwater.accounts.types import Purpose
from headwater.net.mail import Mailer


@dataclass(frozen=True, slots=True)
class Letter:
    """A subject and a text with a link in it."""

    subject: str
    text: str


def write_letter(mailed: Mailed, site: str) -> Letter:
    """The letter that carries a token; `site` is where its reader finds us."""
    match mailed.purpose:
        case Purpose.RESET:
            return Letter(
                "A new password for Headwater",
                f"Somebody, most likely you, asked for a new password. Choose one here:\n\n"
                f"{site}/auth/reset?token={mailed.token}\n\n"
                "The link is good for an hour and once. If it was not you, do nothing: your password stays as it is.\n",
            )
        case Purpose.CONFIRM:
            return Letter(
                "Confirm your address for Headwater",
                f"Welcome to Headwater. Confirm that this address is yours:\n\n"
                f"{site}/auth/confirm?token={mailed.token}\n\n"
                "If you did not register, do nothing.\n",
            )
        case Purpose.EMAIL:
            return Letter(
                "Your new address for Headwater",
                f"You asked to use this address from now on. Confirm that it is yours:\n\n"
                f"{site}/auth/confirm?token={mailed.token}\n\n"
                "Until then everything stays as it is.\n",
            )


class PostOffice:
    """Writes letters and sends them. `site` is set by whoever runs Headwater: a Host header is anybody's to choose, and
    a link in a letter must not lead to theirs."""

    def __init__(self, mailer: Mailer, site: str, *, hides_accounts: bool) -> None:
        self._mailer = mailer
        self._site = site.rstrip("/")
        self.hides_accounts = hides_accounts

    async def send(self, mailed: Mailed) -> None:
        """Mail a token."""
        letter = write_letter(mailed, self._site)
        await self._mailer.send(mailed.email, letter.subject, letter.text)

    async def remind(self, email: str) -> None:
        """Tell somebody who registers again that they have an account."""
        text = (
            f"Somebody registered with this address, which has an account already. Log in:\n\n{self._site}/auth/login\n"
        )
        await self._mailer.send(email, "You have an account already", text)
