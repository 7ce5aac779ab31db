"""What only Claude Code does: an answer with several calls hangs its results beside the chain of records."""

from __future__ import annotations

from tests.resume.agents import CLAUDE_CODE
from tests.resume.checks import check_resumed, from_turn
from tests.resume.conftest import Meet
from tests.resume.person import compact, read_session
from tests.resume.said import Said
from tests.resume.story import SEVERAL, answer, prompt


def test_no_call_of_several_at_once_is_lost(meet: Meet) -> None:
    person = meet(CLAUDE_CODE)
    for turn in (1, 3):
        person.says(prompt(turn, SEVERAL))
    tail = from_turn([*person.conversation(person.asked[-1]), Said("assistant", "text", answer(3))], 3)
    assert [one.kind for one in tail] == ["text", "call", "call", "call", "result", "result", "result", "text"]
    check_resumed(person, compact(person, 3), tail, 4)


def test_a_file_that_was_mentioned_stays_with_the_prompt_that_is_kept(meet: Meet) -> None:
    person = meet(CLAUDE_CODE)
    (person.project / "mentioned.txt").write_text("words-of-the-mentioned-file\n", encoding="utf-8")
    person.says(prompt(2))
    person.says(prompt(4, "with @mentioned.txt"))
    compact(person, 4)
    sent = str(person.says(prompt(6)).body)
    assert ("words-of-the-mentioned-file" in sent, answer(2) in sent) == (True, False)


def test_the_list_of_what_is_kept_is_empty_where_nothing_is(meet: Meet) -> None:
    person = meet(CLAUDE_CODE)
    person.says(prompt(1))
    compact(person, 2)
    assert '"uuids":[]' in person.session().read_text(encoding="utf-8")
    assert len(read_session(person).messages) == 1
    assert person.conversation(person.says(prompt(2)))[-1].text == prompt(2)
