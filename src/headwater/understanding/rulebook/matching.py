"""Which articles of a batch a rule matches, and by what. Runs in the sandbox."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from headwater.reading.text import storable
from headwater.understanding.plain_text import plain_text
from headwater.understanding.rulebook.types import RuleHit
from headwater.understanding.rules import fits, match
from headwater.understanding.types import ArticleText, ClassificationRule


def find_matches(rule: ClassificationRule, articles: Sequence[ArticleText], explained: int) -> list[RuleHit]:
    """The articles that the stage would label by this rule; the first `explained` of them with the reasons."""
    hits: list[RuleHit] = []
    for number, article in enumerate(articles):
        text = storable(plain_text(article))
        for found in match([rule], article, text):
            is_explained = len(hits) < explained
            hits.append(
                _explain(rule, article, text, number, found.score)
                if is_explained
                else RuleHit(number, found.score, [], [], [])
            )
    return hits


def _explain(rule: ClassificationRule, article: ArticleText, text: str, number: int, score: float) -> RuleHit:
    """Each keyword is matched as a rule of its own, all in one pass over the text."""
    alone = {
        UUID(int=at): replace(rule, id=UUID(int=at), keywords=[keyword], patterns=(), source_ids=(), min_score=0)
        for at, keyword in enumerate(rule.keywords)
    }
    keywords = [alone[found.rule_id].keywords[0] for found in match(list(alone.values()), article, text)]
    patterns = [one for one in rule.patterns if fits(one, article.url) or fits(one, article.title)]
    return RuleHit(number, score, keywords, patterns, [one for one in rule.source_ids if one in article.source_ids])
