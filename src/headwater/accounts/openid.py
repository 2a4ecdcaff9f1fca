"""Logging in through somebody else's door: OpenID Connect, by authorization code with PKCE.

A browser is sent to the issuer with a state, a nonce and a challenge, and comes back with a code. All three are derived
from one secret that this browser alone keeps in a cookie: nobody can make another's browser finish what they began.
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

from headwater.accounts.keys import PublishedKeys
from headwater.accounts.outside import Issuer, identity_of
from headwater.accounts.types import Identity
from headwater.errors import IssuerUnavailable, NotLoggedIn
from headwater.net import Client
from headwater.net.types import FetchError, Response
from headwater.observability.log import get_logger
from headwater.types import Clock

log = get_logger()

FRESH = timedelta(hours=1)
AGAIN = timedelta(seconds=30)  # least time between two requests for what an issuer says of itself
WITHIN = timedelta(seconds=10)
MAX_BYTES = 500_000
CODE_MAX = 4_000
URL_MAX = 2_000
FAILED = "Logging in there did not work. Try again."


@dataclass(frozen=True, slots=True)
class OpenIdOptions:
    """Whom we ask, and who we are to them."""

    issuer: str
    client_id: str
    client_secret: SecretStr
    back: str  # where the browser is sent back to


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way there and back, known by the secret that the browser keeps meanwhile."""

    seed: str

    @property
    def state(self) -> str:
        """Comes back with the browser."""
        return self._derive("state")

    @property
    def nonce(self) -> str:
        """Comes back inside the token."""
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """Shows that who fetches the token is who asked for the code."""
        return self._derive("verifier")

    def is_answered_by(self, state: str) -> bool:
        """Whether this browser began what it comes back from."""
        return hmac.compare_digest(self.state.encode(), state.encode("utf-8", "replace"))

    def _derive(self, purpose: str) -> str:
        return _text(hmac.digest(self.seed.encode(), purpose.encode(), "sha256"))


@dataclass(frozen=True, slots=True)
class _Provider:
    """What an issuer says of itself."""

    authorize_at: str
    token_at: str
    takes_basic: bool
    issuer: Issuer


class OpenId:
    """An issuer at whose door people may log in."""

    def __init__(self, client: Client, clock: Clock, options: OpenIdOptions) -> None:
        self.name = urlsplit(options.issuer).hostname or options.issuer
        self._client = client
        self._clock = clock
        self._options = options
        self._found: _Provider | None = None
        self._found_at: datetime | None = None
        self._asked_at: datetime | None = None
        self._asking: asyncio.Task[None] | None = None

    async def address(self, attempt: Attempt) -> str:
        """Where to send a browser. Raises IssuerUnavailable."""
        provider = await self._provider()
        challenge = _text(hashlib.sha256(attempt.verifier.encode()).digest())
        query = {
            "response_type": "code",
            "client_id": self._options.client_id,
            "redirect_uri": self._options.back,
            "scope": "openid email",
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{provider.authorize_at}{'&' if '?' in provider.authorize_at else '?'}{urlencode(query)}"

    async def identify(self, attempt: Attempt, *, code: str, issuer: str) -> Identity:
        """Who came back with this code. `issuer` is who sent them back, where they say so (RFC 9207).

        Raises NotLoggedIn, IssuerUnavailable.
        """
        if not 0 < len(code) <= CODE_MAX or issuer not in {"", self._options.issuer}:
            raise NotLoggedIn(FAILED)
        provider = await self._provider()
        claims = await provider.issuer.claims_of(await self._fetch_token(provider, attempt, code))
        identity = identity_of(self._options.issuer, claims) if claims and self._is_ours(claims, attempt) else None
        if identity is None:
            log.warning("token of the outside log-in not believed", issuer=self._options.issuer)
            raise NotLoggedIn(FAILED)
        return identity

    def _is_ours(self, claims: Mapping[str, Any], attempt: Attempt) -> bool:
        """Whether a token was made for this very attempt, and for us rather than for another client as well."""
        nonce = claims.get("nonce")
        if not isinstance(nonce, str) or not hmac.compare_digest(
            nonce.encode(errors="replace"), attempt.nonce.encode()
        ):
            return False
        is_for_many = isinstance(claims["aud"], list) and len(cast("list[Any]", claims["aud"])) > 1
        return claims.get("azp", None if is_for_many else self._options.client_id) == self._options.client_id

    async def _fetch_token(self, provider: _Provider, attempt: Attempt, code: str) -> str:
        options = self._options
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": options.back,
            "client_id": options.client_id,
            "code_verifier": attempt.verifier,
        }
        secret, headers = options.client_secret.get_secret_value(), {"Accept": "application/json"}
        if provider.takes_basic:
            pair = f"{quote(options.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        else:
            form["client_secret"] = secret
        try:
            answer = await self._client.post(
                provider.token_at, form=form, within=WITHIN, max_bytes=MAX_BYTES, headers=headers
            )
            token = _object(answer).get("id_token") if answer.status == 200 else None
        except (FetchError, ValueError) as error:
            log.warning("outside log-in not reached", issuer=options.issuer, error=str(error))
            raise IssuerUnavailable(self.name) from error
        if not isinstance(token, str):
            log.warning("outside log-in refused the code", issuer=options.issuer, status=answer.status)
            raise NotLoggedIn(FAILED)
        return token

    async def _provider(self) -> _Provider:
        """What the issuer says of itself, asked for once an hour; an answer that is old beats none.

        There is one request at a time. Who has an old answer does not wait for it, and one that failed is not made
        again at once: an issuer that hangs delays nobody for longer than one request. Raises IssuerUnavailable.
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
            log.warning("outside log-in not reached", issuer=self._options.issuer, error=str(error))
        finally:
            self._asking = None

    async def _discover(self) -> _Provider:
        options = self._options
        url = f"{options.issuer.rstrip('/')}/.well-known/openid-configuration"
        said = _object(await self._client.get(url, within=WITHIN, max_bytes=MAX_BYTES))
        if said.get("issuer") != options.issuer:
            raise ValueError("it calls itself otherwise")
        methods = said.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        keys = PublishedKeys(self._client, self._url(said, "jwks_uri"), self._clock)
        return _Provider(
            authorize_at=self._url(said, "authorization_endpoint"),
            token_at=self._url(said, "token_endpoint"),
            takes_basic=isinstance(methods, list) and "client_secret_basic" in methods,
            issuer=Issuer(keys, self._clock, name=options.issuer, audience=options.client_id),
        )

    def _url(self, said: Mapping[str, Any], name: str) -> str:
        """An address of the issuer's, no less safe than its own; raises ValueError."""
        url = said.get(name)
        schemes = ("https://", f"{urlsplit(self._options.issuer).scheme}://")
        # It becomes a header: what is not plain text would break the answer to a browser.
        is_plain = isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url
        if not isinstance(url, str) or not is_plain or len(url) > URL_MAX or not url.startswith(schemes):
            raise ValueError(f"its {name} cannot be used")
        return url


def _object(answer: Response) -> Mapping[str, Any]:
    """The JSON object of an answer; raises ValueError."""
    try:
        said: Any = json.loads(answer.body)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return cast("dict[str, Any]", said) if isinstance(said, dict) else {}


def _text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
