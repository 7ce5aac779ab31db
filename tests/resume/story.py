"""The conversation that every agent has: what its user asks in each turn, and what the scripted model answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tests.resume.said import Said, offers_tools, said
from tests.support.model_server import Answer, Request, Text, ToolCall

CALLS, PLAIN = "run the script", "explain"
FULL = "with all that you know"
"""In a prompt, it has the model say that its window is nearly full, when it has answered."""
FULL_EARLY = "with all that you find"
"""The same, when it calls the tool."""
SEVERAL = "and two more beside it"
"""In a prompt, it has the model call the tool three times in one answer."""
ASIDE = "<state_snapshot>What the model says when it is asked for no turn, in a summary say.</state_snapshot>"
NEARLY_FULL = 199_000
"""Tokens; the windows of the agents hold 200,000, or compact from less."""
_TURN = re.compile(r"turn-(\d+)-prompt")


def prompt(number: int, wish: str = "") -> str:
    """What the user asks in a turn; every second turn, from the first on, needs a tool."""
    work = CALLS if number % 2 else PLAIN
    return f"turn-{number}-prompt: {work} of part {number} {wish}".strip()


def command(number: int) -> str:
    """The command that the model has the tool run in a turn."""
    return f"echo turn-{number}-output"


def answer(number: int) -> str:
    """What the model says at the end of a turn: long enough that a summary is shorter."""
    lines = (f"Part {number} does step {step} of the work and hands on what it found." for step in range(60))
    return "\n".join([f"turn-{number}-answer", *lines])


def marks(numbers: range) -> tuple[str, ...]:
    """What no text can hold that says nothing of these turns."""
    return tuple(f"turn-{number}-" for number in numbers)


def script(tool: Callable[[str], ToolCall], is_own: Callable[[Said], bool]) -> Callable[[Request], Answer]:
    """The model of the story: it calls the tool where a turn needs it, and answers when it has the result."""

    def reply(request: Request) -> Answer:
        conversation = [one for one in said(request) if not is_own(one)]
        asked = next((found for one in reversed(conversation) if (found := _turn(one))), None)
        last, size = conversation[-1], (len(request.raw) // 4, 3)
        if asked is None or not offers_tools(request) or not (last.kind == "result" or _turn(last)):
            return Text(ASIDE, usage=size)
        number, text = asked
        if CALLS in text and last.kind != "result":
            more = (tool(f"{command(number)}-a"), tool(f"{command(number)}-b")) if SEVERAL in text else ()
            usage = (NEARLY_FULL, 3) if FULL_EARLY in text else size
            return replace(tool(command(number)), usage=usage, more=more)
        return Text(answer(number), usage=(NEARLY_FULL, 3) if FULL in text else size)

    return reply


def _turn(one: Said) -> tuple[int, str] | None:
    found = _TURN.search(one.text) if (one.role, one.kind) == ("user", "text") else None
    return (int(found[1]), one.text) if found else None
