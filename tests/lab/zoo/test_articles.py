from headwater_lab.zoo.articles import Publisher, slug_of
from headwater_lab.zoo.languages import LANGUAGES
from headwater_lab.zoo.sites import SITES

NOW = 1_767_225_600.0
DAILY = SITES["daily.zoo.test"]


def press(tempo: float = 1.0) -> Publisher:
    return Publisher(lambda host: f"http://{host}:8900", tempo)


def test_the_same_number_is_the_same_article_in_every_process():
    assert press().article(DAILY, 41_000_000) == press().article(DAILY, 41_000_000)


def test_two_numbers_and_two_sites_tell_different_stories():
    texts = {press().article(site, number).paragraphs for site in SITES.values() for number in range(1000, 1005)}

    assert len(texts) == len(SITES) * 5


def test_an_article_appears_exactly_at_its_time():
    number = press().newest(DAILY, NOW)
    next_at = press().published_at(DAILY, number + 1)

    assert press().published_at(DAILY, number) <= NOW < next_at
    assert press().newest(DAILY, next_at) == number + 1
    assert press().newest(DAILY, next_at - 0.001) == number


def test_a_higher_tempo_publishes_more_often():
    slow = press(1).newest(DAILY, NOW + 3600) - press(1).newest(DAILY, NOW)
    fast = press(10).newest(DAILY, NOW + 3600) - press(10).newest(DAILY, NOW)

    assert (slow, fast) == (180, 1800)


def test_before_the_epoch_a_site_has_published_nothing():
    assert press().listed(DAILY, 0.0) == []


def test_every_site_has_a_history_longer_than_its_feed():
    for site in SITES.values():
        assert len(press().listed(site, NOW)) == site.listed


def test_no_slot_of_a_sentence_is_left_open_in_any_language():
    for language in LANGUAGES:
        site = next(site for site in SITES.values() if site.language == language)
        for number in range(1, 200):
            article = press().article(site, number)
            text = article.title + "".join(article.paragraphs)

            assert "{" not in text
            assert len(article.paragraphs) >= 3


def test_a_title_without_latin_letters_still_gives_a_path():
    assert slug_of("灯塔守护人") == "story"
    assert slug_of("À Portclair, l’été") == "a-portclair-lete"
