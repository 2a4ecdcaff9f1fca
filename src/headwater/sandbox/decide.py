"""What the end of a process means for its caller. Pure."""

from datetime import timedelta
from signal import Signals

from headwater.sandbox.types import Overrun, Setup, TaskRefused

# What Rust, C++ and Python print when an allocation fails, before they abort.
OUT_OF_MEMORY = (b"memory allocation of", b"bad_alloc", b"MemoryError", b"out of memory")


def cause_of_death(return_code: int, last_words: bytes, setup: Setup) -> Overrun:
    if return_code == -Signals.SIGXCPU:
        return out_of_time(setup.time_limit)
    if any(word in last_words for word in OUT_OF_MEMORY):
        return out_of_memory(setup.memory_limit)
    if return_code == -Signals.SIGKILL:
        return Overrun("memory", "Its process was killed by the system, as happens when memory runs out.")
    if return_code < 0:
        known = {number.value: number.name for number in Signals}
        return Overrun("crash", f"Its process died of {known.get(-return_code, f'signal {-return_code}')}.")
    return Overrun("crash", f"Its process ended by itself, with exit code {return_code}.")


def out_of_time(limit: timedelta) -> Overrun:
    return Overrun("time", f"It was not done after {limit.total_seconds():g} s, and was killed.")


def out_of_memory(limit: int) -> Overrun:
    return Overrun("memory", f"It needed more than {limit / 1_000_000:g} MB of memory.")


def forged(error: TaskRefused) -> Overrun:
    """Its answer is invalid: other code than ours runs in the child."""
    return Overrun("crash", f"Its answer was refused: {str(error)[:200]}.")
