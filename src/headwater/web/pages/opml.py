"""Feeds brought along from another reader: a file goes in, its lines are followed, and each tells what came of it."""

from typing import Any
from uuid import UUID

from litestar import Request, get, post
from litestar.background_tasks import BackgroundTask
from litestar.datastructures import UploadFile
from litestar.di import NamedDependency
from litestar.exceptions import HTTPException
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect, Template

from headwater.accounts.quotas import Quotas
from headwater.asgi.errors import status_of
from headwater.db import Database
from headwater.errors import Conflict, HeadwaterError, Invalid, NotFound, QuotaReached
from headwater.sandbox import Sandbox
from headwater.sources.importing import Importer
from headwater.sources.opml import BYTES_MAX
from headwater.sources.store import imports as imports_store
from headwater.sources.types import LINES_PER_PAGE, Import, LineOutcome
from headwater.types import Clock, UserId
from headwater.web.refusals import refusals

AnyRequest = Request[Any, Any, Any]
ENVELOPE = 65_536  # what a form adds to the file in it
NUMBER_MAX = 9  # digits


def refuse_upload(request: AnyRequest, error: HTTPException) -> Template:
    """A body that is too large or that is no form, said on the page with the form."""
    message = "The file is too large (5 MB at most)." if error.status_code == 413 else "Choose a file first."
    context = {"user": request.user, "error": message, "imports": ()}
    return Template("opml/page.html", context=context, status_code=error.status_code)


@get("/opml")
async def opml(request: AnyRequest, database: NamedDependency[Database], clock: NamedDependency[Clock]) -> Template:
    """The form, and what came of earlier files."""
    return await _page(request, database, clock)


@post(
    "/opml",
    status_code=303,
    request_max_body_size=BYTES_MAX + ENVELOPE,
    exception_handlers={HTTPException: refuse_upload},
)
async def bring(
    request: AnyRequest,
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    upload_sandbox: NamedDependency[Sandbox | None],
    quotas: NamedDependency[Quotas],
) -> Template | Redirect:
    """Take a file. Its lines are worked on behind the answer, and by each look at how far it is."""
    importer = Importer(database, clock, upload_sandbox, quotas)
    try:
        file_name, data = await _file(request)
        import_id = await importer.begin(request.user.id, file_name, data)
    except (Invalid, Conflict, QuotaReached) as error:
        return await _page(request, database, clock, error=error)
    behind = BackgroundTask(importer.finish, request.user.id, import_id)
    return Redirect(f"/opml/{import_id}", status_code=303, background=behind)


@get("/opml/{import_id:uuid}")
async def report(
    request: AnyRequest,
    import_id: FromPath[UUID],
    database: NamedDependency[Database],
    show: FromQuery[str] = "",
    after: FromQuery[str] = "0",
) -> Template:
    """What came of each line. Raises NotFound, Invalid."""
    outcome, number = _read_query(show, after)
    async with database.as_user(request.user.id) as conn:
        found = await imports_store.find(conn, import_id=import_id)
        lines = await imports_store.list_lines(
            conn, import_id=import_id, outcome=outcome, after=number, limit=LINES_PER_PAGE + 1
        )
    context = {
        "user": request.user,
        "found": _known(found),
        "show": outcome or "",
        "lines": lines[:LINES_PER_PAGE],
        "next": lines[LINES_PER_PAGE - 1].number if len(lines) > LINES_PER_PAGE else None,
    }
    return Template("opml/report.html", context=context)


@post("/opml/{import_id:uuid}/work", status_code=200, exception_handlers=refusals("Failed to load the import"))
async def work(
    request: AnyRequest,
    import_id: FromPath[UUID],
    database: NamedDependency[Database],
    clock: NamedDependency[Clock],
    quotas: NamedDependency[Quotas],
) -> Template:
    """How far an import is; whoever looks, helps. Raises NotFound."""
    user_id: UserId = request.user.id
    if (await _find(database, user_id, import_id)).is_running:
        await Importer(database, clock, quotas=quotas).work(user_id, import_id)
    found = await _find(database, user_id, import_id)
    headers = {} if found.is_running else {"HX-Trigger": "importFinished"}
    return Template("opml/progress.html", context={"found": found}, headers=headers)


async def _file(request: AnyRequest) -> tuple[str, bytes]:
    file = (await request.form()).get("file")
    if not isinstance(file, UploadFile) or not file.filename:
        raise Invalid("Choose a file first.")
    return file.filename, await file.read(BYTES_MAX + 1)


async def _page(
    request: AnyRequest, database: Database, clock: Clock, *, error: HeadwaterError | None = None
) -> Template:
    async with database.as_user(request.user.id) as conn:
        imports = await imports_store.list_all(conn)
    context = {"user": request.user, "imports": imports, "now": clock(), "error": str(error) if error else None}
    return Template("opml/page.html", context=context, status_code=status_of(error) if error else 200)


async def _find(database: Database, user_id: UserId, import_id: UUID) -> Import:
    async with database.as_user(user_id) as conn:
        return _known(await imports_store.find(conn, import_id=import_id))


def _known(found: Import | None) -> Import:
    if found is None:
        raise NotFound("Import not found.")
    return found


def _read_query(show: str, after: str) -> tuple[LineOutcome | None, int]:
    """What the address says. Raises Invalid."""
    if show not in {"", *LineOutcome} or not (after.isascii() and after.isdigit() and len(after) <= NUMBER_MAX):
        raise Invalid("Invalid page. Start at the first page.")
    return LineOutcome(show) if show else None, int(after)


opml_pages = [opml, bring, report, work]
