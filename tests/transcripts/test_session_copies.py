"""Sessions under another id: every character but the ids stays, and messages of opencode keep their order."""

from __future__ import annotations

import json
from itertools import count

import pytest

from lithify.transcripts import opencode
from lithify.transcripts.model import Stamp
from lithify.transcripts.session_copies import opencode_copy, with_id
from tests.support import opencode_loader

OLD, NEW = "3f2a9c41-5a7b-4c1d-9d61-0c1f2e3d4a5b", "0b84937c-9fe7-4284-986a-33c832af0b6a"
NUMBERS = count()
STAMP = Stamp("2026-12-01T00:00:00.000Z", lambda: f"00000000-0000-4000-8000-{next(NUMBERS):012}")


@pytest.mark.parametrize("key", ["sessionId", "session_id", "thread_id", "id"])
def test_the_id_of_a_session_is_another_wherever_a_key_holds_it(key: str) -> None:
    line = f'{{"{key}" : "{OLD}", "x": {{"{key}":"{OLD}"}}}}\n'
    assert with_id(line, OLD, NEW) == line.replace(OLD, NEW)


def test_what_is_said_of_the_id_stays_as_it_is() -> None:
    said = json.dumps({"content": json.dumps({"sessionId": OLD}), "text": OLD, "path": f"/x/{OLD}"}, indent=1)
    assert with_id(said, OLD, NEW) == said


def common(message: str) -> dict[str, str]:
    """What every part says of itself."""
    return {"messageID": message, "sessionID": "ses_old"}


def export(*, share: bool = False) -> str:
    """Two messages whose parts have ids of the same time, one of them a compaction that keeps the first."""
    told = [("msg_000000000001a", "user", None), ("msg_000000000001b", "user", "msg_000000000001a")]
    messages = [
        {
            "info": {"id": key, "role": role, "sessionID": "ses_old", "time": {"created": at}},
            "parts": [
                {**common(key), "id": f"prt_{at:012}{letter}", "type": "text", "text": letter} for letter in "BCA"
            ]
            + ([{**common(key), "id": f"prt_{at:012}D", "type": "compaction", "tail_start_id": kept}] if kept else []),
        }
        for at, (key, role, kept) in enumerate(told)
    ]
    info = {"id": "ses_old", "title": "Carts", "version": "1.18.34", "projectID": "p", "time": {"created": 1}}
    return json.dumps({"info": info | ({"share": {"url": "u"}} if share else {}), "messages": messages})


def test_every_id_of_an_export_is_new_and_what_named_an_old_one_names_the_new() -> None:
    copied, session_id = opencode_copy(export(), STAMP)
    before, after = json.loads(export()), json.loads(copied)
    assert after["info"]["id"] == session_id
    assert not {one["info"]["id"] for one in before["messages"]} & {one["info"]["id"] for one in after["messages"]}
    assert {one["info"]["sessionID"] for one in after["messages"]} == {session_id}
    assert after["messages"][1]["parts"][-1]["tail_start_id"] == after["messages"][0]["info"]["id"]
    assert "ses_old" not in copied


def test_parts_of_the_same_time_keep_their_order() -> None:
    copied, _ = opencode_copy(export(), STAMP)
    for message in json.loads(copied)["messages"]:
        texts = [part["text"] for part in sorted(message["parts"], key=lambda one: one["id"]) if "text" in part]
        assert texts == ["A", "B", "C"]


def test_a_copy_says_that_it_was_restored_and_is_not_shared() -> None:
    info = json.loads(opencode_copy(export(share=True), STAMP)[0])["info"]
    assert (info["title"], "share" in info) == ("Carts (restored)", False)


def test_opencode_loads_of_the_copy_what_it_loads_of_the_first() -> None:
    copied, _ = opencode_copy(export(), STAMP)
    assert opencode.recognise(copied, "")
    sent = [[part.get("text") for part in one["parts"]] for one in opencode_loader.load(copied.encode())]
    assert sent == [[part.get("text") for part in one["parts"]] for one in opencode_loader.load(export().encode())]


@pytest.mark.parametrize("text", ["[]", "{}", '{"info": {"id": 3}}'])
def test_what_is_no_export_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no export"):
        opencode_copy(text, STAMP)
