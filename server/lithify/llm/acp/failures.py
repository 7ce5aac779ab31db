"""How a run fails: the failure that is raised inside, and the sentences of those that agents cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lithify.core.model_calls import ModelFailure, ModelFailureType

LONGEST_SENTENCE = 500
"""Characters kept of what an agent says of its error."""

LONGEST_NAME = 200
"""Characters kept of a model's name, and of other words of an agent that are shown."""

DEEPEST_DETAIL = 8
"""An error's detail is looked for no deeper in its data."""

AUTH_REQUIRED = -32000
"""The protocol's code, which JSON-RPC also leaves to any error of a server."""

ABOUT_LOGIN = re.compile(
    r"\bauth(?:$|\W|_|enticat|ori[sz])|unauthori[sz]ed|\b(?:log|sign)(?:ged)?[ -]?in\b|credential|api.?key|\b401\b",
    re.IGNORECASE,
)
ABOUT_LENGTH = re.compile(
    r"context.?(?:length|window|size)|maximum context|(?:prompt|input|request) (?:is|was) too (?:long|large)"
    r"|too many (?:input )?tokens|exceeds? .{0,40}(?:token|context)",
    re.IGNORECASE,
)
TELLING = re.compile(r"error|fail|denied|unauthori[sz]ed|invalid|exceed|quota|limit|refused|not found", re.IGNORECASE)


class Failed(Exception):
    """The run is over without an answer; `failure` is what the caller hears. `line` finds, in what the agent wrote to
    its log, one that is worth adding once all of it has been read."""

    def __init__(
        self,
        kind: ModelFailureType,
        message: str,
        *,
        retryable: bool = True,
        absent: bool = False,
        line: Callable[[Sequence[str]], str | None] | None = None,
    ) -> None:
        super().__init__(message)
        self._failure = ModelFailure(kind, message, retryable=retryable, absent=absent)
        self._line = line

    def failure(self, log: Sequence[str] = ()) -> ModelFailure:
        """What the caller hears, with the line of the log."""
        line = self._line(log) if self._line is not None else None
        return self._failure if line is None else replace(self._failure, message=f"{self._failure.message}: {line}")


def failure_of_error(title: str, what: str, error: Mapping[str, Any]) -> Failed:
    """The failure of a JSON-RPC error: the agent's own sentence, and the type that it speaks of."""
    said = error_sentence(error)
    if ABOUT_LENGTH.search(said):
        return Failed("context_too_long", f"the request is too long for {title}: {said}", retryable=False)
    return Failed("model_error", f"{title} failed on {what}: {said}")


def is_about_login(error: Mapping[str, Any], *, opening: bool) -> bool:
    """Whether an error means that nobody is logged in; while the session is opened the code alone says so."""
    if error.get("code") == AUTH_REQUIRED and opening:
        return True
    return ABOUT_LOGIN.search(error_sentence(error)) is not None


def error_sentence(error: Mapping[str, Any]) -> str:
    """What a JSON-RPC error says, its data's detail included."""
    message = words_of(error.get("message") or "no reason given").strip()
    detail = _detail(error.get("data"))
    said = message if detail is None or detail in message else f"{message}: {detail}"
    return shortened(f"{said} (code {error['code']})" if isinstance(error.get("code"), int) else said)


def masked_error(error: Mapping[str, Any], mask: Callable[[str], str]) -> dict[str, Any]:
    """The same error without secrets: its code, its message, and of its data only the detail."""
    message, detail = error.get("message"), _detail(error.get("data"))
    return {
        "code": error.get("code"),
        "message": mask(words_of(message)) if message else None,
        "data": mask(detail) if detail is not None else None,
    }


def _detail(data: Any, deep: int = 0) -> str | None:
    if deep > DEEPEST_DETAIL:
        return None
    if isinstance(data, str):
        return data.strip() or None
    if isinstance(data, Mapping):
        for name in ("details", "detail", "message", "error", "reason"):
            if (found := _detail(data.get(name), deep + 1)) is not None:
                return found
    return None


def words_of(value: Any) -> str:
    """Any value of JSON in words."""
    try:
        return value if isinstance(value, str) else str(value)
    except (RecursionError, ValueError):
        return "something that cannot be shown"


def without_halves(text: str) -> str:
    """The text with the halves of surrogate pairs put together, and those that are alone replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def shortened(text: str, most: int = LONGEST_SENTENCE) -> str:
    """One line of at most so many characters. Secrets must be masked before: half of one is not recognised."""
    line = without_halves(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def telling_line(lines: Sequence[str]) -> str | None:
    """The last line of an agent's log that speaks of an error."""
    return next((shortened(line) for line in reversed(lines) if TELLING.search(line)), None)


def last_line(lines: Sequence[str]) -> str | None:
    """The last line that says something."""
    return next((shortened(line) for line in reversed(lines) if line.strip()), None)


def exit_words(code: int | None) -> str:
    """How a process ended."""
    if code is None:
        return "closed its output"
    return f"was killed by signal {-code}" if code < 0 else f"exited with code {code}"


def login_sentence(title: str, said: str, methods: Sequence[str], keys: Sequence[str]) -> str:
    """How to log in with an agent: in its own program, or with a key that the settings let through."""
    offered = f" (it offers: {'; '.join(methods)})" if methods else ""
    by_key = f", or set one of {', '.join(keys)} and name it in model.acp.env" if keys else ""
    return (
        f"{title} needs you to log in: start it once in a terminal and log in there{offered}{by_key}. It said: {said}"
    )
