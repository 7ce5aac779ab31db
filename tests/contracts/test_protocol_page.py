"""docs/PROTOCOL.md: its examples are what the server says, and it describes what there is, no more and no less.

The page holds whole messages. The examples marked `request`, `notification` and `editor answer` are sent to a real
server in the order of the page; those marked `answer`, `server request` and `server notification` are compared with
what it says. Ids and times differ from run to run, and the words of a sentence may change: there only the type counts.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from lsprotocol import converters, types
from pydantic import BaseModel, TypeAdapter

from lithify.core.outcomes import FailureType, LithifyError
from lithify.core.records import MemoryRecord
from lithify.core.settings import Settings, read_settings, unknown_settings
from lithify.lsp import convert, serve, wire, work
from lithify.lsp.errors import response_error
from lithify.lsp.features import reserved
from lithify.lsp.wire_base import ClientOptions, Message
from tests.support.raw_client import NEVER, WAIT_SECONDS, RawClient

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "PROTOCOL.md"
TEXT = PAGE.read_text(encoding="utf-8")

ON_ITS_OWN = "on a server of its own"
PLAYED_LAST = ("shutdown", "exit")

VARYING = frozenset(
    {
        "at",
        "compactionId",
        "createdAt",
        "draftId",
        "durationMs",
        "expected",
        "message",
        "namespace",
        "projectId",
        "projectUri",
    }
    | {"draftId", "promptSource", "requestId", "sizeBytes", "token", "updatedAt", "version"}
    | {"lastError", "lastRunAt", "problem", "recordId", "score", "sizeAfter", "sizeBefore"}
)
"""Keys whose plain values differ from run to run, from machine to machine or from release to release."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Example:
    """One marked block: `<!-- example: KIND NAME[, on a server of its own] -->`."""

    kind: str
    name: str
    value: Any
    own_server: bool
    section: str
    line: int

    def __str__(self) -> str:
        return f"{self.kind} {self.name}, line {self.line}"


def examples_of(text: str) -> Iterator[Example]:
    pattern = re.compile(r"^<!-- example: ([a-z ]+) (\S+?)(?:, ([a-z ]+))? -->\n```json\n((?s:.*?))^```$", re.MULTILINE)
    for found in pattern.finditer(text):
        before = text[: found.start()]
        heading = re.findall(r"^#{2,3} (.+)$", before, re.MULTILINE)[-1]
        kind, name, place, block = found.groups()
        assert place in (None, ON_ITS_OWN), place
        yield Example(kind, name, json.loads(block), place is not None, heading, before.count("\n") + 1)


EXAMPLES = list(examples_of(TEXT))
CONVERSATION_KINDS = {"request", "notification", "editor answer", "answer", "server request", "server notification"}


# --- what the server has --------------------------------------------------------------------------------------


class Register:
    """Stands in for the server while the features register: keeps what they register, and calls nothing."""

    def __init__(self) -> None:
        self.protocol = self
        self.requests: dict[str, type[BaseModel]] = {}
        self.notifications: dict[str, type[BaseModel]] = {}
        self.commands: dict[str, type[BaseModel]] = {}
        self.lsp: set[str] = set()
        self.on_project_changed: Any = None

    def on_request(self, method: str, params: type[BaseModel], handler: Any, **_: Any) -> None:
        self.requests[method] = params

    def on_notification(self, method: str, params: type[BaseModel], handler: Any, **_: Any) -> None:
        self.notifications[method] = params

    def on_command(self, name: str, params: type[BaseModel], handler: Any, **_: Any) -> None:
        self.commands[name] = params

    def feature(self, method: str) -> Any:
        self.lsp.add(method)
        return lambda handler: handler

    @property
    def own(self) -> dict[str, type[BaseModel]]:
        """Everything of our own that an editor may send, with the shape of its params."""
        return {**self.requests, **self.notifications, **self.commands}


def registered(*features: Any) -> Register:
    async def register() -> Register:
        kept = Register()
        for feature in features:
            feature.register(kept)
        return kept

    return asyncio.run(register())


ALL = registered(*work.FEATURES)
RESERVED = registered(reserved)
BUILT = set(ALL.own) - set(RESERVED.own)


def names_in_source() -> set[str]:
    """Every name `lithify/...` that stands in the code of the language server as a string of its own."""
    code = "".join(path.read_text(encoding="utf-8") for path in Path(serve.__file__).parent.rglob("*.py"))
    return set(re.findall(r'"(lithify/\w+)"', code))


def headings() -> list[str]:
    """The names of the messages that have a section."""
    return list(re.findall(r"^### `(.+)`$", TEXT, re.MULTILINE))


def section(title: str) -> str:
    """The text below a heading, up to the next heading."""
    found = re.search(rf"^(#+) {re.escape(title)}$\n(.*?)(?=^#{{1,3}} |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[2]


def rows(title: str) -> list[list[str]]:
    """The cells of all table rows in a section, without the heads."""
    table = re.compile(r"^\|.+\n\|[-|]+\n((?:\|.+\n)+)", re.MULTILINE)
    lines = [line for found in table.findall(section(title)) for line in found.splitlines()]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def ticked(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


# --- the sections ---------------------------------------------------------------------------------------------


def test_every_message_that_an_editor_may_send_has_a_section() -> None:
    assert {name for name in headings() if name in ALL.own} == BUILT


def test_every_message_of_our_own_that_the_server_sends_has_a_section() -> None:
    sent = names_in_source() - set(ALL.own)
    assert {name for name in headings() if name.startswith("lithify") and name not in ALL.own} == sent


def test_every_lsp_message_that_a_feature_handles_has_a_section() -> None:
    assert set(headings()) >= ALL.lsp


def test_every_section_names_something_that_exists() -> None:
    known = BUILT | names_in_source() | set(types.METHOD_TO_TYPES)
    assert [name for name in headings() if name not in known] == []


def test_no_section_is_there_twice() -> None:
    assert len(headings()) == len(set(headings()))


def test_the_reserved_names_are_those_that_answer_not_built() -> None:
    assert set(re.findall(r"^\* `(lithify\S+)`$", section("Reserved names"), re.MULTILINE)) == set(RESERVED.own)


def test_every_section_says_its_direction() -> None:
    wrong = []
    for name in headings():
        first = section(f"`{name}`").strip().splitlines()[0]
        if name in ALL.own:
            kind = "request" if name in ALL.requests else "command" if name in ALL.commands else "notification"
            pattern = f"editor to server, {kind}"
        else:
            pattern = "server to editor, " if name.startswith("lithify") else "(editor to server|server to editor), "
        if not re.match(f"Direction: {pattern}", first):
            wrong.append((name, first))
    assert wrong == []


def test_every_section_has_an_example_of_its_message() -> None:
    shown = {one.name for one in EXAMPLES if one.section == f"`{one.name}`"}
    assert [name for name in headings() if name not in shown] == []


def test_every_request_has_an_answer_beside_it() -> None:
    shown = {(one.name, one.kind) for one in EXAMPLES if one.section == f"`{one.name}`"}
    asked = [name for name in headings() if name in {**ALL.requests, **ALL.commands}]
    assert [name for name in asked if not {(name, "request"), (name, "answer")} <= shown] == []


def test_every_json_block_is_marked() -> None:
    assert TEXT.count("```json") == len(EXAMPLES)


def test_every_link_leads_somewhere() -> None:
    titles = re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    targets = [target for target in re.findall(r"\]\(([^)]+)\)", TEXT) if not target.startswith("https://")]
    lost = [one for one in targets if not (one[1:] in anchors if one[0] == "#" else (PAGE.parent / one).is_file())]
    assert lost == []


# --- the examples by themselves -------------------------------------------------------------------------------


def known_keys(shape: type[BaseModel], value: Any) -> Any:
    """The value as the shape reads it: a key that the shape does not have is gone."""
    return shape.model_validate(value).model_dump(by_alias=True, exclude_unset=True)


def argument_of(example: Example) -> Any:
    params = example.value.get("params")
    return params["arguments"][0] if example.name in ALL.commands else params


@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES if one.kind in ("request", "notification") and one.name in ALL.own], ids=str
)
def test_params_of_our_own_fit_their_shape_and_hold_no_other_key(example: Example) -> None:
    given = argument_of(example)
    if example.name not in RESERVED.own:
        assert known_keys(ALL.own[example.name], given) == given
    for event in given.get("events", ()):
        assert known_keys(wire.Event, event) == event
    if given.get("agent") is not None:
        assert known_keys(wire.AgentConfig, given["agent"]) == given["agent"]


def test_messages_of_lsp_fit_lsp() -> None:
    converter = converters.get_converter()
    known = [one.value for one in EXAMPLES if one.value.get("method") in types.METHOD_TO_TYPES]
    read = [converter.structure(one, types.METHOD_TO_TYPES[one["method"]][0]) for one in known]
    assert [one.method for one in read] == [one["method"] for one in known] != []


def test_every_message_is_whole_and_named_by_its_mark() -> None:
    assert [str(one) for one in EXAMPLES if one.kind in CONVERSATION_KINDS and not is_whole(one)] == []


def is_whole(example: Example) -> bool:
    message = example.value
    if message.get("jsonrpc") != "2.0" or ("id" in message) == ("notification" in example.kind):
        return False
    if "answer" in example.kind:
        return ("result" in message) != ("error" in message)
    if message["method"] == "workspace/executeCommand":
        return bool(message["params"]["command"] == example.name)
    return bool(message["method"] == example.name)


def test_the_settings_of_the_example_are_valid() -> None:
    (options,) = [
        one.value["params"]["initializationOptions"]
        for one in EXAMPLES
        if one.kind == "request" and one.name == "initialize" and not one.own_server
    ]
    assert isinstance(read_settings(options), Settings)
    assert unknown_settings(options) == []
    assert known_keys(ClientOptions, options["client"]) == options["client"]


SHAPES: dict[str, Any] = {"Event": wire.Event, "AgentConfig": wire.AgentConfig, "Message": Message}


@pytest.mark.parametrize("example", [one for one in EXAMPLES if one.kind == "shape"], ids=str)
def test_an_example_of_a_shape_fits_it_and_holds_no_other_key(example: Example) -> None:
    adapter = TypeAdapter(SHAPES[example.name])
    kept = adapter.dump_python(adapter.validate_python(example.value), by_alias=True, exclude_unset=True)
    assert kept == example.value


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("Event", wire.Event),
        ("AgentConfig", wire.AgentConfig),
        ("`lithify/didOpenSession`", wire.DidOpenSession),
        ("`lithify.compact_conversation`", wire.CompactConversation),
    ],
)
def test_the_table_of_a_shape_names_all_its_keys(name: str, shape: type[BaseModel]) -> None:
    named = {key.partition(".")[0] for row in rows(name) for key in ticked(row[0])}
    assert {field.alias for field in shape.model_fields.values()} <= named


def test_the_table_of_a_record_names_all_its_keys() -> None:
    kept = MemoryRecord("id", "project", "error", "title", "summary", (), (), (), (), "now", "model", 1.0)
    assert {key for row in rows("Record") for key in ticked(row[0])} == set(convert.record(kept))


# --- the conversation -----------------------------------------------------------------------------------------


def differences(documented: Any, real: Any, path: str = "", key: str = "") -> list[str]:
    """Where a real message is not what the page says."""
    if isinstance(documented, dict) and isinstance(real, dict):
        found = [f"{path}.{name}: {what}" for name, what in _missing(documented, real)]
        for name in documented.keys() & real.keys():
            found += differences(documented[name], real[name], f"{path}.{name}", name)
        return found
    if isinstance(documented, list) and isinstance(real, list):
        real = [one for one in real if not (isinstance(one, dict) and one.get("code") == "prompt_fallback")]
        if len(documented) != len(real):
            return [f"{path}: {len(documented)} elements documented, {len(real)} real"]
        pairs = enumerate(zip(documented, real, strict=True))
        return [one for index, (left, right) in pairs for one in differences(left, right, f"{path}[{index}]")]
    if key in VARYING or (key == "eventId" and path.endswith("results[2].eventId")):
        same = type(documented) is type(real)
    elif isinstance(documented, str) and isinstance(real, str) and documented.endswith("…"):
        same = real.startswith(documented[:-1])
    else:
        same = type(documented) is type(real) and documented == real
    return [] if same else [f"{path}: {documented!r} documented, {real!r} real"]


def _missing(documented: Json, real: Json) -> Iterator[tuple[str, str]]:
    for name in documented.keys() - real.keys():
        yield name, "documented, but not there"
    for name in real.keys() - documented.keys():
        yield name, f"there ({real[name]!r}), but not documented"


def named_later(value: Any) -> Iterator[tuple[str, str]]:
    """The keys and ids in a message that the server assigns and an editor names again: of records and drafts."""
    if isinstance(value, dict):
        yield from [(key, value[key]) for key in ("recordId", "draftId") if key in value]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from named_later(inner)


class Player:
    """Says the editor's part of the conversation, and holds the server's part against the page."""

    def __init__(self, client: RawClient) -> None:
        self._client = client
        self._since = 0
        self._server_ids: dict[Any, Any] = {}
        self._real_ids: dict[str, str] = {}
        for name in names_in_source() | set(types.METHOD_TO_TYPES):
            client.answerers[name] = lambda _: NEVER  # the page answers

    async def play(self, example: Example) -> None:
        message = example.value
        if example.kind == "request":
            self._since = len(self._client.messages)
            self._client.send(self._as_sent(message))
        elif example.kind == "notification":
            self._client.send(message)
        elif example.kind == "editor answer":
            self._client.send({**message, "id": self._server_ids.pop(message["id"])})
        elif example.kind == "answer":
            real = await self._first(lambda one: "method" not in one and one["id"] == message["id"])
            self._compare(example, real)
            pairs = zip(named_later(message), named_later(real), strict=True)
            self._real_ids.update({on_the_page: told for (_, on_the_page), (_, told) in pairs})
        elif example.kind == "server request":
            real = await self._first(lambda one: one.get("method") == example.name and "id" in one)
            self._server_ids[message["id"]] = real["id"]
            self._compare(example, {**real, "id": message["id"]})
        elif example.kind == "server notification":
            await self._notified(example)

    def _as_sent(self, message: Json) -> Json:
        """The message of the page, with the real ids of records and drafts, and with our own process in place of the
        editor's, which would be watched."""
        params = message.get("params") or {}
        if named := list(named_later(params)):
            ((key, on_the_page),) = named
            arguments = [{**params["arguments"][0], key: self._real_ids.get(on_the_page, on_the_page)}]
            return {**message, "params": {**params, "arguments": arguments}}
        if params.get("processId") is None:
            return message
        return {**message, "params": {**params, "processId": os.getpid()}}

    async def _first(self, fits: Any) -> Json:
        """The first message that fits since the last request of the page."""
        since = self._since
        return await self._client.wait_for(lambda one: fits(one) and self._place(one) >= since, WAIT_SECONDS)

    def _place(self, message: Json) -> int:
        return next(index for index, one in enumerate(self._client.messages) if one is message)

    async def _notified(self, example: Example) -> None:
        """A notification may come several times (progress, status): one of them must be as documented."""
        method = example.value["method"]
        try:
            await self._first(lambda one: not differences(example.value, one))
        except AssertionError:
            came = [one for one in self._client.messages[self._since :] if one.get("method") == method]
            nearest = [differences(example.value, one) for one in came[-3:]]
            pytest.fail(f"{example}: {nearest or 'nothing of that name came'}")

    def _compare(self, example: Example, real: Json) -> None:
        found = differences(example.value, real)
        assert found == [], f"{example}: {found}"


async def play_all(examples: list[Example], data_dir: Path) -> int:
    client = await RawClient.start(data_dir)
    try:
        player = Player(client)
        for example in examples:
            await player.play(example)
        return await client.exit_code(WAIT_SECONDS) if examples[-1].name == "exit" else 0
    finally:
        await client.stop()


def conversation() -> list[Example]:
    played = [one for one in EXAMPLES if one.kind in CONVERSATION_KINDS and not one.own_server]
    return [one for one in played if one.name not in PLAYED_LAST] + [one for one in played if one.name in PLAYED_LAST]


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder after the conversation of the page was had in it."""
    folder = tmp_path_factory.mktemp("page")
    assert asyncio.run(play_all(conversation(), folder)) == 0
    return folder


def test_the_server_says_what_the_page_says(data_dir: Path) -> None:
    assert (data_dir / "lithify.db").is_file()


def test_the_server_says_what_the_page_says_where_an_example_has_a_server_of_its_own(tmp_path: Path) -> None:
    alone = [one for one in EXAMPLES if one.own_server]
    assert alone
    assert asyncio.run(play_all(alone, tmp_path)) == 0  # whatever differs from the page fails as it is played


# --- what is on disk ------------------------------------------------------------------------------------------


def test_the_buffer_holds_the_documented_lines(data_dir: Path) -> None:
    documented = [one.value for one in EXAMPLES if one.kind == "buffer"]
    (buffer,) = data_dir.glob("buffers/*/buffer.ndjson")
    lines = [json.loads(line) for line in buffer.read_text(encoding="utf-8").splitlines()]
    real = {events_of(line): line for line in lines}
    assert [differences(one, {**real[events_of(one)], "event_id": one["event_id"]}) for one in documented] == [[], []]
    for one in documented:
        assert real[events_of(one)]["namespace"] == f"/actor/ana/project/{buffer.parent.name}/"
        assert real[events_of(one)]["event_id"].startswith("compact_") == ("source_event_ids" in one)


def events_of(line: Json) -> tuple[str, ...]:
    """The events that a line of the buffer stands for."""
    return tuple(line.get("source_event_ids", [line["event_id"]]))


def test_the_tables_of_the_database_have_the_documented_columns(data_dir: Path) -> None:
    documented = {ticked(row[0])[0]: ticked(row[1]) for row in rows("The database")}
    with sqlite3.connect(data_dir / "lithify.db") as database:
        real = {table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")] for table in documented}
    database.close()
    assert real == documented


def test_the_documented_queries_can_be_asked(data_dir: Path) -> None:
    (script,) = re.findall(r"^```sql\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    with sqlite3.connect(data_dir / "lithify.db") as database:
        answers = [database.execute(query).fetchall() for query in script.split(";") if query.strip()]
    database.close()
    assert len(answers) == 3


# --- errors ---------------------------------------------------------------------------------------------------


def test_the_table_of_errors_names_every_type() -> None:
    assert [ticked(row[0])[0] for row in rows("Errors") if row[0].startswith("`")] == list(get_args(FailureType))


@pytest.mark.parametrize("failure_type", get_args(FailureType))
def test_the_table_of_errors_gives_the_code_and_whether_to_try_again(failure_type: FailureType) -> None:
    (row,) = [row for row in rows("Errors") if row[0] == f"`{failure_type}`"]
    error = response_error(LithifyError(failure_type, ""))
    assert int(row[1]) == error["code"]
    assert row[2].startswith("yes" if error["data"]["retryable"] else "no")
