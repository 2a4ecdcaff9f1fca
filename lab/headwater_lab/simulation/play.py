"""Polling a world: a virtual clock moves from poll to poll, with one request per host at a time and a delay between."""

from array import array
from bisect import bisect_left
from heapq import heapify, heapreplace
from itertools import accumulate
from math import inf
from random import Random

from headwater.polling.types import FailureClass, PollFailed, PollingOptions
from headwater_lab.simulation.making import NO_NETWORK
from headwater_lab.simulation.types import MISSED, UNSEEN, FullResponse, Played, PollAnswer, Strategy, Tick
from headwater_lab.simulation.world import DAY, HOUR, RequestLimit, World

ANSWERS_IN = 0.3
FAILS_IN = {FailureClass.NETWORK: 30.0, FailureClass.DNS: 5.0}


def play(world: World, strategy: Strategy, options: PollingOptions, tick: Tick = lambda: None) -> Played:
    return _Play(world, strategy).run(options, tick)


class _Play:
    def __init__(self, world: World, strategy: Strategy) -> None:
        count = len(world.feeds)
        self._world = world
        self._strategy = strategy
        self._failing: list[PollFailed | None] = [None] * count
        self._holds_until = [-inf] * count
        self._limiters = [_Limiter(host.limit) if host.limit else None for host in world.hosts]
        self._fresh_until = [-inf] * count
        self._known = [-1] * count
        self._counted = [0] * count
        self._history = [bisect_left(feed.published, 0.0) for feed in world.feeds]
        articles = (len(feed.published) - old for feed, old in zip(world.feeds, self._history, strict=True))
        *self._first_article, total = accumulate(articles, initial=0)
        self._delays = array("d", [UNSEEN]) * total
        self._requests = [0] * count
        self._unchanged = self._failed = self._too_soon = self._cut_off = 0

    def run(self, options: PollingOptions, tick: Tick) -> Played:
        """From poll to poll: the host that has been ready longest, and of it the feed that has been due longest."""
        queues, ready = self._first_polls()
        slots = [0.0] * options.concurrency
        delay, end = options.host_delay.total_seconds(), self._world.days * DAY
        per_day = [0] * self._world.days
        today = 0
        while (start := max(ready[0][0], slots[0])) < end:
            if start >= (today + 1) * DAY:
                today += 1
                tick()
            host = ready[0][1]
            due, feed = queues[host][0]
            answer = self._ask(feed, host, start)
            per_day[today] += answer is not NO_NETWORK
            at = start + (FAILS_IN.get(answer.kind, ANSWERS_IN) if isinstance(answer, PollFailed) else ANSWERS_IN)
            next_at, left_alone_until = self._strategy.next_poll(feed, answer, due, at)
            heapreplace(slots, at)
            heapreplace(queues[host], (next_at, feed))
            heapreplace(ready, (max(at + delay, left_alone_until, queues[host][0][0]), host))
        tick()
        self._strategy.finish(end)
        return Played(
            self._strategy.log, self._requests, per_day, self._delays, self._unchanged, self._failed, self._too_soon,
            self._cut_off,
        )  # fmt: skip

    def _first_polls(self) -> tuple[list[list[tuple[float, int]]], list[tuple[float, int]]]:
        """Every feed is polled for the first time within the first hour."""
        chance = Random(f"{self._world.seed} first polls")  # noqa: S311  a world, not a secret
        queues = [[(chance.uniform(0, HOUR), feed) for feed in host.feeds] for host in self._world.hosts]
        for queue in queues:
            heapify(queue)
        ready = [(queue[0][0], number) for number, queue in enumerate(queues)]
        heapify(ready)
        return queues, ready

    def _ask(self, feed: int, host: int, start: float) -> PollAnswer:
        if start >= self._holds_until[feed]:
            self._failing[feed], self._holds_until[feed] = self._world.look(feed, start)
        failing, limiter = self._failing[feed], self._limiters[host]
        if failing is NO_NETWORK:
            self._cut_off += 1
            return failing
        self._requests[feed] += 1
        self._too_soon += start < self._fresh_until[feed]
        if failing is None and limiter is not None:
            failing = limiter.refuses(start)
        if failing is not None:
            self._failed += 1
            return failing
        return self._read(feed, start)

    def _read(self, feed: int, start: float) -> FullResponse | None:
        one, known = self._world.feeds[feed], self._known[feed]
        copied_at = self._world.copied_at(feed, start) if one.software.cached else start
        self._fresh_until[feed] = copied_at + 0.9 * one.software.lasts  # a little too soon is harmless
        count, published = self._counted[feed], one.published
        while count < len(published) and published[count] <= copied_at:
            count += 1
        self._counted[feed] = count
        if count == known and one.software.validates and not self._strategy.wants_full(feed, start):
            self._unchanged += 1
            return None
        self._known[feed] = count
        oldest_listed = count - one.software.listed
        history = self._history[feed]
        first = self._first_article[feed] - history
        for number in range(max(known, history), count):
            seen = number >= oldest_listed
            self._delays[first + number] = start + ANSWERS_IN - published[number] if seen else MISSED
        return FullResponse(count, count - max(known, 0), 0 <= known <= oldest_listed)


class _Limiter:
    def __init__(self, limit: RequestLimit) -> None:
        self._limit = limit
        self._left = limit.at_once
        self._at = 0.0

    def refuses(self, at: float) -> PollFailed | None:
        left = min(self._limit.at_once, self._left + (at - self._at) * self._limit.per_second)
        self._left, self._at = left - 1 if left >= 1 else left, at
        return None if left >= 1 else self._limit.refusal
