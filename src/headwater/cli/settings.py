"""`headwater settings`: every setting, its value and its origin."""

from typing import Annotated

import typer

from headwater.cli.options import AsJson
from headwater.cli.output import out, show
from headwater.settings import PLAIN_NAMES, PREFIX, Settings, allowed, load_settings, shown

AsMarkdown = Annotated[bool, typer.Option("--markdown", help="Print docs/settings.md.")]


def settings(as_json: AsJson = False, as_markdown: AsMarkdown = False) -> None:
    """List every setting: its value, where that comes from, and a description. Secrets are masked.

    Example: headwater settings --json
    """
    if as_markdown:
        out.print(settings_page(), markup=False, soft_wrap=True)
        return
    loaded = load_settings()
    rows = [
        {
            "name": name, "value": shown(name, getattr(loaded.values, name)), "origin": loaded.origin(name),
            "allowed": allowed(name), "description": field.description or "",
        }
        for name, field in Settings.model_fields.items()
    ]  # fmt: skip
    columns = ["name", "value", "origin", "description"]
    show(rows, columns, [[row[column] for column in columns] for row in rows], as_json=as_json, empty="")


def settings_page() -> str:
    """docs/settings.md, generated from the settings."""
    lines = [
        "# Settings",
        "",
        "Each is read from the environment under the name below, or from a TOML file under that name in lower case",
        f"without `{PREFIX}`. The file is `headwater.toml` in the current folder, or what `HEADWATER_CONFIG` names.",
        "The environment wins. `headwater settings` lists the current values. This page is made by",
        "`headwater settings --markdown`; a test keeps it true.",
        "",
        "| setting | default | takes | what it does |",
        "|---|---|---|---|",
    ]
    for name, field in Settings.model_fields.items():
        default = "" if field.default_factory or field.default is None else shown(name, field.default)
        text = f"`{default}`" if default else ""
        if name == "data_dir":
            text = "`~/.local/share/headwater`; for root `/var/lib/headwater`"
        lines.append(f"| `{PREFIX}{name.upper()}` | {text} | {allowed(name)} | {field.description} |")
    lines += [
        "",
        "These names are read too, where ours is not set; most are those of [seed 004](specification.md):",
        "",
        "| name | setting |",
        "|---|---|",
        *(f"| `{plain}` | `{PREFIX}{name.upper()}` |" for plain, name in PLAIN_NAMES.items()),
    ]
    return "\n".join(lines)
