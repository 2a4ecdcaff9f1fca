"""The home page, which redirects, and the privacy policy."""

from litestar import get
from litestar.response import Redirect, Template

from headwater.asgi.handlers import AnyRequest
from headwater.asgi.session import PUBLIC


@get("/", role=PUBLIC, sync_to_thread=False)
def front(request: AnyRequest) -> Redirect:
    """Redirect to the dashboard, or to the login page."""
    return Redirect("/dashboard" if request.user else "/auth/login", status_code=303)


@get("/privacy", role=PUBLIC, sync_to_thread=False)
def privacy(request: AnyRequest) -> Template:
    """The privacy policy."""
    return Template("privacy.html", context={"user": request.user})


front_pages = [front, privacy]
