"""/api/v1/classification: the operators' rules, and numbers of labels. For moderators."""

from typing import Annotated

from litestar import Router, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import JSONBody, QueryParameter

from headwater.accounts.types import Role
from headwater.api import label_schemas
from headwater.api.parameters import PathId
from headwater.api.routes.moderation import respond_to_invalid
from headwater.asgi.handlers import Call
from headwater.errors import Invalid
from headwater.ids import new_id
from headwater.understanding.overview import store as overview
from headwater.understanding.rulebook import operate, store
from headwater.understanding.rulebook.trial import DAYS, DAYS_MOST, RuleTester
from headwater.understanding.rulebook.types import as_rule

MODERATOR = {"role": Role.MODERATOR}
CONFLICTING = MODERATOR | {"refusals": (409,)}
RULES = "/rules"
ONE = RULES + "/{rule_id:uuid}"
Tester = NamedDependency[RuleTester]
TestedDays = Annotated[int, QueryParameter(description="Only articles of the last days.", ge=1, le=DAYS_MOST)]


@get("/stats", operation_id="labelStats", opt=MODERATOR)
async def stats(call: Call) -> label_schemas.LabelStatsResponse:
    """Count labels, methods, and waiting and disputed articles. It reads a sample, so it is fast with any number."""
    async with call.database.transaction() as conn:
        return label_schemas.LabelStatsResponse.of(await overview.count_labels(conn, now=call.now))


@get(RULES, operation_id="listRules", opt=MODERATOR)
async def list_rules(call: Call) -> label_schemas.RuleListResponse:
    """List all rules, by name."""
    async with call.database.transaction() as conn:
        return label_schemas.RuleListResponse.model_validate({"rules": await store.list_details(conn)})


@post(RULES, operation_id="createRule", opt=CONFLICTING)
async def create(call: Call, data: JSONBody[label_schemas.NewRule]) -> label_schemas.RuleResponse:
    """Create a rule. It is disabled, so that it can be tested first."""
    async with call.database.transaction() as conn:
        rule = await operate.create(conn, fields=data.fields, actor=call.actor, now=call.now)
    return label_schemas.RuleResponse.model_validate(rule)


@post(RULES + "/test", operation_id="testRule", status_code=200, opt=MODERATOR)
async def try_unsaved(
    call: Call, data: JSONBody[label_schemas.RuleToTest], rule_tester: Tester
) -> label_schemas.RuleTrialResponse:
    """Test a rule on the newest articles, 5,000 at most and for 15 seconds at most. It is not saved."""
    async with call.database.transaction() as conn:
        fields = await operate.check(conn, data.fields)
    trial = await rule_tester.test(as_rule(fields, new_id()), days=data.days)
    return label_schemas.RuleTrialResponse.model_validate(trial)


@get(ONE, operation_id="findRule", opt=MODERATOR)
async def find(call: Call, rule_id: PathId) -> label_schemas.RuleResponse:
    """Show a rule."""
    async with call.database.transaction() as conn:
        return label_schemas.RuleResponse.model_validate(await store.find(conn, rule_id=rule_id))


@patch(ONE, operation_id="changeRule", opt=CONFLICTING)
async def change(call: Call, rule_id: PathId, data: JSONBody[label_schemas.RuleChanges]) -> label_schemas.ChangedRule:
    """Change, enable or disable a rule. Articles of the last 7 days are classified again if it is enabled or was."""
    actor, now = call.actor, call.now
    async with call.database.transaction() as conn:
        fields = data.applied_to(await store.lock(conn, rule_id=rule_id))
        rule, requeued = await operate.change(conn, rule_id, fields=fields, actor=actor, now=now)
        if data.is_enabled is not None:
            rule, again = await operate.set_enabled(conn, rule_id, is_enabled=data.is_enabled, actor=actor, now=now)
            requeued = max(requeued, again)
    return label_schemas.ChangedRule.of(rule, requeued)


@delete(ONE, operation_id="deleteRule", opt=MODERATOR)
async def remove(call: Call, rule_id: PathId) -> None:
    """Delete a rule. Articles of the last 7 days are classified again if it was enabled."""
    async with call.database.transaction() as conn:
        await operate.delete(conn, rule_id, actor=call.actor, now=call.now)


@post(ONE + "/test", operation_id="testSavedRule", status_code=200, opt=MODERATOR)
async def try_saved(
    call: Call, rule_id: PathId, rule_tester: Tester, days: TestedDays = DAYS
) -> label_schemas.RuleTrialResponse:
    """Test a saved rule, as `POST /rules/test`. Its version counts as tested then."""
    async with call.database.transaction() as conn:
        rule = await store.find(conn, rule_id=rule_id)
    trial = await rule_tester.test(as_rule(rule.fields, rule.id), days=days)
    async with call.database.transaction() as conn:
        await store.set_tested(conn, rule_id=rule_id, version=rule.version)
    return label_schemas.RuleTrialResponse.model_validate(trial)


classification_routes = Router(
    "/classification",
    route_handlers=[stats, list_rules, create, try_unsaved, find, change, remove, try_saved],
    exception_handlers={Invalid: respond_to_invalid},
)
