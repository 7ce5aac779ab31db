"""What the demo does, step by step; every number shown is an answer of the server."""

from __future__ import annotations

import os
import shutil
import sysconfig
import time
from pathlib import Path
from typing import Any

from lithify import __version__
from lithify.cli.demo_editor import Editor, ServerTrouble
from lithify.cli.demo_screen import Screen, Size
from lithify.cli.demo_session import RecordedSession, tool_events
from lithify.core.messages import Message, text_of

DEADLINE_SECONDS = 60.0
EVENTS_IN_A_GROUP = 2
SESSION_ID = "lithify-demo"
SEARCHED = "division"
"""A word that was said in the recorded session: the cause of what is repaired there."""
RECORDS_SHOWN = 3

Params = dict[str, Any]


class Story:
    """The demo of one recorded session on one screen. Every step raises ServerTrouble when the server fails it."""

    def __init__(self, screen: Screen, session: RecordedSession, folder: Path) -> None:
        self._screen = screen
        self._session = session
        self._folder = folder
        self._began = time.monotonic()
        self._sizes: list[Size] = []
        self._filling = False

    def tell(self, whole_summary: bool) -> None:
        """All of it; the server has ended afterwards, whatever happened."""
        self._introduce()
        (self._folder / "project").mkdir()
        self._server = Editor(self._folder, DEADLINE_SECONDS, self._screen.progress, self._buffer_changed)
        try:
            self._start()
            self._open()
            self._stream_events()
            self._extract()
            self._search()
            self._compact_up_to_here()
            self._compact_conversation(whole_summary)
            self._undo()
        except (KeyError, TypeError, ValueError) as error:
            raise ServerTrouble(f"the server answered in a shape that the demo does not know ({error!r})") from error
        finally:
            self._screen.settle()
            self._server.close()

    def end(self) -> None:
        """How long it took, and what to do next."""
        screen = self._screen
        seconds = time.monotonic() - self._began
        screen.heading(f"Done in {seconds:.1f} s")
        screen.say("The server has ended, and its temporary folder is gone. What you can do next:")
        for what, command in next_steps():
            screen.say(what)
            screen.command(command)

    def _introduce(self) -> None:
        session, screen = self._session, self._screen
        screen.title(f"Lithify {__version__}: a long conversation made short, and nothing lost")
        screen.say(
            f"The conversation: {session.title}. {len(session.messages)} messages, as they were recorded; "
            f"from {session.source} ({session.licence} licence)."
        )
        screen.say(
            "The server is the real one, started as an editor starts it, in a temporary folder: your own data is not "
            "touched. It needs no key and no network.",
            "dim",
        )

    def _start(self) -> None:
        self._screen.heading("Start the server", 1)
        began = time.monotonic()
        with self._screen.working("waiting for its answer"):
            self._server.start()
            answer = self._server.request("initialize", _initialize_params(self._folder))
        self._server.notify("initialized", {})
        named = answer["serverInfo"]
        version = answer["capabilities"]["experimental"]["lithify"]["protocolVersion"]
        self._screen.say(
            f"{named['name']} {named['version']} answered after {time.monotonic() - began:.1f} s "
            f"and speaks version {version} of its protocol."
        )

    def _open(self) -> None:
        opened = {"sessionId": SESSION_ID, "title": self._session.title, "agent": None, "record": "turns"}
        self._screen.heading("Open it, then stream what the agent's tools did", 2)
        self._server.notify("lithify/didOpenSession", {**opened, "messages": self._session.messages})
        size = self._size("recorded")
        self._sizes = [size]
        self._screen.say(
            f"The conversation holds {size.messages} messages, {size.tokens:,} tokens. What was said and what the "
            "tools did settles in the project's buffer; the whole bar is the size from which it is due for extraction:"
        )

    def _buffer_changed(self, status: Params) -> None:
        if self._filling:
            self._screen.gauge(status)

    def _stream_events(self) -> None:
        self._filling = True
        status = self._server.request("lithify/bufferStatus", {})
        self._screen.gauge(status)
        events = tool_events(self._session.messages, SESSION_ID)
        entries = status["entries"]
        for start in range(0, len(events), EVENTS_IN_A_GROUP):
            group = events[start : start + EVENTS_IN_A_GROUP]
            self._server.notify("lithify/didRecordEvents", {"events": group})
            entries += len(group)
            self._server.wait_for_entries(entries)
        self._filling = False
        self._screen.settle()

    def _extract(self) -> None:
        self._screen.heading("Do not wait for that: make memory of it now", 3)
        with self._screen.working("waiting for the server"):
            done = self._server.command("lithify.extract_now", {})
        if done.get("problem") or not done["records"]:
            raise ServerTrouble(f"lithify.extract_now made no record ({done.get('problem', 'nothing was found')})")
        records = self._server.command("lithify.list_memory", {})["records"]
        left = self._server.request("lithify/bufferStatus", {})["entries"]
        events, made = _counted(done["extracted"], "event"), _counted(done["records"], "memory record")
        self._screen.say(
            f"Of {events} {_model(done)} made {made}; the buffer holds {_counted(left, 'entry', 'entries')} now. "
            "The newest records:"
        )
        self._screen.records(records[:RECORDS_SHOWN])

    def _search(self) -> None:
        found = self._server.command("lithify.search_memory", {"query": SEARCHED})["records"]
        if not found:
            raise ServerTrouble(f"lithify.search_memory found nothing for {SEARCHED!r}, which was said")
        self._screen.say(f'A search for "{SEARCHED}" finds {_counted(len(found), "record")}. The best one, whole:')
        self._screen.record(found[0])

    def _compact_up_to_here(self) -> None:
        messages = self._session.messages
        anchor = len(messages) // 2
        self._screen.heading(f"Compact up to here: you point at message {anchor + 1} of {len(messages)}", 4)
        result = self._compacted("lithify.compact_up_to_here", {"index": anchor}, messages)
        asked, taken = result["requestedRange"]["end"], result["range"]["end"]
        if taken > asked:
            self._screen.say(f"Message {taken} is the result of a tool call in message {asked}, so it goes with it.")
        self._show_sizes(result, "after step 4")

    def _compact_conversation(self, whole_summary: bool) -> None:
        before = self._messages()
        self._screen.heading("Compact the conversation: all of it but its end", 5)
        result = self._compacted("lithify.compact_conversation", {}, before)
        self._show_sizes(result, "after step 5")
        self._screen.say(f"The summary ({_made_by(result)}):")
        self._screen.summary(text_of(result["summary"]), whole_summary)
        for warning in result["warnings"]:
            self._screen.say(warning["message"], "yellow")

    def _compacted(self, command: str, options: Params, before: list[Message]) -> Params:
        """The result of a compaction, its kept end compared with what it was."""
        with self._screen.working("waiting for the server"):
            result: Params = self._server.command(command, {"sessionId": SESSION_ID, **options})
        if result["type"] != "compacted":
            raise ServerTrouble(f"{command} found nothing to compact ({result.get('reason')})")
        kept = len(before) - result["range"]["end"]
        if not kept or result["messages"][-kept:] != before[-kept:]:
            raise ServerTrouble(f"{command} changed messages that it should have kept")
        return result

    def _show_sizes(self, result: Params, label: str) -> None:
        stats = result["stats"]
        self._sizes.append(Size(label, stats["messagesAfter"], stats["tokensAfter"]))
        self._screen.sizes(self._sizes)
        kept = len(result["messages"]) - 1 - result["messages"].index(result["summary"])
        self._screen.say(f"One summary, then the last {kept} messages, word for word as they were.")

    def _undo(self) -> None:
        self._screen.heading("Undo both: nothing is lost", 6)
        for _ in range(2):
            self._server.command("lithify.undo_compaction", {"sessionId": SESSION_ID})
        if self._messages() != self._session.messages:
            raise ServerTrouble("the conversation after the undo is not the one that was recorded")
        size = self._size("undone")
        self._screen.say(
            f"{size.messages} messages, {size.tokens:,} tokens: compared with the recording, every message is the same."
        )

    def _messages(self) -> list[Message]:
        messages: list[Message] = self._server.request("lithify/getSession", {"sessionId": SESSION_ID})["messages"]
        return messages

    def _size(self, label: str) -> Size:
        status = self._server.request("lithify/sessionStatus", {"sessionId": SESSION_ID})
        return Size(label, status["messages"], status["tokens"])


def next_steps() -> list[tuple[str, str]]:
    """What to do after the demo, each with its command or place."""
    command = lithify_command()
    steps = [
        ("Have your editor's LSP client start the server:", f"{command} serve"),
        ("Compact a chat of your own:", f"{command} compact FILE"),
    ]
    readme = Path(__file__).parents[3] / "README.md"
    read_on = ("Read on:", str(readme)) if readme.is_file() else ("See all commands:", f"{command} --help")
    return [*steps, read_on]


def lithify_command() -> str:
    """What starts this Lithify: its plain name where PATH leads there, else its place."""
    found = shutil.which("lithify")
    own = Path(sysconfig.get_path("scripts")) / ("lithify.exe" if os.name == "nt" else "lithify")
    if not own.exists() or (found is not None and os.path.samefile(found, own)):
        return "lithify"
    return str(own)


def _made_by(result: Params) -> str:
    """Who wrote a summary, and how."""
    if result["method"] == "offline":
        return f"by {_model(result)}, which selects and shortens what was said"
    return f"by {result.get('model', 'a model')} with the prompt of {result['promptSource']}"


def _model(result: Params) -> str:
    """What a result says made it."""
    return "the offline model" if result["method"] == "offline" else "a model"


def _counted(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def _initialize_params(folder: Path) -> Params:
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "lithify-demo", "version": __version__},
        "capabilities": {"window": {"workDoneProgress": True}},
        "workspaceFolders": [{"uri": (folder / "project").as_uri(), "name": "demo"}],
        "initializationOptions": {"dataDir": str(folder / "data"), "client": {"bufferStatus": True}},
    }
