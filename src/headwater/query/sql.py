"""A query as a condition in SQL.

`condition` makes it of the constants below and of parameters; nothing of a query's text gets into it. A statement has
a relation `wanted` with a column `id`, of articles, and then:

    FROM … AS wanted {where.joins} WHERE {where.sql}

A query of a reader runs under `Database.as_user`: row-level security leaves only their subscriptions and marks. It does
not check whether the reader can see an article; the statement lists those that they can.

Each leaf has its meaning in `LEAVES`, and in words in docs/query.md. `query/matcher.py` decides the same for one
article; a test compares the two. No leaf is ever NULL, so that `NOT` is its opposite.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, LiteralString, assert_never, cast

from headwater.query import types as nodes
from headwater.query.types import Audience, Comparator, Leaf, Node, StateField, TextField

# Parts of an article, each joined once if a leaf needs it. OFFSET 0 looks up each article in its month; the planner
# would read whole months for a join.
ARTICLE: Final = """
    CROSS JOIN LATERAL (
        SELECT title, author, url, listed_at FROM articles WHERE articles.id = wanted.id OFFSET 0
    ) AS articles
"""
# The page: its text, by the configuration of its language; a duplicate has the text of its original.
PAGE: Final = """
    LEFT JOIN LATERAL (
        SELECT own.title, own.authors, coalesce(own.search, original.search) AS search,
            content_config(CASE WHEN own.search IS NULL THEN original.language ELSE own.language END) AS config
        FROM (SELECT * FROM content WHERE content.article_id = wanted.id OFFSET 0) AS own
        LEFT JOIN LATERAL (
            SELECT search, language FROM content WHERE content.article_id = own.duplicate_of OFFSET 0
        ) AS original ON true
        OFFSET 0
    ) AS page ON true
"""
# What the sources that list it are and say: for a reader their subscriptions, for everyone the public sources. A query
# about all articles must not tell what only a user follows.
LISTED_FOR_READER: Final = """
    CROSS JOIN LATERAL (
        SELECT count(*) > 0 AS is_listed, max(links.listed_at) AS listed_at,
            coalesce(bool_and(links.listed_at <= read_until), false) AS is_read,
            array_agg(links.title) AS titles, array_agg(links.author) AS authors,
            array_agg(subscriptions.name) AS names, array_agg(source_id) AS source_ids,
            array_agg(lower(subscriptions.category)) AS categories,
            coalesce(bool_or(links.enclosures IS NOT NULL), false) AS has_enclosure
        FROM (SELECT * FROM article_sources WHERE article_sources.article_id = wanted.id OFFSET 0) AS links
        JOIN subscriptions USING (source_id)
    ) AS listed
"""
LISTED_FOR_EVERYONE: Final = """
    CROSS JOIN LATERAL (
        SELECT NULL::timestamptz AS listed_at, array_agg(sources.name) AS names, array_agg(sources.id) AS source_ids,
            array_agg(lower(sources.category)) AS categories,
            coalesce(bool_or(links.enclosures IS NOT NULL), false) AS has_enclosure
        FROM (SELECT * FROM article_sources WHERE article_sources.article_id = wanted.id OFFSET 0) AS links
        CROSS JOIN LATERAL (SELECT * FROM sources WHERE sources.id = links.source_id OFFSET 0) AS sources
        WHERE sources.is_system OR sources.moderation_status = 'approved'
    ) AS listed
"""
MARK: Final = """
    LEFT JOIN LATERAL (
        SELECT is_read, starred_at, coalesce(starred_at, saved_at) AS kept_at, hidden_at, tags, title, author
        FROM marks WHERE marks.article_id = wanted.id OFFSET 0
    ) AS mark ON true
"""
# What a reader reads as title and author: of a starred or saved article that no subscription lists, as it was then.
SAID: Final = """
    CROSS JOIN LATERAL (
        SELECT CASE WHEN is_listed THEN listed.titles WHEN kept_at IS NOT NULL THEN ARRAY[mark.title] END AS titles,
            CASE WHEN is_listed THEN listed.authors WHEN kept_at IS NOT NULL THEN ARRAY[mark.author] END AS authors
    ) AS said
"""
TAGGED: Final = """
    CROSS JOIN LATERAL (
        SELECT array_agg(lower(tag)) AS tags
        FROM (
            SELECT unnest(mark.tags) AS tag
            UNION ALL
            SELECT unnest(subscriptions.tags)
            FROM (SELECT source_id FROM article_sources WHERE article_sources.article_id = wanted.id OFFSET 0) AS links
            JOIN subscriptions USING (source_id)
        ) AS every
    ) AS tagged
"""
# An article's quality, 0 to 100, as pages show it.
QUALITY: Final = "round(score * 100)::integer"
# Of several methods, only the labels that are shown.
GIVEN: Final = f"""
    CROSS JOIN LATERAL (
        SELECT array_agg(scheme || ':' || label) AS labels,
            array_agg({QUALITY}) FILTER (WHERE scheme = 'quality') AS qualities
        FROM (SELECT * FROM labels WHERE labels.article_id = wanted.id AND is_shown OFFSET 0) AS shown
    ) AS given
"""
STATE: Final = """
    LEFT JOIN LATERAL (
        SELECT story_id FROM article_state WHERE article_state.article_id = wanted.id OFFSET 0
    ) AS state ON true
"""
# The host of an article's URL, without user, port and final dot.
HOST: Final = r"rtrim(substring(articles.url FROM '^[a-z]+://(?:[^/?#]*@)?(\[[^]]*\]|[^/?#:]*)'), '.')"

_IN_SHORT: Final = "to_tsvector('simple', short) @@ phraseto_tsquery('simple', %(value)s)"
_IN_SAID_TITLES: Final = f"EXISTS (SELECT FROM unnest(said.titles) AS short WHERE {_IN_SHORT})"
# A word that `simple` does not know has no letter or digit: it is nowhere. One that the language of the text does not
# index, a stop word, is in every text of that language.
_WORDS: Final = """
    numnode(phraseto_tsquery('simple', %(value)s)) > 0 AND (
        to_tsvector('simple', articles.title) @@ phraseto_tsquery('simple', %(value)s)
        OR coalesce(page.search @@ phraseto_tsquery(page.config, %(value)s), false)
        OR (page.search IS NOT NULL AND numnode(phraseto_tsquery(page.config, %(value)s)) = 0)
"""
_TITLE: Final = """
    to_tsvector('simple', articles.title) @@ phraseto_tsquery('simple', %(value)s)
    OR coalesce(to_tsvector('simple', page.title) @@ phraseto_tsquery('simple', %(value)s), false)
"""
_AUTHORS: Final = "page.authors || articles.author"
_QUALITY: Final = "EXISTS (SELECT FROM unnest(given.qualities) AS quality WHERE quality"


@dataclass(frozen=True, slots=True)
class LeafSql:
    """A leaf in SQL, with the parts of an article that it reads, in their order. `%(value)s` is its value."""

    sql: LiteralString
    joins: tuple[LiteralString, ...] = ()


# By kind of leaf; a name that both audiences share is only under its plain name.
LEAVES: Mapping[str, LeafSql] = {
    "everything": LeafSql("true"),
    "words": LeafSql(f"({_WORDS}))", (PAGE,)),
    "words of a reader": LeafSql(f"({_WORDS} OR {_IN_SAID_TITLES}))", (PAGE, LISTED_FOR_READER, MARK, SAID)),
    "title": LeafSql(f"({_TITLE})", (PAGE,)),
    "title of a reader": LeafSql(f"({_TITLE} OR {_IN_SAID_TITLES})", (PAGE, LISTED_FOR_READER, MARK, SAID)),
    "author": LeafSql(f"EXISTS (SELECT FROM unnest({_AUTHORS}) AS short WHERE {_IN_SHORT})", (PAGE,)),
    "author of a reader": LeafSql(
        f"EXISTS (SELECT FROM unnest({_AUTHORS} || said.authors) AS short WHERE {_IN_SHORT})",
        (PAGE, LISTED_FOR_READER, MARK, SAID),
    ),
    "source": LeafSql(f"EXISTS (SELECT FROM unnest(listed.names) AS short WHERE {_IN_SHORT})", (LISTED_FOR_EVERYONE,)),
    "source id": LeafSql("coalesce(%(value)s::uuid = ANY (listed.source_ids), false)", (LISTED_FOR_EVERYONE,)),
    "category": LeafSql(
        """
        EXISTS (
            SELECT FROM unnest(listed.categories) AS category
            WHERE category = lower(%(value)s) OR starts_with(category, lower(%(value)s) || '/')
        )
        """,
        (LISTED_FOR_EVERYONE,),
    ),
    "tag": LeafSql("coalesce(lower(%(value)s) = ANY (tagged.tags), false)", (MARK, TAGGED)),
    "label": LeafSql("coalesce(given.labels && %(value)s::text[], false)", (GIVEN,)),
    "quality <": LeafSql(f"{_QUALITY} < %(value)s::integer)", (GIVEN,)),
    "quality <=": LeafSql(f"{_QUALITY} <= %(value)s::integer)", (GIVEN,)),
    "quality =": LeafSql(f"{_QUALITY} = %(value)s::integer)", (GIVEN,)),
    "quality >=": LeafSql(f"{_QUALITY} >= %(value)s::integer)", (GIVEN,)),
    "quality >": LeafSql(f"{_QUALITY} > %(value)s::integer)", (GIVEN,)),
    "host": LeafSql(f"coalesce(right('.' || {HOST}, length(%(value)s::text) + 1) = '.' || %(value)s::text, false)"),
    "story": LeafSql("coalesce(state.story_id = %(value)s::uuid, false)", (STATE,)),
    "read": LeafSql("coalesce(mark.is_read, listed.is_read)", (LISTED_FOR_READER, MARK)),
    "unread": LeafSql("NOT coalesce(mark.is_read, listed.is_read)", (LISTED_FOR_READER, MARK)),
    "starred": LeafSql("mark.starred_at IS NOT NULL", (MARK,)),
    "hidden": LeafSql("mark.hidden_at IS NOT NULL", (MARK,)),
    "enclosure": LeafSql("listed.has_enclosure", (LISTED_FOR_EVERYONE,)),
    "newer": LeafSql(
        "coalesce(listed.listed_at, articles.listed_at) >= %(value)s::timestamptz", (LISTED_FOR_EVERYONE,)
    ),
    "before": LeafSql(
        "coalesce(listed.listed_at, articles.listed_at) < %(value)s::timestamptz", (LISTED_FOR_EVERYONE,)
    ),
}
_IN_ORDER: Final = (PAGE, LISTED_FOR_READER, LISTED_FOR_EVERYONE, MARK, SAID, TAGGED, GIVEN, STATE)
_OF_READER: Final = " of a reader"


@dataclass(frozen=True, slots=True)
class SqlCondition:
    """A condition on `wanted.id`: what it joins, itself, and its parameters. Only `condition` makes one."""

    joins: LiteralString
    sql: LiteralString
    values: Mapping[str, object]


def condition(tree: Node, audience: Audience, *, now: datetime) -> SqlCondition:
    """The condition that an article is one of a query's."""
    writer = _Writer(audience, now)
    sql = writer.write(tree)
    joins = "".join(part for part in _IN_ORDER if part in writer.joins)
    return SqlCondition(ARTICLE + joins, cast("LiteralString", sql), writer.values)


@dataclass(slots=True)
class _Writer:
    audience: Audience
    now: datetime
    values: dict[str, object] = field(default_factory=dict[str, object])
    joins: set[str] = field(default_factory=set[str])

    def write(self, tree: Node) -> str:
        match tree:
            case nodes.Not(part):
                return f"NOT {self.write(part)}"
            case nodes.And(parts):
                return f"({' AND '.join(self._each(parts))})"
            case nodes.Or(parts):
                return f"({' OR '.join(self._each(parts))})"
            case leaf:
                return self._leaf(leaf)

    def _each(self, parts: Sequence[Node]) -> list[str]:
        return [self.write(part) for part in parts]

    def _leaf(self, leaf: Leaf) -> str:
        name, value = _named(leaf, self.now)
        is_reader = self.audience is Audience.READER
        written = LEAVES[name + _OF_READER if is_reader and name + _OF_READER in LEAVES else name]
        self.joins |= {
            LISTED_FOR_READER if is_reader and part is LISTED_FOR_EVERYONE else part for part in written.joins
        }
        if value is None:
            return f"({written.sql})"
        parameter = f"query_{len(self.values)}"
        self.values[parameter] = value
        return f"({written.sql})".replace("%(value)s", f"%({parameter})s")


_FIELDS: Mapping[TextField, str] = {
    TextField.TITLE: "title", TextField.AUTHOR: "author", TextField.SOURCE: "source",
}  # fmt: skip
_STATES: Mapping[StateField, str] = {
    StateField.READ: "read", StateField.UNREAD: "unread", StateField.STARRED: "starred",
    StateField.HIDDEN: "hidden",
}  # fmt: skip
_COMPARED: Mapping[Comparator, str] = {one: f"quality {one}" for one in Comparator}


def _named(leaf: Leaf, now: datetime) -> tuple[str, object]:
    """The name of a leaf in LEAVES, and its value."""
    match leaf:
        case nodes.Words(text):
            return "words", text
        case nodes.InField(named, text):
            return _FIELDS[named], text
        case nodes.Labelled(_, _, labels):
            return "label", [f"{scheme}:{label}" for scheme, label in labels]
        case nodes.OfQuality(comparator, value):
            return _COMPARED[comparator], value
        case nodes.InState(state):
            return _STATES[state], None
        case nodes.Within(time):
            return "newer", now - time
        case nodes.Before(day):
            return "before", datetime(day.year, day.month, day.day, tzinfo=UTC)
        case _:
            return _of_one(leaf)


def _of_one(
    leaf: nodes.Everything
    | nodes.OfSource
    | nodes.OfCategory
    | nodes.Tagged
    | nodes.OfHost
    | nodes.OfStory
    | nodes.HasEnclosure,
) -> tuple[str, object]:
    match leaf:
        case nodes.Everything():
            return "everything", None
        case nodes.OfSource(source_id):
            return "source id", source_id
        case nodes.OfCategory(category):
            return "category", category
        case nodes.Tagged(tag):
            return "tag", tag
        case nodes.OfHost(host):
            return "host", host
        case nodes.OfStory(story_id):
            return "story", story_id
        case nodes.HasEnclosure():
            return "enclosure", None
        case _:
            assert_never(leaf)
