"""Ingestion: events in, checked and scrubbed, to the log; what is refused, and why."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithify.core.events import EventResult, EventSource, NewEvent
from lithify.core.outcomes import LithifyError
from lithify.core.projects import Project
from lithify.workers.ingestion import EventBatch, Ingestion
from tests.support.stores import Bench, buffered_ids, states


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.store.close()


def new_event(event_id: str, text: Any = "hello", **more: Any) -> NewEvent:
    given: dict[str, Any] = {
        "event_id": event_id,
        "session_id": "chat",
        "actor_id": "ann",
        "kind": "note",
        "body": {"type": "text", "content": text},
        "valid_time": "2026-01-02T03:04:05Z",
        "surface": "test",
    }
    return NewEvent(**{**given, **more})


def handled(bench: Bench, *events: NewEvent | EventResult, asked: bool = True) -> list[EventResult]:
    return bench.ingestion.handle(bench.store, [EventBatch(events, asked)])[0]


def buffered(bench: Bench) -> list[str]:
    return buffered_ids(bench.data_dir, bench.project.project_id)


def test_the_results_are_in_the_order_of_the_events(bench: Bench) -> None:
    results = handled(bench, new_event("E1"), EventResult(None, "rejected", "kind: ..."), new_event("E2"))
    assert [(one.event_id, one.status) for one in results] == [
        ("E1", "buffered"),
        (None, "rejected"),
        ("E2", "buffered"),
    ]


def test_each_batch_gets_its_own_results(bench: Bench) -> None:
    batches = [EventBatch([new_event("E1"), new_event("E2")], True), EventBatch([], True)]
    batches.append(EventBatch([new_event("E1")], False))
    answers = bench.ingestion.handle(bench.store, batches)
    assert [[one.status for one in answer] for answer in answers] == [["buffered", "buffered"], [], ["duplicate"]]


def test_one_bad_event_never_costs_its_neighbours(bench: Bench) -> None:
    results = handled(bench, new_event("E1"), new_event("E2", float("nan")), new_event("E3"))
    assert [one.status for one in results] == ["buffered", "rejected", "buffered"]
    assert buffered(bench) == ["E1", "E3"]


def test_a_body_that_is_no_json_is_rejected_with_the_name_of_the_field(bench: Bench) -> None:
    assert str(handled(bench, new_event("E1", float("nan")))[0].reason).startswith("body: it cannot be written as JSON")


def test_a_body_over_a_mebibyte_is_rejected_with_its_size(bench: Bench) -> None:
    reason = handled(bench, new_event("E1", "x" * 1_048_576))[0].reason
    assert reason == "body: it is 1048604 bytes of JSON, the limit is 1048576"


def test_recording_that_is_off_is_named(bench: Bench) -> None:
    bench.settings = type(bench.settings).model_validate({"recording": {"enabled": False}})
    assert handled(bench, new_event("E1")) == [EventResult("E1", "rejected", "recording.enabled is off")]
    assert states(bench.data_dir) == {}


def test_recording_that_is_paused_for_the_project_is_named(bench: Bench) -> None:
    bench.store.events.set_recording(bench.project, False)
    reason = "recording is paused for this project (lithify.set_recording)"
    assert handled(bench, new_event("E1")) == [EventResult("E1", "rejected", reason)]


def test_an_event_that_names_an_excluded_path_is_rejected_by_the_setting_and_without_the_path(
    bench: Bench,
) -> None:
    body = {"type": "json", "data": {"tool_name": "Read", "tool_input": {"path": "app/.env"}}}
    reason = handled(bench, new_event("E1", kind="tool_use", body=body))[0].reason
    assert reason == "body: it names a path that recording.exclude excludes"


def test_exclusions_that_change_are_in_force_at_once(bench: Bench) -> None:
    body = {"type": "json", "data": {"tool_name": "Read", "tool_input": {"path": "app/notes.md"}}}
    assert handled(bench, new_event("E1", kind="tool_use", body=body))[0].status == "buffered"
    bench.settings = type(bench.settings).model_validate({"recording": {"exclude": ["**/notes.md"]}})
    assert handled(bench, new_event("E2", kind="tool_use", body=body))[0].status == "rejected"


def test_the_ceiling_of_the_settings_holds(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"buffer": {"ceilingBytes": 1024}})
    statuses = [one.status for one in handled(bench, *(new_event(f"E{each}", "x" * 400) for each in range(3)))]
    bench.store.close()
    assert statuses == ["buffered", "stored", "stored"]


def test_every_project_that_got_events_is_told_once(bench: Bench) -> None:
    handled(bench, new_event("E1"), new_event("E2"))
    assert bench.changed == [bench.project]


def test_a_project_is_that_of_the_events_source(bench: Bench) -> None:
    projects = {None: Project("default", "/default"), "/other": Project("other", "/other")}
    ingestion = Ingestion(lambda: bench.settings, lambda named: projects[named], lambda _: None)
    events = [new_event("E1"), new_event("E2", source=EventSource(project_path="/other"))]
    ingestion.handle(bench.store, [EventBatch(events, True)])
    assert (buffered_ids(bench.data_dir, "default"), buffered_ids(bench.data_dir, "other")) == (["E1"], ["E2"])


def test_a_path_that_is_none_is_rejected_with_the_name_of_the_field(bench: Bench) -> None:
    def find(named: str | None) -> Project:
        if named is None:
            return bench.project
        raise LithifyError("invalid_params", f"{named!r} is no path")

    ingestion = Ingestion(lambda: bench.settings, find, lambda _: None)
    events = [new_event("E1", source=EventSource(project_path="a\0b")), new_event("E2")]
    assert ingestion.handle(bench.store, [EventBatch(events, True)])[0] == [
        EventResult("E1", "rejected", "source.projectPath: 'a\\x00b' is no path"),
        EventResult("E2", "buffered"),
    ]


def test_what_an_agent_that_we_run_ourselves_does_is_not_recorded(bench: Bench) -> None:
    ours = "/tmp/lithify-agent-0123456789abcdef/work"
    ingestion = Ingestion(lambda: bench.settings, lambda _: bench.project, lambda _: None, ours.__eq__)
    events = [new_event("E1", source=EventSource(project_path=ours)), new_event("E2")]
    (results,) = ingestion.handle(bench.store, [EventBatch(events, asked=True)])
    assert [one.status for one in results] == ["rejected", "buffered"]
    assert (results[0].reason or "").startswith("source.projectPath: an agent that Lithify itself runs")


def test_lone_surrogates_in_any_field_cost_no_event(bench: Bench) -> None:
    odd = "a\ud800"
    one = new_event("E1", odd, surface=odd, actor_id=odd, source=EventSource(odd, odd, odd, odd))
    assert [each.status for each in handled(bench, one)] == ["buffered"]


def test_a_rejected_event_that_nobody_asked_about_is_logged(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    handled(bench, new_event("E1", float("inf")), asked=False)
    assert [record.getMessage().split(" (")[0] for record in caplog.records] == [
        "Event E1 was rejected: body: it cannot be written as JSON"
    ]


def test_a_rejected_event_that_was_asked_about_is_answered_and_not_logged(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    handled(bench, new_event("E1", float("inf")))
    assert caplog.records == []
