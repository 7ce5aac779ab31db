"""The parts of the VS Code extension's manifest that come from the settings, and the texts they need."""

from __future__ import annotations

import json
from typing import Any

from lithify.core.settings import MACHINE_SCOPED, Settings

OWN_SETTINGS = ("server.python",)
"""Settings of the extension itself that choose what runs; the server does not know them."""

FIRST = ("server.python", "model.", "conversation.", "recording.", "sessions.")
"""How the names of those settings begin that the settings editor shows first; the others follow as they are written."""

RESERVED = "Reserved"
"""How the description of a setting begins that does nothing yet; it is not offered."""


def manifest_page(written: str, names: list[str]) -> str:
    """`package.json` with its settings made anew; all else stays as it was written."""
    manifest = json.loads(written)
    offered = _properties(names)
    own = manifest["contributes"]["configuration"]["properties"]
    kept = {name: value for name, value in own.items() if name.removeprefix("lithify.") in OWN_SETTINGS}
    manifest["contributes"]["configuration"]["properties"] = _ordered(kept | offered)
    restricted = [*OWN_SETTINGS, *(name for name in names if name.startswith(MACHINE_SCOPED))]
    trust = manifest["capabilities"]["untrustedWorkspaces"]
    trust["restrictedConfigurations"] = [f"lithify.{name}" for name in restricted]
    return _page(manifest)


def texts_page(written: str, descriptions: dict[str, str]) -> str:
    """`package.nls.json` with the descriptions of the settings (`settings.NAME`) made anew."""
    own = {f"settings.{name}" for name in OWN_SETTINGS}
    kept = {name: text for name, text in json.loads(written).items() if name in own or not name.startswith("settings.")}
    offered = {f"settings.{name}": text for name, text in descriptions.items() if not text.startswith(RESERVED)}
    return _page(kept | offered)


def _page(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _ordered(settings: dict[str, Any]) -> dict[str, Any]:
    """The same settings, each with its place in the settings editor, which else sorts them by their names."""

    def group(name: str) -> int:
        place = (number for number, begin in enumerate(FIRST) if name.removeprefix("lithify.").startswith(begin))
        return next(place, len(FIRST))

    places = {name: place for place, name in enumerate(sorted(settings, key=group))}
    return {name: {**setting, "order": places[name]} for name, setting in settings.items()}


def _properties(names: list[str]) -> dict[str, Any]:
    schema = Settings.model_json_schema(by_alias=True)
    offered = [name for name in names if not _lookup(schema, name).get("description", "").startswith(RESERVED)]
    return {f"lithify.{name}": setting(name, schema) for name in offered}


def _lookup(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """The schema of the setting with that dotted name."""
    found = schema
    for part in name.split("."):
        found = _resolved(found, schema)["properties"][part]
    return found


def _resolved(part: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference = part.get("$ref")
    return part if reference is None else schema["$defs"][reference.rpartition("/")[2]]


def setting(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A setting as the manifest contributes it, from the JSON schema of all settings."""
    found = _lookup(schema, name)
    scope = "machine" if name.startswith(MACHINE_SCOPED) else "window"
    shown = _plain(_resolved(found, schema))
    if "properties" in shown:
        inner = {key: _plain(value) for key, value in shown["properties"].items()}
        shown |= {"properties": inner, "additionalProperties": False}
    default = {"default": _without_nulls(found["default"])} if "default" in found else {}
    return {**shown, **default, "scope": scope, "description": f"%settings.{name}%"}


def _without_nulls(value: Any) -> Any:
    return {key: one for key, one in value.items() if one is not None} if isinstance(value, dict) else value


def _plain(part: dict[str, Any]) -> dict[str, Any]:
    """A schema as VS Code's settings editor shows it best: one type, or a list of types where null may stand."""
    kept = {key: value for key, value in part.items() if key not in ("title", "description", "anyOf")}
    options = part.get("anyOf", [])
    for one in options:
        kept |= {key: value for key, value in one.items() if key != "type"}
    if options:
        kept["type"] = [one["type"] for one in options]
    if "exclusiveMinimum" in kept:
        kept["minimum"] = kept.pop("exclusiveMinimum") + 1
    if "enum" in kept and "null" in kept.get("type", ""):
        kept["enum"] = [*kept["enum"], None]
    return kept
