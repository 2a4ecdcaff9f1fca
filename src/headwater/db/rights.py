"""Roles, grants and policies: what the database must have, what is missing, and the statement that adds it.

The login of `headwater migrate` owns the tables. Connections of the pool act as `headwater_app`, which sees no rows of
users; `Database.as_user` changes to `headwater_person`, which sees the rows of one user, and `Database.as_system` to
`headwater_system`, which sees those of all. None of the three is a superuser, has BYPASSRLS, or owns a table.
docs/architecture.md explains how to add a query or a table.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, LiteralString, cast

import psycopg

from headwater.db.pool import APP_ROLE, PERSON_ROLE, SYSTEM_ROLE, Connection
from headwater.db.query import fetch_all, fetch_value
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
    "audit_log": Owned(None),
}
# Written by every transaction, read only by `as_system`.
APPEND_ONLY: frozenset[str] = frozenset({"audit_log"})
# No access for a user's transaction, full access for the others.
INTERNAL: frozenset[str] = frozenset({
    "attempts", "shared_secrets", "blocked_domains", "incidents", "incident_messages", "incident_notices",
    "alert_samples", "alert_state", "own_outages",
})  # fmt: skip
# Shared tables that name a user, and why their rows do not belong to that user.
NAMING_A_USER: Mapping[str, str] = {
    "sources": "a source is shared by all its readers",
    "blocked_domains": "the operators' list; blocked_by is the operator",
}
# Shared tables that a user's transaction may read.
READABLE: frozenset[str] = frozenset(
    {"sources", "feed_state", "hosts", "articles", "article_sources", "content", "source_suggestions"}
)
READ_ONLY: frozenset[str] = frozenset({"schema_migration"})


@dataclass(frozen=True, slots=True)
class Gap:
    """A missing or excessive right, and the statement that fixes it."""

    problem: str
    statement: str


@dataclass(frozen=True, slots=True)
class _Role:
    name: str
    is_superuser: bool
    bypasses: bool
    inherits: bool


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    is_view: bool
    has_security: bool
    names_user: bool
    owner: str
    columns: frozenset[str]
    grants: dict[str, set[str]] = field(default_factory=dict[str, set[str]])  # role: "SELECT", "SELECT (id)"
    policies: dict[str, "_Policy"] = field(default_factory=dict[str, "_Policy"])

    @property
    def is_closed(self) -> bool:
        """Whether its rows belong to users, and are hidden from `headwater_app`."""
        if self.is_view or self.name in INTERNAL:
            return False
        return self.name in OWNED or self.has_security or (self.names_user and self.name not in NAMING_A_USER)


@dataclass(frozen=True, slots=True)
class _Policy:
    command: str
    roles: frozenset[str]
    using: str | None
    check: str | None

    def __str__(self) -> str:
        using = f" USING ({self.using})" if self.using else ""
        check = f" WITH CHECK ({self.check})" if self.check else ""
        return f"FOR {self.command} TO {', '.join(sorted(self.roles))}{using}{check}"


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
    """The error that says what to run."""
    return RightsMissing([gap.problem for gap in gaps], [gap.statement for gap in gaps])


async def find_gaps(conn: Connection, *, is_app_login: bool) -> Sequence[Gap]:
    """Missing and excessive rights, in the order in which they can be fixed. Reads the catalogue only."""
    roles = await _roles(conn)
    gaps = [*_role_gaps(roles), *await _membership_gaps(conn, roles, is_app_login=is_app_login)]
    if len(roles) < len(ROLES):
        return gaps
    gaps += await _schema_gaps(conn)
    for table in await _tables(conn):
        gaps += _table_gaps(table)
    return [*gaps, *await _function_gaps(conn)]


async def _fix(conn: Connection, gap: Gap) -> bool:
    try:
        await conn.execute(cast("LiteralString", gap.statement))  # made above, of names in the catalogue
    except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation, psycopg.errors.InternalError_):
        return True  # another database of this server did it: checked again
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedObject):
        return False
    return True


async def _login(conn: Connection) -> str:
    return await fetch_value(conn, "SELECT session_user::text")


async def _roles(conn: Connection) -> dict[str, _Role]:
    found = await fetch_all(
        conn,
        _Role,
        """
        SELECT rolname::text AS name, rolsuper AS is_superuser, rolbypassrls AS bypasses, rolinherit AS inherits
        FROM pg_roles
        WHERE rolname = ANY (%(names)s)
        """,
        {"names": list(ROLES)},
    )
    return {role.name: role for role in found}


def _role_gaps(roles: Mapping[str, _Role]) -> Iterator[Gap]:
    for name in ROLES:
        role = roles.get(name)
        if role is None:
            yield Gap(f"the role {name} does not exist", f"CREATE ROLE {name} NOLOGIN NOINHERIT")
            continue
        if role.is_superuser:
            yield Gap(f"the role {name} is a superuser", f"ALTER ROLE {name} NOSUPERUSER")
        if role.bypasses:
            yield Gap(f"the role {name} bypasses row-level security", f"ALTER ROLE {name} NOBYPASSRLS")
        if role.inherits and name == APP_ROLE:
            yield Gap(f"the role {name} inherits from {SYSTEM_ROLE}", f"ALTER ROLE {name} NOINHERIT")


async def _membership_gaps(conn: Connection, roles: Mapping[str, _Role], *, is_app_login: bool) -> Sequence[Gap]:
    has_options = conn.info.server_version >= _SET_OPTION_SINCE
    option = " WITH INHERIT FALSE, SET TRUE" if has_options else ""
    settable = "SET" if has_options else "MEMBER"
    gaps: list[Gap] = []
    for group in (PERSON_ROLE, SYSTEM_ROLE):
        grant = f"GRANT {group} TO {APP_ROLE}{option}"
        if APP_ROLE not in roles or group not in roles or not await _has_role(conn, APP_ROLE, group, settable):
            gaps.append(Gap(f"{APP_ROLE} is not a member of {group}", grant))
        elif await _has_role(conn, APP_ROLE, group, "USAGE"):
            gaps.append(Gap(f"{APP_ROLE} inherits the rights of {group}", f"REVOKE {group} FROM {APP_ROLE}"))
    gaps += [
        Gap(f"{member} is a member of {group}", f"REVOKE {_quoted(group)} FROM {member}")
        for member, group in await _foreign_memberships(conn)
    ]
    login = await _login(conn)
    if (
        is_app_login
        and login != APP_ROLE
        and (APP_ROLE not in roles or not await _has_role(conn, login, APP_ROLE, settable))
    ):
        gaps.append(Gap(f"the login {login} is not a member of {APP_ROLE}", f"GRANT {APP_ROLE} TO {_quoted(login)}"))
    return gaps


async def _foreign_memberships(conn: Connection) -> Sequence[tuple[str, str]]:
    """Other roles that ours could change to: each would bypass the policies."""
    cur = await conn.execute(
        """
        SELECT DISTINCT member::regrole::text, pg_get_userbyid(roleid)::text
        FROM pg_auth_members
        WHERE pg_get_userbyid(member) = ANY (%(roles)s)
            AND (pg_get_userbyid(member) <> %(app)s OR pg_get_userbyid(roleid) <> ALL (%(groups)s))
        ORDER BY 1, 2
        """,
        {"roles": list(ROLES), "app": APP_ROLE, "groups": [PERSON_ROLE, SYSTEM_ROLE]},
    )
    return await cur.fetchall()


async def _has_role(conn: Connection, member: str, role: str, privilege: str) -> bool:
    statement = "SELECT pg_has_role(%(member)s::name, %(role)s::name, %(privilege)s)"
    return await fetch_value(conn, statement, {"member": member, "role": role, "privilege": privilege})


async def _schema_gaps(conn: Connection) -> Sequence[Gap]:
    gaps: list[Gap] = []
    for role in ROLES:
        cur = await conn.execute(
            """
            SELECT has_schema_privilege(%(role)s, 'public', 'USAGE'),
                has_schema_privilege(%(role)s, 'public', 'CREATE')
            """,
            {"role": role},
        )
        row = await cur.fetchone()
        if row and not row[0]:
            gaps.append(Gap(f"{role} may not use the schema", f"GRANT USAGE ON SCHEMA public TO {role}"))
        if row and row[1]:  # its own function or table could shadow one of ours
            whom = f"PUBLIC, {', '.join(ROLES)}"
            gaps.append(Gap(f"{role} may create in the schema", f"REVOKE CREATE ON SCHEMA public FROM {whom}"))
    return gaps


async def _tables(conn: Connection) -> Sequence[_Table]:
    cur = await conn.execute(
        """
        SELECT relname::text, relkind = 'v', relrowsecurity, pg_get_userbyid(relowner)::text,
            EXISTS (
                SELECT FROM pg_attribute
                WHERE attrelid = pg_class.oid AND attname = 'user_id' AND NOT attisdropped
            ) OR EXISTS (
                SELECT FROM pg_constraint
                WHERE conrelid = pg_class.oid AND contype = 'f'
                    AND confrelid IN (to_regclass('public.users'), to_regclass('public.user_ids'))
            ),
            ARRAY(
                SELECT attname::text FROM pg_attribute
                WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
            )
        FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition
        ORDER BY relname
        """
    )
    tables = {
        name: _Table(name, is_view, has_security, names_user, owner, frozenset(columns))
        for name, is_view, has_security, owner, names_user, columns in await cur.fetchall()
    }
    cur = await conn.execute(
        """
        SELECT relname::text, coalesce(pg_roles.rolname::text, 'PUBLIC'), privilege_type
        FROM pg_class, aclexplode(relacl)
        LEFT JOIN pg_roles ON pg_roles.oid = grantee
        WHERE relnamespace = 'public'::regnamespace AND (grantee = 0 OR rolname = ANY (%(roles)s))
        UNION ALL
        SELECT relname::text, coalesce(pg_roles.rolname::text, 'PUBLIC'), privilege_type || ' (' || attname || ')'
        FROM pg_class
        JOIN pg_attribute ON attrelid = pg_class.oid, aclexplode(attacl)
        LEFT JOIN pg_roles ON pg_roles.oid = grantee
        WHERE relnamespace = 'public'::regnamespace AND (grantee = 0 OR rolname = ANY (%(roles)s))
        """,
        {"roles": list(ROLES)},
    )
    for name, role, privilege in await cur.fetchall():
        if name in tables:
            tables[name].grants.setdefault(role, set()).add(privilege)
    cur = await conn.execute(
        "SELECT tablename::text, policyname::text, cmd, roles::text[], qual, with_check"
        " FROM pg_policies WHERE schemaname = 'public'"
    )
    for name, policy, command, roles, using, check in await cur.fetchall():
        tables[name].policies[policy] = _Policy(command, frozenset(roles), _inner(using), _inner(check))
    return list(tables.values())


def _table_gaps(table: _Table) -> Iterator[Gap]:
    if table.is_closed and not table.has_security:
        yield Gap(
            f"{table.name} has no row-level security", f"ALTER TABLE {_quoted(table.name)} ENABLE ROW LEVEL SECURITY"
        )
    yield from _policy_gaps(table)
    for role, privileges in _wanted_grants(table).items():
        has = table.grants.get(role, set())
        lacks = [privilege for privilege in privileges if not _columns(privilege) <= has]
        if lacks:
            yield Gap(
                f"{role} lacks {', '.join(lacks)} on {table.name}",
                f"GRANT {', '.join(lacks)} ON {_quoted(table.name)} TO {role}",
            )
    for role in ("PUBLIC", APP_ROLE) if table.is_closed else ("PUBLIC",):
        allowed = {"INSERT"} if role == APP_ROLE and table.name in APPEND_ONLY else set[str]()
        if table.grants.get(role, set()) - allowed:
            yield Gap(f"{role} has rights on {table.name}", f"REVOKE ALL ON {_quoted(table.name)} FROM {role}")


def _policy_gaps(table: _Table) -> Iterator[Gap]:
    wanted = _wanted_policies(table)
    for name, policy in wanted.items():
        there = table.policies.get(name)
        create = f"CREATE POLICY {name} ON {_quoted(table.name)} {policy}"
        if there is None:
            yield Gap(f"{table.name} has no policy {name}", create)
        elif there != policy:
            drop = f"DROP POLICY {name} ON {_quoted(table.name)}"
            yield Gap(f"the policy {name} of {table.name} is different", f"{drop}; {create}")
    for name, policy in table.policies.items():
        if table.is_closed and name not in wanted and policy.roles & {"public", APP_ROLE, PERSON_ROLE}:
            yield Gap(f"the policy {name} opens {table.name}", f"DROP POLICY {_quoted(name)} ON {_quoted(table.name)}")


def _wanted_policies(table: _Table) -> dict[str, _Policy]:
    if table.name in INTERNAL:
        return {"app": _Policy("ALL", frozenset({APP_ROLE, SYSTEM_ROLE}), "true", None)}
    if not table.is_closed:
        return {}
    wanted = {"system": _Policy("ALL", frozenset({SYSTEM_ROLE}), "true", None)}
    owned = OWNED.get(table.name)
    if owned and owned.column:
        wanted["own"] = _Policy("ALL", frozenset({PERSON_ROLE}), f"{owned.column} = current_person()", None)
    if table.name in APPEND_ONLY:
        wanted["append"] = _Policy("INSERT", frozenset({APP_ROLE}), None, "true")
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
        wanted[PERSON_ROLE] = tuple(_existing_columns(OWNED[table.name].grants, table.columns))
    return wanted


def _existing_columns(privileges: Iterable[str], columns: frozenset[str]) -> Iterator[str]:
    """Privileges without columns that a later migration adds."""
    for privilege in privileges:
        kind, _, named = privilege.partition(" (")
        there = [column for column in named.rstrip(")").split(", ") if column in columns]
        if there or not named:
            yield f"{kind} ({', '.join(there)})" if named else kind


async def _function_gaps(conn: Connection) -> Sequence[Gap]:
    """SECURITY DEFINER functions: callable by `headwater_system` only, and with a fixed search_path."""
    cur = await conn.execute(
        """
        SELECT oid::regprocedure::text, prorettype = 'trigger'::regtype,
            EXISTS (SELECT FROM unnest(proconfig) AS one WHERE one LIKE 'search_path=%%'),
            has_function_privilege(%(system)s, oid, 'EXECUTE'), has_function_privilege(%(app)s, oid, 'EXECUTE')
        FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND prosecdef
        ORDER BY 1
        """,
        {"system": SYSTEM_ROLE, "app": APP_ROLE},
    )
    gaps: list[Gap] = []
    for name, is_trigger, is_fixed, is_callable, is_open in await cur.fetchall():
        if not is_fixed:
            fix = f"ALTER FUNCTION {name} SET search_path = pg_catalog, public, pg_temp"
            gaps.append(Gap(f"{name} runs as its owner without a fixed search_path", fix))
        if is_trigger:
            continue
        if is_open:
            gaps.append(Gap(f"anyone may call {name}", f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC, {APP_ROLE}"))
        if is_open or not is_callable:
            gaps.append(Gap(f"{SYSTEM_ROLE} may not call {name}", f"GRANT EXECUTE ON FUNCTION {name} TO {SYSTEM_ROLE}"))
    return gaps


def _columns(privilege: str) -> set[str]:
    """A privilege as in the catalogue: one for each column."""
    kind, _, columns = privilege.partition(" (")
    return {f"{kind} ({column.strip()})" for column in columns.rstrip(")").split(",")} if columns else {kind}


def _inner(expression: str | None) -> str | None:
    """Without the parentheses that PostgreSQL puts around expressions."""
    if expression and expression.startswith("(") and expression.endswith(")"):
        return expression[1:-1]
    return expression


def _quoted(name: str) -> str:
    return name if name.isidentifier() and name.islower() else '"' + name.replace('"', '""') + '"'
