"""Class names are unique in the project, so that a name in an import or a traceback says which class it is."""

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import headwater
import headwater_lab

FOLDERS = [Path(package.__path__[0]).parent for package in (headwater, headwater_lab)]


def classes() -> Mapping[str, list[str]]:
    """The modules that define each class."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(str(path.relative_to(folder)))
    return found


def test_a_class_name_occurs_once() -> None:
    assert {name: modules for name, modules in classes().items() if len(modules) > 1} == {}
