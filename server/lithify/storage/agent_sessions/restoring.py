"""A session as it once was, restored beside itself: a new session, with a file of its own, that its agent takes up.

It is made once: where there is one of that id already, that is the one, whatever was said in it since.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lithify.storage import system
from lithify.storage.agent_sessions import claude_code, codex, gemini, kimi_code
from lithify.storage.agent_sessions.folders import json_object, read_object, text_of
from lithify.storage.agent_sessions.guards import place_in
from lithify.storage.atomic import file_beside, write_new
from lithify.storage.paths import make_private_folder
from lithify.storage.unfinished import Unfinished, folder_beside
from lithify.transcripts.session_copies import with_id


def restored(
    real: str, data: bytes, format_name: str, environment: Mapping[str, str], new_uuid: str, unfinished: Unfinished
) -> Path | None:
    """The file of a session of that new id that holds `data`, what the session in the file at `real` once held. It lies
    beside that where its agent finds it, also over a link. None for a file that lies among no agent's sessions, or of
    which no agent takes up a copy. Raises OSError; then nothing is left."""
    for agent, restore in _AGENTS:
        if agent.format_name == format_name and (place := place_in(agent, real, environment)) is not None:
            return restore(Path(place), _ended(data), new_uuid, unfinished)
    return None


def _ended(data: bytes) -> bytes:
    """The same with its last line ended, which may be torn: else the agent's next record would become a part of it."""
    return data if not data or data.endswith(b"\n") else data + b"\n"


def _claude_code(path: Path, data: bytes, new: str, unfinished: Unfinished) -> Path:
    return _beside(path, f"{new}.jsonl", with_id(data, claude_code.name, path.stem, new), unfinished)


def _codex(path: Path, data: bytes, new: str, unfinished: Unfinished) -> Path | None:
    old = codex.session_id_of(path)
    if old is None:
        return None
    return _beside(path, path.name.replace(old, new), with_id(data, codex.name, old, new), unfinished)


def _gemini(path: Path, data: bytes, new: str, unfinished: Unfinished) -> Path | None:
    """The name of the file ends in the beginning of the id."""
    old = text_of(json_object(data.partition(b"\n")[0]).get("sessionId"))
    if old is None or old[:8] not in path.name:
        return None
    return _beside(path, path.name.replace(old[:8], new[:8]), with_id(data, gemini.name, old, new), unfinished)


def _kimi_code(path: Path, data: bytes, new: str, unfinished: Unfinished) -> Path | None:
    """A folder for each session; it appears under its name with all that is in it."""
    session = path.parent.parent.parent
    state = read_object(session / "state.json")
    if not session.name.startswith("session_") or text_of(state.get("id")) != session.name:
        return None
    target = session.with_name(f"session_{new}")
    below = path.relative_to(session)
    if target.exists():
        return target / below
    told = json.dumps(_named(state, session.name, target.name)).encode()
    made = folder_beside(session)
    with unfinished.noted(made):
        try:
            make_private_folder((made / below).parent)
            system.replace_durably(made / below, with_id(data, kimi_code.name, session.name, target.name))
            system.replace_durably(made / "state.json", told)
            system.rename(made, target)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            raise
    system.sync_folder(target.parent)
    return target / below


def _named(value: Any, old: str, new: str) -> Any:
    """What kimi-code notes of a session, as that of another one: its id, and the paths of its folders."""
    if isinstance(value, dict):
        return {key: _named(one, old, new) for key, one in value.items()}
    if isinstance(value, list):
        return [_named(one, old, new) for one in value]
    if not isinstance(value, str):
        return value
    return re.sub(rf"(?<![^/\\]){re.escape(old)}(?![^/\\])", new, value)


def _beside(path: Path, name: str, data: bytes, unfinished: Unfinished) -> Path:
    target, made = path.with_name(name), file_beside(path)
    with unfinished.noted(made), suppress(FileExistsError):
        write_new(target, data, made, private=True)
    return target


_AGENTS = ((claude_code, _claude_code), (codex, _codex), (gemini, _gemini), (kimi_code, _kimi_code))
