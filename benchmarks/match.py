"""How many articles a second are matched against saved queries, beside evaluating each query in turn.

Articles: the whole texts and some of the news items of ../shared/corpora beside the project, stored in an embedded
PostgreSQL with labels, sources and times. Queries: one to four words, phrases, alternatives, negations and fields, of
the words of real headlines as often as they occur there, without stop words; written as text, and parsed.

An article is read as the router reads it, becomes a document, and is matched. Timed are reading by the clock, the
database's part included, and matching by CPU time, the best of five each. Both sides get the same documents and lexemes
and must find the same. `ratio` is articles/s by the index over articles/s by one `evaluate` per query, with 10,000
queries. `flat` is articles/s with 1,000 queries over that with 10,000; each article is found by nine times as many then
(`found_per_article`). `narrow_…` is the same for queries that find at most one article in a hundred each, as people
save them after a look at the preview. `only_…` is without reading. The last line is one JSON object.
"""

import asyncio
import json
import random
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from headwater.db import Connection, Database  # noqa: E402
from headwater.db.embedded import EmbeddedServer  # noqa: E402
from headwater.db.migrate import migrate_up  # noqa: E402
from headwater.ids import ids_at  # noqa: E402
from headwater.labels.vocabulary import CLASSES  # noqa: E402
from headwater.query import store  # noqa: E402
from headwater.query.document import Document  # noqa: E402
from headwater.query.evaluate import evaluate  # noqa: E402
from headwater.query.grammar import parse  # noqa: E402
from headwater.query.matcher import Matcher  # noqa: E402
from headwater.query.matching import prepare  # noqa: E402
from headwater.query.types import Audience, Query  # noqa: E402
from headwater.types import ArticleId  # noqa: E402
from headwater.understanding.training.train import read_material  # noqa: E402

CORPORA = ROOT.parent / "shared" / "corpora"
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
SIZES = (1_000, 3_000, 10_000)
ROUNDS = 5
IN_TURN = 40  # articles that each query is evaluated for
ARTICLES = 500
SOURCES = 500
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
# fmt: off
STOP_WORDS = frozenset((
    "a", "about", "after", "against", "all", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could",
    "did", "do", "for", "from", "had", "has", "have", "he", "her", "his", "how", "if", "in", "into", "is", "it", "its",
    "more", "new", "no", "not", "of", "off", "on", "or", "our", "out", "over", "she", "so", "than", "that", "the",
    "their", "them", "they", "this", "to", "up", "us", "was", "we", "what", "when", "where", "which", "who", "will",
    "with", "would", "you", "your",
))
# fmt: on
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class Text:
    title: str
    text: str
    topic: str


def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    texts, headlines = read_texts()
    queries = write_queries(headlines, 3 * max(SIZES), random.Random(15))  # some are too wide for `narrow_…`
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        server = EmbeddedServer(folder / "data", options=FAST)
        server.start()
        try:
            numbers = asyncio.run(measure(server.conninfo_of("postgres"), texts, queries))
        finally:
            server.leave()
    print(json.dumps({"bench": "match", "corpus": CORPORA.is_dir(), **numbers}))


async def measure(conninfo: str, texts: Sequence[Text], queries: Sequence[Query]) -> dict[str, object]:
    await migrate_up(conninfo)
    async with Database(conninfo, pool_size=2, wait=timedelta(seconds=5)) as database, database.as_system() as conn:
        ids = await store_articles(conn, texts)
        documents, reading = await read(conn, ids)
        lexemes = round(statistics.fmean(len(one.text) for one in documents))
        print(f"{len(documents):,} articles of {lexemes:,} lexemes on average, read in {reading * 1e6:,.0f} µs each")
        print(f"{'queries':>10}{'articles/s':>12}{'only µs':>10}{'in turn/s':>11}{'ratio':>8}{'found':>8}{'load s':>8}")
        rows = {size: await measure_size(conn, documents, queries[:size], reading) for size in SIZES}
        narrow = await only_narrow(conn, documents, queries)
        print("queries that find at most one article in a hundred:")
        few, many = [await measure_size(conn, documents, narrow[:size], reading) for size in (min(SIZES), max(SIZES))]
    least, most = rows[min(SIZES)], rows[max(SIZES)]
    return {
        "articles": len(documents), "lexemes_per_article": lexemes, "queries": max(SIZES), "ratio": most.ratio,
        "flat": least.per_s / most.per_s, "articles_per_s": most.per_s, "in_turn_per_s": most.in_turn_per_s,
        "only_ratio": most.in_turn_s / most.matching_s, "only_flat": most.matching_s / least.matching_s,
        "only_matching_us": most.matching_s * 1e6, "reading_us": reading * 1e6, "found_per_article": most.found,
        "loading_s": most.loading_s, "change_ms": most.change_ms, "narrow_ratio": many.ratio,
        "narrow_flat": few.per_s / many.per_s, "narrow_only_flat": many.matching_s / few.matching_s,
        "narrow_only_matching_us": many.matching_s * 1e6, "narrow_found_per_article": many.found,
        **{f"articles_per_s_{size}": row.per_s for size, row in rows.items()},
    }  # fmt: skip


async def only_narrow(conn: Connection, documents: Sequence[Document], queries: Sequence[Query]) -> list[Query]:
    """As many as are needed of those queries that find few articles."""
    matcher = Matcher[int].of(dict(enumerate(queries)))
    await prepare(conn, matcher, documents)
    found = Counter(number for document in documents for number in matcher.match(document, NOW))
    narrow = [query for number, query in enumerate(queries) if found[number] <= len(documents) / 100]
    return narrow[: max(SIZES)]


async def read(conn: Connection, ids: Sequence[ArticleId]) -> tuple[list[Document], float]:
    """Read articles as documents, and the time for each."""
    times: list[float] = []
    documents: list[Document] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        documents = list((await store.read_documents(conn, article_ids=ids)).values())
        times.append((time.perf_counter() - began) / len(ids))
    return documents, min(times)


@dataclass(frozen=True)
class Measured:
    """Seconds for each article, with so many queries."""

    reading_s: float
    matching_s: float
    in_turn_s: float
    found: float
    loading_s: float
    change_ms: float

    @property
    def per_s(self) -> float:
        return 1 / (self.reading_s + self.matching_s)

    @property
    def in_turn_per_s(self) -> float:
        return 1 / (self.reading_s + self.in_turn_s)

    @property
    def ratio(self) -> float:
        return self.per_s / self.in_turn_per_s


async def measure_size(
    conn: Connection, documents: Sequence[Document], queries: Sequence[Query], reading: float
) -> Measured:
    began = time.perf_counter()
    saved = dict(enumerate(queries))
    matcher = Matcher[int].of(saved)
    await prepare(conn, matcher, documents)
    found = [matcher.match(document, NOW) for document in documents]
    loading = time.perf_counter() - began
    match(matcher, documents)  # then the queries are filed by what was seen
    some = documents[:: max(1, len(documents) // IN_TURN)]
    if [sorted(matcher.match(document, NOW)) for document in some] != match_in_turn(matcher, saved, some):
        raise AssertionError("the two ways find different articles")
    row = Measured(
        reading_s=reading,
        matching_s=best_of(lambda: match(matcher, documents)) / len(documents),
        in_turn_s=best_of(lambda: match_in_turn(matcher, saved, some)) / len(some),
        found=statistics.fmean(map(len, found)),
        loading_s=loading,
        change_ms=await change_one(conn, matcher, saved, documents),
    )
    print(
        f"{len(queries):10,}{row.per_s:12,.0f}{row.matching_s * 1e6:10,.0f}{row.in_turn_per_s:11,.1f}{row.ratio:8.1f}"
        f"{row.found:8.1f}{loading:8.2f}"
    )
    return row


async def change_one(
    conn: Connection, matcher: Matcher[int], saved: dict[int, Query], documents: Sequence[Document]
) -> float:
    """How long it takes until one changed query is matched."""
    began = time.perf_counter()
    matcher.update({**saved, 0: parse("changed or unheardof", Audience.EVERYONE)})
    await prepare(conn, matcher, documents[:1])
    matcher.match(documents[0], NOW)
    return (time.perf_counter() - began) * 1000


def match(matcher: Matcher[int], documents: Sequence[Document]) -> None:
    for document in documents:
        matcher.match(document, NOW)


def match_in_turn(matcher: Matcher[int], saved: dict[int, Query], documents: Sequence[Document]) -> list[list[int]]:
    lexemes = matcher.lexemes
    return [
        [key for key, query in saved.items() if evaluate(query.tree, document, lexemes, NOW)] for document in documents
    ]


def best_of(run: Callable[[], object]) -> float:
    """Seconds of CPU time: the least, since other processes only add to it."""
    times: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        run()
        times.append(time.process_time() - began)
    return min(times)


def read_texts() -> tuple[list[Text], list[str]]:
    """Texts of articles, whole ones and the beginnings that feeds have, and headlines."""
    news = read_lines(CORPORA / "topics" / "agnews-dev.jsonl")
    stories = read_lines(CORPORA / "stories" / "dev.jsonl")
    pages = [one for one in read_lines(CORPORA / "pages" / "ground-truth.jsonl") if one["kind"] == "article"]
    whole = [Text(one["title"] or "", one["text"], topic_of(one["url"])) for one in pages]
    marked = CORPORA / "articles" / "ground-truth.json"
    if marked.is_file():
        bodies: list[dict[str, str]] = list(json.loads(marked.read_text("utf-8")).values())
        whole += [Text(one["articleBody"][:60], one["articleBody"], topic_of(one["url"])) for one in bodies]
    if not news:
        print(f"{CORPORA} is absent: the texts are our own")
        news = [{"label": label, "title": text.partition(". ")[0], "text": text} for label, text in read_material()]
    chosen = random.Random(17).sample(news, min(len(news), ARTICLES - len(whole)))
    short = [Text(one["title"], one["text"], topic_of(one["label"])) for one in chosen]
    return [*whole, *short], [one["title"] for one in (*news, *stories)]


def read_lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def topic_of(text: str) -> str:
    names = list(CLASSES)
    return names[sum(text.encode()) % len(names)]


def write_queries(headlines: Sequence[str], count: int, chance: random.Random) -> list[Query]:
    """Queries as people save them."""
    split = [[word for word in _WORD.findall(one.lower()) if word not in STOP_WORDS] for one in headlines]
    words = [word for one in split for word in one]
    pairs = [f'"{match[0]}"' for one in headlines for match in re.finditer(r"\b[A-Z][a-z]+ [A-Z]?[a-z]+\b", one)]
    topics = [name for name in CLASSES if " " not in name]

    def word() -> str:
        return chance.choice(words)

    def several(least: int, most: int) -> list[str]:
        line = chance.choice(split) or [word()]  # words that occur together
        return chance.sample(line, min(len(line), chance.randint(least, most)))

    def source() -> str:
        return f"Source {int(SOURCES * chance.random() ** 2)}"

    shapes: list[tuple[int, Callable[[], str]]] = [
        (20, word),
        (20, lambda: " ".join(several(2, 2))),
        (12, lambda: " ".join(several(3, 4))),
        (14, lambda: chance.choice(pairs)),
        (10, lambda: " or ".join((word(), word(), *several(1, 2)))),
        (6, lambda: f"{word()} -{word()}"),
        (4, lambda: f"({word()} or {word()}) {word()} -{word()}"),
        (5, lambda: f"{word()} topic:{chance.choice(topics)}"),
        (3, lambda: f"title:{word()}"),
        (3, lambda: f'{word()} source:"{source()}"'),
        (2, lambda: f"topic:{chance.choice(topics)} lang:en quality:>{chance.randint(50, 95)} -{word()}"),
        (1, lambda: f"host:s{chance.randrange(SOURCES)}.example newer:2d"),
    ]
    weights = [weight for weight, _ in shapes]
    made = chance.choices([shape for _, shape in shapes], weights, k=count)
    return [parse(shape(), Audience.EVERYONE) for shape in made]


async def store_articles(conn: Connection, texts: Sequence[Text]) -> list[ArticleId]:
    chance = random.Random(16)
    ids = [ArticleId(one) for one in ids_at(NOW, len(texts))]
    await conn.execute(
        """
        INSERT INTO sources (id, name, category, feed_url, feed_url_key)
        SELECT md5('s' || n)::uuid, 'Source ' || n, 'Category ' || n %% 20, 'https://s' || n || '.example/',
            sha256(('s' || n)::bytea)
        FROM generate_series(0, %(sources)s - 1) AS n
        """,
        {"sources": SOURCES},
    )
    for article_id, one in zip(ids, texts, strict=True):
        number = int(SOURCES * chance.random() ** 2)
        await store_article(conn, article_id, one, number, chance)
    return ids


async def store_article(
    conn: Connection, article_id: ArticleId, text: Text, number: int, chance: random.Random
) -> None:
    listed_at = NOW - timedelta(hours=chance.randrange(96))
    values = {
        "id": article_id, "key": article_id.bytes, "url": f"https://s{number}.example/{article_id}",
        "title": text.title, "text": text.text, "at": listed_at, "number": number,
        "topic": CLASSES[text.topic].topic, "category": CLASSES[text.topic].category, "quality": chance.random(),
    }  # fmt: skip
    for statement in (
        """
        INSERT INTO articles (id, url, url_key, title, author, published_at, seen_at)
        VALUES (%(id)s, %(url)s, %(key)s, %(title)s, 'Ann Smith', %(at)s, %(at)s)
        """,
        """
        INSERT INTO content (article_id, url, url_key, title, text, keywords, authors, language, open_graph,
            linked_data, origins, word_count, richness, extracted_at)
        VALUES (%(id)s, %(url)s, %(key)s, %(title)s, %(text)s, '{}', '{Ann Smith}', 'en', '{}', '[]', '{}', 0, 0,
            %(at)s)
        """,
        """
        INSERT INTO article_sources (article_id, source_id, entry_id, seen_at, listed_at)
        VALUES (%(id)s, md5('s' || %(number)s::integer)::uuid, '', %(at)s, %(at)s)
        """,
        """
        INSERT INTO labels (article_id, scheme, label, method, score, version, made_at, is_shown, is_disputed)
        SELECT %(id)s, scheme, label, 'rule', score, '1', %(at)s, true, false
        FROM (VALUES ('topic', %(topic)s, 0.9), ('category', %(category)s, 0.9), ('language', 'en', 1),
            ('type', 'article', 0.9), ('quality', 'quality', %(quality)s::real)) AS given (scheme, label, score)
        """,
    ):
        await conn.execute(statement, values)


if __name__ == "__main__":
    main()
