"""Sessions of agents: how they are named, and the command that goes on with one."""

from __future__ import annotations

import pytest

from lithify.core.agent_sessions import SessionFile, named, one_line, resume_command, short_names
from lithify.core.outcomes import LithifyError


def file(session_id: str | None, path: str = "/x", agent: str = "codex") -> SessionFile:
    return SessionFile(agent, f"file://{path}/{session_id}", f"{path}/{session_id}.jsonl", 0, 0, session_id)


@pytest.mark.parametrize(
    ("project", "command"),
    [
        (None, "codex resume a-1"),
        ("/home/ana/shop", "cd /home/ana/shop && codex resume a-1"),
        ("/home/ana/my shop", "cd '/home/ana/my shop' && codex resume a-1"),
        ("/home/ana/$(rm -rf ~)'`x`", "cd '/home/ana/$(rm -rf ~)'\"'\"'`x`' && codex resume a-1"),
        ("/home/ana/日本", "cd '/home/ana/日本' && codex resume a-1"),
    ],
)
def test_a_session_goes_on_in_its_folder_which_is_quoted_for_a_shell(project: str | None, command: str) -> None:
    assert resume_command("codex resume", "a-1", project) == command


@pytest.mark.parametrize("session_id", [None, "", "a b", "a;b", "$(x)", "-rf", "../x", "a\nb", "ä", "a" * 129])
def test_an_id_that_could_mean_something_to_a_shell_gets_no_command(session_id: str | None) -> None:
    assert resume_command("codex resume", session_id, "/x") is None


def test_a_session_is_named_by_the_first_eight_characters_of_its_id() -> None:
    one = file("0123456789")
    assert short_names([one, file("9876543210")])[one.uri] == "01234567"


def test_sessions_that_begin_alike_are_named_by_as_much_as_tells_them_apart() -> None:
    files = [file("0123456789ab"), file("0123456789cd"), file("fedcba987654")]
    assert [short_names(files)[one.uri] for one in files] == ["0123456789a", "0123456789c", "fedcba98"]


def test_what_all_ids_of_an_agent_begin_with_is_no_part_of_the_name() -> None:
    one = file("session_0123456789", agent="kimi-code")
    assert short_names([one])[one.uri] == "01234567"


def test_sessions_without_an_id_of_their_own_are_named_by_their_path() -> None:
    files = [file(None), file("0123456789", "/a"), file("0123456789", "/b")]
    assert [short_names(files)[one.uri] for one in files] == [one.path for one in files]


@pytest.mark.parametrize("name", ["session_01234", "01234", "session_0123456789", "file:///x/session_0123456789"])
def test_an_id_its_beginning_and_a_uri_mean_a_session(name: str) -> None:
    files = [file("session_0123456789"), file("session_9876543210")]
    assert named(files, name) is files[0]


def test_a_whole_id_means_its_session_though_another_one_begins_with_it() -> None:
    files = [file("0123456789"), file("0123456789-2")]
    assert named(files, "0123456789") is files[0]


@pytest.mark.parametrize(("name", "said"), [("nobody", "no agent has"), ("", "no agent has"), ("0123", "means 2")])
def test_a_name_that_means_none_or_several_is_refused(name: str, said: str) -> None:
    with pytest.raises(LithifyError, match=said) as raised:
        named([file("01234567"), file("01239999")], name)
    assert raised.value.type == "unknown_session"


def test_a_title_is_one_line_of_bounded_length_that_can_be_written() -> None:
    assert one_line(" Read\n the\tcart \ud800") == "Read the cart ?"
    assert one_line(" \n ") is None
    long = one_line("word " * 100)
    assert long is not None
    assert (len(long) <= 120, long[-1]) == (True, "…")
