"""`headwater doctor`: checks of the installation, and how to fix what fails."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException

from headwater.cli.terminal import AsJson, exit_failed, load_quietly, out, print_json, run
from headwater.db.diagnose import diagnose
from headwater.db.query import database_clock
from headwater.db.server import is_initialised
from headwater.errors import (
    Conflict,
    DatabaseUnavailable,
    HeadwaterError,
    Invalid,
    RightsMissing,
    SchemaBehind,
    SchemaTooNew,
    SchemaUnreleased,
)
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
    mend: str = ""


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
        detail = f"there is none in {settings.data_dir} yet; `headwater up` creates it"
        return [Finding("database", ok=True, detail=detail)]
    try:
        async with open_runtime(settings) as runtime, runtime.database.transaction() as conn:
            version, theirs = conn.info.server_version // 10_000, await database_clock(conn)
            trusted_at = (await clocks.read(conn)).trusted_at
    except HeadwaterError as error:
        return [await _explain(settings, error)]
    server = Finding("database", ok=True, detail=f"PostgreSQL {version}, {where}, schema up to date")
    if version < OLDEST_SERVER:
        fix = f"Use PostgreSQL {OLDEST_SERVER} or newer."
        server = Finding("database", ok=False, detail=f"PostgreSQL {version} is too old", mend=fix)
    return [server, _clock("clock (database)", theirs), _last_run(trusted_at)]


async def _explain(settings: Settings, error: HeadwaterError) -> Finding:
    """What is wrong with the database, and its fix."""
    detail = str(error)
    match error:
        case RightsMissing():
            detail = "roles, grants or policies are incomplete: " + "; ".join(error.problems)
            fix = "Run `headwater migrate up`; what that login may not do, a superuser runs: "
            fix += " ".join(f"{statement};" for statement in error.statements)
        case SchemaBehind():
            fix = "Run `headwater migrate up`."
        case SchemaTooNew():
            fix = "Run the newer Headwater that migrated it."
        case SchemaUnreleased():
            detail = f"a development version created it (migration {error.name}); it cannot be upgraded"
            fix = "Export your feeds as OPML with that version, then use an empty database and import the file."
        case DatabaseUnavailable() if settings.database_url:
            found = await diagnose(settings.database_url.get_secret_value())
            detail, fix = (found.problem, found.fix) if found else (detail, "It answers again: run this once more.")
        case _ if settings.database_url:
            fix = "Check DATABASE_URL."
        case _:
            fix = f"See {settings.data_dir / 'postgres.log'}; or give a server of your own with DATABASE_URL."
    return Finding("database", ok=False, detail=detail, mend=fix)


async def _network(settings: Settings) -> Sequence[Finding]:
    try:
        async with open_client(settings) as client:
            response = await client.get(settings.doctor_url, within=PROBE_TIMEOUT, max_bytes=10_000_000)
    except FetchError as error:
        mend = "Check the network, its DNS and its firewall; or set HEADWATER_DOCTOR_URL to a page that can be reached."
        return [Finding("network", ok=False, detail=str(error), mend=mend)]
    good = Finding("network", ok=True, detail=f"{settings.doctor_url} answers with {response.status}")
    try:
        return [good, _clock("clock (network)", parsedate_to_datetime(response.headers.get("Date", "")))]
    except ValueError:
        return [good]


def _clock(name: str, theirs: datetime) -> Finding:
    apart = abs(utc_now() - theirs)
    ok = apart <= CLOCK_SLACK
    mend = "" if ok else "Set the clock by NTP: schedules and leases need clocks that agree."
    return Finding(name, ok=ok, detail=f"{apart.total_seconds():.1f} s apart from this machine's", mend=mend)


def _last_run(trusted_at: datetime | None) -> Finding:
    jump = jump_since(utc_now(), trusted_at)
    last = f"last run at {trusted_at:%Y-%m-%d %H:%M} UTC" if trusted_at else "no run yet"
    mend = "Set the clock; if it is right, `headwater retention run --confirm`. Until then nothing is deleted."
    return Finding("clock (last run)", ok=jump is None, detail=jump or last, mend=mend if jump else "")


def _port(settings: Settings) -> Finding:
    where = f"{settings.port} on {settings.host}"
    try:
        listen(settings.host, settings.port).close()
    except Conflict:
        if _is_headwater(settings.host, settings.port):
            return Finding("port", ok=True, detail=f"{where} is served by a running Headwater")
        fix = "Stop that program, or choose another port with HEADWATER_PORT."
        return Finding("port", ok=False, detail=f"{where} is taken by a program that is not Headwater", mend=fix)
    except Invalid as error:
        fix = "Choose others with HEADWATER_HOST and HEADWATER_PORT."
        return Finding("port", ok=False, detail=str(error), mend=fix)
    return Finding("port", ok=True, detail=f"{where} is free")


def _is_headwater(host: str, port: int) -> bool:
    """Whether Headwater's metrics are served there."""
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
    ok = free >= DISK_LOW_BYTES or settings.database_url is not None
    mend = "" if ok else "Free space, or move the data with HEADWATER_DATA_DIR: a full disk stops the database."
    return Finding("disk", ok=ok, detail=f"{free / 1e9:.1f} GB free at {folder}", mend=mend)


def _contact(settings: Settings) -> Finding:
    known = settings.contact_url != DEFAULT_CONTACT
    detail = settings.contact_url if known else "site owners cannot contact you"
    mend = "" if known else "Set HEADWATER_CONTACT_URL to your page or mailto:; it is part of the User-Agent."
    return Finding("contact", ok=True, detail=detail, mend=mend)


def _show(finding: Finding) -> None:
    mark = "[green]✓[/]" if finding.ok and not finding.mend else "[yellow]![/]" if finding.ok else "[red]✗[/]"
    out.print(f"{mark} [bold]{finding.name}[/]", end=" ")
    out.print(finding.detail, markup=False)
    if finding.mend:
        out.print(f"  → {finding.mend}", markup=False)
