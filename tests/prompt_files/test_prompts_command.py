"""`lithify prompts fetch` and `lithify prompts list`, as they look in a pipe."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from lithify.cli import prompts
from lithify.prompt_files import fetch, templates
from lithify.prompt_files.fetch import AlreadyKept, Fetched, FetchFailed, FetchOutcome
from lithify.prompt_files.pins import templates_dir


@pytest.fixture(autouse=True)
def prompts_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's prompts folder, with no kimi-cli on the machine."""
    monkeypatch.setattr(templates, "user_prompts_dir", lambda: tmp_path / "prompts")
    monkeypatch.setenv("PATH", os.devnull)
    return tmp_path / "prompts"


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="lithify")
    prompts.add_parser(parser.add_subparsers())
    args = parser.parse_args(["prompts", *arguments])
    code = args.run(args)
    assert isinstance(code, int)
    return code


def fetch_ends_with(monkeypatch: pytest.MonkeyPatch, outcome: FetchOutcome) -> int:
    monkeypatch.setattr(fetch, "fetch_kimi_prompt", lambda target: outcome)
    return run("fetch")


def test_fetch_says_what_it_fetched_and_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = fetch_ends_with(monkeypatch, Fetched(Path("kept")))
    said = "Fetched the exact conversation prompt of kimi-cli 1.52.0 into kept.\n"
    assert (code, *capsys.readouterr()) == (0, said, "")


def test_fetch_says_when_it_replaced_a_damaged_copy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch_ends_with(monkeypatch, Fetched(Path("kept"), replaced_damaged=True))
    assert capsys.readouterr().out.endswith("into kept, in place of a damaged copy.\n")


def test_fetch_says_when_there_was_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = fetch_ends_with(monkeypatch, AlreadyKept(Path("kept")))
    said = "The exact conversation prompt of kimi-cli 1.52.0 is already in kept.\n"
    assert (code, *capsys.readouterr()) == (0, said, "")


def test_a_fetch_that_fails_is_one_line_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = fetch_ends_with(monkeypatch, FetchFailed("download", "No network; find one."))
    assert (code, *capsys.readouterr()) == (1, "", "lithify: No network; find one.\n")


def test_list_shows_each_prompt_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    run("list")
    rows = [line.split(maxsplit=4) for line in capsys.readouterr().out.splitlines()]
    assert ["conversation", "lithify", "own", "yes", str(templates_dir() / "conversation.md")] in rows


def test_list_names_a_damaged_copy_with_the_way_out(prompts_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (prompts_dir / "kimi-cli-1.52.0").mkdir(parents=True)
    code = run("list")
    said = capsys.readouterr()
    assert (code, "damaged" in said.out) == (0, True)
    assert said.err.endswith("run 'lithify prompts fetch' to get it anew.\n")


def test_an_action_that_does_not_exist_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as exit_info:
        run("publish")
    assert exit_info.value.code == 2


def test_no_action_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as exit_info:
        run()
    assert exit_info.value.code == 2
