"""What opencode sends of a session that was imported from an export.

Source: opencode 1.18, as measured; our own words. Facts this replays: messages are in the order of their times, then
of their ids, parts in that of their ids; going back from the end, the reading ends at a compaction with a finished
summary, or at the first message that it kept; the compaction is sent first, then what it kept, then what came after it.
"""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def load(data: bytes) -> list[Json]:
    """The messages `{info, parts}` that are sent, in order."""
    document = json.loads(data.decode("utf-8-sig"))
    stored = sorted(document["messages"], key=lambda one: (one["info"]["time"]["created"], one["info"]["id"]))
    for one in stored:
        assert one["info"]["id"].startswith("msg")
        assert all(part["id"].startswith("prt") for part in one["parts"])
        assert all(part["messageID"] == one["info"]["id"] for part in one["parts"])
        one["parts"] = sorted(one["parts"], key=lambda part: str(part["id"]))
    return _in_order(_loaded(stored))


def keys(messages: list[Json]) -> list[str]:
    """The ids of messages."""
    return [one["info"]["id"] for one in messages]


def text(message: Json) -> str:
    """The texts of a message."""
    return "".join(part["text"] for part in message["parts"] if part["type"] == "text")


def asks(message: Json) -> Json | None:
    """The part by which a message asks for a compaction."""
    parts = [part for part in message["parts"] if part["type"] == "compaction"]
    return parts[0] if parts and message["info"]["role"] == "user" else None


def _loaded(stored: list[Json]) -> list[Json]:
    taken: list[Json] = []
    answered: set[str] = set()
    wanted = None
    for one in reversed(stored):
        taken.insert(0, one)
        info = one["info"]
        if wanted is not None:
            if info["id"] == wanted:
                break
        elif info["id"] in answered and (asking := asks(one)):
            wanted = asking.get("tail_start_id")
            if wanted in (None, info["id"]):
                break
        elif info["role"] == "assistant" and info.get("summary") and info.get("finish") and not info.get("error"):
            answered.add(info["parentID"])
    return taken


def _in_order(taken: list[Json]) -> list[Json]:
    places = [at for at, one in enumerate(taken) if (asks(one) or {}).get("tail_start_id")]
    if not places:
        return taken
    asked = places[-1]
    question = taken[asked]
    tail = (asks(question) or {})["tail_start_id"]
    ids = keys(taken)
    answers = [
        at
        for at, one in enumerate(taken)
        if at > asked and one["info"].get("summary") and one["info"].get("parentID") == question["info"]["id"]
    ]
    if not answers or tail not in ids[:asked]:
        return taken
    return [*taken[asked : answers[0] + 1], *taken[ids.index(tail) : asked], *taken[answers[0] + 1 :]]
