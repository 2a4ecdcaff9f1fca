"""Roles, grants and policies: what the database must have, what is missing, and the statement that adds it.
docs/architecture.md describes the roles, and how to add a query or a table."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, LiteralString, NamedTuple, cast

import psycopg

from headwater.db.pool import APP_ROLE, PERSON_ROLE, SYSTEM_ROLE, Connection
from headwater.db.query import fetch_all, fetch_column, fetch_value
from headwater.errors import RightsMissing

ROLES: Final = (APP_ROLE, PERSON_ROLE, SYSTEM_ROLE)
_WRITE: Final = ("SELECT", "INSERT", "UPDATE", "DELETE")
_SET_OPTION_SINCE: Final = 160_000  # PostgreSQL 16 grants a role with options of its own
_ATTEMPTS: Final = 5  # roles belong to the whole server: another database may be migrated at this moment


@dataclass(frozen=True, slots=True)
class Owned:
    """A table with rows of users: the column of the user, and their grants. No column: no access."""

    column: str | None = "user_id"
    grants: tuple[str, ...] = ()


_ALL: Final = Owned(grants=_WRITE)

# Every table with rows of users. A new one goes here; the policies and grants follow from it.
OWNED: Mapping[str, Owned] = {
    # Role, email and password change only through `accounts`.
    "users": Owned("id", ("SELECT (id, email, role, confirmed_at, privacy_accepted_at, created_at, karma)",)),
    "sessions": Owned(
        grants=("SELECT (id, user_id, started_at, seen_at, address, user_agent, refresh_until)", "DELETE")
    ),
    "user_ids": Owned(None),
    "mailed_tokens": Owned(None),
    "outgoing_mail": Owned(),
    "api_tokens": Owned(grants=("SELECT (id, user_id, name, scopes, created_at, used_at)", "DELETE")),
    "outside_identities": Owned(grants=("SELECT",)),
    "events": Owned(grants=("SELECT", "INSERT")),
    "subscriptions": _ALL,
    "marks": _ALL,
    "summaries": _ALL,
    "reading_options": _ALL,
    "read_undo": _ALL,
    "views": _ALL,
    "rules": _ALL,
    "rule_log": _ALL,
    # Keys and secrets are written, never read again.
    "notification_targets": Owned(
        grants=(
            "SELECT (id, user_id, kind, name, url, is_enabled, created_at, ready_at, failures, reason, sent_at)",
            "INSERT",
            "UPDATE",
            "DELETE",
        )
    ),
    "notifications": Owned(grants=("SELECT", "DELETE")),
    "imports": _ALL,
    "import_lines": _ALL,
    "submissions": Owned(
        grants=(
            "SELECT (source_id, user_id, name, category, interval_minutes, host, sample)",
            "SELECT (submitted_at, decided_at, reason)",
        )
    ),
    "analytics_consents": Owned(grants=("SELECT", "INSERT", "DELETE", "UPDATE (given_at)")),
    "analytics_refusals": Owned(grants=("SELECT", "INSERT", "DELETE")),
    "feed_item_clicks": Owned(grants=("SELECT", "INSERT", "DELETE")),
    "bulk_changes": Owned(None),
    "saved_filters": _ALL,
    "audit_log": Owned(None),
}
# Written by every transaction, read only by `as_system`.
APPEND_ONLY: frozenset[str] = frozenset({"audit_log"})
# No access for a user's transaction, full access for the others.
INTERNAL: frozenset[str] = frozenset({
    "attempts", "shared_secrets", "blocked_domains", "incidents", "incident_messages", "incident_notices",
    "alert_samples", "alert_state", "own_outages", "channels",
})  # fmt: skip
# Shared tables that name a user, and why their rows do not belong to that user.
NAMING_A_USER: Mapping[str, str] = {
    "sources": "a source is shared by all its readers",
    "blocked_domains": "the operators' list; blocked_by is the operator",
}
# Shared tables that a user's transaction may read.
READABLE: frozenset[str] = frozenset(
    {
        "sources", "feed_state", "hosts", "articles", "article_sources", "content", "source_suggestions", "labels",
        "article_state", "stories", "images",
    }
)  # fmt: skip
READ_ONLY: frozenset[str] = frozenset({"schema_migration"})


class Gap(NamedTuple):
    """A missing or excessive right, and the statement that fixes it."""

    problem: str
    statement: str


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    is_view: bool
    has_invokers_rights: bool
    has_security: bool
    names_user: bool
    columns: list[str]
    grants: list[str]  # "headwater_app: SELECT", "headwater_app: SELECT (id)"
    policies: dict[str, tuple[str, list[str]]]  # each as CREATE POLICY writes it, and its roles

    @property
    def is_closed(self) -> bool:
        """Whether its rows belong to users, and are hidden from `headwater_app`."""
        if self.is_view or self.name in INTERNAL:
            return False
        return self.name in OWNED or self.has_security or (self.names_user and self.name not in NAMING_A_USER)


async def complete_rights(conn: Connection, *, is_app_login: bool) -> None:
    """Add what is missing. `is_app_login`: the pool uses this connection's login too. Raises RightsMissing."""
    for _ in range(_ATTEMPTS):
        gaps = await find_gaps(conn, is_app_login=is_app_login)
        if not gaps:
            return
        refused = [gap for gap in gaps if not await _fix(conn, gap)]
        if refused:
            raise missing(refused)
    raise missing(await find_gaps(conn, is_app_login=is_app_login))


async def check_rights(conn: Connection) -> None:
    """Returns when roles, grants and policies are complete. Raises RightsMissing."""
    gaps = await find_gaps(conn, is_app_login=True)
    if gaps:
        raise missing(gaps)


def missing(gaps: Sequence[Gap]) -> RightsMissing:
    return RightsMissing([gap.problem for gap in gaps], [gap.statement for gap in gaps])


async def find_gaps(conn: Connection, *, is_app_login: bool) -> Sequence[Gap]:
    """Missing and excessive rights, in the order in which they can be fixed. Reads the catalogue only."""
    gaps = await _role_gaps(conn)
    roles = await fetch_column(conn, "SELECT rolname::text FROM pg_roles WHERE rolname = ANY (%(roles)s)", _ROLES)
    gaps += await _membership_gaps(conn, roles, is_app_login=is_app_login)
    if len(roles) < len(ROLES):
        return gaps
    gaps += await _schema_gaps(conn)
    tables = await fetch_all(conn, _Table, _TABLES, _ROLES)
    return [*gaps, *(gap for table in tables for gap in _table_gaps(table)), *await _function_gaps(conn)]


async def _fix(conn: Connection, gap: Gap) -> bool:
    try:
        await conn.execute(cast("LiteralString", gap.statement))  # made here, of names in the catalogue
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation, psycopg.errors.InternalError_):
        return True  # another database of this server did it: checked again
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject):
        return False
    return True


async def _role_gaps(conn: Connection) -> list[Gap]:
    statement = """
        SELECT name, rolname IS NULL, rolsuper, rolbypassrls, rolinherit
        FROM unnest(%(roles)s::text[]) WITH ORDINALITY AS wanted (name, number) LEFT JOIN pg_roles ON rolname = name
        ORDER BY number
    """
    gaps: list[Gap] = []
    for name, is_missing, is_superuser, bypasses, inherits in await (await conn.execute(statement, _ROLES)).fetchall():
        if is_missing:
            gaps.append(Gap(f"the role {name} does not exist", f"CREATE ROLE {name} NOLOGIN NOINHERIT"))
        if is_superuser:
            gaps.append(Gap(f"the role {name} is a superuser", f"ALTER ROLE {name} NOSUPERUSER"))
        if bypasses:
            gaps.append(Gap(f"the role {name} bypasses row-level security", f"ALTER ROLE {name} NOBYPASSRLS"))
        if inherits and name == APP_ROLE:
            gaps.append(Gap(f"the role {name} inherits from {SYSTEM_ROLE}", f"ALTER ROLE {name} NOINHERIT"))
    return gaps


async def _membership_gaps(conn: Connection, roles: Collection[str], *, is_app_login: bool) -> list[Gap]:
    has_options = conn.info.server_version >= _SET_OPTION_SINCE
    option, settable = (" WITH INHERIT FALSE, SET TRUE", "SET") if has_options else ("", "MEMBER")

    async def has(member: str, group: str, privilege: str) -> bool:
        statement = "SELECT pg_has_role(%(member)s::name, %(group)s::name, %(privilege)s)"
        values = {"member": member, "group": group, "privilege": privilege}
        return {APP_ROLE, group}.issubset(roles) and await fetch_value(conn, statement, values)

    gaps: list[Gap] = []
    for group in (PERSON_ROLE, SYSTEM_ROLE):
        if not await has(APP_ROLE, group, settable):
            gaps.append(Gap(f"{APP_ROLE} is not a member of {group}", f"GRANT {group} TO {APP_ROLE}{option}"))
        elif await has(APP_ROLE, group, "USAGE"):
            gaps.append(Gap(f"{APP_ROLE} inherits the rights of {group}", f"REVOKE {group} FROM {APP_ROLE}"))
    # Other roles that ours could change to: each would bypass the policies.
    cur = await conn.execute(
        """
        SELECT DISTINCT member::regrole::text, pg_get_userbyid(roleid)::text FROM pg_auth_members
        WHERE pg_get_userbyid(member) = ANY (%(roles)s)
            AND (pg_get_userbyid(member) <> %(app)s OR pg_get_userbyid(roleid) <> ALL (%(groups)s))
        ORDER BY 1, 2
        """,
        {**_ROLES, "app": APP_ROLE, "groups": [PERSON_ROLE, SYSTEM_ROLE]},
    )
    for member, group in await cur.fetchall():
        gaps.append(Gap(f"{member} is a member of {group}", f"REVOKE {_quoted(group)} FROM {member}"))
    login: str = await fetch_value(conn, "SELECT session_user::text")
    if is_app_login and login != APP_ROLE and not await has(login, APP_ROLE, settable):
        gaps.append(Gap(f"the login {login} is not a member of {APP_ROLE}", f"GRANT {APP_ROLE} TO {_quoted(login)}"))
    return gaps


async def _schema_gaps(conn: Connection) -> list[Gap]:
    statement = """
        SELECT role, has_schema_privilege(role, 'public', 'USAGE'), has_schema_privilege(role, 'public', 'CREATE')
        FROM unnest(%(roles)s::text[]) AS role
    """
    gaps: list[Gap] = []
    for role, may_use, may_create in await (await conn.execute(statement, _ROLES)).fetchall():
        if not may_use:
            gaps.append(Gap(f"{role} may not use the schema", f"GRANT USAGE ON SCHEMA public TO {role}"))
        if may_create:  # its own function or table could shadow one of ours
            revoke = f"REVOKE CREATE ON SCHEMA public FROM PUBLIC, {', '.join(ROLES)}"
            gaps.append(Gap(f"{role} may create in the schema", revoke))
    return gaps


_ROLES: Mapping[str, object] = {"roles": list(ROLES)}
_TABLES: Final = """
    SELECT relname::text AS name, relkind = 'v' AS is_view, relrowsecurity AS has_security,
        coalesce('security_invoker=true' = ANY (reloptions), false) AS has_invokers_rights,
        EXISTS (
            SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'user_id' AND NOT attisdropped
        ) OR EXISTS (
            SELECT FROM pg_constraint WHERE conrelid = pg_class.oid AND contype = 'f'
                AND confrelid IN (to_regclass('public.users'), to_regclass('public.user_ids'))
        ) AS names_user,
        ARRAY(
            SELECT attname::text FROM pg_attribute WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
        ) AS columns,
        ARRAY(
            SELECT coalesce(rolname::text, 'PUBLIC') || ': ' || privilege FROM (
                SELECT grantee, privilege_type FROM aclexplode(relacl)
                UNION ALL
                SELECT grantee, privilege_type || ' (' || attname || ')' FROM pg_attribute, aclexplode(attacl)
                WHERE attrelid = pg_class.oid
            ) AS granted (grantee, privilege) LEFT JOIN pg_roles ON pg_roles.oid = grantee
            WHERE grantee = 0 OR rolname = ANY (%(roles)s)
        ) AS grants,
        (
            SELECT coalesce(jsonb_object_agg(policyname, jsonb_build_array(
                'FOR ' || cmd || ' TO ' || array_to_string(ARRAY(SELECT unnest(roles)::text ORDER BY 1), ', ')
                    || coalesce(' USING ' || CASE WHEN qual LIKE '(%%' THEN qual ELSE '(' || qual || ')' END, '')
                    || coalesce(' WITH CHECK ' || CASE WHEN test LIKE '(%%' THEN test ELSE '(' || test || ')' END, ''),
                roles
            )), '{}')
            FROM (SELECT *, with_check AS test FROM pg_policies) AS policies
            WHERE schemaname = 'public' AND tablename = relname
        ) AS policies
    FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition
    ORDER BY relname
"""


def _table_gaps(table: _Table) -> Iterator[Gap]:
    name, quoted = table.name, _quoted(table.name)
    if table.is_closed and not table.has_security:
        yield Gap(f"{name} has no row-level security", f"ALTER TABLE {quoted} ENABLE ROW LEVEL SECURITY")
    if table.is_view and not table.has_invokers_rights:  # the owner of the tables sees all rows
        fix = f"ALTER VIEW {quoted} SET (security_invoker = true)"
        yield Gap(f"the view {name} has the rights of its owner", fix)
    yield from _policy_gaps(table, quoted)
    for role, privileges in _wanted_grants(table).items():
        if lacks := ", ".join(_lacking(table, role, privileges)):
            yield Gap(f"{role} lacks {lacks} on {name}", f"GRANT {lacks} ON {quoted} TO {role}")
    for role in ("PUBLIC", APP_ROLE) if table.is_closed else ("PUBLIC",):
        allowed = f"{role}: INSERT" if role == APP_ROLE and name in APPEND_ONLY else ""
        if any(grant.startswith(f"{role}: ") and grant != allowed for grant in table.grants):
            yield Gap(f"{role} has rights on {name}", f"REVOKE ALL ON {quoted} FROM {role}")


def _policy_gaps(table: _Table, quoted: str) -> Iterator[Gap]:
    name, wanted = table.name, _wanted_policies(table)
    for policy, text in wanted.items():
        create = f"CREATE POLICY {policy} ON {quoted} {text}"
        if policy not in table.policies:
            yield Gap(f"{name} has no policy {policy}", create)
        elif table.policies[policy][0] != text:
            drop = f"DROP POLICY {policy} ON {quoted}"
            yield Gap(f"the policy {policy} of {name} is different", f"{drop}; {create}")
    for policy, (_, roles) in table.policies.items():
        if table.is_closed and policy not in wanted and not {"public", APP_ROLE, PERSON_ROLE}.isdisjoint(roles):
            yield Gap(f"the policy {policy} opens {name}", f"DROP POLICY {_quoted(policy)} ON {quoted}")


def _wanted_policies(table: _Table) -> dict[str, str]:
    if table.name in INTERNAL:
        return {"app": f"FOR ALL TO {APP_ROLE}, {SYSTEM_ROLE} USING (true)"}
    if not table.is_closed:
        return {}
    wanted = {"system": f"FOR ALL TO {SYSTEM_ROLE} USING (true)"}
    owned = OWNED.get(table.name)
    if owned and owned.column:
        wanted["own"] = f"FOR ALL TO {PERSON_ROLE} USING ({owned.column} = current_person())"
    if table.name in APPEND_ONLY:
        wanted["append"] = f"FOR INSERT TO {APP_ROLE} WITH CHECK (true)"
    return wanted


def _wanted_grants(table: _Table) -> dict[str, tuple[str, ...]]:
    everything: tuple[str, ...] = ("SELECT",) if table.is_view or table.name in READ_ONLY else _WRITE
    wanted: dict[str, tuple[str, ...]] = {SYSTEM_ROLE: everything}
    if not table.is_closed:
        wanted[APP_ROLE] = everything
    elif table.name in APPEND_ONLY:
        wanted[APP_ROLE] = ("INSERT",)
    if table.name in READABLE:
        wanted[PERSON_ROLE] = ("SELECT",)
    elif table.name in OWNED:
        wanted[PERSON_ROLE] = OWNED[table.name].grants
    return wanted


def _lacking(table: _Table, role: str, privileges: Sequence[str]) -> Iterator[str]:
    """Privileges that are not granted, without columns that a later migration adds."""
    for privilege in privileges:
        kind, _, listed = privilege.partition(" (")
        columns = [column for column in listed.rstrip(")").split(", ") if column in table.columns]
        needed = {f"{role}: {kind} ({column})" for column in columns} if listed else {f"{role}: {kind}"}
        if not needed.issubset(table.grants):
            yield f"{kind} ({', '.join(columns)})" if listed else kind


async def _function_gaps(conn: Connection) -> list[Gap]:
    """SECURITY DEFINER functions: callable by `headwater_system` only, and with a fixed search_path.

    All others are callable by our roles, also where the server's default is that new functions are not.
    """
    cur = await conn.execute(
        """
        SELECT oid::regprocedure::text, prosecdef, prorettype = 'trigger'::regtype,
            EXISTS (SELECT FROM unnest(proconfig) AS one WHERE one LIKE 'search_path=%%'),
            has_function_privilege(%(app)s, oid, 'EXECUTE'),
            ARRAY(
                SELECT role FROM unnest(%(roles)s::text[]) AS role
                WHERE NOT has_function_privilege(role, oid, 'EXECUTE') AND (NOT prosecdef OR role = %(system)s)
            )
        FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace
            AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')  -- of an extension
        ORDER BY 1
        """,
        {**_ROLES, "system": SYSTEM_ROLE, "app": APP_ROLE},
    )
    gaps: list[Gap] = []
    for name, is_definer, is_trigger, is_fixed, is_open, refused in await cur.fetchall():
        if is_definer and not is_fixed:
            fix = f"ALTER FUNCTION {name} SET search_path = pg_catalog, public, pg_temp"
            gaps.append(Gap(f"{name} runs as its owner without a fixed search_path", fix))
        if is_trigger:
            continue
        if is_definer and is_open:
            gaps.append(Gap(f"anyone may call {name}", f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC, {APP_ROLE}"))
        for role in [SYSTEM_ROLE] if is_definer and is_open else refused:
            gaps += [Gap(f"{role} may not call {name}", f"GRANT EXECUTE ON FUNCTION {name} TO {role}")]
    return gaps


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.islower() else '"' + name.replace('"', '""') + '"'
