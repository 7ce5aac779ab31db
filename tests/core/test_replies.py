"""What is wrong with an answer: sections missing, the template repeated, the end cut off."""

from __future__ import annotations

import pytest

from lithify.core.replies import SECTIONS, answer_warnings, echoed_placeholders, missing_sections
from lithify.prompt_files.templates import ConversationPrompt
from tests.support.scripted_model import EXACT, OWN

WHOLE = "\n".join(f"<{tag}>\nsomething\n</{tag}>" for tag in SECTIONS)


def codes(answer: str, prompt: str = "", *, sections_asked: bool = True, stop_reason: str | None = "end") -> list[str]:
    found = answer_warnings(answer, prompt, sections_asked=sections_asked, stop_reason=stop_reason)
    return [notice.code for notice in found]


def template_of(prompt: ConversationPrompt) -> str:
    """The form that the prompt asks to be filled in."""
    return prompt.text[prompt.text.index("<current_focus>") :]


def test_a_whole_answer_gives_no_warning() -> None:
    assert codes(WHOLE, EXACT.text) == []


# --- sections -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [EXACT, OWN], ids=["exact", "own"])
@pytest.mark.parametrize("tag", SECTIONS)
def test_every_section_looked_for_is_asked_for_by_the_prompt(prompt: ConversationPrompt, tag: str) -> None:
    assert f"<{tag}>" in prompt.text
    assert f"</{tag}>" in prompt.text


@pytest.mark.parametrize("tag", SECTIONS)
def test_a_section_that_is_missing_is_named(tag: str) -> None:
    assert missing_sections(WHOLE.replace(f"<{tag}>", "").replace(f"</{tag}>", "")) == [tag]


@pytest.mark.parametrize("tag", SECTIONS)
def test_a_section_that_was_never_closed_is_missing(tag: str) -> None:
    assert missing_sections(WHOLE.replace(f"</{tag}>", "")) == [tag]


def test_the_warning_names_all_the_missing_sections() -> None:
    (notice,) = answer_warnings("prose", "", sections_asked=True, stop_reason="end")
    assert notice.code == "missing_sections"
    assert all(tag in notice.message for tag in SECTIONS)


def test_sections_that_were_not_asked_for_are_not_missed() -> None:
    assert codes("prose", sections_asked=False) == []


# --- the template ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [EXACT, OWN], ids=["exact", "own"])
def test_the_template_repeated_is_noticed(prompt: ConversationPrompt) -> None:
    assert codes(template_of(prompt), prompt.text) == ["echoed_template"]


@pytest.mark.parametrize("prompt", [EXACT, OWN], ids=["exact", "own"])
def test_one_placeholder_left_in_is_noticed_and_named(prompt: ConversationPrompt) -> None:
    (left_in,) = [found for found in echoed_placeholders(prompt.text, prompt.text) if found in template_of(prompt)][:1]
    (notice,) = answer_warnings(f"{WHOLE}\n{left_in}", prompt.text, sections_asked=True, stop_reason="end")
    assert notice.code == "echoed_template"
    assert left_in in notice.message


@pytest.mark.parametrize("prompt", [EXACT, OWN], ids=["exact", "own"])
def test_every_section_of_the_template_has_a_placeholder_to_know_it_by(prompt: ConversationPrompt) -> None:
    for tag in SECTIONS:
        section = prompt.text[prompt.text.index(f"<{tag}>") : prompt.text.index(f"</{tag}>")]
        assert echoed_placeholders(section, prompt.text), tag


@pytest.mark.parametrize(
    "found", ["[1, 2, 3]", "- [ ] write tests", "[a link](https://example.org)", "args[0]", "[filename]"]
)
@pytest.mark.parametrize("prompt", [EXACT, OWN], ids=["exact", "own"])
def test_brackets_of_the_conversation_itself_are_no_template(prompt: ConversationPrompt, found: str) -> None:
    assert codes(f"{WHOLE}\n{found}", prompt.text) == []


def test_a_prompt_without_placeholders_cannot_be_repeated() -> None:
    assert codes(WHOLE, "Sum it up in [3] lines.") == []


# --- the end --------------------------------------------------------------------------------------------------


def test_an_answer_that_stopped_at_the_output_limit_is_cut_off() -> None:
    assert codes(WHOLE, stop_reason="max_tokens") == ["cut_off"]


@pytest.mark.parametrize("stop_reason", [None, "end", "stop_sequence", "refusal"])
def test_any_other_end_is_not_cut_off(stop_reason: str | None) -> None:
    assert codes(WHOLE, stop_reason=stop_reason) == []


def test_everything_wrong_with_an_answer_is_said() -> None:
    found = codes("<current_focus>[What we're working on now]", EXACT.text, stop_reason="max_tokens")
    assert found == ["missing_sections", "echoed_template", "cut_off"]


# --- repetition -----------------------------------------------------------------------------------------------

LOOP = f"<current_focus>{'We fixed the same bug in the parser again and again. ' * 30}</current_focus>"


def test_a_runaway_repetition_is_noticed() -> None:
    assert "repetition" in codes(f"{WHOLE}\n{LOOP}")


def test_a_literal_answer_may_repeat_what_was_said_over_and_over() -> None:
    found = answer_warnings(f"{WHOLE}\n{LOOP}", EXACT.text, sections_asked=True, stop_reason="end", literal=True)
    assert found == []


def test_a_list_that_only_counts_is_noticed_as_repetition() -> None:
    answer = "\n\n".join(f"- [Action Item {number}]" for number in range(1, 40))
    assert codes(answer, EXACT.text) == ["missing_sections", "repetition"]


def test_six_sections_that_hold_nothing_new_are_no_repetition() -> None:
    assert codes(WHOLE) == []
