"""One worker that calls a model again and again, as a process of its own: `python -m tests.ai.asking URL CALLS`.

The connection string is in the environment. It prints how many calls had each outcome.
"""

import asyncio
import json
import os
import sys
from collections import Counter
from datetime import timedelta
from decimal import Decimal

from headwater.ai.client import AiClient
from headwater.ai.decide import most_cost
from headwater.ai.types import AiCall, AiMessage, AiOptions, NotAnswered, Purpose
from headwater.db import Database
from tests.clock import MovableClock

CONNINFO = "AI_TEST_CONNINFO"
CEILING = 1_000_000  # micro-dollars
CALL = AiCall(
    Purpose.TAGGING, "small", [AiMessage("system", "Tag it."), AiMessage("user", "It rained in Bremvik. " * 20)],
    max_tokens=50, timeout=timedelta(seconds=30),
)  # fmt: skip


def options_of(url: str) -> AiOptions:
    return AiOptions(
        api_key="key", base_url=url, monthly_budget=Decimal(1), price_in=Decimal("0.5"), price_out=Decimal(2)
    )


MOST = most_cost(CALL, options_of(""))


async def ask_often(conninfo: str, url: str, calls: int) -> Counter[str]:
    """The outcomes of calls that one worker makes one after the other, on a pool of its own."""
    outcomes: Counter[str] = Counter()
    async with Database(conninfo, pool_size=2, wait=timedelta(seconds=30)) as database:
        client = AiClient(database, MovableClock(), options_of(url))
        for _ in range(calls):
            outcome = await client.ask(CALL)
            outcomes[outcome.kind.value if isinstance(outcome, NotAnswered) else "answered"] += 1
    return outcomes


if __name__ == "__main__":
    made = asyncio.run(ask_often(os.environ[CONNINFO], sys.argv[1], int(sys.argv[2])))
    sys.stdout.write(json.dumps(made) + "\n")
