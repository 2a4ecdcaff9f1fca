"""How a reader wants the pages: looks, order of lists, start page, time zone."""
