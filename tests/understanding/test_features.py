"""What the text of an article shows: language, type, quality, sentiment, keywords."""

from collections.abc import Sequence
from dataclasses import replace
from time import process_time
from typing import Any

import pytest

from headwater.labels.vocabulary import SENTIMENTS, TYPES
from headwater.understanding.features import describe
from headwater.understanding.types import ArticleFeatures, ArticleText, Guess

NEWS = (
    "The council agreed on Tuesday to repair the old bridge over the river. Engineers had found cracks in two of its "
    "pillars in March.\nTraffic will use a second road until the work is finished, the mayor, Anna Lindqvist, told "
    "reporters.\nResidents asked Lindqvist why the bridge was not closed earlier. She said that the cracks were small "
    "and that the bridge had been inspected every month.\n"
)
PAGE = ArticleText(
    "https://example.com/news/bridge-repairs", "Council will repair the bridge", NEWS, description="The plan",
    author="Ada", language="en", has_date=True, has_image=True, has_page=True,
)  # fmt: skip


def features_of(article: ArticleText) -> ArticleFeatures:
    [features] = describe([article], [])
    return features


def type_of(**changed: Any) -> Guess:
    return features_of(replace(PAGE, **changed)).type


def keywords_of(article: ArticleText) -> list[str]:
    return [one.label for one in features_of(article).keywords]


# Language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (NEWS, "en"),
        ("Der Stadtrat beschloss am Dienstag, die alte Brücke über den Fluss zu erneuern.", "de"),
        ("Le conseil municipal a décidé mardi de réparer le vieux pont sur la rivière.", "fr"),
        ("El ayuntamiento decidió el martes reparar el viejo puente sobre el río.", "es"),
        ("市議会は火曜日、川に架かる古い橋を修理することを決めた。", "ja"),
        ("Городской совет решил во вторник отремонтировать старый мост через реку.", "ru"),
    ],
)
def test_the_language_is_that_of_the_text(text: str, expected: str):
    language = features_of(ArticleText("https://example.com/1", "", text)).language

    assert language is not None
    assert language.label == expected
    assert language.score > 0.9


@pytest.mark.parametrize("text", ["", "Nokia X30", "42", "!!! … ???", "BBC"])
def test_a_text_that_is_too_short_has_no_language(text: str):
    assert features_of(ArticleText("https://example.com/1", text, language="en")).language is None


def test_text_of_no_language_has_none():
    assert features_of(ArticleText("https://example.com/", "xkjd qwoei zmxnc alskd qpwoe mznxb alskd")).language is None


def test_a_wrong_declared_language_does_not_win_over_a_clear_text():
    language = features_of(replace(PAGE, language="de-DE")).language

    assert language is not None
    assert language.label == "en"


def test_a_declared_language_decides_between_similar_ones():
    text = "Nye regler for huse og biler i byen"
    found = [features_of(ArticleText("https://example.com/1", text, language=one)).language for one in ("da", "no-NO")]

    assert [one.label if one else None for one in found] == ["da", "no"]


# Content type


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("NewsArticle", "article"), ("Recipe", "recipe"), ("JobPosting", "job"), ("VideoObject", "video"),
        ("PodcastEpisode", "podcast"), ("Event", "event"), ("LiveBlogPosting", "live blog"),
        ("OpinionNewsArticle", "opinion"), ("https://schema.org/Recipe", "recipe"), ("CollectionPage", "listing"),
        (["Article", "Recipe"], "recipe"),
    ],
)  # fmt: skip
def test_json_ld_says_the_type(kind: str | Sequence[str], expected: str):
    assert type_of(linked_data=[{"@graph": [{"@type": "WebPage"}, {"@type": kind}]}]).label == expected


def test_a_news_article_with_a_video_is_an_article():
    found = type_of(linked_data=[{"@type": "NewsArticle"}, {"@type": "VideoObject"}])

    assert found == Guess("article", 1.0)


@pytest.mark.parametrize(
    "linked_data",
    [
        ["text", 1, None, [[[[]]]]], [{"@type": 5}], [{"@type": [None, {}]}], [{"@graph": "x"}],
        [{"@graph": [{"@graph": [{"@graph": [{"@graph": [{"@graph": [{"@graph": [{"@type": "Recipe"}]}]}]}]}]}]}],
        [{"@type": "Thing"}] * 100_000,
    ],
)  # fmt: skip
def test_hostile_json_ld_is_ignored(linked_data: Sequence[object]):
    assert type_of(linked_data=linked_data).label == "article"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "page"), ("about-us", "page"), ("contact.html", "page"), ("tag/bridges", "listing"),
        ("videos/bridge-falls", "video"), ("obituaries/anna-lindqvist", "obituary"), ("recipes/soup", "recipe"),
        ("news/bridge-repairs", "article"), ("news/video-of-the-bridge", "article"),
    ],
)  # fmt: skip
def test_the_url_says_the_type(path: str, expected: str):
    assert type_of(url=f"https://example.com/{path}").label == expected


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Onion soup", "Ingredients: four onions. Preheat the oven. Add two tablespoons of butter.", "recipe"),
        ("Engineer", "Job description: we are hiring. Salary by agreement, full-time. Apply now.", "job"),
        ("Anna Lindqvist", "She passed away and is survived by two sons. Funeral service: Friday.", "obituary"),
        ("Acme buys Bolt", "FOR IMMEDIATE RELEASE. Acme today announced it. Media contact: Ada.", "press release"),
        ("Opinion: build the bridge", NEWS, "opinion"),
        ("Bridge falls: live updates", NEWS, "live blog"),
    ],
)  # fmt: skip
def test_phrases_say_the_type(title: str, text: str, expected: str):
    assert type_of(title=title, text=text).label == expected


def test_english_phrases_do_not_count_in_another_language():
    german = "Der Stadtrat beschloss am Dienstag, die Brücke über den Fluss zu erneuern. " * 5
    text = f"{german} recipe ingredients tablespoon simmer"

    assert type_of(text=text, title="Brücke wird erneuert", language="de").label == "article"


def test_a_page_of_links_is_a_listing():
    assert type_of(text="Bridge repaired. Road closed. Mayor elected. " * 5, links=30).label == "listing"


def test_phrases_of_spam_make_spam_whatever_the_page_declares():
    spam = "Best online casino with free spins. Click here, act now: no deposit bonus, 100% free. "

    assert type_of(text=spam * 3, linked_data=[{"@type": "NewsArticle"}]).label == "spam"


def test_an_article_about_casinos_is_not_spam():
    assert type_of(text=NEWS + "The council also discussed the online casino law. ").label == "article"


def test_weaker_evidence_is_less_sure():
    scores = [
        type_of(linked_data=[{"@type": "NewsArticle"}]).score,
        type_of(linked_data=[{"@type": "Article"}]).score,
        type_of(open_graph={"type": "article"}).score,
        type_of().score,
        type_of(text="Short.").score,
    ]

    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)


def test_a_short_text_without_a_date_is_a_page():
    assert type_of(has_date=False).label == "page"


# Quality


def quality_of(article: ArticleText) -> float:
    return sum(features_of(article).quality.values())


def test_quality_has_four_parts_of_at_most_25():
    parts = features_of(replace(PAGE, text=NEWS * 5)).quality

    assert set(parts) == {"length", "metadata", "structure", "cleanliness"}
    assert all(0 <= part <= 25 for part in parts.values())
    assert sum(parts.values()) > 85


@pytest.mark.parametrize(
    ("part", "worse"),
    [
        ("length", replace(PAGE, text=NEWS[:200])),
        ("length", replace(PAGE, text=NEWS.strip() + " Read more …")),
        ("metadata", replace(PAGE, author="")),
        ("metadata", replace(PAGE, has_image=False)),
        ("structure", replace(PAGE, text=NEWS.replace(".", "").replace("\n", " "))),
        ("structure", replace(PAGE, text="bridge river " * 60)),
        ("cleanliness", replace(PAGE, title="COUNCIL WILL REPAIR THE BRIDGE")),
        ("cleanliness", replace(PAGE, text=NEWS.replace(".", "!!!"))),
        ("cleanliness", replace(PAGE, links=20)),
        ("cleanliness", replace(PAGE, text=NEWS + "Subscribe to our newsletter. We use cookies. Click here. ")),
        ("cleanliness", replace(PAGE, text=NEWS + "Free spins at our online casino, buy now. ")),
    ],
)
def test_what_is_worse_loses_in_its_part(part: str, worse: ArticleText):
    assert features_of(worse).quality[part] < features_of(PAGE).quality[part]


# Sentiment


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("A great day", "The team won. Fans were happy and proud. A wonderful, brilliant success.", "positive"),
        ("Deadly attack", "The bomb killed nine people. Survivors suffered terrible injuries and fear.", "negative"),
        (
            "Timetable",
            "The train leaves at nine. It stops in four towns. The line is 40 km long.",
            "neutral",
        ),
        (
            "Two results",
            "Their wonderful victory made fans happy. The crash killed two. Joy and love here. Grief and horror there.",
            "mixed",
        ),
    ],
)
def test_the_sentiment_of_english_texts(title: str, text: str, expected: str):
    article = ArticleText("https://example.com/1", title, f"{text} The reporters wrote this in English.", language="en")
    sentiment = features_of(article).sentiment

    assert sentiment is not None
    assert sentiment.label == expected


def test_another_language_has_no_sentiment():
    german = "Ein wunderbarer Sieg, die Fans waren glücklich und stolz auf ihre großartige Mannschaft."

    assert features_of(ArticleText("https://example.com/1", "Sieg", german)).sentiment is None


# Keywords


def test_keywords_are_names_and_words_that_repeat():
    assert {"bridge", "lindqvist", "cracks"} <= set(keywords_of(PAGE))
    assert not {"the", "was", "said"} & set(keywords_of(PAGE))


def test_a_name_of_two_words_is_one_keyword():
    text = "Anna Lindqvist spoke. Anna Lindqvist left. The council of the town met. It was late. " * 2

    assert "anna lindqvist" in keywords_of(replace(PAGE, text=text))


def test_the_keywords_of_the_page_come_first_and_are_tidied():
    declared = ["  Bridges ", "#Roads", "bridges", "", "\u200b", "x" * 500, "a\nb"]

    assert keywords_of(replace(PAGE, keywords=declared))[:3] == ["bridges", "roads", "a b"]


def test_there_are_few_keywords_of_limited_length():
    found = keywords_of(replace(PAGE, keywords=[f"keyword {n}" for n in range(1_000)], text=NEWS * 20))

    assert 6 < len(found) <= 10
    assert all(len(keyword) <= 60 for keyword in found)


def test_a_language_without_stop_words_has_the_keywords_of_the_page_only():
    finnish = "Kaupunginvaltuusto päätti tiistaina korjata vanhan sillan joen yli. " * 5

    assert keywords_of(ArticleText("https://example.com/1", "Silta", finnish, keywords=["silta"])) == ["silta"]


# All of it


def test_what_a_feed_says_is_read_without_its_markup():
    feed = ArticleText("https://example.com/1", "Bridge", html=f"<p>{NEWS}</p><p>More &amp; more</p><script>x</script>")
    page = ArticleText("https://example.com/1", "Bridge", f"{NEWS}More & more")
    assert features_of(feed).words == features_of(page).words
    assert features_of(feed).embedding == features_of(page).embedding


def test_an_article_without_any_text_shows_nothing():
    features = features_of(ArticleText("https://example.com/news/1", ""))

    assert (features.words, features.embedding, features.language, features.sentiment) == (0, None, None, None)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800\x00\x01", "a" * 1_000_000, "字" * 100_000, "! " * 100_000, "\n" * 100_000, "A. " * 30_000,
        "<" * 50_000, "&#" + "9" * 50_000, "'" * 50_000, "word-" * 10_000, "e\u0301" * 20_000, "🙂" * 20_000,
    ],
    ids=range(12),
)  # fmt: skip
@pytest.mark.parametrize("field", ["text", "html", "title", "description"])
def test_odd_text_gives_valid_features(text: str, field: str):
    changed: dict[str, Any] = {"title": "", "text": "", field: text}
    features = features_of(replace(PAGE, keywords=[text[:300]], **changed))

    assert features.type.label in TYPES
    assert all(0 <= part <= 25 for part in features.quality.values())
    assert features.sentiment is None or features.sentiment.label in SENTIMENTS
    for guess in (features.type, *features.keywords, *filter(None, (features.language, features.sentiment))):
        assert 0 <= guess.score <= 1
        guess.label.encode()
        assert "\x00" not in guess.label
    assert sum(features.word_counts.values()) < 20_000


@pytest.mark.parametrize("text", ["." * 49_999 + "x", "!" * 49_999 + "x", "?'" * 25_000 + "x"])
def test_lines_of_dots_take_no_longer_than_other_text(text: str):
    started = process_time()

    features_of(replace(PAGE, text=text))

    assert process_time() - started < 3  # 30 s, if the time grew with the square


def test_a_text_without_url_is_no_front_page():
    assert features_of(replace(PAGE, url="", text="The council met. " * 30)).type.label == "article"
