"""The export of a user as a ZIP of JSON files, written while it is sent. Neither the archive nor a whole table is ever
in memory, and no transaction waits for a slow download."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import msgspec

from headwater.db import Database
from headwater.library.exporting import store
from headwater.types import UserId

ROWS_AT_ONCE = 500
FIRST = UUID(int=0)
README = """\
Your data in Headwater, as of {now:%Y-%m-%d %H:%M} UTC.

profile.json         your account, settings, sessions, API tokens (names only), external log-ins, and consent to
                     analytics
subscriptions.opml   your subscriptions, for import into another reader
subscriptions.json   the same with all details; read_until: articles listed until then count as read
sources.json         sources that you added
custom_feeds.json    feeds that you suggested for all users, and the decisions
articles.json        articles that you read (is_read), marked unread (is_read is false), starred (starred_at),
                     saved for later (saved_at) or tagged (tags), or that a rule of yours hid (hidden_at)
views.json           your views: saved queries; addresses of their feeds are stored as digests only
filters.json         filters that you saved on the pages of administrators
rules.json           your rules and mutes, each with the last 200 articles that it acted on in 30 days (log)
notifications.json   where your rules notify you; without keys and secrets
summaries.json       your summaries
events.json          the log of your account
imports.json         the lines of files that you imported, and their results
clicks.json          with your consent to analytics: articles that you opened, clicked and starred

Times are UTC in ISO 8601. Passwords and tokens are stored as digests only, and are not exported.
"""


async def export(
    database: Database, user_id: UserId, *, files: Mapping[str, bytes], now: datetime
) -> AsyncIterator[bytes]:
    """The ZIP in pieces, with `files` made elsewhere (OPML). Raises Unavailable; before the first piece NotLoggedIn, if
    the account was deleted meanwhile."""
    sink = _Sink()

    def called(name: str) -> ZipInfo:
        info = ZipInfo(name, now.timetuple()[:6])
        info.compress_type = ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        return info

    with ZipFile(sink, "w") as archive:
        archive.writestr(called("README.txt"), README.format(now=now))
        async with database.as_user(user_id) as conn:
            profile = msgspec.json.encode(await store.read_profile(conn))
        archive.writestr(called("profile.json"), msgspec.json.format(profile, indent=2))
        for name, content in files.items():
            archive.writestr(called(name), content)
        yield sink.take()
        for name in store.FILES:
            with archive.open(called(name), "w", force_zip64=True) as member:
                async for piece in _json(pages(database, user_id, name)):
                    member.write(piece)
                    yield sink.take()
    yield sink.take()


async def pages(database: Database, user_id: UserId, name: str) -> AsyncIterator[store.Rows]:
    """All rows of one of the store's files. Raises Unavailable."""
    after, is_full = FIRST, True
    while is_full:
        async with database.as_user(user_id) as conn:
            rows = await store.FILES[name](conn, {"after": after, "limit": ROWS_AT_ONCE})
        is_full = len(rows) == ROWS_AT_ONCE
        if rows:
            after = rows[-1]["id"]
            yield rows


async def _json(found: AsyncIterator[store.Rows]) -> AsyncIterator[bytes]:
    """A list, one row to a line."""
    before = b"[\n"
    async for rows in found:
        yield before + b",\n".join(msgspec.json.encode(row) for row in rows)
        before = b",\n"
    yield b"[]\n" if before == b"[\n" else b"\n]\n"


class _Sink:
    """A file that the ZIP is written to, emptied as it is sent."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, piece: bytes) -> int:
        self._pieces.append(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken
