"""A webhook in a thread of its own, that keeps what it was sent and can be down for a while."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast


class Webhook:
    """Messages in the order in which they came. It verifies each request with the secret, once one is set."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.secret: str | None = None
        self.is_down = False
        self.refused = 0  # requests while it was down
        self.forged = 0  # requests whose signature is wrong
        self._messages: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    @property
    def messages(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._messages)

    @property
    def count(self) -> int:
        return len(self._messages)

    def receive(self, headers: Mapping[str, str], body: bytes) -> int:
        """The status to answer with."""
        with self._lock:
            if self.is_down:
                self.refused += 1
                return 503
            if self.secret is not None and not is_signed(self.secret, headers, body):
                self.forged += 1
                return 401
            self._messages += json.loads(body)["messages"]
            return 204


def is_signed(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """By Standard Webhooks, written from its text and not from our code."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return headers["webhook-signature"] == f"v1,{wanted}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = cast("_Server", self.server).webhook.receive(
            {name.lower(): value for name, value in self.headers.items()}, body
        )
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


class _Server(ThreadingHTTPServer):
    webhook: Webhook


@contextmanager
def open_webhook() -> Iterator[Webhook]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.webhook = Webhook(f"http://127.0.0.1:{server.server_address[1]}/hook")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.webhook
        finally:
            server.shutdown()
            thread.join()
