"""Sends emails by SMTP. Without a server they are written to the log, so that links in them can still be used."""

import asyncio
import smtplib
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from enum import Enum, auto
from ipaddress import ip_address
from typing import IO, Self
from urllib.parse import unquote, urlsplit

from headwater.errors import Invalid
from headwater.net.guard import is_address
from headwater.observability.log import get_logger

log = get_logger()

TIMEOUT_S = 20  # for each line of the server
WHOLE_S = 60  # for an email; shorter than the lease of a queued one
LINE_MAX = 998  # bytes of a line of an email (RFC 5322)
ANSWER_BYTES = 1_000_000  # of all lines of the server, for an email
PORTS = {"smtp": 587, "smtps": 465}
INVALID = "HEADWATER_SMTP_URL is invalid: write smtp://user:password@mail.example:587."


@dataclass(frozen=True, slots=True)
class SmtpServer:
    host: str
    port: int
    user: str
    password: str
    is_encrypted: bool  # from the first byte; otherwise STARTTLS where it is offered

    @classmethod
    def parse(cls, url: str) -> Self:
        """`smtp://user:password@mail.example:587`, or `smtps://`. Raises Invalid."""
        try:
            parts = urlsplit(url)
            port = parts.port or PORTS[parts.scheme]
            user, password = unquote(parts.username or ""), unquote(parts.password or "")
        except (ValueError, KeyError) as error:
            raise Invalid(INVALID) from error
        if parts.scheme not in PORTS or not parts.hostname:
            raise Invalid(INVALID)
        return cls(parts.hostname, port, user, password, parts.scheme == "smtps")


class Delivery(Enum):
    SENT = auto()
    FAILED = auto()  # it may work later
    REFUSED = auto()  # the mail server rejects this address for good


class Mailer:
    def __init__(self, post: SmtpServer | None, sender: str) -> None:
        self._post = post
        self._sender = sender

    @property
    def has_server(self) -> bool:
        return self._post is not None

    async def send(self, to: str, subject: str, text: str, *, message_id: str = "") -> bool:
        return await self.deliver(to, subject, text, message_id=message_id) is Delivery.SENT

    async def deliver(
        self, to: str, subject: str, text: str, *, message_id: str = "", unsubscribe: str = ""
    ) -> Delivery:
        """Send an email. Mail programs recognise duplicates by `message_id`, and show a button that ends such emails
        where there is a URL for it (RFC 8058)."""
        try:
            email = EmailMessage()
            email["From"], email["To"], email["Subject"] = self._sender, to, subject
            email["Auto-Submitted"] = "auto-generated"
            if message_id:
                email["Message-ID"] = message_id
            if unsubscribe:
                email["List-Unsubscribe"] = f"<{unsubscribe}>"
                email["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
            email.set_content(text)
            if unsubscribe:  # a URL beyond 78 characters would be sent as encoded words, which mail programs ignore
                email.policy = email.policy.clone(max_line_length=LINE_MAX)
        except ValueError:
            log.warning("mail refused", to=to, subject=subject)
            return Delivery.REFUSED
        if self._post is None:
            log.info("mail not sent, no HEADWATER_SMTP_URL is set", to=to, subject=subject, text=text)
            return Delivery.FAILED
        try:
            await asyncio.to_thread(self._submit, email, self._post)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            # A ValueError is of the log-in: an invalid challenge, or a password that is not ASCII, which it quotes.
            reason = type(error).__name__ if isinstance(error, ValueError) else str(error)
            log.warning("mail not sent", to=to, subject=subject, error=reason)
            return Delivery.REFUSED if is_refused(error) else Delivery.FAILED
        log.info("mail sent", to=to, subject=subject)
        return Delivery.SENT

    def _submit(self, email: EmailMessage, post: SmtpServer) -> None:
        context = ssl.create_default_context()
        if post.is_encrypted:
            server = _LimitedSmtpSsl(post.host, post.port, timeout=TIMEOUT_S, context=context)
        else:
            server = _LimitedSmtp(post.host, post.port, timeout=TIMEOUT_S)
        is_accepted = False
        try:
            server.ehlo()
            is_encrypted = post.is_encrypted
            if not is_encrypted and server.has_extn("starttls"):
                server.starttls(context=context)
                server.ehlo()
                is_encrypted = True
            if post.user:
                if not may_send_password(post.host, is_encrypted=is_encrypted):
                    raise smtplib.SMTPNotSupportedError("the server offers no encryption: the password is not sent")
                server.login(post.user, post.password)
            server.send_message(email)
            is_accepted = True
        finally:
            with suppress(OSError, smtplib.SMTPException):  # an accepted email is sent, whatever the server says then
                if is_accepted:
                    server.quit()
            server.close()


class _LimitedLines:
    """The lines of a server, until there are too many: one answer may have any number of them."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = ANSWER_BYTES

    def readline(self, size: int) -> bytes:
        """Raises OSError."""
        line = self._file.readline(size)
        self._left -= len(line)
        if self._left < 0:
            raise OSError(f"it sent more than {ANSWER_BYTES:,} bytes")
        return line

    def close(self) -> None:
        self._file.close()


class _LimitedSmtp(smtplib.SMTP):
    """A connection that is shut down after WHOLE_S: a server that sends a line now and then would hold it for ever.
    What the server says is limited, too."""

    _timer: threading.Timer | None = None

    def getreply(self) -> tuple[int, bytes]:
        if self._timer is None:
            self._timer = threading.Timer(WHOLE_S, self._shut_down)
            self._timer.daemon = True
            self._timer.start()
        if self.file is None and self.sock is not None:
            self.file = _LimitedLines(self.sock.makefile("rb"))
        return super().getreply()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().close()

    def _shut_down(self) -> None:
        with suppress(OSError):
            if self.sock is not None:
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)


class _LimitedSmtpSsl(_LimitedSmtp, smtplib.SMTP_SSL):
    pass


def is_refused(error: Exception) -> bool:
    """Whether the mail server rejects the recipient for good (RFC 5321: 5xx)."""
    return isinstance(error, smtplib.SMTPRecipientsRefused) and all(
        500 <= code < 600 for code, _ in error.recipients.values()
    )


def may_send_password(host: str, *, is_encrypted: bool) -> bool:
    """Only over TLS or loopback: an attacker in between can hide that a server offers STARTTLS."""
    return is_encrypted or host == "localhost" or (is_address(host) and ip_address(host).is_loopback)
