"""The runs of agents on this machine: which are alive, and what dead ones left behind."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lithify.llm.acp.folders import NAME, bases, is_private, is_run_folder, lock_path, remove_tree, try_lock
from lithify.llm.acp.leftovers import is_alive, kill_abandoned

__all__ = ["LiveRun", "is_run_folder", "live_runs", "sweep"]

ORPHAN_SECONDS = 3600.0
"""A lock without its folder, or a folder without its lock, is left alone for so long: a run may just be starting."""


@dataclass(frozen=True, slots=True)
class LiveRun:
    """An agent at work, or the launcher that ends it. `started_at` is in seconds since 1970; what the run did not say
    (it is just starting) is None."""

    folder: Path
    agent: str | None
    agent_pid: int | None
    launcher_pid: int | None
    server_pid: int | None
    server_alive: bool
    started_at: float | None


def live_runs(environment: Mapping[str, str] = os.environ) -> list[LiveRun]:
    """The runs whose owners live, of all servers of this user, the oldest first. Touches nothing."""
    found = [_live(folder) for folder in _folders(environment) if folder.is_dir() and _is_held(lock_path(folder))]
    return sorted(found, key=lambda run: (run.started_at or 0.0, run.folder.name))


def sweep(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Takes away what dead runs left, their processes first; the folders that are gone now. Blocks for a second for
    each run that left processes; what cannot be removed stays for the next time."""
    return [folder for folder in _folders(environment) if _swept(folder)]


def _folders(environment: Mapping[str, str]) -> list[Path]:
    found: set[Path] = set()
    for base in bases(environment):
        with contextlib.suppress(OSError), os.scandir(base) as entries:
            for entry in entries:
                name = entry.name.removesuffix(".lock")
                if NAME.fullmatch(name):
                    found.add(base / name)
    return sorted(found)


def _swept(folder: Path) -> bool:
    with _opened(lock_path(folder)) as lock:
        if lock is not None and not try_lock(lock):
            return False
        exists = folder.exists() or folder.is_symlink()
        if exists and not is_private(folder):
            return False
        if not (lock is not None and exists) and not _is_old(lock_path(folder) if lock is not None else folder):
            return False
        facts = _facts(folder)
        kill_abandoned(folder.name, _pid(facts, "agentPid"), _time(facts))
        with contextlib.suppress(OSError):
            remove_tree(folder)
            if os.name != "nt":
                lock_path(folder).unlink(missing_ok=True)
    if os.name == "nt":
        with contextlib.suppress(OSError):
            lock_path(folder).unlink(missing_ok=True)
    return exists and not folder.exists()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """The lock's file, where it is this user's; else None."""
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_held(path: Path) -> bool:
    with _opened(path) as lock:
        return lock is not None and not try_lock(lock)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > ORPHAN_SECONDS
    except OSError:
        return False


def _live(folder: Path) -> LiveRun:
    facts = _facts(folder)
    server = _pid(facts, "serverPid")
    agent = facts.get("agent")
    return LiveRun(
        folder=folder,
        agent=agent if isinstance(agent, str) else None,
        agent_pid=_pid(facts, "agentPid"),
        launcher_pid=_pid(facts, "launcherPid"),
        server_pid=server,
        server_alive=server is not None and is_alive(server),
        started_at=_time(facts),
    )


def _facts(folder: Path) -> dict[str, Any]:
    """What `run.json` says; nothing where it is not there yet, or any more."""
    try:
        told = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _pid(facts: Mapping[str, Any], name: str) -> int | None:
    found = facts.get(name)
    return found if isinstance(found, int) and found > 1 else None


def _time(facts: Mapping[str, Any]) -> float | None:
    found = facts.get("startedAt")
    return found if isinstance(found, float) else None
