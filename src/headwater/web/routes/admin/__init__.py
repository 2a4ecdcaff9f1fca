"""Admin pages: one module per subject; each route names its role."""

from litestar.handlers import BaseRouteHandler

from headwater.web.routes.admin.alerts import alert_pages
from headwater.web.routes.admin.audit import audit_pages
from headwater.web.routes.admin.frontier import frontier_pages
from headwater.web.routes.admin.health import health_pages
from headwater.web.routes.admin.moderation import moderation_pages
from headwater.web.routes.admin.people import people_pages
from headwater.web.routes.admin.popularity import popularity_pages
from headwater.web.routes.admin.settings import setting_pages
from headwater.web.routes.admin.sources import source_pages

admin_pages: list[BaseRouteHandler] = [
    *health_pages,
    *alert_pages,
    *source_pages,
    *frontier_pages,
    *popularity_pages,
    *moderation_pages,
    *people_pages,
    *audit_pages,
    *setting_pages,
]
