"""The labels of the schemes that have a fixed list. Pure data."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from headwater.labels.types import Scheme

# The 17 IPTC Media Topics of the top level.
ARTS: Final = "arts, culture, entertainment and media"
CONFLICT: Final = "conflict, war and peace"
CRIME: Final = "crime, law and justice"
DISASTER: Final = "disaster, accident and emergency incident"
ECONOMY: Final = "economy, business and finance"
EDUCATION: Final = "education"
ENVIRONMENT: Final = "environment"
HEALTH: Final = "health"
HUMAN_INTEREST: Final = "human interest"
LABOUR: Final = "labour"
LIFESTYLE: Final = "lifestyle and leisure"
POLITICS: Final = "politics and government"
RELIGION: Final = "religion"
SCIENCE: Final = "science and technology"
SOCIETY: Final = "society"
SPORT: Final = "sport"
WEATHER: Final = "weather"


class TopicClass(NamedTuple):
    """What a model tells apart: a topic, and its category in seed 003."""

    topic: str
    category: str


# Science and technology are one topic and two categories, so a model tells them apart.
CLASSES: Mapping[str, TopicClass] = {
    "arts": TopicClass(ARTS, "Entertainment"),
    "conflict": TopicClass(CONFLICT, "World News"),
    "crime": TopicClass(CRIME, "World News"),
    "disaster": TopicClass(DISASTER, "World News"),
    "economy": TopicClass(ECONOMY, "Business & Finance"),
    "education": TopicClass(EDUCATION, "Lifestyle"),
    "environment": TopicClass(ENVIRONMENT, "Science & Health"),
    "health": TopicClass(HEALTH, "Science & Health"),
    "human interest": TopicClass(HUMAN_INTEREST, "Lifestyle"),
    "labour": TopicClass(LABOUR, "Business & Finance"),
    "lifestyle": TopicClass(LIFESTYLE, "Lifestyle"),
    "politics": TopicClass(POLITICS, "Politics"),
    "religion": TopicClass(RELIGION, "World News"),
    "science": TopicClass(SCIENCE, "Science & Health"),
    "society": TopicClass(SOCIETY, "World News"),
    "sport": TopicClass(SPORT, "Sports"),
    "technology": TopicClass(SCIENCE, "Technology"),
    "weather": TopicClass(WEATHER, "World News"),
}

TOPICS: Sequence[str] = tuple(dict.fromkeys(one.topic for one in CLASSES.values()))
CATEGORIES: Sequence[str] = (
    "Technology", "Business & Finance", "World News", "Science & Health", "Politics", "Entertainment", "Sports",
    "Lifestyle",
)  # fmt: skip
TYPES: Sequence[str] = (
    "article", "page", "listing", "video", "podcast", "press release", "job", "event", "obituary", "recipe", "review",
    "opinion", "live blog", "spam",
)  # fmt: skip
SENTIMENTS: Sequence[str] = ("positive", "negative", "neutral", "mixed")
QUALITY: Final = "quality"  # the only label of its scheme; the score is the quality, 1 for 100

# Schemes that are not here have labels of any text.
FIXED: Mapping[Scheme, Sequence[str]] = {
    Scheme.TYPE: TYPES, Scheme.TOPIC: TOPICS, Scheme.CATEGORY: CATEGORIES, Scheme.SENTIMENT: SENTIMENTS,
    Scheme.QUALITY: (QUALITY,),
}  # fmt: skip
