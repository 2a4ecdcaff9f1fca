"""`headwater classify`, as a process of its own."""

import json
from pathlib import Path

import pytest

from headwater.articles.store.content import save
from headwater.audit import store as audit
from headwater.audit.types import AuditAction
from headwater.db import Database, fetch_row, fetch_value
from headwater.labels.store import replace_labels
from headwater.labels.types import Method, NewLabel, Scheme
from headwater.labels.vocabulary import LIFESTYLE
from headwater.types import ArticleId
from headwater.understanding.topics import load_base_model
from tests.articles.builders import a_content, a_record
from tests.builders import a_source
from tests.cli.test_index import Commands
from tests.clock import START

pytestmark = pytest.mark.database

SOLD = ["pasta", "jeans", "tea", "lamps", "cheese", "boots", "soap", "chairs"]
ENOUGH = 32


@pytest.fixture
def headwater(tmp_path: Path, conninfo: str) -> Commands:
    return Commands(tmp_path, conninfo, None)


async def label_articles(database: Database, count: int) -> list[ArticleId]:
    """People say lifestyle of what the model that ships takes for the economy."""
    async with database.transaction() as conn:
        source = await a_source(conn)
        records = []
        for at in range(count):
            text = f"Shops sell more {SOLD[at % 8]} as prices on the market fall in week {at}. Traders are glad."
            record = a_record(text, title="What the shops sell")
            records.append(await a_content(conn, source.id, f"https://example.com/{at}", record))
        await save(conn, records=records, now=START)
        label = NewLabel(Scheme.TOPIC, LIFESTYLE, 1.0, "1")
        given = {one.article_id: [label] for one in records}
        await replace_labels(conn, given=given, method=Method.PERSON, schemes=[Scheme.TOPIC], now=START)
        await conn.execute("UPDATE article_state SET classify_at = NULL")  # as the stage does
    return [one.article_id for one in records]


@pytest.mark.soak
async def test_a_model_is_trained_compared_and_used(headwater: Commands, database: Database) -> None:
    ids = await label_articles(database, ENOUGH)

    tried = await headwater.run("classify", "train", "--dry-run")
    async with database.transaction() as conn:
        stored = await fetch_value(conn, "SELECT count(*) FROM classifier_models")
    done = await headwater.run("classify", "train", "--relabel", "3650", "--json")
    again = await headwater.run("classify", "train")

    assert (tried.returncode, stored) == (0, 0)
    assert "The active model was kept (--dry-run)." in tried.stdout
    assert load_base_model().version in tried.stdout
    result = json.loads(done.stdout)
    report = result["report"]
    assert (done.returncode, result["is_used"], result["queued"]) == (0, True, ENOUGH)
    assert (report["labels"], report["compared"], report["active_version"]) == (
        ENOUGH,
        ENOUGH,
        load_base_model().version,
    )
    assert report["accuracy"] > 0.9
    assert report["accuracy_before"] < 0.3
    async with database.as_system() as conn:
        columns = "version, examples, accuracy, accuracy_before, length(data) < 1000000, is_active"
        model = await fetch_row(conn, f"SELECT {columns} FROM classifier_models")
        due = await fetch_value(conn, "SELECT count(*) FROM article_state WHERE classify_at IS NOT NULL")
        [entry] = (await audit.list_entries(conn, limit=10)).entries
    expected = (report["version"], ENOUGH, report["accuracy"], report["accuracy_before"])
    assert model == (*(pytest.approx(one, abs=1e-6) if isinstance(one, float) else one for one in expected), True, True)
    assert due == len(ids)
    assert (entry.action, entry.subject_name) == (AuditAction.MODEL_TRAINED, report["version"])
    # The second training has no labels that the active model was not trained on.
    assert again.returncode == 1
    assert "people labelled 0 articles; 20 are needed" in again.stdout


async def test_too_few_labels_train_no_model(headwater: Commands, database: Database) -> None:
    await label_articles(database, 3)

    refused = await headwater.run("classify", "train")
    wrong = await headwater.run("classify", "train", "--dry-run", "--relabel", "1")

    assert refused.returncode == 1
    assert "No model was trained. People have given topics to 3 English articles; a model needs 30." in refused.stdout
    assert wrong.returncode == 2
    async with database.transaction() as conn:
        assert await fetch_value(conn, "SELECT count(*) FROM classifier_models") == 0


async def test_labels_of_an_article_are_shown(headwater: Commands, database: Database) -> None:
    [article_id] = await label_articles(database, 1)

    by_id = await headwater.run("classify", "show", str(article_id))
    by_url = await headwater.run("classify", "show", "https://example.com/0", "--json")
    unknown = await headwater.run("classify", "show", "https://example.com/none")
    nobody = await headwater.run("classify", "show", "00000000-0000-7000-8000-000000000000")

    assert "lifestyle and leisure  1.00   person" in by_id.stdout
    [label] = json.loads(by_url.stdout)
    assert (label["scheme"], label["label"], label["method"], label["is_shown"]) == ("topic", LIFESTYLE, "person", True)
    assert label["made_at"] == START.isoformat()
    assert (unknown.returncode, nobody.returncode) == (3, 3)


async def test_a_text_is_labelled_without_being_stored(headwater: Commands, tmp_path: Path) -> None:
    file = tmp_path / "match.txt"
    file.write_text(
        "United win the cup\nThe striker scored twice in the final, and the goalkeeper saved a late penalty."
    )
    empty = tmp_path / "empty.txt"
    empty.write_text(" \n")

    shown = await headwater.run("classify", "text", str(file))
    as_json = await headwater.run("classify", "text", str(file), "--json")

    assert "sport" in shown.stdout
    labels = {(one["scheme"], one["label"]) for one in json.loads(as_json.stdout)["model"]}
    assert {("topic", "sport"), ("category", "Sports"), ("language", "en")} <= labels
    assert (await headwater.run("classify", "text", str(empty))).returncode == 2
    assert (await headwater.run("classify", "text", str(tmp_path / "none"))).returncode == 3
