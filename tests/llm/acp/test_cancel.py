"""A call that is cancelled or out of time: it is answered once nothing of the agent is left, and soon."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lithify.llm.acp.profile import Profile
from tests.llm.acp.stub import LONGEST_ENDING, Stub, cancelled, failure, is_alive, request, streams_of

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("phase", ["start", "initialize", "session/new", "prompt", "middle"])
async def test_a_cancel_in_any_phase_is_answered_once_nothing_is_left(tmp_path: Path, phase: str) -> None:
    stub = Stub(tmp_path, hang=phase, children=True)
    asking = asyncio.create_task(stub.ask())
    await stub.waits()
    await cancelled(asking)
    assert not any(is_alive(pid) for pid in (stub.record()["pid"], *stub.children()))
    assert stub.left() == []


@pytest.mark.parametrize("steps", range(6))
async def test_a_cancel_after_any_step_of_the_start_leaves_nothing(tmp_path: Path, steps: int) -> None:
    stub = Stub(tmp_path, hang="start")
    asking = asyncio.create_task(stub.ask())
    for _ in range(steps):
        await asyncio.sleep(0)
    await cancelled(asking)
    assert stub.left() == []
    assert stub.marked() == []


@pytest.mark.parametrize("steps", range(3))
async def test_a_cancel_while_the_launcher_starts_leaves_nothing(tmp_path: Path, steps: int) -> None:
    stub = Stub(tmp_path, hang="start")
    asking = asyncio.create_task(stub.ask())
    async with asyncio.timeout(20):
        while not stub.marked():
            await asyncio.sleep(0)
    for _ in range(steps):
        await asyncio.sleep(0)
    await cancelled(asking)
    assert stub.left() == []
    assert stub.marked() == []


async def test_a_second_cancel_does_not_cut_the_ending_short(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="middle", stay=True, children=True)
    asking = asyncio.create_task(stub.ask())
    await stub.waits()
    asking.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    await cancelled(asking)
    assert not any(is_alive(pid) for pid in (stub.record()["pid"], *stub.children()))
    assert stub.left() == []


async def test_an_agent_that_does_not_read_its_prompt_is_ended_as_quickly(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="deaf")
    async with asyncio.timeout(2 + LONGEST_ENDING):
        found = await failure(stub, parts=("x" * 2_000_000,), timeout_ms=2000)
    assert found.type == "timeout"
    assert not is_alive(stub.record()["pid"])
    assert stub.left() == []


async def test_input_and_output_that_somebody_else_keeps_open_do_not_hold_up_the_ending(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="deaf")
    asking = asyncio.create_task(stub.ask(parts=("x" * 2_000_000,), timeout_ms=3000))
    await stub.waits()
    with streams_of(stub.record()["pid"]):
        async with asyncio.timeout(3 + LONGEST_ENDING):
            found = await asking
    assert getattr(found, "type", found) == "timeout"
    assert stub.left() == []


async def test_the_end_of_an_agent_is_noticed_even_when_somebody_else_keeps_its_output_open(tmp_path: Path) -> None:
    stub = Stub(tmp_path, pause="prompt", crash="middle")
    asking = asyncio.create_task(stub.ask(timeout_ms=30_000))
    await stub.waits()
    with streams_of(stub.record()["pid"]):
        stub.go()
        async with asyncio.timeout(LONGEST_ENDING):
            found = await asking
    assert "broke off" in getattr(found, "message", "")
    assert stub.left() == []


async def test_the_profile_tidies_up_after_a_cancel(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="middle")
    seen: list[bool] = []
    profile = Profile("stub", "the stub", (), tidy=lambda run: seen.append(is_alive(stub.record()["pid"])))
    asking = asyncio.create_task(stub.model(profile).ask(request()))
    await stub.waits()
    await cancelled(asking)
    assert seen == [False]


async def test_a_timeout_is_told_once_nothing_is_left(tmp_path: Path) -> None:
    stub = Stub(tmp_path, hang="middle", stay=True, children=True)
    found = await failure(stub, timeout_ms=2000)
    assert found.type == "timeout"
    assert not any(is_alive(pid) for pid in (stub.record()["pid"], *stub.children()))
    assert stub.left() == []
