"""`headwater doctor`: checks of the installation, and how to fix what fails."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException

from headwater import errors
from headwater.cli.options import AsJson
from headwater.cli.output import out, print_json
from headwater.cli.terminal import exit_failed, load_quietly, run
from headwater.db.diagnose import diagnose
from headwater.db.embedded import is_initialised
from headwater.db.query import database_clock, database_letters
from headwater.net import FetchError
from headwater.runtime import open_client, open_runtime, utc_now
from headwater.server import listen
from headwater.settings import DEFAULT_CONTACT, Settings
from headwater.timekeeping import store as clocks
from headwater.timekeeping.decide import jump_since

DISK_LOW_BYTES = 1_000_000_000
CLOCK_SLACK = timedelta(seconds=30)
PROBE_TIMEOUT = timedelta(seconds=10)
OLDEST_SERVER = 15
PORT_TIMEOUT_S = 3
METRICS_READ = 1_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    ok: bool
    detail: str
    fix: str = ""


def _finding(name: str, detail: str, problem: object = None, fix: str = "") -> Finding:
    """A check that failed where `problem` is true."""
    return Finding(name, ok=not problem, detail=detail, fix=fix if problem else "")


def doctor(as_json: AsJson = False) -> None:
    """Check database, port, clock, network and disk, and say how to fix what fails. Exits with 1 if a check fails.

    Example: headwater doctor
    """
    settings = load_quietly()
    findings = [*run(_database(settings)), *run(_network(settings)), _port(settings)]
    findings += [_disk(settings), _contact(settings)]
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            _show(finding)
    exit_failed(not all(finding.ok for finding in findings))


async def _database(settings: Settings) -> Sequence[Finding]:
    where = "the server of DATABASE_URL" if settings.database_url else f"embedded in {settings.data_dir}"
    if settings.database_url is None and not is_initialised(settings.data_dir):
        return [_finding("database", f"there is none in {settings.data_dir} yet; `headwater up` creates it")]
    try:
        async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
            (version, minor), theirs = divmod(conn.info.server_version, 10_000), await database_clock(conn)
            trusted_at, letters = (await clocks.read(conn)).trusted_at, await database_letters(conn)
    except errors.HeadwaterError as error:
        return [await _explain(settings, error)]
    is_old, fix = version < OLDEST_SERVER, f"Use PostgreSQL {OLDEST_SERVER} or newer."
    server = f"PostgreSQL {version}.{minor}"
    detail = f"{server} is too old" if is_old else f"{server}, {where}, schema up to date"
    database = _finding("database", detail, is_old, fix)
    return [database, text_search(letters), _clock("clock (database)", theirs), _last_run(trusted_at)]


async def _explain(settings: Settings, error: errors.HeadwaterError) -> Finding:
    """What is wrong with the database, and its fix."""
    detail = str(error)
    match error:
        case errors.RightsMissing():
            detail = "roles, grants or policies are incomplete: " + "; ".join(error.problems)
            fix = "Run `headwater migrate up`; a superuser must run what that login may not: "
            fix += " ".join(f"{statement};" for statement in error.statements)
        case errors.SchemaBehind():
            fix = "Run `headwater migrate up`."
        case errors.SchemaTooNew():
            fix = "Run the newer Headwater that migrated it."
        case errors.SchemaUnreleased():
            detail = f"a development version created it (migration {error.name}); it cannot be upgraded"
            fix = "Export your feeds as OPML with that version, then use an empty database and import the file."
        case errors.DatabaseUnavailable() if settings.database_url:
            found = await diagnose(settings.database_url.get_secret_value())
            detail, fix = (found.problem, found.fix) if found else (detail, "It responds now. Run this command again.")
        case _ if settings.database_url:
            fix = "Check DATABASE_URL."
        case _:
            fix = f"See {settings.data_dir / 'postgres.log'}; or give a server of your own with DATABASE_URL."
    return _finding("database", detail, error, fix)


async def _network(settings: Settings) -> Sequence[Finding]:
    try:
        async with open_client(settings) as client:
            response = await client.get(settings.doctor_url, within=PROBE_TIMEOUT, max_bytes=10_000_000)
    except FetchError as error:
        fix = "Check the network, its DNS and its firewall; or set HEADWATER_DOCTOR_URL to a page that can be reached."
        return [_finding("network", str(error), error, fix)]
    findings = [_finding("network", f"{settings.doctor_url} answers with {response.status}")]
    with suppress(ValueError):
        findings.append(_clock("clock (network)", parsedate_to_datetime(response.headers.get("Date", ""))))
    return findings


def text_search(letters: str) -> Finding:
    """By LC_CTYPE of the database. In `C`, each character outside ASCII is a letter."""
    if letters not in {"C", "POSIX"}:
        return Finding("text search", ok=True, detail=f"letters by {letters}")
    detail = f"LC_CTYPE of the database is {letters}: words beside typographic quotation marks and dashes are not found"
    fix = "Dump the database, and restore it into one of LC_CTYPE C.UTF-8, or into a new data folder."
    return Finding("text search", ok=True, detail=detail, fix=fix)


def _clock(name: str, theirs: datetime) -> Finding:
    apart = abs(utc_now() - theirs)
    fix = "Set the clock by NTP: schedules and leases need clocks that agree."
    return _finding(name, f"{apart.total_seconds():.1f} s apart from this machine's", apart > CLOCK_SLACK, fix)


def _last_run(trusted_at: datetime | None) -> Finding:
    jump = jump_since(utc_now(), trusted_at)
    last = f"last run at {trusted_at:%Y-%m-%d %H:%M} UTC" if trusted_at else "no run yet"
    fix = "Set the clock; if it is right, `headwater retention run --confirm`. Until then nothing is deleted."
    return _finding("clock (last run)", jump or last, jump, fix)


def _port(settings: Settings) -> Finding:
    where = f"{settings.port} on {settings.host}"
    try:
        listen(settings.host, settings.port).close()
    except errors.Conflict:
        if _is_headwater(settings.host, settings.port):
            return _finding("port", f"{where} is served by a running Headwater")
        fix = "Stop that program, or choose another port with HEADWATER_PORT."
        return _finding("port", f"{where} is used by another program", where, fix)
    except errors.Invalid as error:
        return _finding("port", str(error), error, "Choose others with HEADWATER_HOST and HEADWATER_PORT.")
    return _finding("port", f"{where} is free")


def _is_headwater(host: str, port: int) -> bool:
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared, not bound
    connection = HTTPConnection(reached, port, timeout=PORT_TIMEOUT_S)
    try:
        connection.request("GET", "/metrics")
        return b"headwater_build" in connection.getresponse().read(METRICS_READ)
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _disk(settings: Settings) -> Finding:
    folder = settings.data_dir.expanduser().absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    is_full = free < DISK_LOW_BYTES and settings.database_url is None
    fix = "Free space, or move the data with HEADWATER_DATA_DIR: a full disk stops the database."
    return _finding("disk", f"{free / 1e9:.1f} GB free at {folder}", is_full, fix)


def _contact(settings: Settings) -> Finding:
    known = settings.contact_url != DEFAULT_CONTACT
    detail = settings.contact_url if known else "site owners cannot contact you"
    fix = "" if known else "Set HEADWATER_CONTACT_URL to your page or mailto:; it is part of the User-Agent."
    return Finding("contact", ok=True, detail=detail, fix=fix)


def _show(finding: Finding) -> None:
    mark = "[green]✓[/]" if finding.ok and not finding.fix else "[yellow]![/]" if finding.ok else "[red]✗[/]"
    out.print(f"{mark} [bold]{finding.name}[/]", end=" ")
    out.print(finding.detail, markup=False)
    if finding.fix:
        out.print(f"  → {finding.fix}", markup=False)
