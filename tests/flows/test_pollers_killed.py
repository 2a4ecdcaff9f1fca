"""Pollers are killed at random moments, and the database under them: nothing is lost, and no host is hammered."""

import os
import random
import signal
import time
from contextlib import ExitStack

import pytest

from headwater_lab.zoo.visits import impolite
from tests.flows.test_up import embedded_only, processes_of
from tests.flows.zoo_thread import open_zoo
from tests.headwater_process import Headwater, Running, wait_for

pytestmark = pytest.mark.soak

HOSTS = 80
FEEDS_PER_HOST = 4
ENTRIES = 25
DELAY_S = 0.3
SETTINGS = {
    "HEADWATER_POLL_HOST_DELAY": f"{DELAY_S}s",
    "HEADWATER_POLL_TIMEOUT": "8s",
    "HEADWATER_PARSE_TIMEOUT": "5s",
    "HEADWATER_POLL_CONCURRENCY": "10",
    "HEADWATER_DATABASE_WAIT": "1s",
}


@embedded_only
def test_pollers_that_are_killed_lose_nothing_and_ask_no_host_twice_within_its_delay(headwater: Headwater) -> None:
    chance = random.Random(7)
    with open_zoo() as zoo, ExitStack() as stack:
        urls = [
            zoo.url(f"h{host}.crowd", f"/feed/{host * FEEDS_PER_HOST + feed}.xml")
            for host in range(HOSTS)
            for feed in range(FEEDS_PER_HOST)
        ]

        def a_poller() -> Running:
            return stack.enter_context(headwater.start("work", "polling", **SETTINGS))

        headwater.run("source", "add", "--later", *urls)
        pollers = [a_poller() for _ in range(3)]
        wait_for(lambda: len(zoo.visits) > 5)
        for _ in range(5):
            time.sleep(chance.uniform(0.1, 0.5))
            killed = pollers.pop(0)
            killed.process.send_signal(signal.SIGKILL)
            killed.process.wait()
            pollers.append(a_poller())
        for poller in pollers:  # one that is still starting may give up when the database dies
            wait_for(lambda poller=poller: "stage started" in poller.output, poller)
        postmaster = int((headwater.folder / "data/postgres/postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGKILL)

        wait_for(lambda: all(source["state"] == "working" for source in headwater.json("source", "list")))
        articles = headwater.json("articles", "-n", "10000")
        codes = [poller.stop() for poller in pollers]
        visits = list(zoo.visits)

    assert len({article["url"] for article in articles}) == len(articles) == HOSTS * FEEDS_PER_HOST * ENTRIES
    assert impolite(visits, DELAY_S - 0.02) == []
    assert codes == [0, 0, 0]
    assert processes_of(headwater.folder) == []
