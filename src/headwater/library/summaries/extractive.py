"""A summary without a language model: the day's main stories, each with its best sentences. Pure. docs/reading.md says
how stories and sentences are chosen."""

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice
from uuid import UUID

from headwater.library.summaries.decide import escaped, tidy
from headwater.library.summaries.types import DayArticle

STORIES = 6
HEADLINES = 6
SAME_STORY = 0.24  # similarity of two articles; of different stories it is rarely above 0.15
DAY = 20  # articles assumed in addition, so that words are rare on a day with few
ALSO_IN = 20  # other feeds, by name
QUOTED_MAX = 380  # characters
TITLE_SHOWN = 160
TEXT_READ = 3_000
LEAD_WORDS = 60
TITLE_WEIGHT = 2.5

SENTENCES_READ = 14  # news says first what matters
SENTENCE_MIN = 30
SENTENCE_MAX = 420

# Scripts without spaces between words: pairs of characters are used as words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+(?:['’][^\\W\\d_{_UNSPACED}]+)?")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_END = re.compile(r"""(?:(?<![.!?…؟۔।])[.!?…؟۔।]+["'”’»)\]]*(?=\s)|[。！？]+[」』”’）]*|\n+)""")
# After these a full stop ends no sentence: a title, an initial, an abbreviation of months, places and numbers.
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\"'“„])(?:[^\W\d_]|Mr|Mrs|Ms|Dr|Prof|Sen|Rep|Gov|Gen|Col|Lt|St|No|Nr|vs|etc|Inc|Ltd|Co|Corp|Jr|Sr|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|ca|bzw|z\.\s?B|d\.\s?h|u\.\s?a|usw|M|Mme|Mlle|Sra|Dra|Ing|"
    r"approx|p\.\s?ex|e\.g|i\.e|a\.m|p\.m|U\.S|U\.K|г|ул|т\.\s?е)\.$"
)
# Stop words of the languages that most feeds are written in.
_COMMON = frozenset(
    word
    for line in (files("headwater.library.summaries") / "common_words.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
    for word in line.split()
)

Vector = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _ParsedArticle:
    article: DayArticle
    place: int  # among the newest
    sentences: tuple[str, ...]
    vector: Vector


@dataclass(frozen=True, slots=True)
class _Story:
    """Articles of one story; the one to quote comes first."""

    members: tuple[_ParsedArticle, ...]
    vector: Vector
    weight: float


def summarise(articles: Sequence[DayArticle]) -> str:
    """The day in Markdown, with links to the articles; the same articles in the same order give the same text."""
    stories = _ranked(_grouped(_read(articles)))
    main, more = stories[:STORIES], stories[STORIES : STORIES + HEADLINES]
    parts = [_opening(articles, len(stories)), "\n".join(f"- {_item(story)}" for story in main)]
    if more:
        parts.append("Also: " + "; ".join(_link(story.members[0].article) for story in more) + ".")
    return "\n\n".join(parts)


def _opening(articles: Sequence[DayArticle], stories: int) -> str:
    feeds = len({article.feed_name for article in articles})
    report = f" report {_count(stories, 'story')}" if stories > 1 else ""
    report += ". These stand out" if stories > STORIES else ""
    return f"{_count(len(articles), 'article')} from {_count(feeds, 'feed')} in the last 24 hours{report}:"


def _count(number: int, noun: str) -> str:
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number} {noun if number == 1 else many}"


def _read(articles: Sequence[DayArticle]) -> list[_ParsedArticle]:
    sentences = _own_sentences(articles)
    counts = [_terms(article, lines) for article, lines in zip(articles, sentences, strict=True)]
    held = Counter(word for terms in counts for word in terms)
    rarity = {word: math.log(1 + (len(articles) + DAY) / held_by) for word, held_by in held.items()}
    return [
        _ParsedArticle(article, place, lines, _unit({word: weight * rarity[word] for word, weight in terms.items()}))
        for place, (article, lines, terms) in enumerate(zip(articles, sentences, counts, strict=True))
    ]


def _own_sentences(articles: Sequence[DayArticle]) -> list[tuple[str, ...]]:
    """The sentences of each article, without those that its feed repeats, such as copyright notices."""
    found = [(article.feed_name, sentences_in(article.text[:TEXT_READ])) for article in articles]
    times = Counter((feed, sentence) for feed, sentences in found for sentence in set(sentences))
    return [
        tuple(sentence for sentence in sentences if times[feed, sentence] == 1) or tuple(sentences)
        for feed, sentences in found
    ]


def _terms(article: DayArticle, sentences: Sequence[str]) -> Mapping[str, float]:
    """The weight of each word: of the title, and of the beginning of the text."""
    lead = Counter(islice((word for sentence in sentences for word in words_in(sentence)), LEAD_WORDS))
    terms = {word: 1 + math.log(times) for word, times in lead.items()}
    for word in dict.fromkeys(words_in(article.title)):
        terms[word] = terms.get(word, 0.0) + TITLE_WEIGHT
    return terms


def _unit(vector: Mapping[str, float]) -> Vector:
    length = math.sqrt(sum(weight * weight for weight in vector.values())) or 1.0
    return {word: weight / length for word, weight in vector.items()}


def _similarity(one: Vector, other: Vector) -> float:
    if len(other) < len(one):
        one, other = other, one
    return sum(weight * other[word] for word, weight in one.items() if word in other)


def _grouped(reads: Sequence[_ParsedArticle]) -> list[_Story]:
    """The stories that are known; each other article joins the most similar one, on average, or begins one."""
    groups = _known_stories(reads)
    known = {read.place for group in groups for read in group}
    for read in reads:
        if read.place in known:
            continue
        best, similarity = None, SAME_STORY
        for group in groups:
            mean = sum(_similarity(read.vector, member.vector) for member in group) / len(group)
            if mean >= similarity:
                best, similarity = group, mean
        if best is None:
            groups.append([read])
        else:
            best.append(read)
    day = _centre_of(reads)
    return [_story(group, day) for group in groups]


def _known_stories(reads: Sequence[_ParsedArticle]) -> list[list[_ParsedArticle]]:
    """The stories with several of these articles."""
    stories: defaultdict[UUID, list[_ParsedArticle]] = defaultdict(list)
    for read in reads:
        if read.article.story_id is not None:
            stories[read.article.story_id].append(read)
    return [story for story in stories.values() if len(story) > 1]


def _centre_of(reads: Sequence[_ParsedArticle]) -> Vector:
    """The topics of the day: the sum of all articles."""
    total: defaultdict[str, float] = defaultdict(float)
    for read in reads:
        for word, weight in read.vector.items():
            total[word] += weight
    return _unit(total)


def _story(group: Sequence[_ParsedArticle], day: Vector) -> _Story:
    centre = _centre_of(group)
    members = sorted(group, key=lambda read: (not read.sentences, -_similarity(read.vector, centre), read.place))
    feeds = len({read.article.feed_name for read in group})
    weight = math.log2(1 + feeds) + _similarity(centre, day) - (0 if members[0].sentences else 0.3)
    return _Story(tuple(members), centre, weight)


def _ranked(stories: Sequence[_Story]) -> list[_Story]:
    """The story with the highest weight first, reduced by its similarity to those before it."""
    left = sorted(stories, key=lambda story: (-story.weight, story.members[0].place))
    chosen: list[_Story] = []

    def reduced(story: _Story) -> float:
        return story.weight * (1 - max((_similarity(story.vector, other.vector) for other in chosen), default=0.0))

    while left and len(chosen) < STORIES:
        chosen.append(max(left, key=reduced))
        left.remove(chosen[-1])
    return chosen + left


def _item(story: _Story) -> str:
    """The title and its feed; on the next line, the sentences and other feeds of the story."""
    first = story.members[0]
    head = f"**{_link(first.article)}** · {escaped(first.article.feed_name)}"
    body = " ".join(filter(None, (escaped(_quoted(first, story)), _also_in(story))))
    return f"{head}\\\n  {body}" if body else head


def _also_in(story: _Story) -> str:
    first, *rest = story.members
    others = {read.article.feed_name: read.article for read in reversed(rest)}
    others.pop(first.article.feed_name, None)
    links = [_link(article, name) for name, article in sorted(others.items())]
    more = f" and {_count(len(links) - ALSO_IN, 'other')}" if len(links) > ALSO_IN else ""
    return f"*Also in* {', '.join(links[:ALSO_IN])}{more}." if links else ""


def _quoted(read: _ParsedArticle, story: _Story) -> str:
    """Up to two sentences, in their order."""
    title = set(words_in(read.article.title))
    words = [set(words_in(sentence)) for sentence in read.sentences]
    chosen: list[int] = []
    said: set[str] = set()
    while len(chosen) < 2:
        room = QUOTED_MAX - sum(len(read.sentences[place]) for place in chosen)
        fitting = [
            place
            for place, sentence in enumerate(read.sentences)
            if place not in chosen and words[place] - title and (not chosen or len(sentence) <= room)
        ]
        if not fitting:
            break
        best = max(fitting, key=lambda place: (_worth(words[place] - said, title, place, story.vector), -place))
        chosen.append(best)
        said |= words[best]
    quoted = [read.sentences[place] for place in sorted(chosen)]
    text = " ".join(one if len(one) <= QUOTED_MAX else one[:QUOTED_MAX].rsplit(" ", 1)[0] + " …" for one in quoted)
    return text.replace("。 ", "。")


def _worth(words: set[str], title: set[str], place: int, weights: Vector) -> float:
    if not words:
        return 0.0
    about = sum(weights.get(word, 0.0) for word in words) / math.sqrt(len(words))
    return (about + 0.3 * len(words & title) / (len(title) or 1)) / (1 + 0.25 * place)


def _link(article: DayArticle, words: str = "") -> str:
    text = tidy(words or article.title) or "Without a title"
    shown = text if len(text) <= TITLE_SHOWN else text[: TITLE_SHOWN - 1].rstrip() + "…"
    return f"[{escaped(shown)}](/articles/{article.id})"


def words_in(text: str) -> Iterator[str]:
    """The words of a text without stop words, as they are compared."""
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold()):
        word = match[0].replace("’", "'")
        if _IS_UNSPACED.match(word):
            yield from (word[start : start + 2] for start in range(max(1, len(word) - 1)))
        elif word not in _COMMON and len(word) > 1:
            yield word.removesuffix("'s")


def sentences_in(text: str) -> list[str]:
    """The first sentences that can stand alone: neither a fragment nor a wall."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(f"{text}\n"):
        if match[0].strip() == "." and _ABBREVIATED.search(text[max(start, match.end() - 12) : match.end()]):
            continue
        sentence = " ".join(text[start : match.end()].split())
        start = match.end()
        if _can_stand(sentence):
            found.append(sentence)
        if len(found) == SENTENCES_READ:
            break
    return found


def _can_stand(sentence: str) -> bool:
    shortest = SENTENCE_MIN // (3 if _IS_UNSPACED.search(sentence) else 1)
    ends = sentence.rstrip("\"'”’»)]」』）").endswith(tuple(".!?…؟۔।。！？"))
    return shortest <= len(sentence) <= SENTENCE_MAX and ends
