"""The folder that keeps an exact prompt: `<package>-<version>/`, read, judged and written.

It holds `compact.md`, `system_prompt.txt` and `instruction_intro.txt`, byte for byte; `LICENSE` and `NOTICE`, which
say whose work they are; and `source.json`, which names the files they were taken from with their digests.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lithify.prompt_files.pins import Pin, sha256_of, templates_dir

TEMPLATE, SYSTEM_PROMPT, INSTRUCTION_INTRO = "compact.md", "system_prompt.txt", "instruction_intro.txt"

_LEFTOVER_AGE_S = 3600
_ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class KeptPrompt:
    """An exact prompt whose three texts have the pinned digests."""

    template: bytes
    system_prompt: bytes
    instruction_intro: bytes


@dataclass(frozen=True, slots=True)
class Damaged:
    """Files that are there but are not what is pinned; `detail` says which, as the end of a sentence."""

    detail: str


def prompt_of_sources(template: bytes, module: bytes, pin: Pin) -> KeptPrompt | Damaged:
    """The prompt that the two pinned files of a package hold; the module is parsed, never run."""
    for name, content, member in (("template", template, pin.template), ("module", module, pin.module)):
        if sha256_of(content) != member.sha256:
            return Damaged(f"the {name} {member.path} is not that of {pin.label}")
    tree = ast.parse(module)
    return _judged(KeptPrompt(template, _system_prompt(tree).encode(), _instruction_intro(tree).encode()), pin)


def read_kept(folder: Path, pin: Pin) -> KeptPrompt | Damaged | None:
    """The prompt that a folder keeps; None where there is no such folder. Never raises on what it finds."""
    if not os.path.lexists(folder):
        return None
    texts = []
    for name in (TEMPLATE, SYSTEM_PROMPT, INSTRUCTION_INTRO):
        try:
            texts.append((folder / name).read_bytes())
        except OSError as error:
            return Damaged(f"{name} cannot be read ({error.strerror or error})")
    return _judged(KeptPrompt(*texts), pin)


def write_kept(target: Path, pin: Pin, prompt: KeptPrompt) -> Path:
    """Puts the prompt's folder into `target` as a whole, and returns it; a damaged one in its place is replaced.

    Several writers at once leave one sound folder. Raises OSError; nothing half-written stays then.
    """
    _make_private(target)
    staged = Path(tempfile.mkdtemp(prefix=f".{pin.folder_name}.", dir=target))
    try:
        _sweep_leftovers(target, pin, staged)
        staged.chmod(0o755)
        for name, content in _files(pin, prompt).items():
            (staged / name).write_bytes(content)
        _move_into_place(staged, target / pin.folder_name, pin)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return target / pin.folder_name


def _make_private(folder: Path) -> None:
    """The folder and those missing above it, for the user alone: the user's data comes to lie beside the prompts."""
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _judged(prompt: KeptPrompt, pin: Pin) -> KeptPrompt | Damaged:
    texts = {
        TEMPLATE: prompt.template,
        SYSTEM_PROMPT: prompt.system_prompt,
        INSTRUCTION_INTRO: prompt.instruction_intro,
    }
    for name, content in texts.items():
        if sha256_of(content) != pin.kept.get(name):
            return Damaged(f"{name} differs from the text of {pin.label}")
    return prompt


def _system_prompt(tree: ast.Module) -> str:
    """The value of `COMPACTION_SYSTEM_PROMPT`, empty where the module has none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if "COMPACTION_SYSTEM_PROMPT" in names:
                return str(node.value.value)
    return ""


def _instruction_intro(tree: ast.Module) -> str:
    """The literal text before `custom_instruction` in the string that is added to the prompt, else empty."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and len(node.values) == 2:
            text, inserted = node.values
            if (
                isinstance(text, ast.Constant)
                and isinstance(inserted, ast.FormattedValue)
                and isinstance(inserted.value, ast.Name)
                and inserted.value.id == "custom_instruction"
            ):
                return str(text.value)
    return ""


def _files(pin: Pin, prompt: KeptPrompt) -> dict[str, bytes]:
    source = {
        "package": pin.package,
        "version": pin.version,
        "licence": pin.licence,
        "wheel": {"name": pin.wheel, "sha256": pin.wheel_sha256},
        "members": {member.path: member.sha256 for member in (pin.template, pin.module)},
        "kept": dict(pin.kept),
    }
    return {
        TEMPLATE: prompt.template,
        SYSTEM_PROMPT: prompt.system_prompt,
        INSTRUCTION_INTRO: prompt.instruction_intro,
        "LICENSE": (templates_dir() / "LICENSE-Apache-2.0.txt").read_bytes(),
        "NOTICE": _notice(pin).encode(),
        "source.json": (json.dumps(source, indent=2) + "\n").encode(),
    }


def _notice(pin: Pin) -> str:
    return f"""\
The texts in this folder are part of Kimi Code CLI (formerly Kimi CLI), version {pin.version}.
Copyright 2025 Moonshot AI
This product includes software developed at Moonshot AI (https://www.moonshot.ai/).
Source: https://github.com/MoonshotAI/kimi-cli

They are licensed under the Apache License, Version 2.0, whose text is in the file LICENSE.

Lithify took them unmodified from the package {pin.package} {pin.version}, file {pin.wheel}:
{TEMPLATE} is {pin.template.path};
{SYSTEM_PROMPT} and {INSTRUCTION_INTRO} are string literals of {pin.module.path}.
LICENSE, NOTICE and source.json were added by Lithify; the package carries no licence file of its own.
"""


def _move_into_place(staged: Path, final: Path, pin: Pin) -> None:
    """Renames a finished folder to its name. A reader may find no folder for an instant, never half a one."""
    for _ in range(_ATTEMPTS):
        try:
            staged.rename(final)
        except OSError:
            if not os.path.lexists(final):
                raise
        else:
            return
        if isinstance(read_kept(final, pin), KeptPrompt):
            return
        _discard(final, aside=staged.with_name(f"{staged.name}.old"))
    raise OSError(f"{final} could not be replaced")


def _discard(path: Path, aside: Path) -> None:
    with suppress(FileNotFoundError):
        path.rename(aside)
        if aside.is_dir() and not aside.is_symlink():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.unlink()


def _sweep_leftovers(target: Path, pin: Pin, staged: Path) -> None:
    """Removes what a killed run left behind: staging folders an hour older than this one."""
    now_s = staged.stat().st_mtime
    for leftover in target.glob(f".{pin.folder_name}.*"):
        with suppress(OSError):
            if now_s - leftover.stat().st_mtime > _LEFTOVER_AGE_S:
                shutil.rmtree(leftover)
