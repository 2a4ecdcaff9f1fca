"""Letters to people: through an SMTP server; where none is set, into the log, so that links can still be followed."""

import asyncio
import smtplib
import ssl
from dataclasses import dataclass
from email.message import EmailMessage
from enum import Enum, auto
from ipaddress import ip_address
from typing import Self
from urllib.parse import unquote, urlsplit

from headwater.errors import Invalid
from headwater.observability.log import get_logger

log = get_logger()

TIMEOUT_S = 20
PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True, slots=True)
class Post:
    """Where letters are handed in."""

    host: str
    port: int
    user: str
    password: str
    is_encrypted: bool  # from the first byte; otherwise STARTTLS where it is offered

    @classmethod
    def parse(cls, url: str) -> Self:
        """`smtp://user:password@mail.example:587`, or `smtps://` for TLS from the first byte. Raises Invalid."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise Invalid("HEADWATER_SMTP_URL cannot be read: write smtp://user:password@mail.example:587.") from error
        if parts.scheme not in PORTS or not parts.hostname:
            raise Invalid("HEADWATER_SMTP_URL cannot be read: write smtp://user:password@mail.example:587.")
        return cls(
            parts.hostname,
            port or PORTS[parts.scheme],
            unquote(parts.username or ""),
            unquote(parts.password or ""),
            parts.scheme == "smtps",
        )


class Delivery(Enum):
    """What became of a letter."""

    SENT = auto()
    FAILED = auto()  # it may work later
    REFUSED = auto()  # the mail server takes no letter to this address, now or later


class Mailer:
    """Sends letters. One that cannot be sent is told to the log, not to whoever asked for it."""

    def __init__(self, post: Post | None, sender: str) -> None:
        self._post = post
        self._sender = sender

    @property
    def has_server(self) -> bool:
        """Whether mail is sent at all, rather than written into the log."""
        return self._post is not None

    async def send(self, to: str, subject: str, text: str, *, message_id: str = "") -> bool:
        """Whether the letter was handed in; see `deliver`."""
        return await self.deliver(to, subject, text, message_id=message_id) is Delivery.SENT

    async def deliver(self, to: str, subject: str, text: str, *, message_id: str = "") -> Delivery:
        """Hand a letter in. An address with a line break in it is nobody's.

        A letter that may be sent twice brings its own `message_id`, so that whoever gets both can tell.
        """
        try:
            letter = self._write(to, subject, text, message_id)
        except ValueError:
            log.warning("mail refused", to=to, subject=subject)
            return Delivery.REFUSED
        if self._post is None:
            log.info("mail not sent, no HEADWATER_SMTP_URL is set", to=to, subject=subject, text=text)
            return Delivery.FAILED
        try:
            await asyncio.to_thread(self._hand_in, letter, self._post)
        except (OSError, smtplib.SMTPException) as error:
            log.warning("mail not sent", to=to, subject=subject, error=str(error))
            return Delivery.REFUSED if is_refused(error) else Delivery.FAILED
        log.info("mail sent", to=to, subject=subject)
        return Delivery.SENT

    def _write(self, to: str, subject: str, text: str, message_id: str) -> EmailMessage:
        letter = EmailMessage()
        letter["From"], letter["To"], letter["Subject"] = self._sender, to, subject
        letter["Auto-Submitted"] = "auto-generated"
        if message_id:
            letter["Message-ID"] = message_id
        letter.set_content(text)
        return letter

    def _hand_in(self, letter: EmailMessage, post: Post) -> None:
        context = ssl.create_default_context()
        if post.is_encrypted:
            server = smtplib.SMTP_SSL(post.host, post.port, timeout=TIMEOUT_S, context=context)
        else:
            server = smtplib.SMTP(post.host, post.port, timeout=TIMEOUT_S)
        with server:
            server.ehlo()
            is_encrypted = post.is_encrypted
            if not is_encrypted and server.has_extn("starttls"):
                server.starttls(context=context)
                server.ehlo()
                is_encrypted = True
            if post.user:
                if not may_show_password(post.host, is_encrypted=is_encrypted):
                    raise smtplib.SMTPNotSupportedError("it offers no encryption, and the password is not sent without")
                server.login(post.user, post.password)
            server.send_message(letter)


def is_refused(error: Exception) -> bool:
    """Whether the mail server refuses the recipient for good (RFC 5321: 5xx), and will whenever it is asked."""
    return isinstance(error, smtplib.SMTPRecipientsRefused) and all(
        500 <= code < 600 for code, _ in error.recipients.values()
    )


def may_show_password(host: str, *, is_encrypted: bool) -> bool:
    """Whoever can listen on the way can also make a server look as if it offered no encryption."""
    if is_encrypted or host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
