"""OPML import with a report of each line, and export: the feeds as OPML, all data of a user as a ZIP file."""

from collections.abc import AsyncIterator
from uuid import UUID

from litestar import Response, get, post
from litestar.background_tasks import BackgroundTask
from litestar.datastructures import UploadFile
from litestar.di import NamedDependency
from litestar.exceptions import HTTPException
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect, Stream, Template

from headwater.accounts.quotas import Quotas
from headwater.asgi.errors import status_of
from headwater.asgi.guard import is_head
from headwater.asgi.handlers import AnyRequest, Call, CallContext
from headwater.errors import Conflict, HeadwaterError, Invalid, NotFound, QuotaReached
from headwater.library.exporting.archive import export, pages
from headwater.sandbox import Sandbox
from headwater.sources.opml import BYTES_MAX, OpmlLine, write_opml
from headwater.sources.opml_import import Importer
from headwater.sources.store import imports as imports_store
from headwater.sources.types import LINES_PER_PAGE, Import, LineOutcome
from headwater.web.errors import fragment
from headwater.web.query import parse_number

BODY_MAX = BYTES_MAX + 65_536  # bytes of the file and of the form around it


def upload_error(request: AnyRequest, error: HTTPException) -> Template:
    """The page with the form, after a body that is too large or not a form."""
    message = "The file is too large (5 MB at most)." if error.status_code == 413 else "Choose a file first."
    context = {"user": request.user, "error": message, "imports": ()}
    return Template("opml/page.html", context=context, status_code=error.status_code)


@get("/opml")
async def opml(call: Call) -> Template:
    return await _page(call)


@post("/opml", status_code=303, request_max_body_size=BODY_MAX, exception_handlers={HTTPException: upload_error})
async def upload(
    call: Call, upload_sandbox: NamedDependency[Sandbox | None], quotas: NamedDependency[Quotas]
) -> Template | Redirect:
    """Upload a file. Its lines are imported in the background, and by each request for the progress."""
    importer = Importer(call.database, call.clock, upload_sandbox, quotas)
    try:
        file = (await call.request.form()).get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise Invalid("Choose a file first.")  # noqa: TRY301  shown on the page
        import_id = await importer.begin(call.user.id, file.filename, await file.read(BYTES_MAX + 1))
    except (Invalid, Conflict, QuotaReached) as error:
        return await _page(call, error=error)
    task = BackgroundTask(importer.finish, call.user.id, import_id)
    return Redirect(f"/opml/{import_id}", status_code=303, background=task)


@get("/opml/{import_id:uuid}")
async def report(
    call: Call, import_id: FromPath[UUID], show: FromQuery[str] = "", after: FromQuery[str] = "0"
) -> Template:
    number = parse_number(after, digits=9)
    if show not in {"", *LineOutcome} or number is None:
        raise Invalid("Invalid page. Start at the first page.")
    outcome = LineOutcome(show) if show else None
    found = await _find(call, import_id)
    async with call.as_user() as conn:
        limit = LINES_PER_PAGE + 1
        lines = await imports_store.list_lines(conn, import_id=import_id, outcome=outcome, after=number, limit=limit)
    following = lines[LINES_PER_PAGE - 1].number if len(lines) > LINES_PER_PAGE else None
    return call.page("opml/report.html", found=found, show=show, lines=lines[:LINES_PER_PAGE], next=following)


@fragment(post, "/opml/{import_id:uuid}/work", "Failed to load the import")
async def work(call: Call, import_id: FromPath[UUID], quotas: NamedDependency[Quotas]) -> Template:
    """Import further lines and show the progress. Raises NotFound."""
    if (await _find(call, import_id)).is_running:
        await Importer(call.database, call.clock, quotas=quotas).work(call.user.id, import_id)
    found = await _find(call, import_id)
    headers = {} if found.is_running else {"HX-Trigger": "importFinished"}
    return call.page("opml/progress.html", found=found, headers=headers)


async def _page(call: CallContext, *, error: HeadwaterError | None = None) -> Template:
    async with call.as_user() as conn:
        imports = await imports_store.list_all(conn)
    shown, status = (str(error), status_of(error)) if error else (None, 200)
    return call.page("opml/page.html", imports=imports, error=shown, status_code=status)


async def _find(call: CallContext, import_id: UUID) -> Import:
    async with call.as_user() as conn:
        found = await imports_store.find(conn, import_id=import_id)
    if found is None:
        raise NotFound("Import not found.")
    return found


@get("/account/export")
async def export_all(call: Call) -> Stream:
    """All data as a ZIP file, written while it is sent. Raises NotLoggedIn."""
    pieces = ()
    if not is_head(call.request.scope):
        files = {"subscriptions.opml": await _opml(call)}
        rest = export(call.database, call.user.id, files=files, now=call.now)
        pieces = _joined(await anext(rest), rest)  # what it raises is a response, and no broken file
    return Stream(pieces, media_type="application/zip", headers=_attachment(f"headwater-{call.now:%Y-%m-%d}.zip"))


async def _joined(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


@get("/opml/export")
async def export_opml(call: Call) -> Response[bytes]:
    content = await _opml(call)
    return Response(content, media_type="text/x-opml+xml", headers=_attachment(f"headwater-{call.now:%Y-%m-%d}.opml"))


async def _opml(call: CallContext) -> bytes:
    found = [row async for rows in pages(call.database, call.user.id, "subscriptions.json") for row in rows]
    lines = [OpmlLine(row["name"], row["url"], row["category"] or "", row["site"] or "") for row in found]
    lines.sort(key=lambda line: line.name.casefold())
    return write_opml("Feeds of Headwater", lines, call.now)


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
