"""A tiny NATS server on loopback: messages with headers, each confirmed as JetStream does."""

import asyncio
import json
from typing import Self


class StubNats:
    def __init__(self) -> None:
        self.stored: list[tuple[str, str, bytes]] = []  # id, subject and body
        self.max_payload = 1_048_576
        self.refuses_after: int | None = None  # so many messages
        self.is_silent = False

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self._open: set[asyncio.StreamWriter] = set()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._open:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        info = {"server_id": "s", "version": "2.9.10", "headers": True, "max_payload": self.max_payload, "proto": 1}
        writer.write(f"INFO {json.dumps(info)}\r\n".encode())
        subscription = b"1"
        try:
            while line := await reader.readline():
                verb, *words = line.split()
                if verb == b"PING" and not self.is_silent:
                    writer.write(b"PONG\r\n")
                elif verb == b"SUB":
                    subscription = words[-1]
                elif verb == b"HPUB":
                    subject, reply, head, total = words
                    data = (await reader.readexactly(int(total) + 2))[:-2]
                    self._publish(writer, subscription, subject.decode(), reply, data[: int(head)], data[int(head) :])
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass

    def _publish(
        self, writer: asyncio.StreamWriter, subscription: bytes, subject: str, reply: bytes, head: bytes, body: bytes
    ) -> None:
        if self.is_silent:
            return
        message_id = head.decode().partition("Nats-Msg-Id:")[2].split("\r\n")[0].strip()
        if self.refuses_after is not None and len(self.stored) >= self.refuses_after:
            answer = json.dumps({"error": {"code": 503, "err_code": 10023, "description": "insufficient resources"}})
        else:
            is_known = any(known == message_id for known, _, _ in self.stored)
            if not is_known:
                self.stored.append((message_id, subject, body))
            answer = json.dumps({"stream": "s", "seq": len(self.stored), "duplicate": is_known})
        writer.write(b"MSG %s %s %d\r\n%s\r\n" % (reply, subscription, len(answer), answer.encode()))
