"""An outside issuer of tokens, on loopback: it signs, and publishes its keys."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

from tests.clock import START

NAME = "https://issuer.example"
AUDIENCE = "headwater"
NOW = int(START.timestamp())

RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
ELLIPTIC = ECKey.generate_key("P-256", {"kid": "elliptic"})


def claims(**changed: object) -> dict[str, Any]:
    """The claims of a valid token; a claim that is changed to None is left out."""
    good = {
        "iss": NAME, "aud": AUDIENCE, "sub": "ann", "email": "ann@example.com", "email_verified": True, "iat": NOW,
        "exp": NOW + 600,
    }  # fmt: skip
    return {name: value for name, value in {**good, **changed}.items() if value is not None}


def signed(said: Mapping[str, Any], key: Any = RSA, algorithm: str = "RS256", **header: Any) -> str:
    """A token; its JSON is ASCII, as many issuers write it, and can name a lone surrogate."""
    protected = {"typ": "JWT", "alg": algorithm, "kid": key.kid, **header}
    return jws.serialize_compact(protected, json.dumps(dict(said)).encode(), key, algorithms=[algorithm])


class Publisher:
    """Serves its keys; they can be changed, and it can fall silent."""

    def __init__(self) -> None:
        self.keys: list[Any] = [RSA]
        self.asked = 0
        self.is_away = False
        self.url = ""

    async def answer(self, _request: web.Request) -> web.Response:
        self.asked += 1
        if self.is_away:
            return web.Response(status=500)
        return web.json_response({"keys": [key.as_dict(private=False) for key in self.keys]})


@asynccontextmanager
async def publish_keys() -> AsyncIterator[Publisher]:
    publisher = Publisher()
    app = web.Application()
    app.router.add_get("/jwks.json", publisher.answer)
    async with TestServer(app, host="127.0.0.1") as server:
        publisher.url = str(server.make_url("/jwks.json"))
        yield publisher
