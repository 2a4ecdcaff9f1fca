"""Exit codes of commands, as listed by `headwater --help` and docs/install.md."""

from enum import IntEnum

from headwater.errors import Conflict, HeadwaterError, Invalid, NotFound, Unavailable


class ExitCode(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    UNAVAILABLE = 5
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "It succeeded.",
    ExitCode.FAILED: "It ran and found a problem: a poll failed, `doctor` found a fault.",
    ExitCode.USAGE: "An argument, option or setting is invalid.",
    ExitCode.NOT_FOUND: "The named source, user or file does not exist.",
    ExitCode.CONFLICT: "It exists already, or the port is in use.",
    ExitCode.UNAVAILABLE: "The database or the search index is unavailable; try again later.",
    ExitCode.INTERRUPTED: "It was stopped by Ctrl-C before it finished.",
}


CODES: dict[type[HeadwaterError], ExitCode] = {
    Invalid: ExitCode.USAGE, NotFound: ExitCode.NOT_FOUND, Conflict: ExitCode.CONFLICT,
    Unavailable: ExitCode.UNAVAILABLE,
}  # fmt: skip


def exit_code_of(error: HeadwaterError) -> ExitCode:
    return next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), ExitCode.FAILED)
