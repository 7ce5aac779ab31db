"""Edits that the editor is asked for: only of the text that it has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lithify.core.outcomes import LithifyError
from lithify.lsp import desk
from lithify.lsp.asking import ClientRequests
from lithify.lsp.desk import EditorDesk
from lithify.lsp.document_wire import ContentChange
from lithify.lsp.documents import Documents
from lithify.transcripts.text_edits import TextEdit
from lithify.workers.document_places import Made, NotMade
from tests.support.typing_editor import TypingEditor

URI = "file:///chats/a.jsonl"


class Open:
    """A document that is open, and what was sent to its editor."""

    def __init__(self, client_name: str = "", **capabilities: Any) -> None:
        self.sent: list[Any] = []
        self.documents = Documents()
        self.documents.open(URI, 1, "text")
        self.asking = ClientRequests(self.sent.append)
        self.desk = EditorDesk(self.documents, self.asking, lambda *path: capabilities.get(path[-1]), client_name)


@pytest.mark.parametrize("change", ["typed", "closed"])
def test_an_edit_of_a_text_that_is_no_longer_the_newest_is_not_sent(change: str) -> None:
    opened = Open()
    document = opened.desk.find(URI)
    assert document is not None
    if change == "typed":
        opened.documents.change(URI, 2, [ContentChange(text="other")])
    else:
        opened.documents.close(URI)
    refused = asyncio.run(opened.desk.edit(document, TextEdit(0, 1, "x"), "Compact conversation"))
    assert refused == NotMade("the document was changed or closed meanwhile", tried=False)
    assert opened.sent == []


def test_an_edit_that_changes_nothing_is_made_without_the_editor() -> None:
    opened = Open()
    document = opened.desk.find(URI)
    assert document is not None
    assert asyncio.run(opened.desk.edit(document, TextEdit(4, 4, ""), "Compact conversation")) == Made()
    assert opened.sent == []


def test_an_editor_that_says_it_takes_no_edits_is_told_before_a_model_is_asked() -> None:
    with pytest.raises(LithifyError) as raised:
        Open(applyEdit=False).desk.check_edits()
    assert raised.value.type == "unsupported_document"


@pytest.mark.parametrize("said", [{"applyEdit": True}, {}])
def test_an_editor_that_takes_edits_or_says_nothing_is_asked(said: dict[str, bool]) -> None:
    Open(**said).desk.check_edits()


@pytest.mark.parametrize("name", ["Emacs", "eglot"])
def test_an_editor_that_would_look_for_the_least_difference_gets_an_insertion_and_a_deletion(name: str) -> None:
    assert _edits_asked_of(name) == [(0, 0, "new "), (0, 4, "")]


def test_any_other_editor_gets_one_replacement() -> None:
    assert _edits_asked_of("Neovim") == [(0, 4, "new ")]


def _edits_asked_of(client_name: str) -> list[tuple[int, int, str]]:
    """The edits, each with its columns, that an editor is asked for where four characters are replaced."""
    opened = Open(client_name=client_name)

    async def asked() -> Any:
        document = opened.desk.find(URI)
        assert document is not None
        editing = asyncio.ensure_future(opened.desk.edit(document, TextEdit(0, 4, "new "), "Compact conversation"))
        while not opened.sent:
            await asyncio.sleep(0)
        editing.cancel()
        await asyncio.gather(editing, return_exceptions=True)
        return opened.sent[0]["params"]["edit"]["changes"][URI]

    return [
        (one["range"]["start"]["character"], one["range"]["end"]["character"], one["newText"])
        for one in asyncio.run(asked())
    ]


# --- a user who types meanwhile ---------------------------------------------------------------------------------


CHAT = "one\ntwo\nthree\n"
TWO = TextEdit(4, 8, "2\n")


def edited(editor: TypingEditor, *typed: tuple[int, int, str], untouched: tuple[tuple[int, int], ...] = ()) -> Any:
    """What an edit of the second line comes to, where that was typed after the edit was made up."""
    document = editor.document
    for one in typed:
        editor.type(*one)
    return asyncio.run(editor.desk.edit(document, TWO, "Compact conversation", untouched))


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ([(0, 0, "zero\n")], "zero\none\n2\nthree\n"),
        ([(2, 5, "!")], "one\n2\nthree!\n"),
        ([(1, 0, "new\n")], "one\nnew\n2\nthree\n"),
        ([(0, 1, "x"), (2, 0, "y"), (0, 0, "\n")], "\noxne\n2\nythree\n"),
    ],
    ids=["in front", "behind", "at its begin", "on both sides"],
)
def test_an_edit_is_made_where_its_text_stands_after_what_was_typed_elsewhere(
    typed: list[tuple[int, int, str]], text: str
) -> None:
    editor = TypingEditor(URI, CHAT)
    done = edited(editor, *typed)
    assert (editor.document.text, len(editor.sent)) == (text, 1)
    assert sum(one.growth for one in done.typed) == sum(len(one[2]) for one in typed)


@pytest.mark.parametrize("as_a_whole", [False, True])
def test_an_edit_whose_text_was_typed_in_is_not_sent(as_a_whole: bool) -> None:
    editor = TypingEditor(URI, CHAT)
    document = editor.document
    if as_a_whole:
        editor.documents.change(URI, 2, [ContentChange(text="one\ntwxo\nthree\n")])
    else:
        editor.type(1, 2, "x")
    done = asyncio.run(editor.desk.edit(document, TWO, "Compact conversation"))
    assert (done, editor.sent) == (NotMade("the document was changed or closed meanwhile", tried=False), [])


def test_a_text_that_was_told_as_a_whole_says_what_was_typed() -> None:
    editor = TypingEditor(URI, CHAT)
    document = editor.document
    editor.documents.change(URI, 2, [ContentChange(text=f"zero\n{CHAT}")])
    asyncio.run(editor.desk.edit(document, TWO, "Compact conversation"))
    assert editor.document.text == "zero\none\n2\nthree\n"


def test_an_edit_is_not_sent_where_a_span_was_typed_in_that_it_rests_on() -> None:
    editor = TypingEditor(URI, CHAT)
    assert not edited(editor, (0, 1, "x"), untouched=((0, 4),)).tried
    assert editor.sent == []


def test_an_edit_that_its_user_forestalls_by_typing_elsewhere_is_sent_again_for_the_newest_version() -> None:
    editor = TypingEditor(URI, CHAT)
    editor.types_when_asked = [(0, 0, "b"), (2, 0, "a")]
    done = edited(editor)
    assert (editor.document.text, len(editor.sent), len(done.typed)) == ("bone\n2\nathree\n", 3, 2)


def test_an_editor_that_forestalls_every_edit_is_asked_so_often_and_no_more() -> None:
    editor = TypingEditor(URI, CHAT)
    editor.types_when_asked = [(0, 0, "x")] * 50
    assert edited(editor).tried
    assert len(editor.sent) == desk.TIMES_ASKED


def test_a_document_that_was_closed_and_opened_again_is_another_one() -> None:
    editor = TypingEditor(URI, CHAT)
    document = editor.document
    editor.documents.close(URI)
    editor.documents.open(URI, 1, CHAT)
    done = asyncio.run(editor.desk.edit(document, TWO, "Compact conversation"))
    assert isinstance(done, NotMade)
    assert editor.sent == []


# --- editors that take no versions ------------------------------------------------------------------------------


async def _outcome(
    answered: dict[str, Any], before: list[str], behind: list[str], **capabilities: Any
) -> Made | NotMade:
    """What an edit comes to: the texts that the editor tells before and behind its answer, one after the other."""
    opened = Open(**capabilities)
    opened.documents.open(URI, 1, CHAT)
    document = opened.desk.find(URI)
    assert document is not None
    editing = asyncio.ensure_future(opened.desk.edit(document, TWO, "Compact conversation"))
    while not opened.sent:
        await asyncio.sleep(0)

    def tell(texts: list[str]) -> None:
        for text in texts:
            newest = opened.desk.find(URI)
            assert newest is not None
            opened.documents.change(URI, newest.version + 1, [ContentChange(text=text)])

    tell(before)
    opened.asking.take_answer({"id": opened.sent[0]["id"], "result": answered})
    await asyncio.sleep(0)
    tell(behind)
    return await editing


def _failure(*told: Any, **capabilities: Any) -> LithifyError:
    with pytest.raises(LithifyError) as raised:
        asyncio.run(_outcome({"applied": True}, *told, **capabilities))
    return raised.value


MADE, TYPED, SPOILT = "one\n2\nthree\n", "new\none\ntwo\nthree\n", "new\n2\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("before", "behind"),
    [([MADE], []), ([], [MADE]), (["one\ntwo\nthree!\n"], ["one\n2\nthree!\n"]), ([MADE, f"{MADE}more"], [])],
    ids=["told first", "told later", "typed behind the range", "typed afterwards"],
)
def test_an_edit_without_a_version_that_was_made_as_it_was_meant_is_one(before: list[str], behind: list[str]) -> None:
    assert asyncio.run(_outcome({"applied": True}, before, behind)) == Made()


@pytest.mark.parametrize(
    ("before", "behind"),
    [([TYPED, SPOILT], []), ([TYPED], [SPOILT]), ([], [SPOILT]), (["one\ntwo!\nthree\n", MADE], [])],
    ids=["told first", "told later", "told as one", "typed inside"],
)
def test_an_edit_without_a_version_that_met_what_was_typed_is_stale(before: list[str], behind: list[str]) -> None:
    failure = _failure(before, behind)
    assert (failure.type, failure.retryable) == ("stale", False)
    assert "the editor's own undo" in failure.message


def test_an_edit_with_a_version_is_the_editors_business() -> None:
    assert asyncio.run(_outcome({"applied": True}, [TYPED, SPOILT], [], documentChanges=True)) == Made()


def test_an_editor_that_tells_of_no_change_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "TOLD_SECONDS", 0.01)
    assert asyncio.run(_outcome({"applied": True}, [], [])) == Made()


def test_an_edit_of_which_only_typing_is_told_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "TOLD_SECONDS", 0.01)
    assert _failure([TYPED], []).type == "stale"
