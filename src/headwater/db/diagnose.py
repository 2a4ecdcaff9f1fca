"""Why a connection to PostgreSQL fails, and what to do about it."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import PGconn, Ping

CONNECT_TIMEOUT_S = 5


class ConnectFault(StrEnum):
    DOWN = "down"
    UNKNOWN_HOST = "unknown_host"
    BUSY = "busy"
    WRONG_PASSWORD = "wrong_password"  # noqa: S105  the name of a fault
    NO_LOGIN = "no_login"
    NOT_ADMITTED = "not_admitted"
    NO_DATABASE = "no_database"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    fault: ConnectFault
    problem: str
    fix: str


# English messages of PostgreSQL and its client. In other languages `_by_trying` finds most faults.
_MESSAGES: Mapping[str, ConnectFault] = {
    r"could not translate host name|name or service not known|nodename nor servname": ConnectFault.UNKNOWN_HOST,
    r"connection refused|no such file or directory|timeout expired|timed out|unreachable": ConnectFault.DOWN,
    r"password authentication failed|no password supplied": ConnectFault.WRONG_PASSWORD,
    r'role "[^"]*" does not exist|role "[^"]*" is not permitted to log in': ConnectFault.NO_LOGIN,
    r'database "[^"]*" does not exist': ConnectFault.NO_DATABASE,
    r"no pg_hba\.conf entry|permission denied for database": ConnectFault.NOT_ADMITTED,
    r"(peer|ident) authentication failed": ConnectFault.NOT_ADMITTED,
    r"starting up|shutting down|recovery|too many (clients|connections)|connection slots": ConnectFault.BUSY,
}


async def diagnose(conninfo: str) -> Diagnosis | None:
    """Connect as the pool would; None when that works."""
    try:
        await _connect(conninfo)
    except psycopg.OperationalError as error:
        fault = fault_in(str(error)) or await _by_trying(conninfo)
        return _describe(fault, conninfo, str(error))
    return None


def fault_in(text: str) -> ConnectFault | None:
    return next((fault for pattern, fault in _MESSAGES.items() if re.search(pattern, text, re.IGNORECASE)), None)


async def _by_trying(conninfo: str) -> ConnectFault:
    match await asyncio.to_thread(PGconn.ping, make_conninfo(conninfo, connect_timeout=CONNECT_TIMEOUT_S).encode()):
        case Ping.NO_RESPONSE:
            return ConnectFault.DOWN
        case Ping.REJECT:
            return ConnectFault.BUSY
        case Ping.OK:
            try:
                await _connect(make_conninfo(conninfo, dbname="postgres"))
            except psycopg.OperationalError:
                return ConnectFault.OTHER
            return ConnectFault.NO_DATABASE
        case _:
            return ConnectFault.OTHER


async def _connect(conninfo: str) -> None:
    conn = await psycopg.AsyncConnection.connect(conninfo, connect_timeout=CONNECT_TIMEOUT_S)
    await conn.close()


def _describe(fault: ConnectFault, conninfo: str, text: str) -> Diagnosis:
    given = conninfo_to_dict(conninfo)
    host = given.get("hostaddr") or given.get("host") or "the local socket"
    server = f"{host}, port {given.get('port') or 5432}"
    user = given.get("user") or "the user of this process"
    database = given.get("dbname") or user
    problem, fix = {
        ConnectFault.DOWN: (
            f"no PostgreSQL answers at {server}",
            "Start the server, or correct host and port in DATABASE_URL; check that no firewall is between.",
        ),
        ConnectFault.UNKNOWN_HOST: (f"the host name {host} is unknown", "Correct the host in DATABASE_URL, or DNS."),
        ConnectFault.BUSY: (
            f"PostgreSQL at {server} answers, but accepts no connections: {_last_line(text)}",
            "Wait until it has started, or raise max_connections; HEADWATER_DATABASE_POOL_SIZE lowers our share.",
        ),
        ConnectFault.WRONG_PASSWORD: (
            f"PostgreSQL at {server} refuses the password of {user}, or has no such user",
            f"Correct user and password in DATABASE_URL, or as a superuser: ALTER ROLE {user} LOGIN PASSWORD '…';",
        ),
        ConnectFault.NO_LOGIN: (
            f"PostgreSQL at {server} has no login {user}",
            f"Correct the user in DATABASE_URL, or create the roles (docs/install.md): CREATE ROLE {user} LOGIN …;",
        ),
        ConnectFault.NOT_ADMITTED: (
            f"PostgreSQL at {server} does not admit {user} to the database {database}: {_last_line(text)}",
            f"Allow it in pg_hba.conf, or: GRANT CONNECT ON DATABASE {database} TO {user};",
        ),
        ConnectFault.NO_DATABASE: (
            f"PostgreSQL at {server} has no database {database}",
            f"Correct the name in DATABASE_URL, or create it: CREATE DATABASE {database};",
        ),
        ConnectFault.OTHER: (
            f"PostgreSQL at {server} refuses the connection: {_last_line(text)}",
            "Correct DATABASE_URL; the server's log says more.",
        ),
    }[fault]
    return Diagnosis(fault, problem, fix)


def _last_line(text: str) -> str:
    """The server's message is at the end of the client's."""
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "it gives no reason"
