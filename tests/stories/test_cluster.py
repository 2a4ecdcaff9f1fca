"""Which articles become a story, and what it costs to find out."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.stories.cluster import StoryClusters
from tests.stories.articles import a_stream, an_article, an_id, feeds, grouped, new_clusters


def placed(*articles, **options) -> StoryClusters:
    clusters = new_clusters(**options)
    for article in articles:
        clusters.place(article)
    return clusters


def test_articles_of_different_feeds_about_one_event_are_a_story():
    clusters = placed(an_article(1, event=1), an_article(2, event=2), an_article(3, event=1))

    assert grouped(clusters) == {frozenset({1, 3}), frozenset({2})}
    stories = {one.article_id.int: one.story_id for one in clusters.take_placements()}
    assert stories == {1: UUID(int=1), 2: None, 3: UUID(int=1)}


def test_two_articles_of_one_feed_are_never_joined_by_likeness():
    one = an_article(1, event=1, feed=7)
    clusters = placed(one, replace(one, id=an_id(2)))
    clusters.review()

    assert grouped(clusters) == {frozenset({1}), frozenset({2})}


def test_the_second_article_of_a_feed_begins_no_story_beside_the_first():
    first = [an_article(number, event=1, feed=number) for number in range(1, 5)]
    second = [an_article(number + 10, event=1, feed=number) for number in range(1, 3)]
    clusters = placed(*first, *second)
    clusters.review()

    assert frozenset({1, 2, 3, 4}) in grouped(clusters)


@pytest.mark.parametrize("is_restored", [False, True])
def test_a_feed_with_many_articles_about_one_event_draws_no_story_apart(is_restored: bool):
    others = [an_article(number, event=number, hour=0) for number in range(1000, 1200)]
    flood = [an_article(number, event=1, feed=777, hour=1 + number / 10_000) for number in range(2000, 2300)]
    honest = [an_article(number, event=1, hour=2 + number / 10) for number in range(1, 11)]
    first = an_article(500, event=1, hour=1)
    clusters = new_clusters() if is_restored else placed(*others, first, *flood)
    for article in (*others, first, *flood) if is_restored else ():
        clusters.restore(article, UUID(int=900) if article in {first, flood[0]} else None, None)
    for article in honest:
        clusters.place(article)

    assert any(set(range(1, 11)) | {500} <= group for group in grouped(clusters))
    clusters.forget([one.id for one in (*flood, *honest, *others, first)])
    assert (len(clusters), clusters.word_count) == (0, 0)


def test_an_article_of_several_feeds_is_not_joined_if_the_story_has_one_of_them():
    shared = replace(an_article(2, event=1), sources=feeds(1, 9))

    assert grouped(placed(an_article(1, event=1, feed=1), shared)) == {frozenset({1}), frozenset({2})}
    assert grouped(placed(an_article(1, event=1, feed=3), shared)) == {frozenset({1, 2})}


def test_near_duplicates_join_at_once_even_of_one_feed_and_without_a_common_word():
    clusters = placed(an_article(1, event=1, feed=7), an_article(2, event=2, feed=7, twin=1))
    clusters.review()

    assert grouped(clusters) == {frozenset({1, 2})}


def test_a_near_duplicate_that_is_placed_before_its_original_waits_for_it():
    clusters = placed(an_article(2, event=2, feed=7, twin=1), an_article(1, event=1, feed=7))

    assert grouped(clusters) == {frozenset({1, 2})}


def test_a_copy_that_is_dated_long_before_does_not_end_the_story():
    """Otherwise a publisher could close any story to all later articles."""
    first = [an_article(number, event=1, hour=100) for number in range(1, 3)]
    copy = replace(an_article(9, event=1, hour=101, twin=1), at=0.0)
    clusters = placed(*first, copy, *(an_article(number, event=1, hour=102) for number in range(3, 5)))
    clusters.review()

    assert grouped(clusters) == {frozenset({1, 2, 3, 4}), frozenset({9})}


def test_an_article_of_a_clock_that_was_ahead_does_not_keep_others_in_memory():
    clusters = placed(an_article(1, event=1, hour=5000), *(an_article(n, event=n, hour=n) for n in range(2, 101)))
    clusters.forget_before(90 * 3600.0)

    assert len(clusters) == 12


def test_without_a_rare_word_in_common_equal_embeddings_are_not_enough():
    one = an_article(1, event=1)
    other = replace(an_article(2, event=1), words=("other", "words"), vector=one.vector)

    assert grouped(placed(one, other)) == {frozenset({1}), frozenset({2})}


def test_a_word_that_many_articles_have_is_not_rare():
    many = [replace(an_article(number, event=number), words=("election", f"own{number}")) for number in range(1, 400)]
    clusters = placed(*many)
    vector = many[200].vector
    clusters.place(replace(an_article(500, event=500), words=("election", "else"), vector=vector))

    assert frozenset({500}) in grouped(clusters)


def test_a_story_spans_at_most_72_hours_and_fades():
    first = an_article(1, event=1)

    assert grouped(placed(first, an_article(2, event=1, hour=10))) == {frozenset({1, 2})}
    late = an_article(2, event=1, hour=73)
    assert len(grouped(placed(first, late, fading=timedelta(days=1000)))) == 2


def test_an_article_that_is_placed_again_is_in_one_story_only():
    clusters = placed(*[an_article(number, event=1) for number in range(1, 5)])
    clusters.place(an_article(4, event=2))

    assert grouped(clusters) == {frozenset({1, 2, 3}), frozenset({4})}


def test_the_title_is_that_of_the_article_nearest_to_the_centre():
    clusters = placed(*[an_article(number, event=1) for number in range(1, 6)])
    [placement, *_] = clusters.take_placements()
    assert placement.story_id is not None

    assert clusters.nearest(placement.story_id) in {an_id(number) for number in range(1, 6)}
    clusters.forget([an_id(number) for number in range(1, 6)])
    assert clusters.nearest(placement.story_id) is None


def test_a_review_merges_stories_that_are_alike():
    # The first two share no word, the third shares some with each.
    one, other = an_article(1, event=1), an_article(2, event=1)
    left = replace(one, words=("alpha", "beta", "gamma"))
    right = replace(other, words=("delta", "epsilon", "zeta"))
    bridge = replace(an_article(3, event=1), words=("alpha", "beta", "gamma", "delta", "epsilon", "zeta"))
    clusters = placed(left, right, bridge)
    assert len(grouped(clusters)) == 2

    report = clusters.review()

    assert (grouped(clusters), report.merged) == ({frozenset({1, 2, 3})}, 1)
    assert len({one.story_id for one in clusters.take_placements()}) == 1


def test_a_review_removes_an_article_that_is_unlike_the_rest():
    story = [an_article(number, event=1) for number in range(1, 6)]
    wrong = replace(an_article(9, event=2), twins=())
    clusters = placed(*story)
    [placement, *_] = clusters.take_placements()
    clusters.restore(wrong, placement.story_id, None)

    assert clusters.review().left == 1
    assert grouped(clusters) == {frozenset({1, 2, 3, 4, 5}), frozenset({9})}
    assert [one.story_id for one in clusters.take_placements()] == [None]


def test_what_was_reviewed_before_a_restart_is_not_reviewed_again_until_it_changes():
    wrong = an_article(9, event=2)
    clusters = new_clusters()
    for article in (*[an_article(number, event=1) for number in range(1, 6)], wrong):
        clusters.restore(article, UUID(int=1), None, is_reviewed=True)

    assert clusters.review().left == 0
    clusters.place(an_article(6, event=1))
    assert clusters.review().left == 1


def test_the_same_order_gives_the_same_stories():
    stream = a_stream(200)
    one, other = placed(*stream), placed(*stream)

    assert one.take_placements() == other.take_placements()
    assert (one.review(), grouped(one)) == (other.review(), grouped(other))


def test_what_is_remembered_is_limited_however_many_articles_come():
    clusters = placed(*a_stream(600, events=500), most_articles=100)

    assert len(clusters) == 100
    assert clusters.word_count <= 100 * 10
    assert sum(map(len, clusters.groups())) == 100


def test_articles_are_forgotten_72_hours_after_their_arrival_and_their_words_with_them():
    clusters = placed(*a_stream(50, hours=1))
    clusters.forget_before(1000 * 3600.0)

    assert (len(clusters), clusters.word_count, clusters.groups()) == (0, 0, [])


@given(st.integers(0, 10_000), st.integers(0, 60))
@settings(max_examples=20, deadline=None)
def test_a_worker_that_takes_over_goes_on_as_the_first_would_have(seed: int, cut: int):
    stream = a_stream(80, seed=seed)
    first = placed(*stream[:cut])
    story_of = {one.article_id: one.story_id for one in first.take_placements()}
    second = new_clusters()
    for article in stream[:cut]:
        second.restore(article, story_of[article.id], None)
    for article in stream[cut:]:
        first.place(article)
        second.place(article)
    for clusters in (first, second):
        clusters.review()

    assert grouped(first) == grouped(second)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 100)), max_size=40))
@settings(max_examples=50, deadline=None)
def test_no_story_has_two_articles_of_one_feed_and_none_spans_more_than_72_hours(given_articles):
    articles = [
        an_article(number, event=event, feed=feed, hour=hour)
        for number, (feed, event, hour) in enumerate(given_articles)
    ]
    clusters = placed(*articles)
    clusters.review()

    assert sorted(one for ids in grouped(clusters) for one in ids) == list(range(len(articles)))
    for ids in grouped(clusters):
        story = [articles[number] for number in ids]
        assert len(frozenset().union(*(one.sources for one in story))) == len(story)
        assert max(one.at for one in story) - min(one.at for one in story) <= 72 * 3600


def test_a_merge_leaves_near_duplicates_together():
    """Otherwise 12 would join the other story alone, and leave two articles of feed 1 that only it had joined."""
    alpha, delta = ("alpha", "beta", "gamma"), ("delta", "epsilon", "zeta")
    large = [replace(an_article(number, event=1, feed=number), words=alpha) for number in range(1, 7)]
    small = [
        replace(an_article(11, event=1, feed=1), words=delta),
        replace(an_article(12, event=1, feed=12), words=delta),
        replace(an_article(13, event=1, feed=1, twin=12), words=delta),
    ]
    bridge = replace(an_article(20, event=1), words=alpha + delta)
    clusters = placed(*large, *small, bridge)

    clusters.review()

    assert grouped(clusters) == {frozenset({1, 2, 3, 4, 5, 6, 20}), frozenset({11, 12, 13})}
