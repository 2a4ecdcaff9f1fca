from headwater.reading.tags import attributes_of


def test_a_bare_ampersand_in_an_attribute_starts_no_character() -> None:
    found = attributes_of(' rel=alternate href="/f?x=1&section=2&amp;y=3"')

    assert found == {"rel": "alternate", "href": "/f?x=1&section=2&y=3"}
