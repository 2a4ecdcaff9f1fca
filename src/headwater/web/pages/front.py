"""The first page, which leads on, and what is promised about privacy."""

from typing import Any

from litestar import Request, get
from litestar.response import Redirect, Template

from headwater.asgi.session import PUBLIC

AnyRequest = Request[Any, Any, Any]


@get("/", role=PUBLIC, sync_to_thread=False)
def front(request: AnyRequest) -> Redirect:
    """To what one reads, or to the door."""
    return Redirect("/dashboard" if request.user else "/auth/login", status_code=303)


@get("/privacy", role=PUBLIC, sync_to_thread=False)
def privacy(request: AnyRequest) -> Template:
    """What is kept of a person."""
    return Template("privacy.html", context={"user": request.user})


front_pages = [front, privacy]
