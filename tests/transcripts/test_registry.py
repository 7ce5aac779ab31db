"""Which format a file is of: its content decides, its name only where the content does not."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.transcripts import json_lines
from lithify.transcripts.registry import by_name, formats, recognise

MESSAGE = '{"role":"user","content":"a"}'
OTHER = '{"role":"admin","name":"Ann"}'


def named(text: str, name: str) -> str | None:
    found = recognise(text, name)
    return None if found is None else found.name


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (f"[{MESSAGE}]", "context.jsonl", "openai-json"),
        (f"\ufeff \n[{MESSAGE}]", "x", "openai-json"),
        (f'{{"a": 1, "history": [{MESSAGE}]}}', "x.traj", "openai-json"),
        (f"[\n{MESSAGE},\n{MESSAGE}\n]", "x.jsonl", "openai-json"),
        (f"{MESSAGE}\n{MESSAGE}\n", "x.json", "openai-jsonl"),
        (f"broken\n{MESSAGE}\n", "x", "openai-jsonl"),
        (f'{{"role":"_checkpoint","id":0}}\n{MESSAGE}\n', "x.json", "kimi-context"),
        (f"{MESSAGE}\n", "/home/me/.kimi/sessions/1/2/context.jsonl", "kimi-context"),
        (f"{MESSAGE}\n", "C:\\sessions\\context_12.jsonl", "kimi-context"),
        (f"{MESSAGE}\n", "my-context.jsonl", "openai-jsonl"),
        ("", "context.jsonl", "kimi-context"),
        ("", "x.jsonl", None),
        ("[]", "x.json", None),
        (f"[{OTHER}]", "x.json", None),
        (f"{OTHER}\n", "x.jsonl", None),
        (f'{OTHER}\n{{"messages": [{MESSAGE}]}}\n', "x.jsonl", None),
        ('{"messages": ["role", "content"]}', "x.json", None),
        ("# Notes\n", "x.md", None),
    ],
)
def test_a_file_is_recognised_by_its_content_first(text: str, name: str, expected: str | None) -> None:
    assert named(text, name) == expected


def test_every_format_is_found_by_its_name() -> None:
    assert [by_name(one.name) for one in formats()] == list(formats())
    assert by_name("unknown") is None


def test_the_first_lines_are_decoded_once_for_formats_that_read_them_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    known = json_lines.json_of

    def noticed(source: str, *, strict: bool) -> Any:
        decoded.append(source)
        return known(source, strict=strict)

    monkeypatch.setattr(json_lines, "json_of", noticed)
    assert named(f"{MESSAGE}\n", "x.jsonl") == "openai-jsonl"
    assert decoded == [MESSAGE] * 2  # strictly, and as kimi-cli reads
    assert named(f"{OTHER}\n", "x.jsonl") is None
