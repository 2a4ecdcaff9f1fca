"""/admin/rules: the operators' classification rules: create, change, test, enable, delete."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from litestar import Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call
from headwater.errors import Invalid
from headwater.ids import new_id
from headwater.labels.decide import GIVEN_SCHEMES
from headwater.labels.types import Scheme
from headwater.labels.vocabulary import FIXED
from headwater.types import SourceId
from headwater.understanding.rulebook import decide, operate, store
from headwater.understanding.rulebook.trial import RuleTester
from headwater.understanding.rulebook.types import PublicSourceName, RuleDetails, RuleFields, as_rule
from headwater.web.errors import fragment
from headwater.web.format import count
from headwater.web.query import parse_id, search_text

SOURCES_SHOWN = 20
TEXT_MAX = 255
BROKEN = "Something went wrong. Please try again."
CHANGED = {"HX-Trigger": "ruleChanged"}
MODERATOR: dict[str, Any] = {"role": Role.MODERATOR, "place": "rule-said"}
ONE = "/admin/rules/{rule_id:uuid}"

Tester = NamedDependency[RuleTester]


@dataclass(frozen=True, slots=True)
class RuleForm:
    """A rule, as typed. `gives` is a scheme and a label (`topic:sport`); of a scheme with any text, `text` has it."""

    name: str = ""
    gives: str = ""
    text: str = ""
    keywords: str = ""
    patterns: str = ""
    source_ids: list[str] | str = ""
    min_score: str = "0.5"
    rule_id: str = ""  # of the rule that is tested
    confirmed: str = ""

    @property
    def sources(self) -> list[SourceId]:
        given = [self.source_ids] if isinstance(self.source_ids, str) else self.source_ids
        return [SourceId(found) for one in given if (found := parse_id(one))]

    @property
    def fields(self) -> RuleFields:
        """Raises Invalid."""
        scheme, _, label = self.gives.partition(":")
        if scheme not in set(GIVEN_SCHEMES):
            raise Invalid("Choose the label that the rule gives.")
        label = label if Scheme(scheme) in FIXED else self.text
        return RuleFields(
            self.name, Scheme(scheme), label, self.keywords.splitlines(), self.patterns.splitlines(), self.sources,
            _number(self.min_score),
        )  # fmt: skip


@get("/admin/rules", role=Role.MODERATOR)
async def list_page(call: Call) -> Template:
    async with call.database.transaction() as conn:
        rules = await store.list_details(conn)
    return call.page("admin/rules.html", rules=rules, **_choices(RuleForm(), []))


@get("/admin/rules/sources", role=Role.MODERATOR)
async def find_sources(
    call: Call, find: FromQuery[str] = "", source_ids: FromQuery[list[str] | None] = None
) -> Template:
    """The chosen sources, and those that match a search: a part of the form. Raises Invalid."""
    [text] = search_text(find, most=TEXT_MAX)
    chosen = [SourceId(found) for one in source_ids or () if (found := parse_id(one))][: decide.SOURCES_MOST]
    async with call.database.transaction() as conn:
        kept = await store.find_sources(conn, source_ids=chosen)
        found = await store.search_sources(conn, text=text, limit=SOURCES_SHOWN) if text else []
    others = [one for one in found if one not in kept]
    return call.page("admin/rule_sources.html", sources=kept, found=others, text=text)


@fragment(post, "/admin/rules", BROKEN, **MODERATOR, status_code=204)
async def create(call: Call, data: URLEncodedBody[RuleForm]) -> Response[None]:
    async with call.database.transaction() as conn:
        rule = await operate.create(conn, fields=data.fields, actor=call.actor, now=call.now)
    return Response(None, status_code=204, headers={"HX-Redirect": f"/admin/rules/{rule.id}"})


@fragment(post, "/admin/rules/test", BROKEN, role=Role.MODERATOR, place="rule-trial")
async def test_rule(call: Call, data: URLEncodedBody[RuleForm], rule_tester: Tester) -> Template:
    """What the rule in the form would have matched; it is not saved."""
    rule_id = parse_id(data.rule_id)
    async with call.database.transaction() as conn:
        saved = await store.find(conn, rule_id=rule_id) if rule_id else None
        fields = await operate.check(conn, data.fields, kept=saved.source_ids if saved else ())
        names = await store.find_sources(conn, source_ids=fields.source_ids)
    trial = await rule_tester.test(as_rule(fields, rule_id or new_id()))
    if saved and saved.fields == fields:
        async with call.database.transaction() as conn:
            await store.set_tested(conn, rule_id=saved.id, version=saved.version)
    return call.page(
        "admin/rule_trial.html", trial=trial, fields=fields, names={one.id: one.name for one in names},
        is_saved=bool(saved and saved.fields == fields), headers=CHANGED,
    )  # fmt: skip


@get(ONE, role=Role.MODERATOR)
async def rule_page(call: Call, rule_id: FromPath[UUID]) -> Template:
    async with call.database.transaction() as conn:
        rule = await store.find(conn, rule_id=rule_id)
        sources = await store.find_sources(conn, source_ids=rule.source_ids)
    return call.page("admin/rule.html", rule=rule, **_choices(_form_of(rule), sources))


@fragment(patch, ONE, BROKEN, **MODERATOR)
async def change(call: Call, rule_id: FromPath[UUID], data: URLEncodedBody[RuleForm]) -> Template:
    async with call.database.transaction() as conn:
        rule, queued = await operate.change(conn, rule_id, fields=data.fields, actor=call.actor, now=call.now)
    untested = "" if rule.is_tested else " This version has not been tested."
    return _notice(f"Saved.{untested}{_again(queued)}")


@fragment(post, ONE + "/enable", BROKEN, **MODERATOR)
async def enable(call: Call, rule_id: FromPath[UUID], data: URLEncodedBody[RuleForm]) -> Template:
    """Enable a rule; one that was not tested only after a warning."""
    async with call.database.transaction() as conn:
        rule = await store.find(conn, rule_id=rule_id)
        if not rule.is_tested and not data.confirmed:
            return call.page("admin/rule_untested.html", rule=rule)
        _, queued = await operate.set_enabled(conn, rule_id, is_enabled=True, actor=call.actor, now=call.now)
    return _notice(f"Enabled.{_again(queued)}")


@fragment(post, ONE + "/disable", BROKEN, **MODERATOR)
async def disable(call: Call, rule_id: FromPath[UUID]) -> Template:
    async with call.database.transaction() as conn:
        _, queued = await operate.set_enabled(conn, rule_id, is_enabled=False, actor=call.actor, now=call.now)
    return _notice(f"Disabled.{_again(queued)}")


@fragment(delete, ONE, BROKEN, **MODERATOR, status_code=204)
async def remove(call: Call, rule_id: FromPath[UUID]) -> Response[None]:
    async with call.database.transaction() as conn:
        await operate.delete(conn, rule_id, actor=call.actor, now=call.now)
    return Response(None, status_code=204, headers={"HX-Redirect": "/admin/rules"})


def _choices(form: RuleForm, sources: list[PublicSourceName]) -> dict[str, Any]:
    fixed = {scheme: FIXED[scheme] for scheme in GIVEN_SCHEMES if scheme in FIXED}
    free = [scheme for scheme in GIVEN_SCHEMES if scheme not in FIXED]
    return {"form": form, "sources": sources, "fixed": fixed, "free": free, "limits": decide, "text": "", "found": []}


def _form_of(rule: RuleDetails) -> RuleForm:
    is_fixed = rule.scheme in FIXED
    return RuleForm(
        name=rule.name, gives=f"{rule.scheme}:{rule.label if is_fixed else ''}", text="" if is_fixed else rule.label,
        keywords="\n".join(rule.keywords), patterns="\n".join(rule.patterns),
        min_score=f"{rule.fields.min_score:g}", rule_id=str(rule.id),
    )  # fmt: skip


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Invalid("The minimum score is a number from 0 to 1.") from None


def _again(queued: int) -> str:
    days = operate.AGAIN_WITHIN.days
    most = " at most" if queued == operate.AGAIN_MOST else ""
    return f" {count(queued, 'article')}{most} of the last {days} days will be classified again." if queued else ""


def _notice(message: str) -> Template:
    return Template("admin/said.html", context={"message": message}, headers=CHANGED)
