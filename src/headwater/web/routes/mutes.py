"""Mute: a click on a word, author or source of an article makes a rule that hides such articles."""

from dataclasses import dataclass
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.quotas import Quotas
from headwater.asgi.handlers import Call
from headwater.db import Connection
from headwater.errors import Invalid, NotFound
from headwater.labels import store as labels
from headwater.labels.types import Scheme
from headwater.library.rules import operate, store
from headwater.library.rules.decide import mute_rule, words_to_mute
from headwater.library.rules.types import MuteKind, ReaderRuleFields
from headwater.library.store import lists
from headwater.library.types import ArticleFull
from headwater.types import ArticleId


@dataclass(frozen=True, slots=True)
class MuteForm:
    """What to mute: a word, an author, or a source by its id."""

    kind: str = ""
    value: str = ""


@get("/articles/{article_id:uuid}/mute")
async def menu(call: Call, article_id: FromPath[UUID]) -> Template:
    """What of an article can be muted. Raises NotFound."""
    chosen = ArticleId(article_id)
    async with call.as_user() as conn:
        found = await _require(conn, chosen)
        given = (await labels.find_labels(conn, article_ids=[chosen], only_shown=True)).get(chosen, [])
        sources = await store.list_sources_of(conn, article_id=chosen)
    words = words_to_mute(found.title, [one.label for one in given if one.scheme is Scheme.KEYWORD])
    return call.page("rules/mute_menu.html", article=found, words=words, sources=sources)


@post("/articles/{article_id:uuid}/mute", status_code=200)
async def mute(
    call: Call, article_id: FromPath[UUID], data: URLEncodedBody[MuteForm], quotas: NamedDependency[Quotas]
) -> Template | Redirect:
    """Mute; responds with what was hidden, and a way back. Raises NotFound, Invalid, TooManyReaderRules."""
    async with call.as_user() as conn:
        await _require(conn, ArticleId(article_id))
        fields = await _read(conn, data)
        rule_id, hidden = await operate.mute(conn, fields, user_id=call.user.id, most=quotas.rules, now=call.now)
    if not call.is_htmx:
        return Redirect("/rules#mutes", status_code=303)
    return call.page("rules/muted.html", name=fields.name, rule_id=rule_id, hidden=hidden)


@post("/rules/{reader_rule_id:uuid}/unmute", status_code=200)
async def unmute(call: Call, reader_rule_id: FromPath[UUID]) -> Template | Redirect:
    """Delete a mute, and list again what it hid. Raises NotFound."""
    async with call.as_user() as conn:
        name = await operate.unmute(conn, reader_rule_id, user_id=call.user.id, now=call.now)
    if not call.is_htmx:
        return Redirect("/rules#mutes", status_code=303)
    return call.page("rules/unmuted.html", name=name)


async def _read(conn: Connection, form: MuteForm) -> ReaderRuleFields:
    """The rule that hides what was chosen. Raises Invalid."""
    if form.kind not in set(MuteKind):
        raise Invalid("Choose a word, an author or a source.")
    name = ""
    if form.kind == MuteKind.SOURCE:
        name = await store.find_source_name(conn, source_id=_source_id(form.value)) or ""
        if not name:
            raise Invalid("You do not follow this source.")
    return mute_rule(MuteKind(form.kind), form.value, name=name)


def _source_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Invalid("You do not follow this source.") from None


async def _require(conn: Connection, article_id: ArticleId) -> ArticleFull:
    found = await lists.find_article(conn, article_id=article_id)
    if found is None:
        raise NotFound("Article not found.")
    return found
