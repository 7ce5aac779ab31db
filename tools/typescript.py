"""`client-vscode/src/protocol.ts`: the wire shapes and the names of the settings, for the VS Code extension."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from lithify.core.settings import MACHINE_SCOPED
from lithify.lsp import wire, wire_base
from tools import answer_shapes

NAMED = {
    wire_base.Message: "Message",
    wire.Agent: "AgentConfig | null",
    wire_base.Overrides: "Record<string, unknown>",
}
"""Types of the wire that are checked dicts there, and have a name here."""

HEAD = """// Made by `make docs` from lsp/wire.py, lsp/wire_base.py, tools/answer_shapes.py and the settings: edit them.

/** A message of a conversation; keys that are not named here are kept as they are. */
export interface Message {
  id?: string | null;
  role: string;
  content?: string | Part[] | null;
  [key: string]: unknown;
}

/** A part of a message's content. */
export interface Part {
  type: string;
  text?: string;
  [key: string]: unknown;
}
"""

PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", Any: "unknown", type(None): "null"}


def protocol_page(settings: list[str]) -> str:
    """The text of `protocol.ts`; `settings` are the dotted names of all settings.

    Raises TypeError where a shape cannot be written, or two have one name.
    """
    found = list(_shapes())
    names = [shape.__name__ for shape in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TypeError(
            f"{', '.join(sorted(twice))}: in lsp/wire.py, wire_base.py and tools/answer_shapes.py; rename one"
        )
    shapes = "\n".join(_interface(shape) for shape in found)
    machine = [name for name in settings if name.startswith(MACHINE_SCOPED)]
    return "\n".join([HEAD, shapes, _list("SETTINGS", settings), _list("MACHINE_SETTINGS", machine)])


def _shapes() -> Iterator[type[wire_base.Wire]]:
    for module in (wire, wire_base, answer_shapes):
        for name, value in vars(module).items():
            shape = inspect.isclass(value) and issubclass(value, wire_base.Wire) and value is not wire_base.Wire
            if shape and value.__module__ == module.__name__ and not name.startswith("_"):
                yield value


def _interface(shape: type[wire_base.Wire]) -> str:
    hints = get_type_hints(shape, include_extras=True)
    lines = []
    for name, field in shape.model_fields.items():
        optional = "" if field.is_required() else "?"
        lines.append(f"  {field.alias or name}{optional}: {typescript(hints[name])};")
    doc = inspect.getdoc(shape) if "__doc__" in vars(shape) and shape.__doc__ else None
    head = [f"/** {' '.join(doc.split())} */"] if doc else []
    return "\n".join([*head, f"export interface {shape.__name__} {{", *lines, "}", ""])


def typescript(hint: Any) -> str:
    """A Python type of the wire in TypeScript. Raises TypeError for one that the wire does not have."""
    for known, name in NAMED.items():
        if hint == known:
            return name
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return typescript(arguments[0])
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(typescript(one) for one in arguments))
    if origin is Literal:
        return " | ".join(json.dumps(one) for one in arguments)
    if origin is list:
        inner = typescript(arguments[0])
        return f"({inner})[]" if " " in inner and not inner.startswith("Record") else f"{inner}[]"
    if origin is dict:
        return f"Record<string, {typescript(arguments[1])}>"
    if inspect.isclass(hint) and issubclass(hint, wire_base.Wire):
        return hint.__name__
    if hint in PLAIN:
        return PLAIN[hint]
    raise TypeError(f"{hint!r} has no counterpart in TypeScript yet; tools/typescript.py makes them")


def _list(name: str, values: list[str]) -> str:
    return "\n".join([f"export const {name} = [", *(f'  "{value}",' for value in values), "] as const;", ""])
