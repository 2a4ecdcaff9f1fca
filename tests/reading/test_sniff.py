"""What a body is, by its bytes."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.fetching.classify import READABLE
from headwater.reading.sniff import Form, sniff
from headwater.types import PageKind

HTML, XML, TEXT = "text/html; charset=utf-8", "application/xml", "text/plain"


@pytest.mark.parametrize(
    ("body", "content_type", "form"),
    [
        (b"<!doctype html><title>A</title>", HTML, Form.HTML),
        (b"<!DOCTYPE html>", None, Form.HTML),
        (b"\xef\xbb\xbf<html>", HTML, Form.HTML),
        (b"  \n<!-- made by hand --><HTML>", TEXT, Form.HTML),
        (b"<!--[if IE]><p>x<![endif]--><!-- > --><html>", HTML, Form.HTML),
        (b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0"><html xmlns="x">', XML, Form.HTML),
        (b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml">', "application/xhtml+xml", Form.HTML),
        (b"<div>Half a page</div>", HTML, Form.HTML),
        ("<html><p>Grüße".encode("utf-16"), HTML, Form.HTML),
        ("<html><p>Grüße".encode("utf-16-le"), HTML, Form.HTML),
        ("<html><p>Grüße".encode("utf-16-be"), HTML, Form.HTML),
        ("<html><p>Grüße".encode("latin-1"), HTML, Form.HTML),
        ("<html><p>日本".encode("iso-2022-jp"), HTML, Form.HTML),
        (b"A page without a tag", HTML, Form.HTML),
        (b"Dear reader,\n", TEXT, Form.TEXT),
        (b"https://example.com/1\nhttps://example.com/2\n", TEXT, Form.TEXT),
        (b'<?xml version="1.0"?><urlset>', XML, Form.XML),
        (b"<urlset>", TEXT, Form.XML),
        (b"<sitemapindex>", HTML, Form.XML),
        (b'<?xml version="1.0"?><rss version="2.0">', HTML, Form.XML),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'>", HTML, Form.XML),
        (b"<rdf:RDF>", XML, Form.XML),
        (b"<svg xmlns='x'>", "image/svg+xml", Form.XML),
        (b'{"a": 1}', "application/json", Form.DATA),
        (b"body { color: red }", "text/css", Form.DATA),
        (b"alert(1)", "text/javascript", Form.DATA),
        (b"", HTML, Form.EMPTY),
        (b" \n\t ", HTML, Form.EMPTY),
        (b"%PDF-1.7\n", HTML, Form.PDF),
        (b"PK\x03\x04\x14\x00", HTML, Form.ARCHIVE),
        (b"Rar!\x1a\x07\x01\x00", None, Form.ARCHIVE),
        (gzip.compress(b"<urlset>", mtime=0), XML, Form.GZIP),
        (b"\x89PNG\r\n\x1a\n\x00", HTML, Form.IMAGE),
        (b"\xff\xd8\xff\xe0\x00", HTML, Form.IMAGE),
        (b"GIF89a\x01\x00", HTML, Form.IMAGE),
        (b"RIFF\x10\x00\x00\x00WEBPVP8 ", HTML, Form.IMAGE),
        (b"\x00\x00\x00\x20ftypavif\x00", HTML, Form.IMAGE),
        (b"BM\x00\x01\x00\x00", HTML, Form.IMAGE),
        (b"BM is short for Bella Marina.", TEXT, Form.TEXT),
        (b"ID3\x03\x00", HTML, Form.AUDIO),
        (b"\xff\xfb\x90\x00", HTML, Form.AUDIO),
        (b"RIFF\x10\x00\x00\x00WAVEfmt ", HTML, Form.AUDIO),
        (b"\x00\x00\x00\x18ftypmp42", HTML, Form.VIDEO),
        (b"\x1a\x45\xdf\xa3\x01", HTML, Form.VIDEO),
        (b"MZ\x90\x00\x03", HTML, Form.PROGRAM),
        (b"\x7fELF\x02", HTML, Form.PROGRAM),
        (b"wOF2\x00", HTML, Form.FONT),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", HTML, Form.DOCUMENT),
        (b"{\\rtf1 Hello}", HTML, Form.DOCUMENT),
        (b"\x00\x01\x02\x03", HTML, Form.BINARY),
    ],
)
def test_a_body_is_what_its_bytes_say(body: bytes, content_type: str | None, form: Form) -> None:
    assert sniff(body, content_type) is form


@pytest.mark.parametrize(
    ("kind", "readable"),
    [
        (PageKind.ARTICLE, {Form.HTML, Form.TEXT}),
        (PageKind.LIST, {Form.HTML, Form.TEXT}),
        (PageKind.SITEMAP, {Form.XML, Form.TEXT, Form.GZIP, Form.HTML}),
    ],
)
def test_each_kind_of_page_has_its_forms(kind: PageKind, readable: set[Form]) -> None:
    assert {form for form in Form if (form in READABLE[kind])} == readable


@given(st.binary(max_size=3000), st.none() | st.text(max_size=60))
def test_whatever_comes_is_something(body: bytes, content_type: str | None) -> None:
    assert sniff(body, content_type) in Form


@pytest.mark.parametrize("piece", [b"<!--", b"<!", b"<?", b" ", b"<!-- -->", b"-->", b"<"])
def test_a_prologue_without_an_end_is_looked_at_once(piece: bytes) -> None:
    body = piece * (5_000_000 // len(piece))

    assert sniff(body, HTML) in {Form.HTML, Form.XML, Form.EMPTY}
