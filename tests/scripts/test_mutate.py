"""Mutation testing: which mutants are made of a file."""

from pathlib import Path

from scripts.mutate import EXPLAINED, SOURCE, mutants_of

CODE = '''
"""Text that is not a decision."""

LIMIT = 3
WORDS = frozenset({"one"})


def is_over(count: int | None, word: str) -> bool:
    """Neither is this."""
    if count is None or word in WORDS:
        return False
    return count > LIMIT
'''


def test_every_decision_of_a_file_is_changed_once_and_no_annotation_or_docstring_is(tmp_path: Path) -> None:
    file = tmp_path / "decide.py"
    file.write_text(CODE)
    found = [mutant.name for mutant in mutants_of(file)]

    assert found == [
        "module: `LIMIT = 3` → `LIMIT = 4`",
        "module: `{'one'}` → `{*()}`",
        "is_over: `count is None or word in WORDS` → `count is None and word in WORDS`",
        "is_over: `count is None` → `count is not None`",
        "is_over: `word in WORDS` → `word not in WORDS`",
        "is_over: `return False` → `return True`",
        "is_over: `return count > LIMIT` → `return None`",
        "is_over: `count > LIMIT` → `count >= LIMIT`",
        "is_over: `count > LIMIT` → `count <= LIMIT`",
    ]


def test_a_mutant_behaves_as_it_says(tmp_path: Path) -> None:
    file = tmp_path / "decide.py"
    file.write_text(CODE)
    results: dict[str, object] = {}
    for mutant in mutants_of(file):
        names: dict[str, object] = {}
        exec(mutant.code, names)  # noqa: S102
        is_over = names["is_over"]
        assert callable(is_over)
        results[mutant.name] = is_over(3, "two")

    assert results["is_over: `count > LIMIT` → `count >= LIMIT`"] is True
    assert results["is_over: `count > LIMIT` → `count <= LIMIT`"] is True
    assert results["is_over: `return count > LIMIT` → `return None`"] is None
    assert results["module: `LIMIT = 3` → `LIMIT = 4`"] is False


def test_every_explained_mutant_exists() -> None:
    names = {file: {mutant.name for mutant in mutants_of(SOURCE / file)} for file in EXPLAINED}

    assert {file: sorted(set(mutants) - names[file]) for file, mutants in EXPLAINED.items()} == {
        file: [] for file in EXPLAINED
    }
