import time

from headwater.ids import new_id


def test_an_id_is_a_uuid_of_version_7() -> None:
    made = new_id()

    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert abs((made.int >> 80) / 1000 - time.time()) < 5


def test_later_ids_sort_later() -> None:
    first = new_id()
    time.sleep(0.002)

    assert first < new_id()


def test_ids_differ() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000
