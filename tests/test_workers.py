"""The loop around a stage, with stages made for the test: no network, no database."""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, cast

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from headwater import pipeline, workers
from headwater.errors import DatabaseUnavailable
from headwater.pipeline import Tools

SECOND = timedelta(seconds=1)


class Counting:
    """A stage with so many pieces of work, each of which takes `takes` seconds."""

    name = "counting"
    concurrency = 3

    def __init__(self, pieces: int, takes: float = 0.0) -> None:
        self.waiting = list(range(pieces))
        self.done: list[int] = []
        self.at_once = self.most_at_once = 0
        self.takes = takes

    async def claim(self, limit: int) -> Sequence[int]:
        taken, self.waiting = self.waiting[:limit], self.waiting[limit:]
        return taken

    async def work(self, item: int) -> None:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self.takes)
        self.at_once -= 1
        self.done.append(item)

    async def lag(self) -> timedelta:
        return timedelta(seconds=7)


async def run(stage: Any, monkeypatch: pytest.MonkeyPatch, *, until: Any, drain: timedelta = SECOND) -> None:
    monkeypatch.setattr(workers, "STAGES", {stage.name: lambda _tools: stage})
    monkeypatch.setattr(workers, "IDLE_S", 0.01)
    stop = asyncio.Event()
    running = asyncio.create_task(workers.run_stages(cast("Tools", None), [stage.name], stop, drain))
    async with asyncio.timeout(300):
        while not until():
            await asyncio.sleep(0.005)
        stop.set()
        await running


async def test_all_work_is_done_with_every_slot_busy_and_none_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Counting(20, takes=0.01)

    await run(stage, monkeypatch, until=lambda: len(stage.done) == 20)

    assert sorted(stage.done) == list(range(20))
    assert stage.most_at_once == 3


async def test_a_slow_piece_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneSlow(Counting):
        async def work(self, item: int) -> None:
            await asyncio.sleep(5 if item == 0 else 0)
            self.done.append(item)

    stage = OneSlow(10)

    await run(stage, monkeypatch, until=lambda: len(stage.done) == 9, drain=timedelta(0))

    assert 0 not in stage.done


async def test_of_many_pieces_the_first_are_under_way_before_the_last_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    class Told(Counting):
        concurrency = 100

        def __init__(self) -> None:
            super().__init__(100)
            self.story: list[tuple[str, int]] = []

        async def work(self, item: int) -> None:
            self.story.append(("begins", item))
            await asyncio.sleep(0)
            self.story.append(("goes on", item))
            self.done.append(item)

    stage = Told()

    await run(stage, monkeypatch, until=lambda: len(stage.done) == 100)

    assert stage.story.index(("goes on", 0)) < stage.story.index(("begins", 20))


async def test_a_stage_without_work_looks_no_more_often_than_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    class Seldom(Counting):
        check_interval = timedelta(hours=1)
        looks = 0

        async def claim(self, limit: int) -> Sequence[int]:
            self.looks += 1
            return await super().claim(limit)

    stage, started = Seldom(0), time.monotonic()

    await run(stage, monkeypatch, until=lambda: time.monotonic() - started > 0.7)

    assert stage.looks <= 7  # twice as long each time, from 20 ms on; at IDLE_S it would be 40 and more


async def test_on_stop_work_in_hand_is_finished_and_none_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Counting(100, takes=0.1)

    await run(stage, monkeypatch, until=lambda: stage.at_once == 3)

    assert len(stage.done) == 3


async def test_a_stop_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Counting(1, takes=60)

    with capture_logs() as logs:
        await run(stage, monkeypatch, until=lambda: stage.at_once == 1, drain=timedelta(seconds=0.05))

    assert "stage stopped with work in progress" in [line["event"] for line in logs]


async def test_on_stop_a_stage_that_can_end_its_work_early_does(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(Counting):
        def __init__(self) -> None:
            super().__init__(3)
            self.draining = asyncio.Event()

        async def work(self, item: int) -> None:
            self.at_once += 1
            await self.draining.wait()
            self.done.append(item)

        def drain(self) -> None:
            self.draining.set()

    stage = Endless()

    await run(stage, monkeypatch, until=lambda: stage.at_once == 3, drain=timedelta(seconds=60))

    assert len(stage.done) == 3


async def test_a_stage_waits_for_its_database_and_leaves_the_line_about_it_to_the_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Outage(Counting):
        failures = 0

        async def claim(self, limit: int) -> Sequence[int]:
            if self.failures < 3:
                self.failures += 1
                raise DatabaseUnavailable("it is away")
            return await super().claim(limit)

    monkeypatch.setattr(workers, "BACKOFF_MAX_S", 0.01)
    stage = Outage(5)
    counted = {"stage": "counting", "cause": "database"}
    before = REGISTRY.get_sample_value("headwater_stage_failures_total", counted) or 0

    with capture_logs() as logs:
        await run(stage, monkeypatch, until=lambda: len(stage.done) == 5)

    assert {line["event"] for line in logs if line["log_level"] != "debug"} == {"stage started", "stage stopped"}
    assert REGISTRY.get_sample_value("headwater_stage_failures_total", counted) == before + 3


async def test_lag_and_last_success_are_measured_while_all_slots_are_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Counting):
        """Three pieces that never end, and others that wait longer and longer."""

        name = "full"

        def __init__(self) -> None:
            super().__init__(10, takes=60)
            self.measured = 0

        async def lag(self) -> timedelta:
            if self.at_once == self.concurrency:
                self.measured += 1
            return timedelta(seconds=10 * self.measured)

    monkeypatch.setattr(workers, "LAG_EVERY_S", 0.01)
    stage = Full()
    before = time.time()

    await run(stage, monkeypatch, until=lambda: stage.measured >= 3, drain=timedelta(0))

    lag = REGISTRY.get_sample_value("headwater_stage_lag_seconds", {"stage": "full"})
    seen_at = REGISTRY.get_sample_value("headwater_stage_last_success_timestamp_seconds", {"stage": "full"})
    assert lag is not None
    assert lag >= 20
    assert seen_at is not None
    assert seen_at >= before


async def test_a_bug_in_one_piece_leaves_the_stage_running(monkeypatch: pytest.MonkeyPatch) -> None:
    class OneBroken(Counting):
        async def work(self, item: int) -> None:
            if item == 1:
                raise ZeroDivisionError
            if item == 2:
                raise DatabaseUnavailable("gone while writing")
            self.done.append(item)

    stage = OneBroken(6)

    with capture_logs() as logs:
        await run(stage, monkeypatch, until=lambda: len(stage.done) == 4)

    levels = {line["event"]: line["log_level"] for line in logs}
    assert levels["stage work failed"] == "error"
    assert levels["outcome not written"] == "debug"  # hundreds may fail at once: the database logs its outage itself


async def test_a_bug_in_measuring_neither_ends_the_stage_nor_loses_what_was_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Unmeasurable(Counting):
        async def lag(self) -> timedelta:
            raise ZeroDivisionError

    stage = Unmeasurable(6)
    monkeypatch.setattr(workers, "BACKOFF_MAX_S", 0.01)

    with capture_logs() as logs:
        await run(stage, monkeypatch, until=lambda: len(stage.done) == 6)

    assert {line["event"] for line in logs if line["log_level"] == "error"} == {"stage claim failed"}


async def test_a_stage_reports_its_lag_and_its_last_success(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Counting(1)

    await run(stage, monkeypatch, until=lambda: len(stage.done) == 1)

    assert REGISTRY.get_sample_value("headwater_stage_lag_seconds", {"stage": "counting"}) == 7
    assert REGISTRY.get_sample_value("headwater_stage_last_success_timestamp_seconds", {"stage": "counting"})
    assert REGISTRY.get_sample_value("headwater_stage_running", {"stage": "counting"}) == 0


def test_the_pipeline_names_its_stages() -> None:
    assert list(pipeline.STAGES) == [
        "polling", "moving", "rediscovery", "fetching", "extracting", "sitemaps", "spider", "classifying", "images",
        "tagging", "stories", "rules", "notifying", "digests", "counting", "removing", "retaining", "delivering",
        "alerting", "mailing", "importing",
    ]  # fmt: skip
