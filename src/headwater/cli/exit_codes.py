"""Exit codes of commands, as listed by `headwater --help` and docs/install.md."""

from enum import IntEnum

from headwater.errors import (
    Conflict,
    Forbidden,
    HeadwaterError,
    Invalid,
    NotFound,
    NotLoggedIn,
    TooManyAttempts,
    Unavailable,
)


class ExitCode(IntEnum):
    """The exit code of a command."""

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

_CODES: dict[type[HeadwaterError], ExitCode] = {
    Invalid: ExitCode.USAGE,
    NotLoggedIn: ExitCode.FAILED,
    Forbidden: ExitCode.FAILED,
    TooManyAttempts: ExitCode.FAILED,
    NotFound: ExitCode.NOT_FOUND,
    Conflict: ExitCode.CONFLICT,
    Unavailable: ExitCode.UNAVAILABLE,
}


def exit_code_of(error: HeadwaterError) -> ExitCode:
    """The exit code of an error."""
    return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
