"""Rules of the user: a list, and a form with a preview and the log of what the rule did."""

from dataclasses import dataclass, replace
from uuid import UUID

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.quotas import Quotas
from headwater.asgi.handlers import Call, CallContext
from headwater.errors import InvalidReaderRule, QueryInvalid, TooManyReaderRules
from headwater.library.rules import operate, store
from headwater.library.rules.decide import check_rule
from headwater.library.rules.types import (
    NotificationKind,
    ReaderRule,
    ReaderRuleFields,
    RuleActions,
    RulePreview,
)
from headwater.web.query import parse_id

LOG_LINES = 100


@dataclass(frozen=True, slots=True)
class ReaderRuleForm:
    """A rule as its form sends it."""

    name: str = ""
    query: str = ""
    read: str = ""
    star: str = ""
    hide: str = ""
    tags: str = ""  # separated by commas
    email: str = ""
    webhook: str = ""
    push: str = ""
    rule: str = ""  # the id of the rule that is changed, for its preview

    @property
    def notify(self) -> tuple[NotificationKind, ...]:
        return tuple(kind for kind in NotificationKind if getattr(self, kind.value))

    @property
    def fields(self) -> ReaderRuleFields:
        actions = RuleActions(
            marks_read=bool(self.read), stars=bool(self.star), hides=bool(self.hide), tags=self.tags.split(","),
            notify=self.notify,
        )  # fmt: skip
        return ReaderRuleFields(self.name, self.query, actions)

    @classmethod
    def of(cls, rule: ReaderRule) -> "ReaderRuleForm":
        actions = rule.actions
        chosen = {kind.value: "yes" for kind in actions.notify}
        return cls(
            rule.name, rule.query, "yes" * actions.marks_read, "yes" * actions.stars, "yes" * actions.hides,
            ", ".join(actions.tags), rule=str(rule.id), **chosen,
        )  # fmt: skip


@get("/rules")
async def rules(call: Call, deleted: FromQuery[str] = "") -> Template:
    """The user's rules, mutes and targets of notifications. `deleted`: the rule to offer back."""
    async with call.as_user() as conn:
        found = await store.list_rules(conn)
    return call.page(
        "rules/page.html", rules=[one for one in found if one.mute is None], deleted=deleted,
        mutes=[one for one in found if one.mute is not None],
    )  # fmt: skip


@get("/rules/new")
async def new(call: Call, q: FromQuery[str] = "") -> Template:
    return await _form(call, ReaderRuleForm(query=q[:2000], name=""))


@post("/rules/preview", status_code=200)
async def preview(call: Call, data: URLEncodedBody[ReaderRuleForm]) -> Template:
    """The form, with the articles of the last days that the rule would have matched."""
    try:
        checked = check_rule(data.fields)
    except InvalidReaderRule as error:
        return await _form(call, data, error)
    async with call.as_user() as conn:
        found = await operate.preview_rule(conn, checked.query, now=call.now)
    return await _form(call, data, preview=found)


@post("/rules", status_code=303)
async def save(
    call: Call, data: URLEncodedBody[ReaderRuleForm], quotas: NamedDependency[Quotas]
) -> Template | Redirect:
    try:
        async with call.as_user() as conn:
            await operate.save_rule(conn, data.fields, user_id=call.user.id, most=quotas.rules, now=call.now)
    except InvalidReaderRule as error:
        return await _form(call, data, error)
    except TooManyReaderRules as error:
        return await _form(call, data, InvalidReaderRule(actions=str(error)), status=409)
    return Redirect("/rules", status_code=303)


@get("/rules/{reader_rule_id:uuid}")
async def rule(call: Call, reader_rule_id: FromPath[UUID]) -> Template:
    """The form of a rule, and the log of what it did. Raises NotFound."""
    async with call.as_user() as conn:
        found = await operate.require_rule(conn, reader_rule_id)
    return await _form(call, ReaderRuleForm.of(found))


@post("/rules/{reader_rule_id:uuid}", status_code=303)
async def change(
    call: Call, reader_rule_id: FromPath[UUID], data: URLEncodedBody[ReaderRuleForm]
) -> Template | Redirect:
    """Raises NotFound."""
    wanted = data.fields
    try:
        async with call.as_user() as conn:
            before = await operate.lock_rule(conn, reader_rule_id)
            kept = ReaderRuleFields(wanted.name, wanted.query, wanted.actions, before.is_enabled, before.mute)
            await operate.change_rule(conn, reader_rule_id, kept)
    except InvalidReaderRule as error:
        return await _form(call, replace(data, rule=str(reader_rule_id)), error)
    return Redirect("/rules", status_code=303)


@post("/rules/{reader_rule_id:uuid}/enable", status_code=303)
async def enable(call: Call, reader_rule_id: FromPath[UUID]) -> Redirect:
    """Raises NotFound."""
    async with call.as_user() as conn:
        await operate.enable_rule(conn, reader_rule_id, is_enabled=True)
    return Redirect("/rules", status_code=303)


@post("/rules/{reader_rule_id:uuid}/disable", status_code=303)
async def disable(call: Call, reader_rule_id: FromPath[UUID]) -> Redirect:
    """Raises NotFound."""
    async with call.as_user() as conn:
        await operate.enable_rule(conn, reader_rule_id, is_enabled=False)
    return Redirect("/rules", status_code=303)


@post("/rules/{reader_rule_id:uuid}/delete", status_code=303)
async def delete(call: Call, reader_rule_id: FromPath[UUID]) -> Redirect:
    """Raises NotFound."""
    async with call.as_user() as conn:
        await operate.delete_rule(conn, reader_rule_id, call.now)
    return Redirect(f"/rules?deleted={reader_rule_id}", status_code=303)


@post("/rules/{reader_rule_id:uuid}/restore", status_code=303)
async def restore(call: Call, reader_rule_id: FromPath[UUID], quotas: NamedDependency[Quotas]) -> Redirect:
    """Raises NotFound, TooManyReaderRules."""
    async with call.as_user() as conn:
        await operate.restore_rule(conn, reader_rule_id, user_id=call.user.id, most=quotas.rules, now=call.now)
    return Redirect("/rules", status_code=303)


async def _form(
    call: CallContext, form: ReaderRuleForm, error: InvalidReaderRule | None = None, *,
    preview: RulePreview | None = None, status: int = 400,
) -> Template:  # fmt: skip
    """The form with its problems or a preview; for a rule that exists, with its log."""
    changed = parse_id(form.rule)
    async with call.as_user() as conn:
        found = await store.find(conn, rule_id=changed) if changed else None
        log = await store.list_log(conn, rule_id=found.id, limit=LOG_LINES) if found else []
    return call.page(
        "rules/form.html", status_code=status if error else 200, form=form, error=error, preview=preview, rule=found,
        log=log, kinds=list(NotificationKind), at=marked_place(form.query.strip(), error.query if error else None),
    )  # fmt: skip


def marked_place(query: str, problem: QueryInvalid | None) -> tuple[str, str, str]:
    """A query divided into what is before its problem, the place of the problem, and what follows."""
    if problem is None:
        return query, "", ""
    start, end = problem.position, problem.position + problem.length
    return query[:start], query[start:end], query[end:]
