"""What a digest carries over from a summary that stands in the chat."""

from __future__ import annotations

from lithify.core.digest import digest
from tests.support.chats import SUMMARY_PREFIX, Message, said, summary, used, user


def section(name: str, messages: list[Message], target_bytes: int = 4096) -> str:
    """One section of a digest, without its tags."""
    return digest(messages, target_bytes).partition(f"<{name}>\n")[2].partition(f"\n</{name}>")[0]


EARLIER = """<current_focus>
Fix add() in app.py
</current_focus>

<environment>
- python3
</environment>

<completed_tasks>
- Parser: rewritten
</completed_tasks>

<active_issues>
- CI: red on Windows
</active_issues>

<code_state>
<file>
app.py

**Summary:**
adds numbers
</file>
</code_state>

<important_context>
- Never rename the command
- [Any crucial information not covered above]
- ...more...
</important_context>"""


def test_bullets_keep_their_sections() -> None:
    chat = [summary(EARLIER), user("Go on with the printer.")]
    assert section("environment", chat) == "- python3"
    assert "- Parser: rewritten" in section("completed_tasks", chat)
    assert section("active_issues", chat) == "- CI: red on Windows"
    assert section("important_context", chat) == "- Never rename the command\n- earlier focus: Fix add() in app.py"


def test_files_keep_their_text() -> None:
    assert "<file>\napp.py\n**Summary:**\nadds numbers\n</file>" in section("code_state", [summary(EARLIER)])


def test_the_earlier_focus_stays_while_nothing_newer_was_asked() -> None:
    assert section("current_focus", [summary(EARLIER)]) == "Fix add() in app.py"
    chat = [summary(EARLIER), said("I look at it."), user("continue"), said("It adds now.")]
    assert section("current_focus", chat) == "Fix add() in app.py\nUser: continue\nAssistant: It adds now."


def test_a_newer_request_takes_the_focus() -> None:
    chat = [summary(EARLIER), user("Go on with the printer."), said("Printing.")]
    assert section("current_focus", chat) == "User: Go on with the printer.\nAssistant: Printing."
    assert "- earlier focus: Fix add() in app.py" in section("important_context", chat)
    assert "Fix add()" not in section("completed_tasks", chat)


def test_a_newer_state_of_a_file_wins() -> None:
    code = section("code_state", [summary(EARLIER), *used("Write", "ok", path="app.py", content="new = 1")])
    assert code == "<file>\napp.py\nwritten:\nnew = 1\n</file>"


def test_a_summary_without_sections_is_carried_too() -> None:
    assert "The parser is half rewritten." in digest([summary("The parser is half rewritten."), user("Go on.")], 1024)


def test_a_summary_joined_to_one_string_is_read_as_well() -> None:
    chat = [user(f"{SUMMARY_PREFIX}\n{EARLIER}"), user("Go on with the printer.")]
    assert section("environment", chat) == "- python3"


def test_a_summary_of_another_agent_is_carried_by_its_headings() -> None:
    foreign = (
        "Context summary:\n\n## Goal\nAlign the sidebar.\n\n## Highlights\n- The button has 12px padding\n\n"
        "## Next\n- Check it in the running app\n\n## Files\nEdited: `src/sidebar.tsx`"
    )
    chat = [user(foreign), said("Ready.")]
    assert section("current_focus", chat) == "Align the sidebar.\nAssistant: Ready."
    assert "- The button has 12px padding" in section("important_context", chat)
    assert "- Check it in the running app" in section("active_issues", chat)
    assert "src/sidebar.tsx\nedited" in section("code_state", chat)


def test_a_digest_of_a_digest_says_the_same() -> None:
    chat = [
        user("Fix the build."),
        said("Green."),
        user("Write app.py"),
        *used("Write", "ok", path="app.py", content="x"),
    ]
    first = digest(chat, 2048)
    assert digest([summary(first)], 2048) == first


def test_facts_survive_a_chain_of_compactions() -> None:
    text = digest([user("Never touch vendor/."), said("Understood."), user("Start."), said("Started.")], 4096)
    for step in range(6):
        text = digest([summary(text), user(f"Do step {step} now."), said(f"Step {step} is done.")], 4096)
    assert "Never touch vendor/." in text
    assert all(f"Do step {step} now. → Step {step} is done." in text for step in range(5))


def test_the_same_input_never_piles_up() -> None:
    texts = [EARLIER]
    for _ in range(4):
        texts.append(digest([summary(texts[-1]), user("Go on with the printer."), said("Printing.")], 4096))
    assert texts[-1].count("Never rename the command") == 1
    assert texts[-1] == texts[-2]
