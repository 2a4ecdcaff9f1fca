"""Posts to servers that the settings name, without the guarded client: their addresses may be private."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import aiohttp
from yarl import URL

from headwater.net.body import read_error_page
from headwater.net.client import failure, in_time
from headwater.net.types import Response

WITHIN = timedelta(seconds=15)
QUOTED = 200


async def post_json(url: str, body: Mapping[str, Any], *, headers: Mapping[str, str] | None = None) -> str | None:
    """None if it was accepted; else why not, without the URL, which may contain a secret."""
    try:
        async with (
            # No decompression: the first bytes of a compressed answer could expand to megabytes.
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(WITHIN.total_seconds()), auto_decompress=False
            ) as session,
            session.post(url, json=body, headers=headers, allow_redirects=False) as answer,
        ):
            if 200 <= answer.status < 300:
                return None
            said = (await answer.content.read(QUOTED)).decode("utf-8", "replace").replace("\0", "")
            return f"It answered with {answer.status}: {' '.join(said.split())}".rstrip(": ")
    except TimeoutError:
        return f"It did not answer within {WITHIN.total_seconds():g} s."
    except (aiohttp.ClientConnectorError, aiohttp.ClientSSLError) as error:
        return f"No connection to {error.host}: {error.strerror or type(error).__name__}."
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return f"The request failed: {type(error).__name__}."


class OpenClient:
    """Keeps connections to such servers. Nothing is opened before the first request."""

    def __init__(self, *, user_agent: str = "Headwater") -> None:
        self._user_agent = user_agent
        self._session: aiohttp.ClientSession | None = None

    async def send(self, url: str, *, body: bytes, within: timedelta, headers: Mapping[str, str]) -> Response:
        """As `Client.send`. Raises FetchError."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": self._user_agent}, auto_decompress=False,
                timeout=aiohttp.ClientTimeout(total=None),
            )  # fmt: skip
        async with in_time(url, within) as limit:
            try:
                async with self._session.post(
                    URL(url, encoded=True), data=body, headers=headers, allow_redirects=False
                ) as answer:
                    read = await read_error_page(answer, url, limit.when())
                    return Response(url, answer.status, answer.headers, read)
            except (aiohttp.ClientError, OSError) as error:
                raise failure(url, error) from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
