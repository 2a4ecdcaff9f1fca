"""What a call into the sandbox costs, beside concurrent.futures.ProcessPoolExecutor with as many processes.

Two tasks that do nothing, so that only the way there and back is measured: a number in and out, and a body of 200 kB
in. For each, several callers keep both pools busy; then one caller asks again and again, which gives the overhead of
one call. Rounds are interleaved and the best of each is taken, on uvloop, as Headwater runs. The executor does less: it
has no limits, cannot kill, and believes what comes back. The last line is one JSON object; `ratio` is calls per second,
ours over theirs, with the body, which is what a sandbox is for; `ratio_trivial` with the number.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import uvloop

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from headwater.sandbox import Sandbox  # noqa: E402

PROCESSES = 2
ROUNDS = 7
CALLERS = 8
BODY = bytes(200_000)

Call = Callable[[Callable[..., object], Any], Awaitable[object]]
TASKS: dict[str, tuple[Callable[..., object], Any, int]] = {"trivial": (abs, -1, 3_000), "200 kB": (len, BODY, 1_000)}


async def main() -> None:
    """Measure, print a table, and end with the numbers as JSON."""
    limit = timedelta(seconds=10)
    with ProcessPoolExecutor(PROCESSES) as executor:
        async with Sandbox(processes=PROCESSES, time_limit=limit, memory_limit=512_000_000) as sandbox:
            loop = asyncio.get_running_loop()
            pools: dict[str, Call] = {
                "sandbox": lambda function, argument: sandbox.run(function, argument),  # noqa: PLW0108  for its type
                "executor": lambda function, argument: loop.run_in_executor(executor, function, argument),
            }
            best = await measure(pools)
    report(best)


async def measure(pools: dict[str, Call]) -> dict[tuple[str, str, int], float]:
    """Seconds per call, the best of all rounds, by pool, task and number of callers."""
    best: dict[tuple[str, str, int], float] = {}
    for _ in range(ROUNDS):
        for task in TASKS:
            for callers in (CALLERS, 1):
                for name, call in pools.items():
                    took = await seconds_per_call(call, task, callers)
                    best[name, task, callers] = min(took, best.get((name, task, callers), took))
    return best


async def seconds_per_call(call: Call, task: str, callers: int) -> float:
    """Share the calls of one round among so many callers."""
    function, argument, calls = TASKS[task]

    async def ask() -> None:
        for _ in range(calls // callers):
            await call(function, argument)

    start = time.perf_counter()
    await asyncio.gather(*(ask() for _ in range(callers)))
    return (time.perf_counter() - start) / calls


def report(best: dict[tuple[str, str, int], float]) -> None:
    """The table, and the line for machines."""
    print(f"{PROCESSES} processes, best of {ROUNDS} rounds\n{'':24}{'sandbox/s':>11}{'executor/s':>11}{'ratio':>7}")
    ratios: dict[tuple[str, int], float] = {}
    for task in TASKS:
        for callers in (CALLERS, 1):
            ours, theirs = best["sandbox", task, callers], best["executor", task, callers]
            ratios[task, callers] = round(theirs / ours, 2)
            label = f"{task}, {callers} caller{'s' if callers > 1 else ''}"
            print(f"{label:24}{1 / ours:11.0f}{1 / theirs:11.0f}{ratios[task, callers]:7.2f}")
    print(
        json.dumps(
            {
                "bench": "sandbox",
                "ratio": ratios["200 kB", CALLERS],
                "ratio_trivial": ratios["trivial", CALLERS],
                "ratio_one_caller": ratios["200 kB", 1],
                "ratio_trivial_one_caller": ratios["trivial", 1],
                "calls_per_second": round(1 / best["sandbox", "trivial", CALLERS]),
                "calls_per_second_200_kb": round(1 / best["sandbox", "200 kB", CALLERS]),
                "microseconds_per_call": round(best["sandbox", "trivial", 1] * 1e6),
                "microseconds_per_call_200_kb": round(best["sandbox", "200 kB", 1] * 1e6),
                "processes": PROCESSES,
            }
        )
    )


if __name__ == "__main__":
    uvloop.run(main())
