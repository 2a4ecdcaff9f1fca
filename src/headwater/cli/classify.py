"""`headwater classify`: the labels of an article or a text, and training of the model of topics."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from headwater.audit.types import COMMAND_LINE
from headwater.cli.options import AsJson, group
from headwater.cli.output import counted, err, print_json, print_result, print_table, show
from headwater.cli.running import with_runtime
from headwater.cli.terminal import exit_failed
from headwater.db import Connection
from headwater.errors import Invalid, NotFound
from headwater.extraction.store import find_articles
from headwater.labels.store import find_labels
from headwater.labels.types import ArticleLabel, NewLabel
from headwater.runtime import Runtime
from headwater.text import is_blank
from headwater.types import ArticleId
from headwater.understanding import store
from headwater.understanding.decide import labels_by_model, labels_by_rules
from headwater.understanding.features import TEXT_MAX_CHARS, describe
from headwater.understanding.training.active import ActiveModel
from headwater.understanding.training.types import NotTrained, TrainingReport
from headwater.understanding.training.worker import Trainer
from headwater.understanding.types import ArticleText
from headwater.understanding.worker import topics_of
from headwater.urls import complete_url, url_key

classify_app = group(
    "Show the labels of an article or a text, and train the model of topics.", "classify train --dry-run"
)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Train and compare, but keep the active model.")]
Relabel = Annotated[
    int, typer.Option(metavar="DAYS", help="Label the articles of the last days again.", min=0, max=3650)
]
Article = Annotated[str, typer.Argument(metavar="ID|URL", help="An article, by id or URL.")]
TextFile = Annotated[str, typer.Argument(metavar="FILE|-", help="A text file, or - for standard input.")]
_COLUMNS = ("scheme", "label", "score", "method", "version", "")


@classify_app.command()
@with_runtime
async def train(runtime: Runtime, dry_run: DryRun = False, relabel: Relabel = 0, as_json: AsJson = False) -> None:
    """Train the model of topics from people's labels and the material that ships, and use it unless it is worse.

    Both models are tested on people's labels that they were not trained on. Exits with 1 when the new model is worse or
    there are too few labels; the active model then stays.

    Example: headwater classify train --relabel 7
    """
    if dry_run and relabel:
        raise typer.BadParameter("--dry-run changes nothing, so nothing is labelled again.")
    trainer = Trainer(runtime.database, runtime.tools.text_sandbox, runtime.tools.clock)
    with err.status("Training…"):
        trained = await trainer.train()
    if isinstance(trained, NotTrained):
        print_result(trained, f"No model was trained. {trained.reason}", as_json=as_json)
        exit_failed(True)
        return
    is_used, queued = not (dry_run or trained.report.is_worse), 0
    if is_used:
        queued = await trainer.activate(trained, COMMAND_LINE, relabel=timedelta(days=relabel))
    text = _report(trained.report, is_used=is_used, queued=queued)
    print_result({"report": trained.report, "is_used": is_used, "queued": queued}, text, as_json=as_json)
    exit_failed(trained.report.is_worse)


@classify_app.command("show")
@with_runtime
async def show_article(runtime: Runtime, article: Article, as_json: AsJson = False) -> None:
    """Show all labels of an article, with the method that gave each and how sure it is.

    Example: headwater classify show https://example.com/story
    """
    async with runtime.database.transaction() as conn:
        article_id = await _find(conn, article)
        labels = (await find_labels(conn, article_ids=[article_id])).get(article_id, [])
    show(labels, _COLUMNS, map(_row, labels), as_json=as_json, empty="The article has no labels yet.")


@classify_app.command()
@with_runtime
async def text(runtime: Runtime, file: TextFile, as_json: AsJson = False) -> None:
    """Show the labels that a text would get from rules and models. Its first line is the title. Stores nothing.

    Example: headwater classify text article.txt
    """
    title, _, body = _read(file).partition("\n")
    async with runtime.database.transaction() as conn:
        rules = await store.list_rules(conn, only_enabled=True)
        model = await ActiveModel().load(conn)
    given = [ArticleText("", title.strip(), body.strip())]
    [features] = await runtime.tools.text_sandbox.run(describe, given, rules)
    by_rules = labels_by_rules(features, {rule.id: rule for rule in rules})
    by_model = labels_by_model(features, topics_of(features, model))
    if as_json:
        print_json({"rule": by_rules, "model": by_model})
        return
    rows = [*_new_rows("rule", by_rules), *_new_rows("model", by_model)]
    print_table(_COLUMNS, rows)


def _report(report: TrainingReport, *, is_used: bool, queued: int) -> str:
    lines = [
        f"Articles labelled by people: {report.labels:,}; compared on {report.compared:,}.",
        f"Right topic, new model (cross-validated): {report.accuracy:.1%}",
        f"Right topic, active model {report.active_version}: {report.accuracy_before:.1%}",
        f"Right topic, material that ships: {report.of_material:.1%}; without labels {report.of_material_alone:.1%}",
    ]
    if report.is_narrow:
        return "\n".join([*lines, "The new model is worse at other topics than people's labels have, and is not used."])
    if report.is_worse:
        return "\n".join([*lines, "The new model is worse and is not used."])
    if not is_used:
        return "\n".join([*lines, "The active model was kept (--dry-run)."])
    lines.append(f"{report.version} is used from now on.")
    if queued:
        lines.append(f"{counted(queued, 'article is', 'articles are')} labelled again by the stage `classifying`.")
    return "\n".join(lines)


async def _find(conn: Connection, article: str) -> ArticleId:
    """Raises NotFound, InvalidUrl."""
    try:
        article_id = ArticleId(UUID(article))
    except ValueError:
        key = url_key(complete_url(article))
        found = next(iter((await find_articles(conn, url_keys=[key])).values()), None)
        if found is not None and found.id is not None:
            return found.id
    else:
        if await store.read_articles(conn, ids=[article_id], max_chars=0):
            return article_id
    raise NotFound(f"There is no article {article}.")


def _read(file: str) -> str:
    """Raises Invalid, NotFound."""
    try:
        with typer.get_binary_stream("stdin") if file == "-" else Path(file).open("rb") as stream:
            found = stream.read(4 * TEXT_MAX_CHARS).decode("utf-8", "replace")
    except (OSError, ValueError) as error:
        raise NotFound(f"{file} cannot be read: {error}") from error
    if is_blank(found):
        raise Invalid(f"{file} has no text.")
    return found.lstrip()


def _row(label: ArticleLabel) -> Sequence[str]:
    state = "disputed" if label.is_disputed else "" if label.is_shown else "not shown"
    return label.scheme.value, label.label, f"{label.score:.2f}", label.method.value, label.version, state


def _new_rows(method: str, labels: Iterable[NewLabel]) -> list[Sequence[str]]:
    return [(one.scheme.value, one.label, f"{one.score:.2f}", method, one.version, "") for one in labels]
