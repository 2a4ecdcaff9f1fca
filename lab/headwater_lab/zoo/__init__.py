"""A small synthetic web on loopback, for tests, benchmarks and the demo. Imports nothing of Headwater.

`Zoo` is a server for every host of `zoo.test` on one port; EXHIBITS are its feeds with the outcome of each.
"""

from headwater_lab.zoo.exhibits import EXHIBITS, SIGHTS, Exhibit, Expectation, Sight
from headwater_lab.zoo.server import Zoo
from headwater_lab.zoo.sites import DOMAIN
from headwater_lab.zoo.visits import Visit

__all__ = ["DOMAIN", "EXHIBITS", "SIGHTS", "Exhibit", "Expectation", "Sight", "Visit", "Zoo"]
