"""The receiver of a webhook on loopback: keeps requests, and answers as configured."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Receiver:
    """What came, and how it answers."""

    url: str = ""
    status: int = 200
    answer: bytes = b"ok"
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    @property
    def ids(self) -> list[str]:
        return [body["id"] for body in self.bodies]


@contextmanager
def open_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            receiver.headers.append(dict(self.headers))
            receiver.bodies.append(json.loads(self.rfile.read(length)))
            self.send_response(receiver.status)
            if 300 <= receiver.status < 400:
                self.send_header("Location", receiver.url)
            self.send_header("Content-Length", str(len(receiver.answer)))
            self.end_headers()
            self.wfile.write(receiver.answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as it is named there
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()
