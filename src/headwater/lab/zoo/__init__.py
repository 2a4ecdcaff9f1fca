"""A small synthetic web on loopback, for tests, benchmarks and the demo: no internet needed.

In: nothing of Headwater's. Out: `Zoo`, a server that plays every host of `zoo.test` on one port, healthy and otherwise;
EXHIBITS, the feeds in it and what must come of each; and a log of all it was asked.
"""

from headwater.lab.zoo.exhibits import EXHIBITS, SIGHTS, Exhibit, Expectation, Sight
from headwater.lab.zoo.server import Zoo
from headwater.lab.zoo.sites import DOMAIN
from headwater.lab.zoo.visits import Visit

__all__ = ["DOMAIN", "EXHIBITS", "SIGHTS", "Exhibit", "Expectation", "Sight", "Visit", "Zoo"]
