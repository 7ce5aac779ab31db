"""Finds a kimi-cli that is installed on this machine, to read its prompt; never imports or starts it."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path

from lithify.prompt_files.kept import Damaged, KeptPrompt, prompt_of_sources
from lithify.prompt_files.pins import Pin

_IMPORT_NAME = "kimi_cli"
_COMMANDS = ("kimi", "kimi-cli")


def installed_prompts(pin: Pin) -> Iterator[tuple[Path, KeptPrompt | Damaged]]:
    """Each kimi-cli found, as the folder of its package and its prompt; Damaged when it is another release.

    Looks in this Python's own environment, then in that of the `kimi` or `kimi-cli` command on PATH.
    """
    seen = set()
    for folder in (*_importable(), *_behind_commands()):
        if folder not in seen:
            seen.add(folder)
            yield folder, _read(folder, pin)


def _importable() -> list[Path]:
    try:
        spec = importlib.util.find_spec(_IMPORT_NAME)
    except (ImportError, ValueError):
        return []
    return [Path(place).resolve() for place in (spec.submodule_search_locations or ())] if spec else []


def _behind_commands() -> Iterator[Path]:
    for command in _COMMANDS:
        found = shutil.which(command)
        if found:
            environment = Path(found).resolve().parent.parent
            for pattern in ("lib/python3*/site-packages", "Lib/site-packages"):
                yield from sorted(path.resolve() for path in environment.glob(f"{pattern}/{_IMPORT_NAME}"))


def _read(folder: Path, pin: Pin) -> KeptPrompt | Damaged:
    try:
        template, module = ((folder.parent / member.path).read_bytes() for member in (pin.template, pin.module))
    except OSError as error:
        return Damaged(f"{error.filename} cannot be read ({error.strerror or error})")
    return prompt_of_sources(template, module, pin)
