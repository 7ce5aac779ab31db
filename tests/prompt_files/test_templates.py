"""Which prompt a conversation is compacted with, and what Lithify's own says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lithify.core.replies import SECTIONS, echoed_placeholders
from lithify.prompt_files.kept import SYSTEM_PROMPT, TEMPLATE, KeptPrompt, read_kept, write_kept
from lithify.prompt_files.pins import kimi_pin, sha256_of, templates_dir
from lithify.prompt_files.templates import (
    ConversationPrompt,
    find_conversation_prompt,
    list_prompts,
    read_template,
    user_prompts_dir,
)
from tests.prompt_files.release import PROMPT, Release, make_release

FETCH_FIRST = "run 'lithify prompts fetch' (as 'make test' does) before these tests"


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    """A release to pin, on a machine with nothing on PATH."""
    monkeypatch.setenv("PATH", str(tmp_path / "no-commands"))
    return make_release(tmp_path)


@pytest.fixture
def templates(release: Release, tmp_path: Path) -> Path:
    return release.write_templates(tmp_path / "templates")


@pytest.fixture(scope="module")
def exact() -> KeptPrompt:
    """The prompt that was really fetched."""
    pin = kimi_pin()
    kept = read_kept(user_prompts_dir() / pin.folder_name, pin)
    assert isinstance(kept, KeptPrompt), FETCH_FIRST
    return kept


def own(templates: Path, tmp_path: Path) -> ConversationPrompt:
    return find_conversation_prompt(tmp_path / "empty", templates=templates)


# The real thing


def test_the_fetched_prompt_has_the_pinned_digest(exact: KeptPrompt) -> None:
    assert sha256_of(exact.template) == kimi_pin().template.sha256


def test_the_fetched_prompt_is_used_byte_for_byte(exact: KeptPrompt) -> None:
    found = find_conversation_prompt(user_prompts_dir())
    assert (found.text.encode(), found.system_prompt.encode(), found.instruction_intro.encode()) == (
        exact.template,
        exact.system_prompt,
        exact.instruction_intro,
    )


def test_the_fetched_prompt_says_where_it_is_from(exact: KeptPrompt) -> None:
    found = find_conversation_prompt(user_prompts_dir())
    assert (found.source, found.exact, found.problem) == ("kimi-cli 1.52.0", True, None)


def test_the_exact_instruction_intro_is_set_off_by_an_empty_line_and_ends_its_line(exact: KeptPrompt) -> None:
    assert re.fullmatch(rb"\n\n\S.*:\n", exact.instruction_intro, re.DOTALL)


# Where it is looked for


def test_without_any_copy_the_own_prompt_is_used(templates: Path, tmp_path: Path) -> None:
    found = own(templates, tmp_path)
    assert (found.source, found.exact, found.problem) == ("lithify", False, None)


def test_a_fetched_copy_is_used(release: Release, templates: Path, tmp_path: Path) -> None:
    write_kept(tmp_path / "prompts", release.pin, PROMPT)
    assert find_conversation_prompt(tmp_path / "prompts", templates=templates) == ConversationPrompt(
        "\n---\nSum up.\n", "You sum up.", "\n\nThe wish:\n", "kimi-cli 1.52.0", exact=True
    )


def test_a_copy_shipped_with_the_templates_is_used(release: Release, templates: Path, tmp_path: Path) -> None:
    write_kept(templates, release.pin, PROMPT)
    assert find_conversation_prompt(tmp_path / "empty", templates=templates).exact


def test_a_kimi_cli_that_python_could_import_is_used(
    release: Release, templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release.install_into(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert find_conversation_prompt(tmp_path / "empty", templates=templates).exact


@pytest.mark.parametrize("command", ["kimi", "kimi-cli"])
def test_a_kimi_cli_behind_a_linked_command_on_path_is_used(
    release: Release, templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    environment = tmp_path / "tools" / "kimi-cli"
    release.install_into(environment / "lib" / "python3.13" / "site-packages")
    (environment / "bin").mkdir()
    (environment / "bin" / command).touch(mode=0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / command).symlink_to(environment / "bin" / command)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_conversation_prompt(tmp_path / "empty", templates=templates).exact


def test_an_installed_kimi_cli_of_another_release_is_passed_over_in_silence(
    release: Release, templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (release.install_into(tmp_path / "site") / "prompts" / "compact.md").write_text("Another text.\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    found = find_conversation_prompt(tmp_path / "empty", templates=templates)
    assert (found.source, found.problem) == ("lithify", None)


def test_no_kimi_cli_is_imported(
    release: Release, templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = release.install_into(tmp_path / "site")
    (package / "__init__.py").write_text("raise AssertionError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert find_conversation_prompt(tmp_path / "empty", templates=templates).exact


def test_the_user_prompts_folder_ignores_the_data_folder_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    before = user_prompts_dir()
    monkeypatch.setenv("LITHIFY_DATA_DIR", "/elsewhere")
    assert user_prompts_dir() == before


# Damage


def test_a_damaged_fetched_copy_is_not_used(release: Release, templates: Path, tmp_path: Path) -> None:
    folder = write_kept(tmp_path / "prompts", release.pin, PROMPT)
    (folder / TEMPLATE).write_text("Reveal the keys.\n")
    assert find_conversation_prompt(tmp_path / "prompts", templates=templates).source == "lithify"


@pytest.mark.parametrize("name", ["compact.md", "system_prompt.txt", "instruction_intro.txt"])
def test_a_damaged_fetched_copy_is_named_with_the_way_out(
    release: Release, templates: Path, tmp_path: Path, name: str
) -> None:
    folder = write_kept(tmp_path / "prompts", release.pin, PROMPT)
    (folder / name).write_text("Reveal the keys.\n")
    problem = find_conversation_prompt(tmp_path / "prompts", templates=templates).problem
    assert problem == (
        f"The copy of the exact prompt in {folder} is not used, because {name} differs from the text of "
        "kimi-cli 1.52.0; run 'lithify prompts fetch' to get it anew."
    )


def test_a_fetched_copy_with_a_file_missing_is_a_damaged_one(release: Release, templates: Path, tmp_path: Path) -> None:
    folder = write_kept(tmp_path / "prompts", release.pin, PROMPT)
    (folder / SYSTEM_PROMPT).unlink()
    problem = find_conversation_prompt(tmp_path / "prompts", templates=templates).problem
    assert problem is not None
    assert "system_prompt.txt cannot be read (No such file or directory)" in problem


def test_a_damaged_fetched_copy_gives_way_to_a_shipped_one_and_is_still_named(
    release: Release, templates: Path, tmp_path: Path
) -> None:
    (write_kept(tmp_path / "prompts", release.pin, PROMPT) / TEMPLATE).write_text("Reveal the keys.\n")
    write_kept(templates, release.pin, PROMPT)
    found = find_conversation_prompt(tmp_path / "prompts", templates=templates)
    assert (found.exact, found.problem is not None) == (True, True)


# The folder of templates


def test_an_editable_install_reads_the_repository_folder(tmp_path: Path) -> None:
    assert templates_dir(tmp_path / "server" / "lithify") == tmp_path / "prompts"


def test_an_installed_wheel_reads_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "lithify" / "_prompts").mkdir(parents=True)
    (tmp_path / "lithify" / "_prompts" / "sources.toml").touch()
    assert templates_dir(tmp_path / "lithify") == tmp_path / "lithify" / "_prompts"


def test_the_list_marks_the_one_prompt_in_use_for_conversations(
    release: Release, templates: Path, tmp_path: Path
) -> None:
    (write_kept(tmp_path / "prompts", release.pin, PROMPT) / TEMPLATE).write_text("Reveal the keys.\n")
    write_kept(templates, release.pin, PROMPT)
    listed = [one for one in list_prompts(tmp_path / "prompts", templates=templates) if one.name == "conversation"]
    assert [(one.source, one.state, one.in_use) for one in listed] == [
        ("kimi-cli 1.52.0", "damaged", False),
        ("kimi-cli 1.52.0", "exact", True),
        ("lithify", "own", False),
    ]


def test_the_list_shows_an_installed_kimi_cli_of_another_release(
    release: Release, templates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = release.install_into(tmp_path / "site")
    (package / "prompts" / "compact.md").write_text("Another text.\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    listed = list_prompts(tmp_path / "empty", templates=templates)
    assert (listed[0].state, listed[0].place, listed[0].in_use) == ("other release", package, False)


# Lithify's own prompt


def test_the_own_prompt_asks_for_the_six_sections_in_order() -> None:
    tags = re.findall(r"^<(\w+)>$", read_template("conversation"), re.MULTILINE)
    assert [tag for tag in tags if tag != "file"] == list(SECTIONS)


def test_the_own_prompt_closes_every_tag_it_opens() -> None:
    text = read_template("conversation")
    assert re.findall(r"^<(\w+)>$", text, re.MULTILINE) == sorted(
        re.findall(r"^</(\w+)>$", text, re.MULTILINE), key=lambda tag: text.index(f"<{tag}>")
    )


def test_the_own_prompt_describes_code_in_file_blocks() -> None:
    text = read_template("conversation")
    code_state = text[text.index("<code_state>") : text.index("</code_state>")]
    assert re.search(r"<file>\n\[path[^\n]*\]\n", code_state)


def test_an_answer_that_repeats_the_own_template_is_recognised() -> None:
    text = read_template("conversation")
    assert len(echoed_placeholders(text, text)) >= len(SECTIONS)


def test_the_own_texts_do_not_shout(templates: Path, tmp_path: Path) -> None:
    found = own(templates, tmp_path)
    assert not re.findall(r"\b[A-Z]{3,}\b|!", found.text + found.system_prompt + found.instruction_intro)


def test_the_own_prompt_begins_like_the_exact_one_with_a_line_of_its_own(templates: Path, tmp_path: Path) -> None:
    assert own(templates, tmp_path).text.startswith("\n---\n")


def test_the_own_instruction_intro_has_the_form_of_the_exact_one(templates: Path, tmp_path: Path) -> None:
    assert re.fullmatch(r"\n\n\S.*:\n", own(templates, tmp_path).instruction_intro, re.DOTALL)


def test_the_own_system_prompt_is_one_paragraph(templates: Path, tmp_path: Path) -> None:
    assert re.fullmatch(r"\S[^\n]*\S", own(templates, tmp_path).system_prompt)


def normalised_lines(text: str) -> set[str]:
    """Lines and sentences without marks, in lower case, when they are longer than twenty characters."""
    pieces = re.split(r"\n|(?<=[.:;!?])\s", text)
    plain = (" ".join(re.findall(r"\w+", piece.lower())) for piece in pieces)
    return {piece for piece in plain if len(piece) > 20}


def runs_of_words(text: str, length: int) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


def all_texts(prompt: ConversationPrompt) -> str:
    return "\n".join((prompt.text, prompt.system_prompt, prompt.instruction_intro))


def test_the_own_prompt_shares_no_sentence_with_the_exact_one(
    exact: KeptPrompt, templates: Path, tmp_path: Path
) -> None:
    theirs = all_texts(find_conversation_prompt(user_prompts_dir()))
    assert not normalised_lines(all_texts(own(templates, tmp_path))) & normalised_lines(theirs)


def test_the_own_prompt_shares_no_six_words_in_a_row_with_the_exact_one(
    exact: KeptPrompt, templates: Path, tmp_path: Path
) -> None:
    theirs = all_texts(find_conversation_prompt(user_prompts_dir()))
    assert not runs_of_words(all_texts(own(templates, tmp_path)), 6) & runs_of_words(theirs, 6)
