"""A mail server on loopback that keeps its emails. It has as much SMTP as smtplib needs."""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.clock import START

USER, PASSWORD = "ann", "s3cret: with signs/of+all@kinds"


@dataclass
class PostBox:
    """What was handed in, and how it answers."""

    port: int = 0
    wants_login: bool = False
    refuses: str = ""  # the command that is answered with an error
    hangs_up: bool = False
    emails: list[EmailMessage] = field(default_factory=list[EmailMessage])
    recipients: list[str] = field(default_factory=list[str])
    logins: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if not self.hangs_up:
                await self._talk(reader, writer)
        finally:
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 post box\r\n")
        while line := (await reader.readline()).decode().strip():
            command = line.split(" ")[0].upper()
            if command == self.refuses:
                writer.write(b"550 no\r\n")
                continue
            writer.write(await self._answer(command, line, reader, writer))
            if command == "QUIT":
                return

    async def _answer(
        self, command: str, line: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        match command:
            case "EHLO":
                return b"250-post box\r\n250-AUTH PLAIN\r\n250 8BITMIME\r\n"
            case "AUTH":
                _, user, password = base64.b64decode(line.split(" ")[2]).decode().split("\0")
                self.logins.append((user, password))
                return b"235 come in\r\n" if (user, password) == (USER, PASSWORD) else b"535 who?\r\n"
            case "MAIL" if self.wants_login and not self.logins:
                return b"530 log in first\r\n"
            case "RCPT":
                self.recipients.append(line)
                return b"250 ok\r\n"
            case "DATA":
                writer.write(b"354 go on\r\n")
                self.emails.append(await _read_email(reader))
                return b"250 kept\r\n"
            case "QUIT":
                return b"221 bye\r\n"
            case _:
                return b"250 ok\r\n"


async def _read_email(reader: asyncio.StreamReader) -> EmailMessage:
    raw = await reader.readuntil(b"\r\n.\r\n")
    email = message_from_bytes(raw.removesuffix(b".\r\n"), policy=policy.default)
    assert isinstance(email, EmailMessage)
    return email


@asynccontextmanager
async def open_post_box(context: ssl.SSLContext | None = None) -> AsyncIterator[PostBox]:
    box = PostBox()
    server = await asyncio.start_server(box.serve, "127.0.0.1", 0, ssl=context)
    async with server:
        box.port = server.sockets[0].getsockname()[1]
        yield box


def self_signed(folder: Path) -> ssl.SSLContext:
    """A self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(START - timedelta(days=3650))
        .not_valid_after(START + timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem.write_bytes(secret + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context
