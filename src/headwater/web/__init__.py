"""Pages for people: server-rendered, no build step, nothing inline."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import cast

from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.static_files import create_static_files_router  # pyright: ignore[reportUnknownVariableType]
from litestar.template.config import TemplateConfig

from headwater.web.format import count, host, moment, since, until
from headwater.web.pages.home import home

_FOLDER = Path(__file__).parent
_HTMX = Path(str(files("js_lib_htmx"))) / "static" / "htmx"


def _teach(engine: JinjaTemplateEngine) -> None:
    engine.engine.trim_blocks = engine.engine.lstrip_blocks = True
    filters = cast("dict[str, Callable[..., str]]", engine.engine.filters)
    filters.update(count=count, host=host, moment=moment, since=since, until=until)


templates = TemplateConfig(directory=_FOLDER / "templates", engine=JinjaTemplateEngine, engine_callback=_teach)

web_routes = [
    home,
    create_static_files_router("/static", directories=[_FOLDER / "static"], include_in_schema=False),
    # The script itself comes from its own package: nothing copied, nothing fetched from elsewhere.
    create_static_files_router("/vendor", directories=[_HTMX], include_in_schema=False),
]
