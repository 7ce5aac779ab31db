"""A transcript of 50 MB in the editor: from opening it to the first lens, and a keystroke in it."""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.workspace import TextDocument

from tests.benchmarks.client import Client, lithify, message, seconds_since
from tests.benchmarks.figures import Case, Measured, Target, percentile
from tests.benchmarks.material import transcript
from tests.benchmarks.rounds import interleaved, milliseconds

BYTES = 50_000_000
ROUNDS = 3
OPENINGS = 9
KEYS = 60
URI = "file:///bench/chat.jsonl"

CASES = (
    Case(
        "opening a 50 MB transcript, to the first lens",
        "ms",
        Target("ratio", at_most=3),
        "`json.loads` line by line of it",
    ),
    Case(
        "a keystroke in it, then its code action, p99",
        "ms",
        Target("ratio", at_most=1),
        "pygls' own apply of that edit, p99",
    ),
)


def measure(folder: Path) -> Iterator[Measured]:
    """The figures of the cases."""
    text = transcript(BYTES)
    document = {"uri": URI, "languageId": "jsonl", "version": 0, "text": text}
    opening = message("textDocument/didOpen", {"textDocument": document})

    def parse() -> None:
        for line in text.splitlines():
            json.loads(line)

    yield interleaved(CASES[0], OPENINGS, partial(_opened, folder, opening), lambda: milliseconds(parse))
    yield _keystrokes(folder, opening, text)


def _opened(folder: Path, opening: bytes) -> float:
    with tempfile.TemporaryDirectory(dir=folder) as name, lithify(Path(name)) as client:
        client.initialize()
        started = time.perf_counter()
        client.send(opening)
        if not client.ask("textDocument/codeLens", {"textDocument": {"uri": URI}}):
            raise AssertionError("there was no lens")
        return seconds_since(started) * 1000


def _keystrokes(folder: Path, opening: bytes, text: str) -> Measured:
    """Keys hit all over the text, each by both, in turn; each third of them is a round."""
    ours: list[float] = []
    theirs: list[float] = []
    choose = random.Random(2)
    lines = text.count("\n")
    stock_document = TextDocument(URI, text, 0, sync_kind=types.TextDocumentSyncKind.Incremental)
    with tempfile.TemporaryDirectory(dir=folder) as name, lithify(Path(name)) as client:
        client.initialize()
        client.send(opening)
        client.ask("textDocument/codeLens", {"textDocument": {"uri": URI}})
        for version in range(1, KEYS + 1):
            line, character = choose.randrange(lines), 40
            ours.append(_keystroke(client, version, line, character))
            place = types.Position(line, character)
            edit = types.TextDocumentContentChangePartial(range=types.Range(place, place), text="x")
            theirs.append(milliseconds(partial(stock_document.apply_change, edit)))
    thirds = [slice(start, start + KEYS // ROUNDS) for start in range(0, KEYS, KEYS // ROUNDS)]
    p99s = [[percentile(one[third], 99) for third in thirds] for one in (ours, theirs)]
    return Measured(CASES[1], *p99s)


def _keystroke(client: Client, version: int, line: int, character: int) -> float:
    place = {"line": line, "character": character}
    after: dict[str, Any] = {"line": line, "character": character + 1}
    changes = [{"range": {"start": place, "end": place}, "text": "x"}]
    changed = {"textDocument": {"uri": URI, "version": version}, "contentChanges": changes}
    asked = {
        "textDocument": {"uri": URI},
        "range": {"start": after, "end": after},
        "context": {"diagnostics": []},
    }
    edit = message("textDocument/didChange", changed)
    started = time.perf_counter()
    client.send(edit)
    client.ask("textDocument/codeAction", asked)
    return seconds_since(started) * 1000
