import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

from headwater.ids import first_id_at, ids_around, ids_at, new_id, time_of


def test_an_id_is_a_uuid_of_version_7() -> None:
    made = new_id()

    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert abs((made.int >> 80) / 1000 - time.time()) < 5


def test_later_ids_sort_later_within_a_millisecond_too() -> None:
    made: list[UUID] = []
    for _ in range(500):
        made.append(new_id())
        time.sleep(0.000_01)

    assert made == sorted(made)


def test_ids_of_what_is_seen_at_a_moment_sort_by_it() -> None:
    moments = [datetime(2026, 1, 31, 23, 59, 59, 999_000 + part, tzinfo=UTC) for part in range(0, 1000, 50)]
    made = [one for at in moments for one in ids_at(at, 1)]

    assert made == sorted(made)
    assert first_id_at(moments[0]) <= made[0]
    assert made[-1] < first_id_at(datetime(2026, 2, 1, tzinfo=UTC))


def test_ids_of_one_time_ascend_in_the_order_they_are_made_in() -> None:
    at = datetime(2026, 1, 31, 12, tzinfo=UTC)
    made = [*ids_at(at, 3), *(one for _ in range(200) for one in ids_at(at, 1)), *ids_at(at, 50)]

    assert made == sorted(set(made))
    assert {time_of(one) for one in made} == {at}
    assert made[0] not in ids_at(at + timedelta(seconds=1), 3)


def test_the_time_of_an_id_is_read_back() -> None:
    at = datetime(2026, 1, 31, 23, 59, 59, 999_000, tzinfo=UTC)

    assert {time_of(one) for one in ids_at(at, 3)} == {at}


def test_ids_around_others_end_at_the_first_and_last_id() -> None:
    at, day = datetime(2026, 1, 31, tzinfo=UTC), timedelta(days=1)
    first, last = first_id_at(at), first_id_at(at + day)

    assert ids_around([last, first], day) == (first_id_at(at - day), first_id_at(at + 2 * day))
    assert ids_around([UUID(int=1), UUID(int=2**128 - 2)], day) == (UUID(int=0), UUID(int=2**128 - 1))


def test_ids_differ() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000
