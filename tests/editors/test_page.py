"""docs/EDITORS.md: every snippet is run, or is well formed and said not to have been run."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tests.editors.page import PAGE, snippets
from tests.editors.users import SAMPLES

TESTS = Path(__file__).parent
NOT_RUN = {"helix", "kate", "sublime", "zed"}
"""Snippets that no test runs."""

KINDS = {".md": "markdown"}
"""What editors call a kind of file that they do not call by its ending."""

PARSERS = {"json": json.loads, "toml": tomllib.loads}


def test_each_snippet_is_run_but_those_of_editors_that_are_not_here() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in TESTS.glob("test_neovim*.py"))
    code += (TESTS / "test_emacs.py").read_text(encoding="utf-8")
    clients = [client for client in ("eglot", "lsp-mode") if f'"{client}"' in code]
    run = {name for name in snippets() if f'"{name}"' in code}
    run |= {f"{client}-session" for client in clients}
    assert set(snippets()) - run == NOT_RUN


@pytest.mark.parametrize("name", sorted(NOT_RUN))
def test_a_snippet_that_is_not_run_is_well_formed_and_starts_the_server(name: str) -> None:
    language, text = snippets()[name]
    assert PARSERS[language](text)
    assert "lithify" in text
    assert "serve" in text


@pytest.mark.parametrize("name", sorted(NOT_RUN))
def test_the_section_of_an_editor_that_is_not_run_names_each_kind_of_file(name: str) -> None:
    _, _, behind = PAGE.read_text(encoding="utf-8").partition(f"<!-- snippet: {name} -->")
    before, _, _ = PAGE.read_text(encoding="utf-8").partition(f"<!-- snippet: {name} -->")
    section = (before.rpartition("\n## ")[2] + behind.partition("\n## ")[0]).lower()
    words = {suffix: KINDS.get(suffix, suffix.removeprefix(".")) for suffix in SAMPLES}
    assert [suffix for suffix, word in words.items() if not re.search(rf"\b{word}\b", section)] == []


def test_the_page_says_where_nothing_was_run() -> None:
    page = PAGE.read_text(encoding="utf-8")
    _, _, behind = page.partition("Of the editors below nothing was run")
    headings = [line.removeprefix("## ") for line in behind.splitlines() if line.startswith("## ")]
    assert headings == ["Helix", "Sublime Text", "Zed", "Any other editor"]
    assert "Tried by hand" in page.partition("\n## Kate\n")[2].partition("\n## ")[0]


def test_no_line_of_the_page_is_longer_than_a_reader_has_room_for() -> None:
    too_long = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if len(line) > 120 and "|" not in line]
    assert too_long == []
