"""Imported by the sandbox's processes as they start: loads all models, outside the limits of time and memory."""

from headwater.understanding.features import describe
from headwater.understanding.types import ArticleText

describe([ArticleText("https://example.com/", "The council met", "It agreed on the budget for schools and roads.")], [])
