"""What of an article is sent, and how much fits. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwater.downstream.types import ALL_FIELDS, ArticleField, DownstreamArticle

ALWAYS = frozenset({ArticleField.ID, ArticleField.REVISION})


def chosen(article: DownstreamArticle, fields: frozenset[ArticleField] = ALL_FIELDS) -> dict[str, Any]:
    """An article with these fields only, in their usual order."""
    return {field.value: getattr(article, field.value) for field in ArticleField if field in fields or field in ALWAYS}


def fitting(sizes: Sequence[int], most: int) -> int:
    """How many of these, from the first on, are not larger together than `most`; at least one."""
    total, count = 0, 0
    for size in sizes:
        total += size
        if count and total > most:
            break
        count += 1
    return count


def in_order(ids: Sequence[Any], found: Mapping[Any, DownstreamArticle]) -> list[DownstreamArticle]:
    return [found[one] for one in ids if one in found]
