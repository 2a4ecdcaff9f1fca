"""/api/v1/rules: the rules of the token's user. Nobody reaches those of another."""

from litestar import Response, Router, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from headwater.accounts.quotas import Quotas
from headwater.accounts.types import Role, User
from headwater.api import rule_schemas as models
from headwater.api.parameters import Limit, PathId
from headwater.asgi.errors import Fault, Problem, problem, value_code
from headwater.asgi.handlers import AnyRequest, Call, CallContext
from headwater.errors import Forbidden, InvalidReaderRule, QueryInvalid
from headwater.library.rules import operate, store

READER = {"role": Role.READER}
ONE = "/{rule_id:uuid}"
BODY_BYTES = 65_536


@get("/", operation_id="listOwnRules", opt=READER)
async def list_rules(call: Call) -> models.OwnRulesResponse:
    """List the rules of the token's user, mutes included."""
    async with call.database.as_user(user_of(call).id) as conn:
        found = await store.list_rules(conn)
    return models.OwnRulesResponse(rules=[models.OwnRuleResponse.of(one) for one in found])


@post("/", operation_id="createOwnRule", opt=READER | {"refusals": (409,)})
async def create(
    call: Call, data: JSONBody[models.NewOwnRule], quotas: NamedDependency[Quotas]
) -> models.OwnRuleResponse:
    """Create a rule. It acts on articles that arrive from now on, once on each."""
    user = user_of(call)
    async with call.database.as_user(user.id) as conn:
        rule_id = await operate.save_rule(conn, data.fields, user_id=user.id, most=quotas.rules, now=call.now)
        return models.OwnRuleResponse.of(await operate.require_rule(conn, rule_id))


@post("/preview", operation_id="previewOwnRule", status_code=200, opt=READER)
async def preview(call: Call, data: JSONBody[models.OwnRuleQueryToPreview]) -> models.OwnRulePreviewResponse:
    """Show which articles of the last 7 days a query finds, before a rule is saved with it."""
    async with call.database.as_user(user_of(call).id) as conn:
        found = await operate.preview_rule(conn, data.query, now=call.now)
    return models.OwnRulePreviewResponse.of(found)


@get(ONE, operation_id="findOwnRule", opt=READER)
async def find(call: Call, rule_id: PathId) -> models.OwnRuleResponse:
    """Show a rule."""
    async with call.database.as_user(user_of(call).id) as conn:
        return models.OwnRuleResponse.of(await operate.require_rule(conn, rule_id))


@patch(ONE, operation_id="changeOwnRule", opt=READER)
async def change(call: Call, rule_id: PathId, data: JSONBody[models.OwnRuleChanges]) -> models.OwnRuleResponse:
    """Change a rule, or disable and enable it."""
    async with call.database.as_user(user_of(call).id) as conn:
        before = await operate.lock_rule(conn, rule_id)
        await operate.change_rule(conn, rule_id, data.applied_to(before))
        return models.OwnRuleResponse.of(await operate.require_rule(conn, rule_id))


@delete(ONE, operation_id="deleteOwnRule", opt=READER)
async def remove(call: Call, rule_id: PathId) -> None:
    """Delete a rule. What it did stays, except that a mute lists again what it hid."""
    user = user_of(call)
    async with call.database.as_user(user.id) as conn:
        rule = await operate.require_rule(conn, rule_id)
        if rule.mute:
            await operate.unmute(conn, rule_id, user_id=user.id, now=call.now)
        else:
            await operate.delete_rule(conn, rule_id, call.now)


@get(ONE + "/log", operation_id="listOwnRuleLog", opt=READER)
async def list_log(call: Call, rule_id: PathId, limit: Limit = 50) -> models.OwnRuleLogResponse:
    """Show what a rule did in the last 30 days, the newest first."""
    async with call.database.as_user(user_of(call).id) as conn:
        await operate.require_rule(conn, rule_id)
        found = await store.list_log(conn, rule_id=rule_id, limit=limit)
    lines = [
        models.OwnRuleAction(
            article_id=one.article_id, title=one.title, applied_at=one.applied_at, actions=one.actions
        )
        for one in found
    ]  # fmt: skip
    return models.OwnRuleLogResponse(log=lines)


def user_of(call: CallContext) -> User:
    """Raises Forbidden."""
    if call.user is None:
        raise Forbidden("The operator's token has no user. Use a token from an account page.")
    return call.user


def respond_to_query(_request: AnyRequest, error: QueryInvalid) -> Response[Problem]:
    return problem(422, str(error), errors=(Fault("body.query", str(error), value_code(error)),))


def respond_to_rule(_request: AnyRequest, error: InvalidReaderRule) -> Response[Problem]:
    """The problem of each field."""
    faults = [Fault("body.query", str(error.query), value_code(error.query))] if error.query else []
    given = {"name": error.name, "tags": error.tags, "notify": error.actions}
    faults += [Fault(f"body.{name}", sentence) for name, sentence in given.items() if sentence]
    return problem(422, str(error), errors=faults)


rule_routes = Router(
    "/rules",
    route_handlers=[list_rules, create, preview, find, change, remove, list_log],
    request_max_body_size=BODY_BYTES,
    exception_handlers={QueryInvalid: respond_to_query, InvalidReaderRule: respond_to_rule},
)
