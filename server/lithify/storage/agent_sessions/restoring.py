"""A session as it once was, restored beside itself: a new session, with a file of its own, that its agent takes up."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from lithify.storage import system
from lithify.storage.agent_sessions import claude_code, codex, gemini, kimi_code
from lithify.storage.agent_sessions.folders import json_object, read_object, text_of
from lithify.storage.paths import make_private_folder
from lithify.transcripts.session_copies import with_id


def restored(path: str, data: bytes, format_name: str, environment: Mapping[str, str], new_uuid: str) -> Path | None:
    """The file of a new session that holds `data`, what the session in the file at `path` once held; None for a file
    that lies in no folder of its agent, or of which no agent takes up a copy. Raises OSError; then nothing is left."""
    place = Path(path)
    for agent, restore in _AGENTS:
        try:
            above = os.path.realpath(agent.folder(environment))
        except RuntimeError:  # nobody has said where the home folder is
            continue
        if agent.format_name == format_name and path.startswith(above.rstrip(os.sep) + os.sep):
            return restore(place, data.decode(), new_uuid)
    return None


def _claude_code(path: Path, text: str, new: str) -> Path:
    return _beside(path, f"{new}.jsonl", with_id(text, path.stem, new))


def _codex(path: Path, text: str, new: str) -> Path | None:
    old = codex.session_id_of(path)
    return None if old is None else _beside(path, path.name.replace(old, new), with_id(text, old, new))


def _gemini(path: Path, text: str, new: str) -> Path | None:
    """The name of the file ends in the beginning of the id."""
    old = text_of(json_object(text.partition("\n")[0]).get("sessionId"))
    if old is None or old[:8] not in path.name:
        return None
    return _beside(path, path.name.replace(old[:8], new[:8]), with_id(text, old, new))


def _kimi_code(path: Path, text: str, new: str) -> Path | None:
    """A folder for each session; it appears under its name with all that is in it."""
    session = path.parent.parent.parent
    state = read_object(session / "state.json")
    if not session.name.startswith("session_") or text_of(state.get("id")) != session.name:
        return None
    target = session.with_name(f"session_{new}")
    made = session.with_name(f".lithify-{new}")
    below = path.relative_to(session)
    told = json.dumps(state, ensure_ascii=False).replace(session.name, target.name)
    try:
        make_private_folder((made / below).parent)
        system.replace_durably(made / below, with_id(text, session.name, target.name).encode())
        system.replace_durably(made / "state.json", told.encode())
        system.rename(made, target)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)
        raise
    system.sync_folder(target.parent)
    return target / below


def _beside(path: Path, name: str, text: str) -> Path:
    target = path.with_name(name)
    system.replace_durably(target, text.encode())
    return target


_AGENTS = ((claude_code, _claude_code), (codex, _codex), (gemini, _gemini), (kimi_code, _kimi_code))
