"""Sitemaps: a fetched file in; the pages and further sitemaps that it lists out, into the frontier."""
