"""A browser of a user: cookies are kept, forms have their CSRF token."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from httpx import AsyncClient, Response
from litestar import Litestar

from headwater.accounts.changes import current_setup_code
from headwater.db import Database
from tests.browser import visit

PASSWORD = "correct horse battery"
PAGE = {"Accept": "text/html"}
HTMX = {"Accept": "text/html", "HX-Request": "true"}


class Person:
    """One browser."""

    def __init__(self, client: AsyncClient) -> None:
        self.client = client
        self.token = ""
        self.setup_code = ""

    async def open(self, path: str, **more: Any) -> Response:
        """A whole page."""
        return self._note(await self.client.get(path, headers=PAGE, **more))

    async def part(self, path: str, **more: Any) -> Response:
        """What htmx asks for."""
        return await self.client.get(path, headers=HTMX, **more)

    async def submit(self, path: str, **fields: str) -> Response:
        """A plain form."""
        return self._note(await self.client.post(path, headers=PAGE, data={"_csrf_token": self.token, **fields}))

    async def send(self, method: str, path: str, **fields: str) -> Response:
        """A form sent by htmx."""
        headers = {**HTMX, "X-CSRF-Token": self.token}
        return await self.client.request(method, path, headers=headers, data=fields or None)

    async def register(self, email: str = "ada@example.com") -> Response:
        """Sign up. Returns the first page after it."""
        await self.open("/auth/register")
        came = await self.submit(
            "/auth/register",
            email=email,
            password=PASSWORD,
            password_confirm=PASSWORD,
            privacy="yes",
            setup_code=self.setup_code,
        )
        await self.open("/privacy")
        return came

    def _note(self, response: Response) -> Response:
        if found := re.search(r'X-CSRF-Token": "([0-9a-f]+)"', response.text):
            self.token = found[1]
        return response


async def setup_code_of(database: Database) -> str:
    """The setup code, which the first registration from another machine needs."""
    async with database.as_system() as conn:
        return await current_setup_code(conn)


@asynccontextmanager
async def a_person(app: Litestar) -> AsyncIterator[Person]:
    """A user who opens this app on the machine it runs on."""
    async with visit(app, "http://127.0.0.1:8000") as client:
        yield Person(client)


def without_token(response: Response) -> str:
    """The page without its CSRF tokens, which differ in every response."""
    return re.sub(r"\b[0-9a-f]{128}\b", "", response.text)
