"""`headwater query`: how a query is read."""

from collections.abc import Iterator
from typing import Annotated

import typer

from headwater.cli.exit_codes import ExitCode
from headwater.cli.options import AsJson
from headwater.cli.output import print_error, print_json, print_text, without_controls
from headwater.errors import QueryInvalid
from headwater.query.grammar import parse
from headwater.query.show import show
from headwater.query.tree import is_limited
from headwater.query.types import And, Audience, InField, Labelled, Leaf, Node, Not, Or, Words

Text = Annotated[str, typer.Argument(metavar="QUERY", help="A query, in quotation marks for the shell.")]
Everyone = Annotated[bool, typer.Option("--everyone", help="As a query about all articles, of a channel or the API.")]


def query(text: Text, everyone: Everyone = False, as_json: AsJson = False) -> None:
    """Explain how a query is read, or point at what is wrong with it. Exits with 2 when it cannot be read.

    docs/query.md describes the language. Reads no database.

    Example: headwater query 'flood -opinion (topic:weather or topic:science) newer:7d'
    """
    audience = Audience.EVERYONE if everyone else Audience.READER
    tree = read_query(text, audience, as_json=as_json)
    limited = is_limited(tree)
    if as_json:
        print_json({"query": show(tree), "audience": audience.value, "is_limited": limited})
        return
    print_text(show(tree))
    print_text("\n".join(_explain(tree)))
    if not limited:
        print_text("It only excludes: a channel needs something that an article must have, or `*`.")


def read_query(text: str, audience: Audience, *, as_json: bool = False) -> Node:
    """The tree of a query; or its error, with carets under the place, and the end of the command."""
    try:
        return parse(text, audience).tree
    except QueryInvalid as error:
        if as_json:
            print_json(_problem(error))
        else:
            _point_at(text, error)
        raise typer.Exit(ExitCode.USAGE) from None


def _problem(error: QueryInvalid) -> dict[str, object]:
    return {
        "error": str(error), "position": error.position, "length": error.length, "suggestion": error.suggestion,
    }  # fmt: skip


def _point_at(text: str, error: QueryInvalid) -> None:
    """The query, with carets under the place. A character that is not one column wide moves them."""
    print_error(str(error))
    if "\n" not in text:
        typer.echo(f"  {without_controls(text)}", err=True)
        typer.echo(f"  {' ' * error.position}{'^' * max(1, error.length)}", err=True)


def _explain(tree: Node, depth: int = 1) -> Iterator[str]:
    """A line for each part, indented by its depth."""
    indent = "  " * depth
    match tree:
        case And(parts):
            yield f"{indent}all of"
        case Or(parts):
            yield f"{indent}one of"
        case Not(part):
            parts = (part,)
            yield f"{indent}not"
        case leaf:
            yield f"{indent}{_describe(leaf)}"
            return
    for part in parts:
        yield from _explain(part, depth + 1)


def _describe(leaf: Leaf) -> str:
    match leaf:
        case Words(text):
            kind = "phrase" if " " in text else "word"
            return f"{show(leaf)}  the {kind} in the text or a title"
        case InField(field, _):
            return f"{show(leaf)}  in the {field}'s name" if field == "source" else f"{show(leaf)}  in the {field}"
        case Labelled(_, _, labels):
            return f"{show(leaf)}  {' or '.join(f'{scheme} “{label}”' for scheme, label in labels)}"
        case _:
            return show(leaf)
