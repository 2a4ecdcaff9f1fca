"""The five policies: what each class of failure leads to. Data for `decide.py`; a source may have its own policy.

In `backoff`, `once` and `five` a disabled feed stays disabled until a user enables it or changes its URL.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from functools import cache

from headwater.errors import Invalid
from headwater.polling.types import NEVER, FailureClass, Level, PollFailed, PollingOptions

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class Counts(StrEnum):
    CLASS = "failures of this class in a row"
    PERMANENT = "permanent failures since the last success"
    ALL = "failures since the last success"


@dataclass(frozen=True, slots=True)
class Doubling:
    """A wait that doubles with each failure: `first × 2ⁿ`. None: the feed's own interval."""

    first: timedelta | None = None
    most: timedelta = DAY


@dataclass(frozen=True, slots=True)
class Steps:
    """Fixed waits; the last one repeats."""

    waits: tuple[timedelta, ...]


@dataclass(frozen=True, slots=True)
class Steady:
    """The feed's own interval."""


Backoff = Doubling | Steps | Steady


@dataclass(frozen=True, slots=True)
class Rule:
    """What one class of failure leads to. A site's Retry-After makes a wait longer."""

    level: Level = Level.WARN
    permanent: bool = False
    counts: Counts = Counts.CLASS
    threshold: int | None = None  # None: never disabled
    cooldown: timedelta = NEVER  # NEVER: until a user enables it
    failing_for: timedelta = timedelta(0)
    backoff: Backoff = Doubling()
    site_sets_wait: bool = False  # Retry-After replaces the backoff
    host_scope: bool = False
    rediscover: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    rules: Mapping[FailureClass, Rule]
    strict_content_type: bool = False
    words: Mapping[FailureClass, str] = field(default_factory=dict[FailureClass, str])

    def rule(self, kind: FailureClass, status: int | None = None) -> Rule:
        """The rule for a failure. `once` gives up on 400, but retries the other 4xx of its class."""
        if self.name == "once" and kind is FailureClass.BAD_REQUEST and status != 400:
            return self.rules[FailureClass.UPSTREAM_FAILURE]
        return self.rules[kind]

    def detail(self, failed: PollFailed) -> str:
        """The stored error of a failure. `once` has the words of seed 002 for some."""
        if failed.kind is FailureClass.BAD_REQUEST and failed.status != 400:
            return failed.detail
        return self.words.get(failed.kind, failed.detail)


_C = FailureClass
_BY_HAND = Rule(permanent=True, threshold=1, cooldown=NEVER)
_NEEDS_OPERATOR = Rule(level=Level.ERROR, backoff=Steady())


def _after(count: int, cooldown: timedelta, *, permanent: bool = True, failing_for: timedelta = DAY) -> Rule:
    return Rule(permanent=permanent, threshold=count, cooldown=cooldown, failing_for=failing_for)


DEFAULT = Policy(
    "default",
    {
        **dict.fromkeys(_C, _after(5, DAY)),
        _C.RATE_LIMITED: Rule(backoff=Doubling(timedelta(minutes=5), most=8 * HOUR), site_sets_wait=True),
        _C.NOT_FOUND: _after(3, 2 * DAY),
        _C.GONE: _after(1, 3 * DAY, failing_for=timedelta(0)),
        _C.UPSTREAM_FAILURE: _after(10, 6 * HOUR, permanent=False),
        **dict.fromkeys((_C.NETWORK, _C.DNS), _after(10, 12 * HOUR, permanent=False)),
        _C.NOT_A_FEED: replace(_after(3, DAY), rediscover=True),
        _C.BOT_CHALLENGE: Rule(permanent=True, host_scope=True, backoff=Doubling(DAY, most=DAY)),
        _C.SSRF_BLOCKED: _BY_HAND,
        _C.UNEXPECTED: _NEEDS_OPERATOR,
    },
)


def _steady(count: int, cooldown: timedelta, *, permanent: bool = True) -> Rule:
    return replace(_after(count, cooldown, permanent=permanent, failing_for=timedelta(0)), backoff=Steady())


COOLDOWN = Policy(
    "cooldown",
    {
        **dict.fromkeys(_C, _steady(5, DAY)),
        _C.RATE_LIMITED: Rule(backoff=Doubling()),
        _C.NOT_FOUND: _steady(3, 2 * DAY),
        _C.GONE: _steady(1, 3 * DAY),
        _C.UPSTREAM_FAILURE: _steady(10, 6 * HOUR, permanent=False),
        **dict.fromkeys((_C.NETWORK, _C.DNS), _steady(10, 12 * HOUR, permanent=False)),
        _C.SSRF_BLOCKED: _BY_HAND,
        **dict.fromkeys((_C.UNAUTHORIZED, _C.BAD_REQUEST, _C.UNEXPECTED), _NEEDS_OPERATOR),
    },
)

_PERMANENT = Rule(permanent=True, counts=Counts.PERMANENT, threshold=5)
_TRANSIENT = Rule()
BACKOFF = Policy(
    "backoff",
    {
        **dict.fromkeys(_C, _TRANSIENT),
        **dict.fromkeys((_C.UNAUTHORIZED, _C.FORBIDDEN, _C.NOT_FOUND, _C.GONE, _C.DNS, _C.BOT_CHALLENGE), _PERMANENT),
        _C.SSRF_BLOCKED: _BY_HAND,
        _C.UNEXPECTED: replace(_TRANSIENT, level=Level.ERROR),
    },
)

_ONCE_STEPS = Steps((timedelta(minutes=5), timedelta(minutes=15), HOUR, 6 * HOUR, DAY))
ONCE = Policy(
    "once",
    {
        **dict.fromkeys(_C, _BY_HAND),
        **dict.fromkeys((_C.UPSTREAM_FAILURE, _C.NETWORK, _C.DNS), Rule(backoff=_ONCE_STEPS)),
        _C.RATE_LIMITED: Rule(backoff=_ONCE_STEPS, site_sets_wait=True),
        _C.UNEXPECTED: _NEEDS_OPERATOR,
    },
    strict_content_type=True,
    words={
        _C.BAD_REQUEST: "Invalid request",
        **dict.fromkeys((_C.UNAUTHORIZED, _C.FORBIDDEN), "Authentication required"),
        **dict.fromkeys((_C.NOT_FOUND, _C.GONE), "Feed no longer available"),
        _C.RATE_LIMITED: "Rate limited",
    },
)

_ONE_OF_FIVE = Rule(permanent=True, counts=Counts.ALL, threshold=5, backoff=Steady())
FIVE = Policy(
    "five",
    {
        **dict.fromkeys(_C, _ONE_OF_FIVE),
        _C.RATE_LIMITED: replace(_ONE_OF_FIVE, backoff=Doubling()),
        _C.SSRF_BLOCKED: _BY_HAND,
        _C.UNEXPECTED: _NEEDS_OPERATOR,
    },
)

POLICIES: Mapping[str, Policy] = {policy.name: policy for policy in (DEFAULT, COOLDOWN, BACKOFF, ONCE, FIVE)}


def policy_named(name: str) -> Policy:
    """The policy of this name. Raises Invalid."""
    if name not in POLICIES:
        raise Invalid(f"There is no policy {name!r}. There are: {', '.join(POLICIES)}.")
    return POLICIES[name]


def policy_of(name: str, options: PollingOptions) -> Policy:
    """The policy of this name; `backoff` with the thresholds of the settings (seed 001). Raises Invalid."""
    policy = policy_named(name)
    return _backoff(options.max_failures, options.max_backoff) if policy is BACKOFF else policy


@cache
def _backoff(max_failures: int, max_backoff: timedelta) -> Policy:
    """Seed 001 with `maxFailures` and `maxBackoffHours`."""
    rules = dict(BACKOFF.rules)
    for kind, rule in BACKOFF.rules.items():
        threshold = max_failures if rule.counts is Counts.PERMANENT else rule.threshold
        backoff = replace(rule.backoff, most=max_backoff) if isinstance(rule.backoff, Doubling) else rule.backoff
        rules[kind] = replace(rule, threshold=threshold, backoff=backoff)
    return replace(BACKOFF, rules=rules)
