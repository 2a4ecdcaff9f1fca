from headwater.frontier.keys import lengthened, locate, shortened

PLAIN, DOTTED = "https://dot.example/2?a=1", "http://dot.example./2?a=1"


def test_a_trailing_dot_of_a_host_changes_neither_its_queue_nor_its_keys() -> None:
    plain, dotted = locate(PLAIN), locate(DOTTED)

    assert (dotted.host, dotted.key) == (plain.host, plain.key) == ("dot.example", plain.key)
    assert (plain.url, dotted.url) == (PLAIN, DOTTED)


def test_a_url_is_requested_as_it_was_submitted() -> None:
    for url in (PLAIN, DOTTED, DOTTED.replace("http:", "https:")):
        host = locate(url).host
        assert lengthened(shortened(url, host), host) == url
