"""Parses forms once, within limits, before anything else does.

The framework's own form parser has no limit on fields and caches the last thousand bodies, passwords included. The
result of this one replaces it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl

from litestar import Request
from litestar.datastructures import FormMultiDict, UploadFile
from litestar.enums import RequestEncodingType
from litestar.exceptions import HTTPException
from litestar.utils.scope.state import ScopeState

from headwater.text import check_text

FORM_BYTES = 65_536
FIELDS_MAX = 1_000
PARTS_MAX = 100  # of a form with files

AnyRequest = Request[Any, Any, Any]


@asynccontextmanager
async def read_form(request: AnyRequest) -> AsyncIterator[FormMultiDict]:
    """The form of a request, its text checked; empty where there is none. Its files are closed at the end.

    Raises HTTPException, Invalid.
    """
    if request.content_type[0] == RequestEncodingType.URL_ENCODED:
        ScopeState.from_scope(request.scope).form = parse_form(await request.body())
    try:
        form = await request.form()
    except (ValueError, LookupError) as error:  # text that is not in the encoding its part names
        raise HTTPException("The form is invalid.", status_code=400) from error
    try:
        for name, value in form.multi_items():
            check_text(name, name="The name of a field")
            if isinstance(value, str):
                check_text(value, name=name)
        yield form
    finally:
        await form.close()


def parse_form(body: bytes) -> dict[str, str | list[str] | UploadFile]:
    """The fields of a form; one that comes several times has a list of values. Raises HTTPException."""
    try:
        pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError as error:
        raise HTTPException(f"The form has more than {FIELDS_MAX} fields.", status_code=413) from error
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return {name: values if len(values) > 1 else values[0] for name, values in fields.items()}
