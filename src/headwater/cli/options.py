"""Options and arguments that several commands share."""

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, TypeVar

import typer
from typer.models import OptionInfo

from headwater.extraction.types import Selectors
from headwater.settings import Settings, shown

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of rows.", min=1, max=10_000)]
OfSource = Annotated[str | None, typer.Option("--source", metavar="ID|URL", help="A source, by id or feed URL.")]
Wanted = Annotated[str, typer.Argument(metavar="ID|URL", help="A source, by id or by the URL of its feed or site.")]
BaseUrl = Annotated[
    str | None, typer.Option(help="Base URL for its relative links.", show_default="the URL it was fetched from")
]
ContentType = Annotated[str | None, typer.Option(help="Content-Type to assume.", show_default="that of the response")]
_PARTS = {"title": "title", "body": "text", "author": "author", "date": "date", "remove": "elements to remove"}


def group(text: str, example: str) -> typer.Typer:
    return typer.Typer(help=f"{text}\n\nExample: headwater {example}", no_args_is_help=True)


def setting_option(name: str) -> OptionInfo:
    """An option that overrides a setting, with the help and default of the setting."""
    field = Settings.model_fields[name]
    return typer.Option(help=field.description, show_default=shown(name, field.default))


def with_options(
    name: str, options: Mapping[str, object], make: Callable[..., object]
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Replace a command's parameter `name` by `options` (name to annotation), from which `make` makes its value."""

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        @wraps(command)
        def run_command(**given: object) -> T:
            value = make(**{option: given.pop(option) for option in options})
            return command(**given, **{name: value})

        whole = signature(command)
        new = [Parameter(one, Parameter.KEYWORD_ONLY, default=None, annotation=options[one]) for one in options]
        old = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in whole.parameters.values()]
        parameters = [each for one in old for each in (new if one.name == name else [one])]
        run_command.__signature__ = whole.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
        return run_command

    return decorate


def _selectors(**given: list[str] | None) -> Selectors:
    return Selectors(**{part: tuple(selectors or ()) for part, selectors in given.items()})


with_selectors = with_options("selectors", {
    part: Annotated[list[str] | None, typer.Option(f"--{part}", help=f"CSS selector of the {what}.")]
    for part, what in _PARTS.items()
}, _selectors)  # fmt: skip
