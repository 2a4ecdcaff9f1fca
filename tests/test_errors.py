"""Every refusal has a status and an exit code, and text for a person."""

import inspect
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from headwater import errors
from headwater.asgi.errors import status_of
from headwater.cli.exit_codes import MEANINGS, ExitCode, exit_code_of
from headwater.errors import HeadwaterError
from tests.clock import START

ARGUMENTS: dict[str, Any] = {
    "url": "u", "reason": "r", "problems": ["p"], "problem": "p", "wanted": 2, "host": "h", "port": 80, "cause": "c",
    "data_dir": Path("d"), "found": 1, "known": 1, "name": "n", "index": "i", "differences": ["d"],
    "url_id": UUID(int=1), "source_id": UUID(int=1), "message": "m", "status": "s", "email": "e",
    "retry_after": timedelta(minutes=1), "until": START, "what": "w", "most": 1, "within": timedelta(days=1),
}  # fmt: skip


def every_error(kind: type[HeadwaterError] = HeadwaterError) -> Iterator[type[HeadwaterError]]:
    for child in kind.__subclasses__():
        yield child
        yield from every_error(child)


def an_error(kind: type[HeadwaterError]) -> HeadwaterError:
    if kind.__init__ is HeadwaterError.__init__:
        return kind() if kind.message else kind("no")
    if kind is errors.InvalidFeed:
        return errors.InvalidFeed(name="n", url="u")
    if kind is errors.InvalidView:
        return errors.InvalidView(name="n")
    if kind is errors.InvalidReaderRule:
        return errors.InvalidReaderRule(name="n")
    if kind is errors.InvalidProposal:
        return errors.InvalidProposal({"url": "u"})
    if kind is errors.RightsMissing:
        return errors.RightsMissing(["p"], ["s"])
    names = [name for name in inspect.signature(kind).parameters if name in ARGUMENTS]
    return kind(*(str(ARGUMENTS[name]) if kind is errors.SourceNotFound else ARGUMENTS[name] for name in names))


@pytest.mark.parametrize("kind", list(every_error()), ids=lambda kind: kind.__name__)
def test_every_error_has_a_status_an_exit_code_and_a_message(kind: type[HeadwaterError]) -> None:
    error = an_error(kind)

    assert status_of(error) in {400, 401, 403, 404, 409, 429, 503}
    assert exit_code_of(error) is not ExitCode.OK
    assert str(error)


def test_every_exit_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ExitCode)
