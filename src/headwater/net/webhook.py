"""Sends JSON to the operator's webhook, without the guarded client: its URL is a setting, and may be private."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import aiohttp

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
