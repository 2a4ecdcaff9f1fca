"""Pages for those who look after Headwater: one module per noun, each with the role it takes."""

from litestar.handlers import BaseRouteHandler

operator_pages: list[BaseRouteHandler] = []
