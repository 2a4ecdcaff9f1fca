"""Which labels are shown, and which are disputed."""

from headwater.labels.decide import decide_shown
from headwater.labels.types import ArticleLabel, Method, Scheme
from headwater.labels.vocabulary import CATEGORIES, CLASSES, TOPICS
from tests.clock import START


def says(method: Method, label: str, score: float = 0.9, scheme: Scheme = Scheme.TYPE) -> ArticleLabel:
    return ArticleLabel(scheme, label, method, score, "1", None, START)


def shown(*labels: ArticleLabel) -> list[str]:
    return [one.label for one in decide_shown(labels) if one.is_shown]


def is_disputed(*labels: ArticleLabel) -> bool:
    return any(one.is_disputed for one in decide_shown(labels))


def test_a_persons_label_wins_over_every_other_however_sure_they_are():
    others = [says(method, "job", 1.0) for method in (Method.RULE, Method.AI, Method.MODEL)]

    assert shown(*others, says(Method.PERSON, "recipe", 0.1)) == ["recipe"]


def test_of_one_label_per_article_a_rule_comes_before_a_language_model_and_that_before_a_model():
    rule, ai, model = says(Method.RULE, "job", 0.5), says(Method.AI, "event"), says(Method.MODEL, "article", 1.0)

    assert [shown(rule, ai, model), shown(ai, model), shown(model)] == [["job"], ["event"], ["article"]]


def test_the_surest_label_of_a_method_is_shown():
    assert shown(says(Method.MODEL, "job", 0.4), says(Method.MODEL, "event", 0.6)) == ["event"]


def test_an_article_has_every_topic_that_is_sure_enough():
    topics = [says(Method.MODEL, "sport", 0.6, Scheme.TOPIC), says(Method.RULE, "health", 0.5, Scheme.TOPIC)]

    assert sorted(shown(*topics, says(Method.MODEL, "weather", 0.1, Scheme.TOPIC))) == ["health", "sport"]


def test_methods_that_are_sure_and_disagree_are_disputed_until_a_person_decides():
    rule, model = says(Method.RULE, "job"), says(Method.MODEL, "event")

    assert is_disputed(rule, model)
    assert not is_disputed(rule, model, says(Method.PERSON, "job"))


def test_an_unsure_method_disputes_nothing():
    assert not is_disputed(says(Method.RULE, "job"), says(Method.MODEL, "event", 0.4))


def test_methods_with_a_topic_in_common_agree():
    common = [says(method, "sport", scheme=Scheme.TOPIC) for method in (Method.AI, Method.MODEL)]

    assert not is_disputed(*common, says(Method.AI, "health", scheme=Scheme.TOPIC))
    assert is_disputed(common[0], says(Method.MODEL, "health", scheme=Scheme.TOPIC))


def test_keywords_and_qualities_are_never_disputed():
    for scheme in (Scheme.KEYWORD, Scheme.QUALITY):
        assert not is_disputed(says(Method.AI, "a", scheme=scheme), says(Method.MODEL, "b", scheme=scheme))


def test_schemes_do_not_affect_each_other():
    labels = [says(Method.PERSON, "job"), says(Method.MODEL, "positive", scheme=Scheme.SENTIMENT)]

    assert sorted(shown(*labels)) == ["job", "positive"]


def test_there_are_17_topics_and_each_belongs_to_one_of_the_eight_categories():
    assert len(TOPICS) == 17
    assert {one.category for one in CLASSES.values()} == set(CATEGORIES)
    assert len(CATEGORIES) == 8
