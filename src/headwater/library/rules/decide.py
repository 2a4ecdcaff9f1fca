"""Which rules are valid, what matched rules do together, and the query of a mute. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from headwater.errors import Invalid, InvalidReaderRule, QueryInvalid, TooManyTags
from headwater.library.decide import check_tag
from headwater.library.rules.types import (
    MarkChange,
    MuteKind,
    ReaderRuleFields,
    ReaderRuleHit,
    RuleActions,
    RuleInUse,
)
from headwater.query.fields import phrase
from headwater.query.grammar import parse
from headwater.query.types import Audience, Query
from headwater.text import is_blank, one_line
from headwater.types import ArticleId, UserId

_WORD = re.compile(r"[^\W\d_][\w'’-]*[^\W_]|[^\W\d_]")

NAME_MAX = 100
TAGS_MAX = 10  # of one rule
SHORT = 3  # letters of words that are not offered
MUTED_MAX = 200  # characters of a muted word, author or source


def check_rule(fields: ReaderRuleFields) -> ReaderRuleFields:
    """The rule with clean values; without a name, its query is its name. Raises InvalidReaderRule."""
    query_problem, name_problem, tags_problem, tags = None, "", "", list[str]()
    query = "".join(one if one.isprintable() else " " for one in fields.query).strip()
    name = one_line(fields.name)
    if is_blank(name):
        name = one_line(query)[:NAME_MAX]
    elif len(name) > NAME_MAX:
        name_problem = f"A name has at most {NAME_MAX} characters."
    try:
        parse(query, Audience.READER)
    except QueryInvalid as error:
        query_problem = error
    try:
        tags = _check_tags(fields.actions.tags)
    except (Invalid, TooManyTags) as error:
        tags_problem = str(error)
    actions = replace(fields.actions, tags=tuple(tags), notify=tuple(dict.fromkeys(fields.actions.notify)))
    actions_problem = "" if tags_problem or does_something(actions) else "Choose what happens to the articles."
    if query_problem or name_problem or tags_problem or actions_problem:
        raise InvalidReaderRule(name=name_problem, query=query_problem, tags=tags_problem, actions=actions_problem)
    return replace(fields, name=name, query=query, actions=actions)


def _check_tags(tags: Iterable[str]) -> list[str]:
    found = list(dict.fromkeys(check_tag(tag) for tag in tags if not is_blank(tag)))
    if len(found) > TAGS_MAX:
        raise TooManyTags(TAGS_MAX)
    return found


def does_something(actions: RuleActions) -> bool:
    return actions.marks_read or actions.stars or actions.hides or bool(actions.tags) or bool(actions.notify)


def mute_rule(kind: MuteKind, value: str, *, name: str = "") -> ReaderRuleFields:
    """The rule that hides articles with this word, by this author or of the source with this id. Raises Invalid."""
    shown = one_line(value)
    if is_blank(shown):
        raise Invalid("There is nothing to mute.")
    if len(shown) > MUTED_MAX:
        raise Invalid(f"What is muted has at most {MUTED_MAX} characters.")
    field = "" if kind is MuteKind.WORD else f"{kind.value}:"
    named = one_line(name or shown)[:NAME_MAX]
    return check_rule(ReaderRuleFields(named, f"{field}{phrase(shown)}", RuleActions(hides=True), mute=kind))


def changes_of(matches: Iterable[ReaderRuleHit]) -> list[MarkChange]:
    """What these rules do to the marks of their readers, once for each reader and article, in the order of locks."""
    changes: dict[tuple[UserId, ArticleId], MarkChange] = {}
    for match in matches:
        rule, actions = match.rule, match.rule.actions
        if not (actions.marks_read or actions.stars or actions.hides or actions.tags):
            continue
        key = (rule.user_id, match.article_id)
        change = changes.setdefault(key, MarkChange(*key))
        change.marks_read |= actions.marks_read
        change.stars |= actions.stars
        change.hides |= actions.hides
        change.tags += [tag for tag in actions.tags if tag not in change.tags]
    return [changes[key] for key in sorted(changes)]


def notifying_of(matches: Sequence[ReaderRuleHit]) -> list[ReaderRuleHit]:
    """Those of these matches that notify their reader: not of an article that another rule of theirs hides."""
    hiding: dict[tuple[UserId, ArticleId], set[UUID]] = {}
    for match in matches:
        if match.rule.actions.hides:
            hiding.setdefault((match.rule.user_id, match.article_id), set()).add(match.rule.id)
    return [
        match for match in matches
        if match.rule.actions.notify and not hiding.get((match.rule.user_id, match.article_id), set()) - {match.rule.id}
    ]  # fmt: skip


def readable(rules: Iterable[RuleInUse]) -> Iterator[tuple[RuleInUse, Query]]:
    """Rules with their parsed queries, without those that this version of the language cannot read."""
    for rule in rules:
        try:
            yield rule, parse(rule.query, Audience.READER)
        except QueryInvalid:
            continue


def within_quota(matches: Sequence[ReaderRuleHit], used: dict[UserId, int], most: int) -> list[ReaderRuleHit]:
    """Those of these matches of which their readers are notified: `most` a day, of which some are used."""
    left = {user_id: most - count for user_id, count in used.items()}
    kept: list[ReaderRuleHit] = []
    seen: set[tuple[UserId, ArticleId]] = set()
    for match in matches:
        user_id, key = match.rule.user_id, (match.rule.user_id, match.article_id)
        if not match.rule.actions.notify:
            continue
        if key not in seen and left.setdefault(user_id, most) <= 0:
            continue
        if key not in seen:
            left[user_id] -= 1
            seen.add(key)
        kept.append(match)
    return kept


def words_to_mute(title: str, keywords: Iterable[str], most: int = 12) -> list[str]:
    """Words of an article that a reader may want to mute: its keywords, then the longer words of its title."""
    candidates = [*keywords, *(word for word in _WORD.findall(title) if len(word) > SHORT)]
    return list({word.casefold(): word for word in reversed(candidates)}.values())[::-1][:most]
