"""Sends JSON by POST to a webhook of the operator.

Its URL is a setting and may be private, so the guarded client is not used. No feed, page or user can choose it, and
redirects are not followed.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import aiohttp

from headwater.observability.log import get_logger

log = get_logger()

WITHIN = timedelta(seconds=15)
QUOTED = 200


async def post_json(url: str, body: Mapping[str, Any], *, headers: Mapping[str, str] | None = None) -> str | None:
    """None if it was accepted; else why not, without the URL, which may contain a secret."""
    try:
        async with (
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=WITHIN.total_seconds()),
                auto_decompress=False,  # the first bytes of a compressed answer could expand to megabytes
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
        return f"It could not be asked: {type(error).__name__}."
