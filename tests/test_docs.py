"""The documents say what is true: settings, commands, exit codes, metrics, folders, links."""

import re
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

import headwater
from headwater.asgi.errors import PROBLEM_TYPES, every_code
from headwater.cli.exit_codes import MEANINGS
from headwater.cli.settings import settings_page
from headwater.db.migrate import known_migrations
from headwater.observability.metrics import render_metrics
from headwater.settings import Settings
from headwater.types import SourceState
from headwater.web.format import label
from tests.cli.test_commands import EVERY

ROOT = Path(__file__).parent.parent
PACKAGE = Path(headwater.__file__).parent


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_setting_is_documented() -> None:
    page = read("docs/settings.md")

    assert page.strip() == settings_page().strip(), "run `headwater settings --markdown > docs/settings.md`"
    assert all(f"`HEADWATER_{name.upper()}`" in page for name in Settings.model_fields)


def test_every_state_of_a_source_is_documented_with_its_label() -> None:
    page = read("docs/operating.md")

    assert [state for state in SourceState if f"| `{state}` | {label(state)} |" not in page] == []


def test_every_command_and_exit_code_is_documented() -> None:
    page = read("docs/install.md")
    leaves = [
        path for path in EVERY if path and not any(other[: len(path)] == path and other != path for other in EVERY)
    ]

    assert [path for path in leaves if f"`headwater {' '.join(path)}" not in page] == []
    assert [meaning for code, meaning in MEANINGS.items() if f"| {code.value} | {meaning} |" not in page] == []


def test_the_example_of_an_error_has_the_texts_of_the_api() -> None:
    page = read("docs/api.md")

    assert f'"title": "{PROBLEM_TYPES[422].title}"' in page
    assert f'"advice": "{PROBLEM_TYPES[422].advice}"' in page


def test_every_error_code_of_the_api_is_documented_and_no_other() -> None:
    table = read("docs/api.md").partition("| code | when |")[2].partition("##")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]

    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(every_code())


def test_every_metric_is_documented() -> None:
    page = read("docs/metrics.md")
    assert render_metrics()
    ours = {metric.name for metric in REGISTRY.collect() if metric.name.startswith("headwater_")}

    assert ours
    assert [name for name in ours if f"`{name}" not in page] == []


def test_the_folder_map_is_the_tree() -> None:
    mapped = re.findall(r"^\| `([\w.]+/?)` \|", read("docs/architecture.md"), re.MULTILINE)
    there = {
        f"{path.name}/" if path.is_dir() else path.name
        for path in PACKAGE.iterdir()
        if not path.name.startswith("_") and (path.suffix == ".py" or next(path.rglob("*.py"), None))
    }

    assert set(mapped) == there
    assert len(mapped) == len(set(mapped))


def test_files_named_in_the_architecture_exist() -> None:
    named = re.findall(r"`([a-z]+/[a-z_/]+\.py)", read("docs/architecture.md"))

    assert named
    assert [name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []


def test_every_row_of_the_specification_names_code_and_tests_that_exist() -> None:
    rows = re.findall(r"^\| (?:[0-9D][^|]*) \| [^|]+ \| [^|]*\|$", read("docs/specification.md"), re.MULTILINE)
    paths = [path for row in rows for path in re.findall(r"`((?:\w+/)+[\w.]*|[a-z_]+\.py)`", row)]

    assert len(rows) > 60
    assert len([path for path in paths if path.startswith("tests/")]) > 60
    assert [path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists()] == []


def test_the_glossary_has_one_line_for_each_term_in_order() -> None:
    glossary = read("docs/architecture.md").partition("\n## Glossary\n")[2].partition("\n## ")[0]
    terms = re.findall(r"^\| ([a-z][^|]*) \| [^|]+ \|$", glossary, re.MULTILINE)[1:]

    assert {"source", "article", "host", "lease", "stage", "seed"} <= set(terms)
    assert terms == sorted(terms)
    assert len(terms) == len(set(terms))


DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def links_of(page: Path) -> list[str]:
    return [target for target in re.findall(r"\]\(([^)]+)\)", page.read_text()) if "://" not in target]


def anchors_of(page: Path) -> set[str]:
    """As Markdown pages are rendered: a heading in lower case, its words joined by hyphens."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    for link in links_of(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page

        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_every_page_is_reachable_from_the_readme() -> None:
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = [(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)]
        waiting += [target for target in targets if target.suffix == ".md"]
        waiting += [note for target in targets if target.is_dir() for note in target.glob("*.md")]

    assert [page.name for page in DOCUMENTS if page not in reached] == []


COINED = r"nobody|somebody|anybody|whoever|is told|are told|switched (?:off|on)|left alone|held against"


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.name)
def test_pages_use_plain_words(page: Path) -> None:
    """The words that CONTRIBUTING.md asks to avoid, outside code."""
    prose = re.sub(r"^```.*?^```|^    .*?$|`[^`]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)

    assert re.findall(rf"[^\n]*\b(?:{COINED})\b[^\n]*", prose, re.IGNORECASE) == []


def test_there_are_few_pages() -> None:
    written = [page.name for page in (ROOT / "docs").glob("*.md") if page.name != "settings.md"]

    assert len(written) <= 18, (
        "add a section to a page that is there; only settings.md, which is generated, is not counted"
    )


def test_decisions_are_numbered_and_say_why() -> None:
    notes = sorted((ROOT / "docs/decisions").glob("*.md"))

    assert [int(note.name[:4]) for note in notes] == list(range(1, len(notes) + 1))
    assert all("**Context.**" in (text := note.read_text()) and "**Decision.**" in text for note in notes)


def test_every_migration_says_what_it_is_for() -> None:
    assert all(step.up.startswith("-- ") for step in known_migrations())
