"""Kimi-cli's SimpleCompaction, answer for answer: every vector, and every place where Lithify is meant to differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from lithify.core.conversation import Noop
from lithify.core.outcomes import LithifyError
from tests.support.messages import exactly, system
from tests.support.samples import DATA
from tests.support.scripted_model import EXACT, ScriptedModel, preview, summarise, workshop

VECTORS: dict[str, dict[str, Any]] = json.loads((DATA / "parity" / "kimi_vectors.json").read_text(encoding="utf-8"))
PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>"
PROMPT = "\n{{COMPACT_MD}}"

EMPTY_RESPONSE = {"result": "empty_response"}
"""The error that kimi-cli names APIEmptyResponseError."""


@dataclass(frozen=True)
class Deviation:
    """Why Lithify differs from kimi-cli, and all that is different: `instead` overlays kimi-cli's outcome."""

    reason: str
    instead: Mapping[str, Any]


def header(number: int, role: str) -> str:
    return f"## Message {number}\nRole: {role}\nContent:\n"


def summary(answer: str) -> dict[str, Any]:
    return {"role": "user", "content": f"{PREFIX}\n{answer}"}


def summary_parts(answer: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": PREFIX}, {"type": "text", "text": answer}]}


TAIL = [{"role": "user", "content": "TAIL-U"}, {"role": "assistant", "content": "TAIL-A"}]

BLANK_ANSWER = "a blank answer would replace the history by nothing"
UNTOUCHED_SYSTEM = "a system message alone is not worth a model call"

DEVIATIONS = {
    "system + 2": Deviation(
        UNTOUCHED_SYSTEM,
        {"parts": None, "n_compacted": 0, "tail": [system("sys"), *TAIL], "result": [system("sys"), *TAIL]},
    ),
    "max 3 == count but system first": Deviation(
        UNTOUCHED_SYSTEM,
        {
            "parts": None,
            "n_compacted": 0,
            "tail": [system("sys"), {"role": "user", "content": "o"}, *TAIL],
            "result": [system("sys"), {"role": "user", "content": "o"}, *TAIL],
        },
    ),
    "only system+tool before tail": Deviation(
        "a leading system message of the session stays in front", {"result": [system("sys"), summary("SUM"), *TAIL]}
    ),
    "empty string text": Deviation(
        "providers answer a blank text part with an error",
        {"parts": [header(1, "user"), header(2, "assistant"), PROMPT]},
    ),
    "custom instr whitespace": Deviation(
        "a blank instruction says nothing", {"parts": [header(1, "user"), "o", PROMPT]}
    ),
    "response whitespace text": Deviation(BLANK_ANSWER, EMPTY_RESPONSE),
    "response empty text": Deviation(BLANK_ANSWER, EMPTY_RESPONSE),
    "response tool_call only": Deviation(BLANK_ANSWER, EMPTY_RESPONSE),
    "response image part": Deviation(
        "a model answers with text, and only the text parts of an answer are the summary",
        {"result": [summary("SUM"), *TAIL]},
    ),
    "unknown part type": Deviation(
        "a part of an unknown type is carried verbatim; it has no text to send",
        {"parts": [header(1, "user"), PROMPT], "n_compacted": 1, "tail": TAIL, "result": [summary_parts("SUM"), *TAIL]},
    ),
    "unknown role": Deviation(
        "a role unknown to kimi-cli is carried verbatim and its text is used",
        {
            "parts": [header(1, "developer"), "x", PROMPT],
            "n_compacted": 1,
            "tail": TAIL,
            "result": [summary("SUM"), *TAIL],
        },
    ),
}
"""Every place where Lithify deliberately differs from kimi-cli, by the vector's name."""


def filled(parts: list[str] | None) -> list[str] | None:
    """The parts with kimi-cli's own texts in place of their names."""
    if parts is None:
        return None
    texts = {"{{COMPACT_MD}}": EXACT.text, "{{INSTRUCTION_INTRO}}": EXACT.instruction_intro}
    for name, given in {**texts, "{{SYSTEM_PROMPT}}": EXACT.system_prompt}.items():
        parts = [part.replace(name, given) for part in parts]
    return parts


def as_held(result: list[dict[str, Any]] | None, given: list[dict[str, Any]]) -> Any:
    """kimi-cli's result as a host that holds only strings holds it: the summary's parts joined by a newline."""
    if result is None:
        return "empty_response"
    if result == given or not all(isinstance(message["content"], str) for message in given):
        return result
    first, *rest = result
    if isinstance(first["content"], list) and all(part["type"] == "text" for part in first["content"]):
        first = {**first, "content": "\n".join(part["text"] for part in first["content"])}
    return [first, *rest]


def kimi_outcome(vector: Mapping[str, Any]) -> dict[str, Any]:
    answer = vector["kimi_cli"]
    crashed = answer["error"] not in (None, "APIEmptyResponseError")
    return {
        "parts": filled(answer["parts"]),
        "n_compacted": answer["n_compacted"],
        "tail": answer["to_preserve"],
        "result": answer["error"] if crashed else as_held(answer["result_messages"], vector["request"]["messages"]),
    }


def wanted_outcome(name: str) -> dict[str, Any]:
    wanted = kimi_outcome(VECTORS[name])
    if name in DEVIATIONS:
        wanted |= DEVIATIONS[name].instead
        wanted["parts"] = filled(wanted["parts"])
    return wanted


def asked(request: Mapping[str, Any]) -> dict[str, Any]:
    """A vector's request as the options of a compaction."""
    names = {"custom_instruction": "instructions", "max_preserved_messages": "max_preserved_messages"}
    assert set(request) <= {*names, "messages", "response"}, "the vector asks for something this test does not know"
    return {ours: request[theirs] for theirs, ours in names.items() if theirs in request}


def answer_text(request: Mapping[str, Any]) -> str:
    """What a model port passes on of the vector's answer: its text parts, joined."""
    return "".join(part["text"] for part in request["response"] if part["type"] == "text")


def dry_run(request: Mapping[str, Any]) -> dict[str, Any]:
    found = preview(request["messages"], workshop(EXACT), **asked(request))
    if isinstance(found, Noop):
        return {"parts": None, "n_compacted": 0, "tail": request["messages"]}
    assert (found.plan.range, found.requests) == (found.plan.requested, 1)
    assert found.request.system_prompt == EXACT.system_prompt
    end = found.plan.range.end
    return {"parts": list(found.request.parts), "n_compacted": end, "tail": request["messages"][end:]}


def whole_path(request: Mapping[str, Any], model: ScriptedModel) -> Any:
    try:
        done = summarise(request["messages"], model, workshop(EXACT), **asked(request))
    except LithifyError as error:
        return error.type
    return request["messages"] if isinstance(done, Noop) else done.messages


def test_the_prompt_is_that_of_kimi_cli_to_the_byte() -> None:
    assert EXACT.exact, "run 'lithify prompts fetch' (as 'make test' does) before these tests"
    content = EXACT.text.encode()
    assert len(content) == 1858
    assert hashlib.sha256(content).hexdigest() == "24753a19a3c0dfabc5545a103666a559cc7dd8caa963715fdc6ca7dd787a0e0a"


def test_every_deviation_names_a_vector() -> None:
    assert set(DEVIATIONS) <= set(VECTORS)


@pytest.mark.parametrize("name", VECTORS)
def test_a_dry_run_shows_what_kimi_cli_would_send(name: str) -> None:
    wanted = wanted_outcome(name)
    del wanted["result"]
    assert exactly(dry_run(VECTORS[name]["request"])) == exactly(wanted)


@pytest.mark.parametrize("name", VECTORS)
def test_a_compaction_leaves_what_kimi_cli_would_leave(name: str) -> None:
    request = VECTORS[name]["request"]
    found = whole_path(request, ScriptedModel(answer_text(request)))
    assert exactly(found) == exactly(wanted_outcome(name)["result"])


@pytest.mark.parametrize("name", VECTORS)
def test_a_compaction_asks_the_model_what_its_dry_run_showed(name: str) -> None:
    request = VECTORS[name]["request"]
    model = ScriptedModel(answer_text(request))
    whole_path(request, model)
    parts = dry_run(request)["parts"]
    assert [list(sent.parts) for sent in model.requests] == ([] if parts is None else [parts])


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_listed_deviation_really_deviates_in_all_it_names(name: str) -> None:
    kimi = kimi_outcome(VECTORS[name])
    instead = dict(DEVIATIONS[name].instead)
    if "parts" in instead:
        instead["parts"] = filled(instead["parts"])
    assert [field for field, value in instead.items() if exactly(value) == exactly(kimi[field])] == []
