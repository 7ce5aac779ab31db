"""Build hook of the wheel: carries the exact kimi-cli prompt along where it can be had."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    """Adds `lithify/_prompts/kimi-cli-<version>/` to a wheel; without it the wheel is built all the same."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self._staging = tempfile.TemporaryDirectory(prefix="lithify-build-", ignore_cleanup_errors=True)
        try:
            found = _prompt_to_carry(Path(self.root), Path(self._staging.name))
        except (ImportError, OSError) as error:
            found = str(error)
        if isinstance(found, Path):
            build_data["force_include"][str(found)] = f"lithify/_prompts/{found.name}"
        else:
            self.app.display_warning(f"This wheel is built without the exact kimi-cli prompt. {found}")

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        if version != "editable":
            self._staging.cleanup()


def _prompt_to_carry(root: Path, staging: Path) -> Path | str:
    """The folder to include, or the sentence that says why there is none."""
    server = str(root / "server")
    sys.path.insert(0, server)
    try:
        from lithify.prompt_files.carry import prompt_to_carry
        from lithify.prompt_files.templates import user_prompts_dir
    finally:
        sys.path.remove(server)
    found = prompt_to_carry(staging, user_prompts_dir())
    return found if isinstance(found, Path) else found.message
