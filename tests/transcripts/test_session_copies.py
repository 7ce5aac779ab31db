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


@pytest.mark.parametrize(
    ("format_name", "line"),
    [
        ("claude-code", '{"type":"mode", "sessionId" : "%s"}'),
        ("gemini", '{"sessionId":"%s","projectHash":"shop"}'),
        ("gemini", '{"$set":{"lastUpdated":"x", "sessionId":"%s"}}'),
        ("codex", '{"type":"session_meta","payload":{"session_id":"%s","forked_from_id":"x"}}'),
        ("codex", '{"type":"session_meta","payload":{"id":"%s"}}'),
        ("codex", '{"payload":{"thread_id":"%s"},"type":"event_msg"}'),
        ("kimi-code", '{"type":"metadata","sessionId":"%s"}'),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_the_id_of_a_session_is_another_where_a_record_says_whose_it_is(
    format_name: str, line: str, ending: str
) -> None:
    told = with_id((line % OLD + ending).encode(), format_name, OLD, NEW)
    assert told == (line % NEW + ending).encode()


NAMED = f'{{"sessionId": "{OLD}", "session_id":"{OLD}", "id":"{OLD}", "thread_id" :"{OLD}"}}'


@pytest.mark.parametrize("format_name", ["claude-code", "codex", "gemini", "kimi-code"])
@pytest.mark.parametrize(
    "line",
    [
        '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","input":%s}]}}',
        '{"type":"response_item","payload":{"type":"function_call","id":"i","arguments":%s}}',
        '{"type":"compacted","payload":{"replacement_history":[%s],"id":"i"}}',
        '{"type":"event_msg","payload":{"item":%s}}',
        '{"id":"1","type":"gemini","toolCalls":[{"args":%s}]}',
        '{"$set":{"messages":[%s]}}',
        '{"type":"context.append_loop_event","event":{"args":%s}}',
        '{"forkedFrom":%s,"payload":{"git":%s}}',
        "%s, %s",
        '{"broken": %s',
    ],
)
def test_what_is_said_of_the_id_or_handed_to_a_tool_stays_byte_for_byte(format_name: str, line: str) -> None:
    said = line.replace("%s", NAMED).encode()
    assert with_id(said, format_name, OLD, NEW) == said


def test_a_session_that_was_forked_still_names_the_one_it_was_forked_from() -> None:
    fork = '{"type":"session_meta","payload":{"id":"%s","forked_from_id":"%s"}}\n'
    records = fork % (OLD, "parent") + fork % ("parent", OLD)
    after = with_id(records.encode(), "codex", OLD, NEW).decode()
    assert after == fork % (NEW, "parent") + fork % ("parent", OLD)


def test_bytes_that_are_no_text_stay() -> None:
    torn = f'{{"sessionId":"{OLD}","text":"\u4e2d'.encode()[:-1]
    assert with_id(b"\xff\n" + torn, "claude-code", OLD, NEW) == b"\xff\n" + torn


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


def test_what_is_said_in_opencode_of_an_id_or_handed_to_a_tool_stays() -> None:
    told = json.loads(export())
    tool = {"type": "tool", "state": {"input": {"sessionID": "ses_old", "id": "msg_000000000001a"}}}
    said = [{**common("msg_000000000001a"), "id": "prt_0", "text": "ses_old", "type": "text"}]
    told["messages"][0]["parts"] = [*said, {**common("msg_000000000001a"), "id": "prt_1", **tool}]
    told["info"]["revert"] = {"messageID": "msg_000000000001b"}
    after = json.loads(opencode_copy(json.dumps(told), STAMP)[0])
    text, call = after["messages"][0]["parts"]
    assert (text["text"], call["state"]) == ("ses_old", tool["state"])
    assert after["info"]["revert"] == {"messageID": after["messages"][1]["info"]["id"]}


@pytest.mark.parametrize("text", ["[]", "{}", '{"info": {"id": 3}}'])
def test_what_is_no_export_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no export"):
        opencode_copy(text, STAMP)
