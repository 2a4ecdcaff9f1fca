"""Labels on pages: as filters of a list, and as text that says who gave them and how sure it is. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from headwater.labels.types import ArticleLabel, Method, Scheme
from headwater.labels.vocabulary import CATEGORIES, SENTIMENTS, TOPICS, TYPES
from headwater.query.fields import in_quotes
from headwater.query.show import show
from headwater.query.types import LabelField, Tagged

LABEL_MAX = 100  # as in the database
QUALITIES = ("20", "40", "60", "80")
# Names of languages, by their ISO 639-1 code. Articles may have others: a rule or a person gives any code.
LANGUAGES: Mapping[str, str] = {
    "af": "Afrikaans", "sq": "Albanian", "am": "Amharic", "ar": "Arabic", "hy": "Armenian", "az": "Azerbaijani",
    "eu": "Basque", "be": "Belarusian", "bn": "Bengali", "bs": "Bosnian", "bg": "Bulgarian", "ca": "Catalan",
    "zh": "Chinese", "hr": "Croatian", "cs": "Czech", "da": "Danish", "nl": "Dutch", "en": "English",
    "eo": "Esperanto", "et": "Estonian", "fi": "Finnish", "fr": "French", "gl": "Galician", "ka": "Georgian",
    "de": "German", "el": "Greek", "gu": "Gujarati", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "is": "Icelandic", "id": "Indonesian", "ga": "Irish", "it": "Italian", "ja": "Japanese", "kn": "Kannada",
    "kk": "Kazakh", "km": "Khmer", "ko": "Korean", "ky": "Kyrgyz", "lo": "Lao", "la": "Latin", "lv": "Latvian",
    "lt": "Lithuanian", "lb": "Luxembourgish", "mk": "Macedonian", "ms": "Malay", "ml": "Malayalam", "mt": "Maltese",
    "mr": "Marathi", "mn": "Mongolian", "ne": "Nepali", "no": "Norwegian", "nb": "Norwegian Bokmål",
    "nn": "Norwegian Nynorsk", "fa": "Persian", "pl": "Polish", "pt": "Portuguese", "pa": "Punjabi", "ro": "Romanian",
    "ru": "Russian", "sr": "Serbian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian", "es": "Spanish",
    "sw": "Swahili", "sv": "Swedish", "tl": "Tagalog", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tr": "Turkish",
    "an": "Aragonese", "as": "Assamese", "br": "Breton", "dz": "Dzongkha", "fo": "Faroese", "ht": "Haitian Creole",
    "jv": "Javanese", "ku": "Kurdish", "mg": "Malagasy", "oc": "Occitan", "or": "Odia", "ps": "Pashto",
    "qu": "Quechua", "rw": "Kinyarwanda", "se": "Northern Sami", "ug": "Uyghur", "vo": "Volapük", "wa": "Walloon",
    "xh": "Xhosa", "my": "Burmese", "yue": "Cantonese", "fy": "Frisian", "ha": "Hausa", "ig": "Igbo", "sa": "Sanskrit",
    "gd": "Scottish Gaelic", "sn": "Shona", "so": "Somali", "st": "Sotho", "tg": "Tajik", "tt": "Tatar",
    "tk": "Turkmen", "uz": "Uzbek", "yo": "Yoruba",
    "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "cy": "Welsh", "zu": "Zulu",
}  # fmt: skip


class LabelFilter(NamedTuple):
    """A filter of a list: its query parameter, its scheme, its name, and the values to choose from."""

    parameter: str
    scheme: Scheme
    name: str
    choices: Sequence[tuple[str, str]]


# `category` is the user's own category of feeds.
FILTERS: Sequence[LabelFilter] = (
    LabelFilter("topic", Scheme.TOPIC, "Topic", [(one, one.capitalize()) for one in TOPICS]),
    LabelFilter("label_category", Scheme.CATEGORY, "Category", [(one, one) for one in CATEGORIES]),
    LabelFilter("type", Scheme.TYPE, "Type", [(one, one.capitalize()) for one in TYPES]),
    LabelFilter("sentiment", Scheme.SENTIMENT, "Sentiment", [(one, one.capitalize()) for one in SENTIMENTS]),
    LabelFilter("language", Scheme.LANGUAGE, "Language", sorted(LANGUAGES.items(), key=lambda one: one[1])),
    LabelFilter("quality", Scheme.QUALITY, "Quality", [(one, f"At least {one}") for one in QUALITIES]),
    LabelFilter("keyword", Scheme.KEYWORD, "Keyword", []),
)
# The field of a query for each scheme.
FIELD_OF: Mapping[Scheme, LabelField] = {
    Scheme.TOPIC: LabelField.TOPIC, Scheme.CATEGORY: LabelField.TOPIC, Scheme.TYPE: LabelField.TYPE,
    Scheme.SENTIMENT: LabelField.SENTIMENT, Scheme.LANGUAGE: LabelField.LANGUAGE, Scheme.KEYWORD: LabelField.KEYWORD,
}  # fmt: skip
_METHODS = {
    Method.RULE: "by a rule", Method.MODEL: "by the model on this machine", Method.AI: "by a language model",
    Method.PERSON: "by a person",
}  # fmt: skip


def read_url(params: Mapping[str, str], **changes: str) -> str:
    """The URL of a list with some of its query parameters changed; empty ones are left out."""
    left = {name: value for name, value in {**params, **changes}.items() if value}
    return f"/read?{urlencode(left)}" if left else "/read"


def made_by(label: ArticleLabel) -> str:
    """Who gave a label, and how sure it is: `by the model on this machine, 83 % sure`."""
    who = _METHODS[label.method]
    if label.method is Method.PERSON or label.scheme is Scheme.QUALITY:  # of a quality, the score is the quality
        return who
    return f"{who}, {round(label.score * 100)} % sure"


def label_text(label: ArticleLabel) -> str:
    """A label as people read it."""
    match label.scheme:
        case Scheme.LANGUAGE:
            return LANGUAGES.get(label.label, label.label)
        case Scheme.QUALITY:
            return f"{round(label.score * 100)} of 100"
        case Scheme.KEYWORD | Scheme.CATEGORY:
            return label.label
        case _:
            return label.label[:1].upper() + label.label[1:]


def label_url(label: ArticleLabel) -> str:
    """The list of all articles with a label."""
    if label.scheme is Scheme.QUALITY:
        return read_url({"shelf": "all", "q": f"quality:>={round(label.score * 100)}"})
    return read_url({"shelf": "all", "q": f"{FIELD_OF[label.scheme]}:{in_quotes(label.label)}"})


def tag_query(tag: str) -> str:
    return show(Tagged(tag))


def tag_url(tag: str) -> str:
    """The list of all articles with a tag."""
    return read_url({"shelf": "all", "q": tag_query(tag)})


def by_scheme(labels: Sequence[ArticleLabel]) -> Iterator[tuple[str, Scheme, list[ArticleLabel]]]:
    """The labels of an article as its page shows them: the name of each scheme, and its labels, each once."""
    for one in FILTERS:
        named = {label.label: label for label in reversed(labels) if label.scheme is one.scheme}
        if named:
            yield one.name, one.scheme, list(reversed(named.values()))
