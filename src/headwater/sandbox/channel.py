"""The parent's end of a child's socket: one question at a time, its answer in a future; never blocks.

Callbacks on the socket are faster than asyncio's streams and `loop.sock_*`. Large bodies are not copied per chunk.
"""

import asyncio
import socket

from headwater.sandbox.frames import ANSWER, JOINED_BYTES, AnswerFrame, FrameKind
from headwater.sandbox.types import TaskRefused

KINDS = frozenset(FrameKind)


class HungUp(Exception):
    """The child has closed its end."""


class PipeChannel:
    """Questions and answers alternate; a byte out of turn closes the channel."""

    def __init__(self, sock: socket.socket, answer_limit: int) -> None:
        sock.setblocking(False)  # noqa: FBT003  its own signature
        self._sock = sock
        self._answer_limit = answer_limit
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[AnswerFrame] | None = None
        self._outgoing: list[memoryview] = []
        self._start = bytearray(JOINED_BYTES)  # the header, and most answers whole
        self._body: bytearray | None = None
        self._arrived = 0  # in `_start`, and once there is a `_body`, in that
        self.is_open = True
        self._loop.add_reader(sock, self.read)

    def ask(self, question: list[memoryview]) -> asyncio.Future[AnswerFrame]:
        """Send a question. The future gets the answer, HungUp or TaskRefused."""
        assert self._waiting is None
        self._waiting = self._loop.create_future()
        self._outgoing = question
        self._send()
        if self._outgoing:
            self._loop.add_writer(self._sock, self._write)
        return self._waiting

    def read(self) -> None:
        try:
            self._receive()
        except BlockingIOError:
            pass
        except (HungUp, TaskRefused) as error:
            self.close(error)
        except OSError:
            self.close(HungUp())

    def close(self, error: Exception) -> None:
        """Close the socket; a waiting caller gets the error."""
        if not self.is_open:
            return
        self.is_open = False
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()
        waiting, self._waiting, self._outgoing = self._waiting, None, []
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)

    def _write(self) -> None:
        self._send()
        if not self._outgoing:
            self._loop.remove_writer(self._sock)

    def _send(self) -> None:
        try:
            while self._outgoing:
                rest = self._outgoing[0][self._sock.send(self._outgoing[0]) :]
                self._outgoing[:1] = [rest] if rest else []
        except BlockingIOError:
            pass
        except OSError:
            self._outgoing = []  # the child closed its end; what it sent before is still to be read

    def _receive(self) -> None:
        place = memoryview(self._start if self._body is None else self._body)
        arrived = self._sock.recv_into(place[self._arrived :])
        if not arrived:
            raise HungUp
        self._arrived += arrived
        if self._body is None and self._arrived >= ANSWER.size:
            self._begin_body()
        if self._body is not None and self._arrived == len(self._body):
            self._finish(self._body)

    def _begin_body(self) -> None:
        size, kind, _ = ANSWER.unpack_from(self._start)
        came_along = memoryview(self._start)[ANSWER.size : self._arrived]
        if size > self._answer_limit:
            raise TaskRefused(f"it is {size} bytes long, and {self._answer_limit} are allowed")
        if self._waiting is None or len(came_along) > size or kind not in KINDS:
            raise TaskRefused("it is longer than announced, or was not expected")
        self._body = bytearray(size)
        self._body[: len(came_along)] = came_along
        self._arrived = len(came_along)

    def _finish(self, body: bytearray) -> None:
        _, kind, is_last = ANSWER.unpack_from(self._start)
        answer = AnswerFrame(FrameKind(kind), body, is_last)
        waiting, self._waiting, self._body, self._arrived = self._waiting, None, None, 0
        if waiting is not None and not waiting.done():  # done: cancelled
            waiting.set_result(answer)
