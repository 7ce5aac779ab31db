"""A made-up release of a package with a prompt: its wheel, its pins, and the pips that deliver it or fail."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

from lithify.prompt_files.kept import INSTRUCTION_INTRO, SYSTEM_PROMPT, TEMPLATE, KeptPrompt
from lithify.prompt_files.pins import Member, Pin, kimi_pin, sha256_of, templates_dir
from lithify.prompt_files.pip_download import PipCommand

PROMPT = KeptPrompt(b"\n---\nSum up.\n", b"You sum up.", b"\n\nThe wish:\n")
MODULE = b"""
COMPACTION_SYSTEM_PROMPT = "You sum up."


def prepare(prompt_text, custom_instruction):
    if custom_instruction:
        prompt_text += (
            "\\n\\nThe "
            "wish:\\n"
            f"{custom_instruction}"
        )
    return prompt_text
"""


@dataclass(frozen=True)
class Release:
    wheel: Path
    pin: Pin

    def pip(self) -> list[PipCommand]:
        """A pip that delivers the wheel."""
        return [
            python_command(
                "import shutil, sys\nshutil.copy(sys.argv[1], sys.argv[sys.argv.index('--dest') + 1])", self.wheel
            )
        ]

    def install_into(self, site_packages: Path) -> Path:
        """Unpacks the wheel; returns the folder of its package."""
        with zipfile.ZipFile(self.wheel) as archive:
            archive.extractall(site_packages)
        return site_packages / "kimi_cli"

    def write_templates(self, folder: Path) -> Path:
        """A folder of Lithify's own templates whose `sources.toml` pins this release."""
        folder.mkdir()
        for own in templates_dir().glob("*.md"):
            (folder / own.name).write_bytes(own.read_bytes())
        (folder / "sources.toml").write_text(_toml(self.pin), "utf-8")
        return folder


def make_release(folder: Path, *, template: bytes = PROMPT.template) -> Release:
    """A wheel in `folder`; the pins are those of the wheel with the usual template, whatever is in this one."""
    real = kimi_pin()
    wheel = folder / real.wheel
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(real.template.path, template)
        archive.writestr(real.module.path, MODULE)
    pin = replace(
        real,
        wheel_sha256=sha256_of(wheel.read_bytes()),
        template=Member(real.template.path, sha256_of(PROMPT.template)),
        module=Member(real.module.path, sha256_of(MODULE)),
        kept={
            TEMPLATE: sha256_of(PROMPT.template),
            SYSTEM_PROMPT: sha256_of(PROMPT.system_prompt),
            INSTRUCTION_INTRO: sha256_of(PROMPT.instruction_intro),
        },
    )
    return Release(wheel, pin)


def python_command(program: str, *arguments: object) -> PipCommand:
    """A command that runs a Python program in pip's place."""
    return PipCommand((sys.executable, "-c", program, *map(str, arguments)), dict(os.environ))


def pip_that_says(text: str) -> PipCommand:
    """A pip that writes a text to stderr and fails."""
    return python_command("import sys\nsys.exit(sys.argv[1])", text)


def _toml(pin: Pin) -> str:
    plain = {"package": pin.package, "version": pin.version, "licence": pin.licence}
    plain |= {"wheel": pin.wheel, "wheel_sha256": pin.wheel_sha256}
    members = {"template": pin.template, "module": pin.module}
    lines = ["[kimi-cli]", *(f"{key} = {json.dumps(value)}" for key, value in plain.items())]
    for name, member in members.items():
        lines += [f"[kimi-cli.{name}]", f"path = {json.dumps(member.path)}", f"sha256 = {json.dumps(member.sha256)}"]
    lines += ["[kimi-cli.kept]", *(f"{json.dumps(name)} = {json.dumps(sha)}" for name, sha in pin.kept.items())]
    return "\n".join(lines) + "\n"
