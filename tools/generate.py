"""Writes the pages that are made from the sources: `make docs`. A test fails when one is stale."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from lithify.core.settings import MACHINE_SCOPED, Section, Settings
from tools.typescript import protocol_page
from tools.vscode_manifest import manifest_page, texts_page

ROOT = Path(__file__).parent.parent
EXTENSION = ROOT / "client-vscode"


def pages() -> dict[Path, str]:
    """Every generated file of the repository and its text."""
    return {ROOT / "docs" / "SETTINGS.md": settings_page(), **_extension_pages()}


def _extension_pages() -> dict[Path, str]:
    settings = dict(_settings(Settings, ""))
    manifest, texts = EXTENSION / "package.json", EXTENSION / "package.nls.json"
    meanings = {name: _meaning(field) for name, field in settings.items()}
    return {
        EXTENSION / "src" / "protocol.ts": protocol_page(list(settings)),
        manifest: manifest_page(manifest.read_text(encoding="utf-8"), list(settings)),
        texts: texts_page(texts.read_text(encoding="utf-8"), meanings),
    }


def settings_page() -> str:
    """The reference of all settings, from `lithify.core.settings`."""
    rows = [
        f"| `{name}` | {_default(field)} | {_allowed(field)} | {_scope(name)} | {_meaning(field)} |"
        for name, field in _settings(Settings, "")
    ]
    return "\n".join(
        [
            "# Settings",
            "",
            "<!-- Made from server/lithify/core/settings.py by `make docs`; edit there. -->",
            "",
            "All settings live in the section `lithify`, nested: `buffer.idleMs` is "
            '`{ "buffer": { "idleMs": 30000 } }`. An editor gives them as `initializationOptions` when it starts the '
            "server, and may change them later with `workspace/didChangeConfiguration`. An invalid value is refused "
            "with the name of the setting and what it takes; those before stay in force.",
            "",
            "Settings of *machine* scope choose what runs and where text goes. They are taken from the "
            "initialization options only, never from a later change.",
            "",
            "| setting | default | allowed | scope | meaning |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _settings(section: type[Section], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, field in section.model_fields.items():
        dotted = prefix + (field.alias or name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section) and not field.description:
            yield from _settings(field.annotation, f"{dotted}.")
        else:
            yield dotted, field


def _default(field: Any) -> str:
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Section):
        value = value.model_dump(by_alias=True, exclude_none=True)
    if value is None or value == ():
        return "none"
    return f"`{json.dumps(list(value) if isinstance(value, tuple) else value)}`"


def _allowed(field: Any) -> str:
    values = [value for value in get_args(field.annotation) if isinstance(value, str)]
    values += [value for inner in get_args(field.annotation) for value in get_args(inner) if isinstance(value, str)]
    if values:
        return ", ".join(f"`{value}`" for value in values)
    bounds = {
        kind: getattr(item, kind) for item in field.metadata for kind in ("ge", "gt", "le") if hasattr(item, kind)
    }
    if "le" in bounds:
        return f"{bounds['ge']} to {bounds['le']}"
    if "ge" in bounds:
        return f"{bounds['ge']} or more"
    if "gt" in bounds:
        return f"{bounds['gt'] + 1} or more"
    return _kind(field)


def _kind(field: Any) -> str:
    default = field.get_default(call_default_factory=True)
    if isinstance(default, bool):
        return "true, false"
    if isinstance(default, tuple):
        return "list of strings"
    return "object" if isinstance(default, Section | dict) else "string"


def _scope(name: str) -> str:
    return "machine" if name.startswith(MACHINE_SCOPED) else "workspace"


def _meaning(field: Any) -> str:
    return str(field.description or "").removesuffix(" Machine scope.")


def main() -> None:
    """Writes every generated file."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
