"""A little site of the test's own, in threads, where each answer can be held back until the test lets it go."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from headwater_lab.zoo import DOMAIN

Documents = Mapping[str, tuple[str, str]]


class Newsstand:
    """Documents by path, each with its type; `asked` has every path that was requested."""

    def __init__(self, port: int, gate: threading.Event) -> None:
        self.documents: Documents = {}
        self.asked: list[str] = []
        self.gate = gate
        self._base = f"http://newsstand.{DOMAIN}:{port}"

    def url(self, path: str) -> str:
        return self._base + path


@contextmanager
def open_newsstand() -> Iterator[Newsstand]:
    gate = threading.Event()
    gate.set()
    stands: list[Newsstand] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            stand = stands[0]
            stand.asked.append(self.path)
            stand.gate.wait(300)
            kind, body = stand.documents.get(self.path, ("text/plain", ""))
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the standard library's name
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.daemon_threads = True
        stands.append(Newsstand(server.server_address[1], gate))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield stands[0]
        finally:
            gate.set()
            server.shutdown()
            thread.join()
