"""Reading what sites send: encodings, dates, links, tags, safe HTML. The same guards for feeds, pages, sitemaps."""
