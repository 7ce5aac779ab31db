"""Puts the exact prompt where the build of the wheel picks it up: copied where it was fetched before, else fetched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lithify.prompt_files.fetch import FetchFailed, fetch_kimi_prompt
from lithify.prompt_files.kept import KeptPrompt, write_kept
from lithify.prompt_files.pins import Pin, kimi_pin, templates_dir
from lithify.prompt_files.pip_download import PipCommand
from lithify.prompt_files.templates import exact_copies

BUILD_TIMEOUT_S = 60.0


def prompt_to_carry(
    target: Path, user_prompts_dir: Path, *, pip: Sequence[PipCommand] | None = None, pin: Pin | None = None
) -> Path | FetchFailed:
    """The folder made in `target` for the wheel, the same bytes wherever they came from; or why there is none."""
    pin = pin or kimi_pin()
    for copy in exact_copies(user_prompts_dir, templates=templates_dir(), pin=pin):
        if isinstance(copy.found, KeptPrompt):
            return write_kept(target, pin, copy.found)
    outcome = fetch_kimi_prompt(target, pip=pip, pin=pin, timeout_s=BUILD_TIMEOUT_S)
    return outcome if isinstance(outcome, FetchFailed) else outcome.folder
