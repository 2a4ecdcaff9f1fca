"""Pages for those who look after Headwater: one module per noun, each with the role it takes."""

from litestar.handlers import BaseRouteHandler

from headwater.web.pages.operator.popularity import popularity_pages

from headwater.web.pages.operator.frontier import frontier_pages

operator_pages: list[BaseRouteHandler] = []
operator_pages += frontier_pages
operator_pages += popularity_pages
