"""A small OpenID provider on loopback: it logs every user in at once, and checks requests as a real one does."""

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from yarl import URL

from tests.accounts.issuer import NOW, RSA, signed

CLIENT_ID = "headwater-of-tests"
CLIENT_SECRET = "a secret: with signs/of+all kinds"


class Provider:
    """The user and their claims can be changed."""

    def __init__(self) -> None:
        self.url = ""
        self.person: dict[str, Any] = {"sub": "ann", "email": "ann@example.com", "email_verified": True}
        self.claims: dict[str, Any] = {}  # claims that replace the right ones
        self.metadata: dict[str, Any] = {}
        self.signs_with: Any = RSA
        self.refusals: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}

    async def configuration(self, _request: web.Request) -> web.Response:
        endpoints = {"authorization_endpoint": "/authorize", "token_endpoint": "/token", "jwks_uri": "/jwks"}
        said = {"issuer": self.url, **{name: self.url + path for name, path in endpoints.items()}, **self.metadata}
        return web.json_response(said)

    async def authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        assert asked["client_id"] == CLIENT_ID
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        assert "openid" in asked["scope"].split()
        code = f"code-{len(self._codes)}"
        self._codes[code] = asked
        back = URL(asked["redirect_uri"]).with_query(code=code, state=asked["state"], iss=self.url)
        return web.Response(status=302, headers={"Location": str(back)})

    async def token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        asked = self._codes.pop(form.get("code", ""), None)
        if fault := self._fault(request, form, asked):
            self.refusals.append(fault)
            return web.json_response({"error": fault}, status=400)
        assert asked is not None
        said = {
            "iss": self.url, "aud": CLIENT_ID, "iat": NOW, "exp": NOW + 300, "nonce": asked["nonce"], **self.person,
            **self.claims,
        }  # fmt: skip
        return web.json_response({"access_token": "x", "token_type": "Bearer", "id_token": self._sign(said)})

    async def jwks(self, _request: web.Request) -> web.Response:
        return web.json_response({"keys": [RSA.as_dict(private=False)]})

    def _sign(self, said: dict[str, Any]) -> str:
        return signed({name: value for name, value in said.items() if value is not None}, self.signs_with)

    def _fault(self, request: web.Request, form: dict[str, str], asked: dict[str, str] | None) -> str | None:
        secret = CLIENT_SECRET.replace("%", "%25")
        for sign, quoted in ((":", "%3A"), (" ", "%20"), ("/", "%2F"), ("+", "%2B")):
            secret = secret.replace(sign, quoted)
        basic = "Basic " + base64.b64encode(f"{CLIENT_ID}:{secret}".encode()).decode()
        by_form = form.get("client_id") == CLIENT_ID and form.get("client_secret") == CLIENT_SECRET
        if request.headers.get("Authorization") != basic and not by_form:
            return "invalid_client"
        if asked is None or form.get("redirect_uri") != asked["redirect_uri"]:
            return "invalid_grant"
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        is_same = base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == asked["code_challenge"]
        return None if is_same and form.get("grant_type") == "authorization_code" else "invalid_grant"


@asynccontextmanager
async def open_provider() -> AsyncIterator[Provider]:
    provider = Provider()
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", provider.configuration)
    app.router.add_get("/authorize", provider.authorize)
    app.router.add_post("/token", provider.token)
    app.router.add_get("/jwks", provider.jwks)
    async with TestServer(app, host="127.0.0.1") as server:
        provider.url = str(server.make_url("")).rstrip("/")
        yield provider
