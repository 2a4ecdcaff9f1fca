"""Hostile pages, in the sandbox: a clean result, or an Overrun, within the limits, and the next page is read."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from headwater.articles.types import Extracted
from headwater.extraction.extract import extract
from headwater.extraction.types import UnreadablePage
from headwater.sandbox import Overrun, Sandbox
from tests.extraction.pages import PARAGRAPHS, a_page
from tests.soak import IS_SOAK

HOSTILE = {
    "a million nested tags": lambda: b"<html><body>" + b"<div>" * 1_000_000 + b"text",
    "nested lists": lambda: b"<html><body>" + b"<ul><li>x" * 200_000,
    "nested tables": lambda: b"<html><body>" + b"<table><tr><td>" * 100_000,
    "nested formatting": lambda: b"<html><body><p>" + b"<b><i>x" * 200_000,
    "a megabyte of attributes": lambda: b"<html><body><p " + b" ".join(b"a%d=1" % n for n in range(120_000)) + b">x",
    "50 MB": lambda: a_page(body=f"<article><p>{PARAGRAPHS[0]}</p></article>") + b"<p>more of it.</p>" * 3_000_000,
    "50 MB of nothing": lambda: b" " * 50_000_000,
    "a million paragraphs": lambda: b"<html><body><article>" + b"<p>" * 1_000_000,
    "a million entities": lambda: b"<html><body><p>" + b"&amp;&#x41;" * 500_000,
    "a tag that never ends": lambda: b"<html><body><p title='" + b"x" * 4_000_000,
    "a deep json-ld": lambda: b'<script type="application/ld+json">' + b'{"a":' * 300_000,
    "a zip": lambda: b"PK\x03\x04" + bytes(10_000),
    "many metas": lambda: b"<html><head>" + b"<meta name=author content=x>" * 150_000,
    "many canonicals": lambda: b"<html><head>" + b"<link rel=canonical href=//[>" * 150_000,
}


@pytest.fixture(scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(
        processes=1,
        time_limit=timedelta(seconds=2),
        memory_limit=700_000_000,
        preload=("headwater.extraction.extract",),
    ) as sandbox:
        yield sandbox


@pytest.mark.parametrize("name", list(HOSTILE)[:: 1 if IS_SOAK else 3])
async def test_a_hostile_page_ends_within_the_limits(sandbox: Sandbox, name: str) -> None:
    try:
        found = await sandbox.run(extract, HOSTILE[name](), url="https://example.com/")
    except (Overrun, UnreadablePage) as refusal:
        assert str(refusal)  # noqa: PT017  one of several good ends
    else:
        assert isinstance(found, Extracted)

    after = await sandbox.run(extract, a_page(), url="https://example.com/")
    assert after.text.split("\n") == list(PARAGRAPHS)
