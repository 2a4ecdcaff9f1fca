"""The process of a command: its settings, event loop, questions and exit."""

import gc
import sys
from collections.abc import Coroutine
from io import TextIOWrapper
from pathlib import Path
from shutil import which
from typing import Any, TypeVar

import typer
import uvloop

from headwater.cli.exit_codes import ExitCode
from headwater.errors import Invalid
from headwater.observability.log import configure_log
from headwater.settings import Settings, load_settings

T = TypeVar("T")

COLLECT_AFTER = (10_000, 10, 10)  # a batch of polls makes tens of thousands of values, hardly any in a cycle


def escape_unencodable() -> None:
    """Print characters that the terminal's encoding lacks as escapes, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def load(**options: object) -> Settings:
    """The settings, overridden by the options that were given; configures the log. Raises InvalidSettings."""
    loaded = load_settings(overrides={name: value for name, value in options.items() if value is not None})
    configure_log(loaded.values.log_level, loaded.values.log_format)
    return loaded.values


def load_quietly() -> Settings:
    """The settings for a command that prints its results: it logs errors only, unless a level is set."""
    is_set = load_settings().origin("log_level") != "default"
    return load() if is_set else load(log_level="error")


def run(main: Coroutine[Any, Any, T]) -> T:
    # Modules loaded by now stay loaded: without freeze(), each garbage collection took 0.1 s to scan them.
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    return uvloop.run(main)


def exit_failed(failed: object) -> None:
    if failed:
        raise typer.Exit(ExitCode.FAILED)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone, unless `yes`. Raises Invalid."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Invalid("This cannot be undone: pass --yes to do it without confirmation.")
    if not typer.confirm(question, default=False):
        raise Invalid("Nothing was changed.")


def own_command() -> str:
    """How to call this program again: `headwater`, or its path where it is not on the PATH."""
    if which("headwater"):
        return "headwater"
    script = Path(sys.executable).parent / "headwater"
    try:
        return str(script.relative_to(Path.cwd()))
    except ValueError:
        return str(script)
