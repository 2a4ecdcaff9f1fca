"""/help: the documentation, readable and searchable inside the app."""

import asyncio

from litestar import get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect, Template

from headwater.asgi.handlers import Call
from headwater.asgi.session import PUBLIC
from headwater.web import manual


@get("/help", role=PUBLIC)
async def show_contents(call: Call, q: FromQuery[str] = "") -> Template:
    known = await asyncio.to_thread(manual.pages)  # they are rendered at the first request
    groups = {group: [known[name] for name in names if name in known] for group, names in manual.GROUPS.items()}
    text = q.strip()[:200]
    return call.page("help/contents.html", groups=groups, text=text, found=manual.search(text))


@get("/help/{page_path:path}", role=PUBLIC)
async def show_page(call: Call, page_path: FromPath[str]) -> Template:
    page = (await asyncio.to_thread(manual.pages)).get(page_path.strip("/"))
    if page is None:
        raise NotFoundException
    return call.page("help/page.html", page=page)


@get("/docs", role=PUBLIC, sync_to_thread=False)
def redirect_docs() -> Redirect:
    return Redirect("/help")
