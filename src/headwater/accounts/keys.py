"""Keys of the outside issuer: one from the settings, or the set that it publishes (JWKS)."""

import asyncio
import json
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OctKey, OKPKey, RSAKey

from headwater.errors import Invalid, IssuerUnavailable
from headwater.net import Client
from headwater.net.types import FetchError
from headwater.observability.log import get_logger
from headwater.types import Clock

log = get_logger()

Key: TypeAlias = OctKey | RSAKey | ECKey | OKPKey

SECRET_LEAST = 32  # bytes; HS256 is as strong as its secret
FRESH = timedelta(minutes=10)
AGAIN = timedelta(minutes=1)  # minimum time between two requests
WITHIN = timedelta(seconds=10)
MAX_BYTES = 500_000
MOST_KEYS = 100  # of a set; an issuer has a handful


class Keys(Protocol):
    async def find(self, kid: str | None) -> Key | None: ...


class FixedKey:
    """The key of the settings: a secret, or a public key in PEM. Raises Invalid."""

    def __init__(self, text: str) -> None:
        self._key = _read(text)

    async def find(self, kid: str | None) -> Key | None:  # noqa: ARG002  the only one, for every id
        return self._key


class PublishedKeys:
    """Keys at a URL: requested when they are first needed, when they are old, and when one is missing."""

    def __init__(self, client: Client, url: str, clock: Clock) -> None:
        self._client, self.url, self._clock = client, url, clock
        self._keys: dict[str | None, Key] = {}
        self._asked_at: datetime | None = None
        self._asking: asyncio.Task[None] | None = None

    async def find(self, kid: str | None) -> Key | None:
        """The key with this id; without an id, the only key. Raises IssuerUnavailable. There is one request at a time,
        which callers without a key wait for; tokens with unknown keys cause at most one a minute."""
        now = self._clock()
        since = abs(now - self._asked_at) if self._asked_at else None  # the clock may have been set back
        is_due = since is None or since >= FRESH or (since >= AGAIN and self._choose(kid) is None)
        if is_due and self._asking is None:
            self._asked_at = now
            self._asking = asyncio.create_task(self._ask())
            await asyncio.shield(self._asking)
        elif self._asking is not None and self._choose(kid) is None:
            await asyncio.shield(self._asking)
        if not self._keys:
            raise IssuerUnavailable(urlsplit(self.url).hostname or self.url)
        return self._choose(kid)

    def _choose(self, kid: str | None) -> Key | None:
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid)

    async def _ask(self) -> None:
        try:
            answer = await self._client.get(self.url, within=WITHIN, max_bytes=MAX_BYTES)
            found = _read_set(answer.body) if answer.status == 200 else {}
        except (FetchError, ValueError, RecursionError) as error:
            log.warning("JWKS unavailable", url=self.url, error=str(error))
            return  # known keys stay valid: an issuer that is unavailable has not revoked them
        finally:
            self._asking = None
        if found:
            self._keys = found
        else:
            log.warning("JWKS unavailable", url=self.url, status=answer.status)


def algorithms_of(key: Key) -> list[str]:
    """The algorithms of a key. The key decides, never the token: a public key must not serve as an HMAC secret."""
    match key:
        case OctKey():
            return ["HS256"]
        case RSAKey():
            return ["RS256", "PS256"]
        case ECKey():
            return {"P-256": ["ES256"], "P-384": ["ES384"]}.get(key.curve_name, [])
        case OKPKey():
            return ["EdDSA", "Ed25519"]


def _read(text: str) -> Key:
    text = text.replace("\\n", "\n").strip()  # a PEM in a variable of one line
    if "-----BEGIN" not in text:
        if len(text.encode()) < SECRET_LEAST:
            raise Invalid(f"HEADWATER_JWT_KEY is too short: a secret of {SECRET_LEAST} or more bytes is needed.")
        return OctKey.import_key(text)
    if "PRIVATE" in text:
        raise Invalid("HEADWATER_JWT_KEY is a private key: set the public one.")
    for kind in (RSAKey, ECKey, OKPKey):
        try:
            return kind.import_key(text)
        except (ValueError, TypeError, JoseError):
            continue
    raise Invalid("HEADWATER_JWT_KEY cannot be read: a secret or a public key in PEM is needed.")


def _read_set(body: bytes) -> dict[str | None, Key]:
    """The public keys for signatures in a JWKS; raises ValueError."""
    document: Any = json.loads(body)
    listed: Any = cast("dict[str, Any]", document).get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("invalid JWKS")  # noqa: TRY004  invalid data, not a wrong type
    found: dict[str | None, Key] = {}
    for item in cast("list[Any]", listed)[:MOST_KEYS]:
        given = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        # Not `oct` or a private key: a published secret is not secret. Reading a forged private key takes seconds, too.
        if given.get("use", "sig") == "sig" and given.get("kty") in {"RSA", "EC", "OKP"} and "d" not in given:
            with suppress(ValueError, TypeError, KeyError, JoseError):
                key = JWKRegistry.import_key(given)
                if algorithms_of(key):
                    found[key.kid] = key
    return found
