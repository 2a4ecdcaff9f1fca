"""The process on the other side: `python -m headwater.sandbox.child SOCKET PARENT`, started by `spawn.py`.

Takes questions (a function and its arguments) from its one socket, leaves an answer to each, and ends when the parent
hangs up. Nothing of the parent's __main__ runs here, and asyncio is not imported.
"""

import faulthandler
import gc
import os
import socket
import sys
from importlib import import_module
from pathlib import Path

from headwater.sandbox import confine
from headwater.sandbox.codec import encode, encode_error
from headwater.sandbox.frames import AnswerFrame, FrameKind, Question, receive_question, send_answer
from headwater.sandbox.types import Setup

NOTHING_LEFT = AnswerFrame(FrameKind.OUT_OF_MEMORY, is_last=True)  # made in advance: it is sent without memory


def main() -> None:
    """Serve until the parent hangs up."""
    sock = socket.socket(fileno=int(sys.argv[1]))
    confine.die_with_parent(int(sys.argv[2]))
    confine.leave_stopping_to_parent()
    faulthandler.enable()  # last words of a crash, in the real standard error
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115  for as long as the process lives
    try:
        _serve(sock)
    except OSError:
        os._exit(1)  # the parent hung up while we spoke
    os._exit(0)  # no tidying up: there is nothing to keep


def _serve(sock: socket.socket) -> None:
    setup: Setup = receive_question(sock).read()
    gauge = confine.MemoryGauge()
    answer = _start(setup, gauge)
    size_at_start = gauge.held()
    while True:
        is_last = answer.is_last or gauge.held() - size_at_start > setup.growth_limit
        send_answer(sock, answer.kind, answer.body, is_last=is_last)
        if is_last:
            return
        answer = _answer(sock, setup)


def _start(setup: Setup, gauge: confine.MemoryGauge) -> AnswerFrame:
    try:
        for module in setup.preload:
            import_module(module)
        gc.freeze()  # what is here now stays: no collection need look at it again
        confine.limit_resources(setup.memory_limit, gauge)
    except Exception as error:  # noqa: BLE001  a failed preload is reported to the caller
        return AnswerFrame(FrameKind.RAISED, encode_error(error), is_last=True)
    return AnswerFrame(FrameKind.RESULT, encode(None))


def _answer(sock: socket.socket, setup: Setup) -> AnswerFrame:
    try:
        question = receive_question(sock)
        confine.limit_processor_time(setup.time_limit)
        return _work(question)
    except MemoryError:
        return NOTHING_LEFT


def _work(question: Question) -> AnswerFrame:
    try:
        function, args, kwargs = question.read()
        return AnswerFrame(FrameKind.RESULT, encode(function(*args, **kwargs)))
    except MemoryError:
        raise
    except BaseException as error:  # noqa: BLE001  SystemExit too: it is the function's, not ours
        return AnswerFrame(FrameKind.RAISED, encode_error(error))


if __name__ == "__main__":
    main()
