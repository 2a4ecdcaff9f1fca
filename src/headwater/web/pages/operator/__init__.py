"""Pages for those who look after Headwater: one module per noun, each with the role it takes."""

from litestar.handlers import BaseRouteHandler

from headwater.web.pages.operator.alerts import alert_pages
from headwater.web.pages.operator.audit import audit_pages
from headwater.web.pages.operator.frontier import frontier_pages
from headwater.web.pages.operator.health import health_pages
from headwater.web.pages.operator.moderation import moderation_pages
from headwater.web.pages.operator.people import people_pages
from headwater.web.pages.operator.popularity import popularity_pages
from headwater.web.pages.operator.settings import setting_pages
from headwater.web.pages.operator.sources import source_pages

operator_pages: list[BaseRouteHandler] = [
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
