"""A person who reads in a browser of their own, over the network: for flows that run Headwater as a process."""

import re
from typing import Self

import httpx

PASSWORD = "correct horse battery"


class Reader:
    """One browser; use as a context manager."""

    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, headers={"Accept": "text/html"}, follow_redirects=True, timeout=300)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def open(self, path: str) -> str:
        """A page, wherever it leads."""
        return self.get(path).text

    def get(self, path: str) -> httpx.Response:
        """What is answered there."""
        return self._client.get(path)

    def register(self, email: str = "ada@example.com") -> str:
        """Sign up. Returns the first page after it."""
        fields = {"email": email, "password": PASSWORD, "password_confirm": PASSWORD, "privacy": "yes"}
        return self._submit("/auth/register", self.open("/auth/register"), fields)

    def log_in(self, email: str, password: str) -> str:
        """Log in. Returns the first page after it."""
        return self._submit("/auth/login", self.open("/auth/login"), {"email": email, "password": password})

    def add_feed(self, name: str, url: str) -> int:
        """Follow a feed. Returns the status."""
        page = self.open("/dashboard")
        return self._client.post("/feeds", data={"_csrf_token": _token(page), "name": name, "url": url}).status_code

    def _submit(self, path: str, page: str, fields: dict[str, str]) -> str:
        return self._client.post(path, data={"_csrf_token": _token(page), **fields}).text


def _token(page: str) -> str:
    found = re.search(r'X-CSRF-Token": "([0-9a-f]+)"', page)
    assert found is not None, page
    return found[1]
