import subprocess
import sys

TELL = """
import gc
from headwater.cli.terminal import COLLECT_AFTER, run

async def look():
    return gc.get_freeze_count() > 10_000, gc.get_threshold() == COLLECT_AFTER

print(*run(look()))
"""


def test_what_is_loaded_before_a_command_works_is_left_out_of_collections() -> None:
    told = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, check=True, timeout=60)

    assert told.stdout.split() == ["True", "True"]
