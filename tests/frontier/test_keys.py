from headwater.frontier.keys import lengthened, locate, shortened

PLAIN, DOTTED = "https://dot.example/2?a=1", "http://dot.example./2?a=1"


def test_a_host_with_the_dot_of_the_root_has_the_same_queue_and_its_pages_the_same_place() -> None:
    plain, dotted = locate(PLAIN), locate(DOTTED)

    assert (dotted.host, dotted.key) == (plain.host, plain.key) == ("dot.example", plain.key)
    assert (plain.url, dotted.url) == (PLAIN, DOTTED)


def test_a_url_is_stored_so_that_it_is_asked_as_it_was_given() -> None:
    for url in (PLAIN, DOTTED, DOTTED.replace("http:", "https:")):
        host = locate(url).host
        assert lengthened(shortened(url, host), host) == url
