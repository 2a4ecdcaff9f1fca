"""/admin/labels: how articles are labelled, the queue where methods disagree, and the labels that people set.

A decision replaces its line, with a button to undo it. The form of one article is a fragment for other pages, too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, CallContext
from headwater.channels.visible import find_visible
from headwater.db import Connection
from headwater.errors import Invalid
from headwater.labels import store
from headwater.labels.decide import GIVEN_SCHEMES, has_several
from headwater.labels.people import find_article, set_by_person, withdraw_by_person
from headwater.labels.types import ArticleLabel, Method, Scheme, TitledArticle
from headwater.labels.vocabulary import FIXED
from headwater.types import ArticleId
from headwater.understanding.overview import store as overview
from headwater.understanding.rulebook import store as rulebook
from headwater.web.errors import fragment
from headwater.web.query import parse_id

PAGE = 20
EXAMINED = 200  # for one page: those that only private feeds list are not shown
SOURCES_SHOWN = 10
REVIEW = "/admin/labels/review"
ONE = "/admin/labels/{article_id:uuid}"
ERRORS = "label-{article_id}-{scheme}-errors"
MODERATOR: dict[str, Any] = {"role": Role.MODERATOR, "place": ERRORS}


@dataclass(frozen=True, slots=True)
class LabelForm:
    """The labels of a person; `keywords` are typed, separated by commas. `is_review`: the queue shows the answer."""

    labels: list[str] | str = ""
    keywords: str = ""
    is_review: str = ""

    @property
    def given(self) -> list[str]:
        chosen = [self.labels] if isinstance(self.labels, str) else self.labels
        return [text for one in (*chosen, *self.keywords.split(",")) if (text := one.strip())]


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """A label that one or more methods give."""

    label: str
    said_by: Sequence[ArticleLabel]


@dataclass(frozen=True, slots=True)
class SchemeLabels:
    """What is said about an article in one scheme, and what a person may say."""

    article: TitledArticle
    scheme: Scheme
    choices: Sequence[LabelChoice]
    by_person: Sequence[str]
    rules: Mapping[str, str]  # names of the rules, by version
    vocabulary: Sequence[str]  # empty: any text
    has_several: bool


@get("/admin/labels", role=Role.MODERATOR)
async def labels(call: Call) -> Template:
    async with call.database.transaction() as conn:
        counted = await overview.count_labels(conn, now=call.now)
        best = await overview.list_best(conn, limit=SOURCES_SHOWN)
        worst = await overview.list_worst(conn, limit=SOURCES_SHOWN)
    of_scheme = {scheme: [one for one in counted.labels if one.scheme is scheme] for scheme in Scheme}
    return call.page(
        "admin/labels.html", counted=counted, of_scheme=of_scheme, best=best, worst=worst, disputed=counted.disputed,
        days=overview.PERIOD.days, most=overview.COUNTED_MOST, shown="overview",
    )  # fmt: skip


async def list_lines(call: Call, before: FromQuery[str] = "") -> dict[str, Any]:
    """A page of the queue. Raises Invalid."""
    start = parse_id(before) if before else None
    if before and start is None:
        raise Invalid("Invalid id of an article. Start at the first page.")
    async with call.database.transaction() as conn:
        ids = await store.list_disputed(conn, before=ArticleId(start) if start else None, limit=EXAMINED)
        visible = await find_visible(conn, ids, call.now)
        lines = await _lines_of(conn, visible[:PAGE])
        disputed = await store.count_disputed(conn, most=overview.COUNTED_MOST)
    return {
        "lines": lines, "disputed": disputed, "before": before, "next": _last(visible, ids),
        "most": overview.COUNTED_MOST, "shown": "review",
    }  # fmt: skip


def _last(visible: Sequence[ArticleId], examined: Sequence[ArticleId]) -> ArticleId | None:
    """The article after which the next page begins; None: there is no other page."""
    if len(visible) > PAGE:
        return visible[PAGE - 1]
    return examined[-1] if len(examined) == EXAMINED else None


@get(REVIEW, role=Role.MODERATOR, dependencies={"found": Provide(list_lines)})
async def review(call: Call, found: NamedDependency[dict[str, Any]]) -> Template:
    return call.page("admin/labels_review.html", **found)


@fragment(get, ONE, "Failed to load the labels", role=Role.MODERATOR)
async def of_article(call: Call, article_id: FromPath[UUID]) -> Template:
    """The labels of one article, with a form for each scheme: a part of other pages. Raises ArticleNotFound."""
    await call.require_visible(ArticleId(article_id))
    async with call.database.transaction() as conn:
        article = await find_article(conn, article_id=ArticleId(article_id))
        found = (await store.find_labels(conn, article_ids=[article.id])).get(article.id, [])
        rules = await _rules_of(conn, found)
    parts = [scheme_labels(article, scheme, found, rules) for scheme in GIVEN_SCHEMES]
    return call.page("admin/article_labels.html", article=article, parts=parts)


@fragment(post, ONE + "/{scheme:str}", "Failed to set the label", **MODERATOR)
async def choose(
    call: Call, article_id: FromPath[UUID], scheme: FromPath[str], data: URLEncodedBody[LabelForm]
) -> Template | Redirect:
    """Set a person's labels. Raises Invalid, ArticleNotFound."""
    wanted, one = check_scheme(scheme), ArticleId(article_id)
    await call.require_visible(one)
    async with call.database.transaction() as conn:
        await set_by_person(conn, article_id=one, scheme=wanted, labels=data.given, actor=call.actor, now=call.now)
        shown = await _changed(call, conn, one, wanted, data)
        await call.route(conn, one)
    return shown


@fragment(post, ONE + "/{scheme:str}/withdraw", "Failed to withdraw the label", **MODERATOR)
async def withdraw(
    call: Call, article_id: FromPath[UUID], scheme: FromPath[str], data: URLEncodedBody[LabelForm]
) -> Template | Redirect:
    """Withdraw a person's labels: the methods decide again. Raises Invalid, NotFound."""
    wanted, one = check_scheme(scheme), ArticleId(article_id)
    await call.require_visible(one)
    async with call.database.transaction() as conn:
        await withdraw_by_person(conn, article_id=one, scheme=wanted, actor=call.actor, now=call.now)
        shown = await _changed(call, conn, one, wanted, data)
        await call.route(conn, one)
    return shown


def check_scheme(text: str) -> Scheme:
    """Raises Invalid."""
    if text not in set(GIVEN_SCHEMES):
        raise Invalid(f"Unknown scheme. Use one of {', '.join(GIVEN_SCHEMES)}.")
    return Scheme(text)


def scheme_labels(
    article: TitledArticle, scheme: Scheme, found: Sequence[ArticleLabel], rules: Mapping[str, str]
) -> SchemeLabels:
    """The labels of one scheme, with what each method says; the surest first."""
    said: dict[str, list[ArticleLabel]] = {}
    for one in found:
        if one.scheme is scheme and one.method is not Method.PERSON:
            said.setdefault(one.label, []).append(one)
    by_person = [one.label for one in found if one.scheme is scheme and one.method is Method.PERSON]
    choices = [LabelChoice(label, by) for label, by in said.items()]
    return SchemeLabels(article, scheme, choices, by_person, rules, FIXED.get(scheme, ()), has_several(scheme))


async def _rules_of(conn: Connection, labels: Iterable[ArticleLabel]) -> dict[str, str]:
    """The names of rules, by the version that their labels have."""
    versions = {one.version for one in labels if one.method is Method.RULE}
    names = {str(rule.id): rule.name for rule in await rulebook.list_details(conn)} if versions else {}
    shown: dict[str, str] = {}
    for version in versions:
        rule_id, _, number = version.partition(" ")
        shown[version] = f"{names[rule_id]}, version {number}" if rule_id in names else "deleted rule"
    return shown


async def _lines_of(conn: Connection, ids: Sequence[ArticleId]) -> list[SchemeLabels]:
    """A line for each disputed scheme of each article, in their order."""
    articles = await store.find_articles(conn, article_ids=ids)
    found = await store.find_labels(conn, article_ids=ids)
    rules = await _rules_of(conn, chain.from_iterable(found.values()))
    return [
        scheme_labels(articles[article_id], scheme, found[article_id], rules)
        for article_id in ids
        if article_id in articles and article_id in found
        for scheme in dict.fromkeys(one.scheme for one in found[article_id] if one.is_disputed)
    ]


async def _changed(
    call: CallContext, conn: Connection, article_id: ArticleId, scheme: Scheme, form: LabelForm
) -> Template | Redirect:
    if not call.is_htmx:
        return Redirect(REVIEW if form.is_review else f"/articles/{article_id}", status_code=303)
    article = await find_article(conn, article_id=article_id)
    found = (await store.find_labels(conn, article_ids=[article_id])).get(article_id, [])
    line = scheme_labels(article, scheme, found, await _rules_of(conn, found))
    if not form.is_review:
        return call.page("admin/article_scheme.html", line=line, is_saved=True)
    disputed = await store.count_disputed(conn, most=overview.COUNTED_MOST)
    name = "admin/labels_decided.html" if line.by_person else "admin/labels_line.html"
    return call.page(name, line=line, disputed=disputed, most=overview.COUNTED_MOST, is_news=True)
