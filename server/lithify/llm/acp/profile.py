"""What Lithify must know of an agent to run it: the interface that every module in `profiles` fills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from lithify.core.model_calls import Purpose

SystemPrompt: TypeAlias = Literal["profile", "before_text"]
"""Where the system prompt goes: the profile hands it over (agent file, `_meta`), or it is put before the text."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an agent that is about to be started.

    `home` is an empty private folder of this run for the agent's own files, gone when the run ends; the agent works in
    another empty folder, `work`. `environment` is what the agent gets unless the profile adds to it: a few variables
    that every program needs, and those that the user names. `user_environment` is the server's whole environment, to
    find the user's own configuration in; nothing of it is passed on by itself.
    """

    purpose: Purpose
    system_prompt: str
    command: tuple[str, ...]
    model: str | None
    home: Path
    work: Path
    environment: Mapping[str, str]
    user_environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Launch:
    """How the run is started: what `prepare` made of it. `environment` is added to that of the run.

    `session_meta` is the `_meta` of `session/new`. `model_settled`: the model is pinned by a file, an argument or the
    environment, so none is chosen over the protocol.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    session_meta: Mapping[str, Any] = field(default_factory=dict)
    system_prompt: SystemPrompt = "before_text"
    model_settled: bool = False
    model: str | None = None
    """The agent's own name for the model that was asked for; without one, it is called as it was asked for."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that `doctor` says of an agent: whether it is as it should be, and what to do where it is not."""

    ok: bool
    text: str
    next_step: str | None = None


def _as_it_is(run: Run) -> Launch:
    return Launch(run.command)


def _nothing(environment: Mapping[str, str]) -> list[Finding]:  # noqa: ARG001
    return []


def _keep(run: Run) -> None:
    """Nothing is left outside the run's own folders."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One agent. `prepare` may write files below `run.home` only, and raises OSError or ValueError with a sentence for
    the user; `tidy` takes away what the agent left elsewhere for this run alone, once it has ended; `look` says what of
    the user's environment is missing (the command itself is looked for by the caller)."""

    name: str
    title: str
    command: tuple[str, ...]
    """The command when the user names none."""
    programs: tuple[str, ...] = ()
    """Names of programs by which a command without a profile is recognised."""
    keys: tuple[str, ...] = ()
    """Environment variables that the agent may need for its model, for the user to name in `model.acp.env`."""
    promises_no_tools: bool = False
    """Whether the agent runs without any tools for us."""
    install: str = ""
    """One sentence: how to get it."""
    prepare: Callable[[Run], Launch] = _as_it_is
    tidy: Callable[[Run], None] = _keep
    look: Callable[[Mapping[str, str]], list[Finding]] = _nothing
