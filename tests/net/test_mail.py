"""Letters, handed in at a mail server on loopback."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import chain, repeat
from pathlib import Path
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from headwater.errors import Invalid
from headwater.net import mail as module
from headwater.net.mail import Delivery, Mailer, SmtpServer, may_send_password
from tests.net.post_box import PASSWORD, USER, PostBox, open_post_box, self_signed

FROM = "Headwater <headwater@example.com>"


@pytest.fixture
async def box() -> AsyncIterator[PostBox]:
    async with open_post_box() as box:
        yield box


def mailer(box: PostBox, user: str = "", password: str = "") -> Mailer:
    credentials = f"{user}:{quote(password, safe='')}@" if user else ""
    return Mailer(SmtpServer.parse(f"smtp://{credentials}127.0.0.1:{box.port}"), FROM)


async def test_an_email_arrives_unchanged(box: PostBox) -> None:
    text = "Grüße aus dem Maschinenraum:\n\nhttps://reader.example/auth/reset?token=" + "x" * 80 + "\n.\n..so\n"

    sent = await mailer(box).send("ann@example.com", "A new password – für Sie", text)

    assert sent
    (email,) = box.emails
    assert (email["From"], email["To"]) == (FROM, "ann@example.com")
    assert email["Subject"] == "A new password – für Sie"
    assert email["Auto-Submitted"] == "auto-generated"
    assert email.get_content().replace("\r\n", "\n").rstrip() == _undotted(text)
    assert [line.split(" ")[1] for line in box.recipients] == ["TO:<ann@example.com>"]


def _undotted(text: str) -> str:
    # On the wire a line that begins with a dot has one more; our post box leaves it as it came.
    return "\n".join(f".{line}" if line.startswith(".") else line for line in text.rstrip().split("\n"))


async def test_who_has_a_name_and_a_password_shows_them(box: PostBox) -> None:
    box.wants_login = True

    without = await mailer(box).send("ann@example.com", "A", "text")
    wrong = await mailer(box, USER, "wrong").send("ann@example.com", "B", "text")
    box.logins.clear()
    right = await mailer(box, USER, PASSWORD).send("ann@example.com", "C", "text")

    assert (without, wrong, right) == (False, False, True)
    assert box.logins == [(USER, PASSWORD)]
    assert [email["Subject"] for email in box.emails] == ["C"]


@pytest.mark.parametrize("refused", ["MAIL", "RCPT", "DATA"])
async def test_a_refused_email_is_logged_only(box: PostBox, refused: str) -> None:
    box.refuses = refused

    with capture_logs() as told:
        sent = await mailer(box).send("ann@example.com", "A", "a text with a secret link")

    assert not sent
    assert [(line["event"], line["log_level"]) for line in told] == [("mail not sent", "warning")]
    assert "secret link" not in str(told)


async def test_a_server_that_hangs_up_or_is_not_there_is_survived(box: PostBox) -> None:
    box.hangs_up = True
    hung_up = await mailer(box).send("ann@example.com", "A", "text")
    nowhere = await Mailer(SmtpServer.parse("smtp://127.0.0.1:1"), FROM).send("ann@example.com", "A", "text")

    assert (hung_up, nowhere) == (False, False)


async def test_an_accepted_email_is_sent_whatever_the_server_says_afterwards(box: PostBox) -> None:
    box.refuses = "QUIT"

    assert await mailer(box).send("ann@example.com", "A", "text")
    assert [email["Subject"] for email in box.emails] == ["A"]


@asynccontextmanager
async def a_talker(*lines: bytes, every: float) -> AsyncIterator[Mailer]:
    """A server that sends these lines, whatever it is told, and then the last one again and again."""
    is_over = asyncio.Event()

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            for line in chain(lines, repeat(lines[-1])):
                if is_over.is_set():
                    break
                writer.write(line)
                await writer.drain()
                await asyncio.sleep(every)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
        has_closed.set()

    has_closed = asyncio.Event()
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield Mailer(SmtpServer.parse(f"smtp://ann:secret@127.0.0.1:{server.sockets[0].getsockname()[1]}"), FROM)
        is_over.set()
        await has_closed.wait()


async def test_a_server_that_keeps_an_email_waiting_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WHOLE_S", 0.3)

    async with a_talker(b"220-wait\r\n", every=0.05) as mailer, asyncio.timeout(300):
        assert not await mailer.send("ann@example.com", "A", "text")


async def test_a_server_that_sends_lines_without_end_is_given_up_before_they_fill_the_memory() -> None:
    sent = Counter[str]()

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while sent["bytes"] < 100_000_000:
                writer.write(b"220-" + 4_000 * b"x" + b"\r\n")
                sent["bytes"] += 4_006
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        mailer = Mailer(SmtpServer.parse(f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"), FROM)
        with capture_logs() as logged:
            assert await mailer.deliver("ann@example.com", "A", "text") is Delivery.FAILED

    assert "more than 1,000,000 bytes" in str(logged)
    assert sent["bytes"] < 50_000_000  # what was read, and what the kernel takes


async def test_a_log_in_that_cannot_be_answered_is_a_failure() -> None:
    lines = (b"220 hi\r\n", b"250-hi\r\n250 AUTH CRAM-MD5\r\n", b"334 a\r\n", b"221 bye\r\n")
    async with a_talker(*lines, every=0.05) as mailer:
        assert await mailer.deliver("ann@example.com", "A", "text") is Delivery.FAILED


async def test_a_server_without_the_required_tls_gets_no_email(box: PostBox) -> None:
    sent = await Mailer(SmtpServer.parse(f"smtps://127.0.0.1:{box.port}"), FROM).send("ann@example.com", "A", "text")

    assert not sent
    assert box.emails == []


@pytest.mark.parametrize(
    ("to", "subject"),
    [("ann@example.com\r\nBcc: all@example.com", "A"), ("ann@example.com", "A\r\nBcc: all@example.com")],
    ids=["to", "subject"],
)
async def test_no_header_is_smuggled_in(box: PostBox, to: str, subject: str) -> None:
    assert not await mailer(box).send(to, subject, "text")
    assert box.emails == []


async def test_where_no_server_is_set_the_letter_is_in_the_log() -> None:
    with capture_logs() as told:
        sent = await Mailer(None, FROM).send("ann@example.com", "A", "follow this link")

    assert not sent
    assert told[0]["text"] == "follow this link"
    assert told[0]["to"] == "ann@example.com"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("smtp://mail.example", SmtpServer("mail.example", 587, "", "", False)),
        ("smtps://mail.example", SmtpServer("mail.example", 465, "", "", True)),
        ("smtp://a%40b:p%3Aw@mail.example:25", SmtpServer("mail.example", 25, "a@b", "p:w", False)),
    ],
    ids=["plain", "tls", "credentials"],
)
def test_where_letters_are_handed_in_is_read_from_one_address(url: str, expected: SmtpServer) -> None:
    assert SmtpServer.parse(url) == expected


@pytest.mark.parametrize(
    "url",
    ["ann:s3cret@mail.example", "http://ann:s3cret@mail.example", "smtp://", "smtp://ann:s3cret@[x", "smtp://a:99999"],
    ids=["no-scheme", "http", "nothing", "broken", "port"],
)
def test_an_address_that_is_none_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(Invalid, match="HEADWATER_SMTP_URL is invalid") as refusal:
        SmtpServer.parse(url)

    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("host", "is_encrypted", "expected"),
    [
        ("mail.example", True, True),
        ("mail.example", False, False),
        ("192.0.2.1", False, False),
        ("127.0.0.1", False, True),
        ("::1", False, True),
        ("localhost", False, True),
    ],
)
def test_a_password_goes_nowhere_in_the_clear_but_to_this_machine(
    host: str, is_encrypted: bool, expected: bool
) -> None:
    assert may_send_password(host, is_encrypted=is_encrypted) is expected


async def test_a_server_with_an_untrusted_certificate_gets_no_email(tmp_path: Path) -> None:
    async with open_post_box(self_signed(tmp_path)) as box:
        sent = await Mailer(SmtpServer.parse(f"smtps://127.0.0.1:{box.port}"), FROM).send(
            "ann@example.com", "A", "text"
        )

    assert not sent
    assert box.emails == []
