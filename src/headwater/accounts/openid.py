"""Logging in with OpenID Connect: authorization code flow with PKCE.

State, nonce and code challenge are derived from one secret in a cookie of the browser, so another browser cannot
finish the log-in.
"""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from pydantic import SecretStr

from headwater.accounts.external import Issuer, identity_of
from headwater.accounts.keys import PublishedKeys
from headwater.accounts.secrets import encode
from headwater.accounts.types import Identity
from headwater.errors import IssuerUnavailable, NotLoggedIn
from headwater.net import Client
from headwater.net.types import FetchError, Response
from headwater.observability.log import get_logger
from headwater.types import Clock

log = get_logger()

FRESH = timedelta(hours=1)
AGAIN = timedelta(seconds=30)  # minimum time between two requests for the issuer's configuration
WITHIN = timedelta(seconds=10)
MAX_BYTES = 500_000
CODE_MAX = 4_000
URL_MAX = 2_000
FAILED = "Login with the provider failed. Try again."


@dataclass(frozen=True, slots=True)
class OpenIdOptions:
    issuer: str
    client_id: str
    client_secret: SecretStr
    back: str  # the redirect URI


@dataclass(frozen=True, slots=True)
class OpenIdAttempt:
    """One log-in, identified by the secret in the browser's cookie."""

    seed: str

    def derive(self, purpose: str) -> str:
        """The `state`, `nonce` or `verifier` of this log-in."""
        return encode(hmac.digest(self.seed.encode(), purpose.encode(), "sha256"))

    def has(self, purpose: str, given: str) -> bool:
        """Whether this value was made for this log-in. For `state`: whether this browser began it."""
        return hmac.compare_digest(self.derive(purpose).encode(), given.encode(errors="replace"))


@dataclass(frozen=True, slots=True)
class _Provider:
    """The issuer's configuration."""

    authorize_at: str
    token_at: str
    takes_basic: bool
    issuer: Issuer


class OpenId:
    def __init__(self, client: Client, clock: Clock, options: OpenIdOptions) -> None:
        self.name = urlsplit(options.issuer).hostname or options.issuer
        self._client, self._clock, self._options = client, clock, options
        self._keys: PublishedKeys | None = None
        self._found: _Provider | None = None
        self._found_at: datetime | None = None
        self._asked_at: datetime | None = None
        self._asking: asyncio.Task[None] | None = None

    async def address(self, attempt: OpenIdAttempt) -> str:
        """The URL to send the browser to. Raises IssuerUnavailable."""
        provider = await self._provider()
        challenge = encode(hashlib.sha256(attempt.derive("verifier").encode()).digest())
        query = {
            "response_type": "code", "client_id": self._options.client_id, "redirect_uri": self._options.back,
            "scope": "openid email", "state": attempt.derive("state"), "nonce": attempt.derive("nonce"),
            "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        return f"{provider.authorize_at}{'&' if '?' in provider.authorize_at else '?'}{urlencode(query)}"

    async def identify(self, attempt: OpenIdAttempt, *, code: str, issuer: str) -> Identity:
        """The identity for a code. `issuer`: RFC 9207, or empty. Raises NotLoggedIn, IssuerUnavailable."""
        if not 0 < len(code) <= CODE_MAX or issuer not in {"", self._options.issuer}:
            raise NotLoggedIn(FAILED)
        provider = await self._provider()
        claims = await provider.issuer.claims_of(await self._fetch_token(provider, attempt, code))
        identity = identity_of(self._options.issuer, claims) if claims and self._is_ours(claims, attempt) else None
        if identity is None:
            log.warning("OpenID token invalid", issuer=self._options.issuer)
            raise NotLoggedIn(FAILED)
        return identity

    def _is_ours(self, claims: Mapping[str, Any], attempt: OpenIdAttempt) -> bool:
        """Whether a token was issued for this attempt and to this client (nonce and azp)."""
        nonce, audience = claims.get("nonce"), claims["aud"]
        is_for_many = isinstance(audience, list) and len(cast("list[Any]", audience)) > 1
        party = claims.get("azp", None if is_for_many else self._options.client_id)
        return isinstance(nonce, str) and attempt.has("nonce", nonce) and party == self._options.client_id

    async def _fetch_token(self, provider: _Provider, attempt: OpenIdAttempt, code: str) -> str:
        options = self._options
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": options.back,
            "client_id": options.client_id, "code_verifier": attempt.derive("verifier"),
        }  # fmt: skip
        secret, headers = options.client_secret.get_secret_value(), {"Accept": "application/json"}
        if provider.takes_basic:
            pair = f"{quote(options.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form["client_secret"] = secret
        try:
            url = provider.token_at
            answer = await self._client.post(url, form=form, within=WITHIN, max_bytes=MAX_BYTES, headers=headers)
            token = _object(answer).get("id_token") if answer.status == 200 else None
        except (FetchError, ValueError) as error:
            log.warning("OpenID issuer unavailable", issuer=options.issuer, error=str(error))
            raise IssuerUnavailable(self.name) from error
        if not isinstance(token, str):
            log.warning("OpenID issuer refused the code", issuer=options.issuer, status=answer.status)
            raise NotLoggedIn(FAILED)
        return token

    async def _provider(self) -> _Provider:
        """The issuer's configuration, requested once an hour; an old one is used while the issuer fails.

        There is one request at a time. Callers wait for it only if there is no old configuration, and after a failure
        the next one waits for AGAIN, so that an unresponsive issuer delays a log-in once. Raises IssuerUnavailable.
        """
        now = self._clock()
        is_old = self._found_at is None or abs(now - self._found_at) >= FRESH
        may_ask = self._asked_at is None or abs(now - self._asked_at) >= AGAIN
        if is_old and may_ask and self._asking is None:
            self._asked_at = now
            self._asking = asyncio.create_task(self._renew(now))
        if self._found is None and self._asking is not None:
            await asyncio.shield(self._asking)
        if self._found is None:
            raise IssuerUnavailable(self.name)
        return self._found

    async def _renew(self, now: datetime) -> None:
        try:
            self._found, self._found_at = await self._discover(), now
        except (FetchError, ValueError) as error:
            log.warning("OpenID issuer unavailable", issuer=self._options.issuer, error=str(error))
        finally:
            self._asking = None

    async def _discover(self) -> _Provider:
        options = self._options
        url = f"{options.issuer.rstrip('/')}/.well-known/openid-configuration"
        found = _object(await self._client.get(url, within=WITHIN, max_bytes=MAX_BYTES))
        if found.get("issuer") != options.issuer:
            raise ValueError("its issuer has another name")
        methods = found.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        jwks_url = self._url(found, "jwks_uri")
        if self._keys is None or self._keys.url != jwks_url:  # known keys stay valid while the JWKS is unavailable
            self._keys = PublishedKeys(self._client, jwks_url, self._clock)
        authorize_at, token_at = self._url(found, "authorization_endpoint"), self._url(found, "token_endpoint")
        issuer = Issuer(self._keys, self._clock, name=options.issuer, audience=options.client_id)
        return _Provider(authorize_at, token_at, isinstance(methods, list) and "client_secret_basic" in methods, issuer)

    def _url(self, found: Mapping[str, Any], name: str) -> str:
        """A URL of the configuration, not http if the issuer is https; raises ValueError."""
        url = found.get(name)
        schemes = ("https://", f"{urlsplit(self._options.issuer).scheme}://")
        # It becomes a header of our response: only printable ASCII.
        is_plain = isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url
        if not isinstance(url, str) or not is_plain or len(url) > URL_MAX or not url.startswith(schemes):
            raise ValueError(f"its {name} cannot be used")
        return url


def _object(answer: Response) -> Mapping[str, Any]:
    """The JSON object of a response; raises ValueError."""
    try:
        found: Any = json.loads(answer.body)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
