"""Changes that the search index has not received yet.

A package below `publishing/`, because extraction and retention write it, and stages do not import each other.
"""
