"""The provider `acp`: asks a coding agent, which runs for one request only."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.llm.acp.agent_log import AgentLog
from lithify.llm.acp.connection import AgentConnection, Closed, load_library
from lithify.llm.acp.conversation import Conversation
from lithify.llm.acp.environment import RUN_VARIABLE, Mask, NoProgram, base_environment, cannot_be_given, find_program
from lithify.llm.acp.failures import Failed, exit_words, last_line, shortened
from lithify.llm.acp.folders import RunFolder
from lithify.llm.acp.process import AgentProcess, Start, StartError, start_agent
from lithify.llm.acp.profile import Launch, Profile, Run
from lithify.llm.acp.runs import sweep
from lithify.llm.acp.streams import uninterrupted

logger = logging.getLogger(__name__)

LONGEST_TIMEOUT_MS = 30 * 24 * 3600 * 1000

EXIT_SECONDS = 1.0
"""An agent that closed its output is given so long to say how it ended."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an agent may take for the handshake, and again for opening its session."""

    handshake_seconds: float = 30.0


class AcpModel:
    """An agent that answers requests, each in a process, a session and a private folder of its own."""

    name = "acp"
    host: str | None = None
    """An agent does not tell where its model is."""

    def __init__(
        self,
        profile: Profile,
        command: Sequence[str] = (),
        env_names: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        limits: Limits = Limits(),
    ) -> None:
        """`command` is the user's, else the profile's; `env_names` are the variables that the user lets through;
        `environment` is this process's, unless another is given."""
        self.agent = profile.name
        """The profile's name, for the status."""
        self._profile = profile
        self._command = tuple(command) or profile.command
        self._env_names = tuple(env_names)
        self._environment = environment if environment is not None else os.environ
        self._limits = limits
        self._reported: set[str] = set()

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """One answer. When this returns or is cancelled, nothing of the agent is left; that takes 4 s at most, or 14 s
        where its descendants multiply while they are killed."""
        environment = base_environment(self._environment, self._env_names)
        try:
            self._check_command(environment)
            await asyncio.to_thread(sweep, self._environment)
            folder = RunFolder.create(self._environment)
        except Failed as failed:
            return replace(failed.failure(), sent=False)
        except OSError as error:
            message = f"no private folder for {self._profile.title}: {error}"
            return ModelFailure("model_unavailable", message, sent=False)
        agent_run: _AgentRun | None = None
        try:
            run = Run(
                purpose=request.purpose,
                system_prompt=request.system_prompt,
                command=self._command,
                model=request.model,
                home=folder.home,
                work=folder.work,
                environment=environment,
                user_environment=self._environment,
            )
            agent_run = _AgentRun(self._profile, run, folder, request, self._limits, self._env_names)
            answer = await agent_run.answer()
        finally:
            await uninterrupted(_put_away(folder, agent_run))
        if isinstance(answer, ModelReply) and answer.missing_model is not None:
            self._report(answer.missing_model)
        return answer

    @property
    def default_model(self) -> str:
        """The agent's name: which model it takes by itself, it tells only when it runs."""
        return self.agent

    @property
    def command(self) -> tuple[str, ...]:
        """The agent's command and arguments."""
        return self._command

    @property
    def unset_names(self) -> tuple[str, ...]:
        """The variables that the settings name and that are not set here."""
        return tuple(name for name in self._env_names if not self._environment.get(name))

    def lack(self) -> ModelFailure | None:
        """What keeps it from being asked, as far as that is seen from here without starting it: the command."""
        try:
            self._check_command(base_environment(self._environment, self._env_names))
        except Failed as failed:
            return failed.failure()
        return None

    def _check_command(self, environment: Mapping[str, str]) -> None:
        if not self._command:
            raise Failed(
                "model_unavailable",
                "no agent is set; put the command that starts it with ACP into model.acp.command",
                retryable=False,
                absent=True,
            )
        check_texts(self._profile, self._command, environment)
        program_of(self._profile, self._command, environment)

    def _report(self, model: str) -> None:
        """Once a model, not once a call."""
        if model not in self._reported:
            self._reported.add(model)
            logger.warning("%s has no model %s; its own one answers", self._profile.title, model)


class _AgentRun:
    """One request's run: prepares, starts, asks, ends, tidies."""

    def __init__(
        self,
        profile: Profile,
        run: Run,
        folder: RunFolder,
        request: ModelRequest,
        limits: Limits,
        secret_names: Sequence[str],
    ) -> None:
        self._profile = profile
        self._run = run
        self._folder = folder
        self._request = request
        self._limits = limits
        self._mask = Mask(run.environment, secret_names)
        self._log = AgentLog(profile.title, self._mask)
        self._process: AgentProcess | None = None

    async def answer(self) -> ModelReply | ModelFailure:
        """The reply or the failure, secrets masked."""
        try:
            return await self._within_time()
        except Failed as failed:
            failure = failed.failure(self._log.lines)
            return replace(failure, message=self._mask(failure.message), sent=self._process is not None)
        finally:
            await uninterrupted(asyncio.to_thread(self._tidy))

    async def release(self) -> None:
        """To be called when the folder is gone."""
        if self._process is not None:
            await self._process.release()

    async def _within_time(self) -> ModelReply:
        milliseconds = min(self._request.timeout_ms, LONGEST_TIMEOUT_MS)
        try:
            async with asyncio.timeout(milliseconds / 1000):
                launch = await self._prepared()
                return await self._ask(launch)
        except TimeoutError as error:
            raise Failed(
                "timeout", f"{self._profile.title} did not answer within {self._request.timeout_ms / 1000:g} s"
            ) from error

    async def _prepared(self) -> Launch:
        try:
            self._folder.note(self._facts())
            launch = await uninterrupted(asyncio.to_thread(self._profile.prepare, self._run))
        except (OSError, ValueError) as error:
            raise Failed("model_unavailable", f"{self._profile.title} cannot be used: {error}") from error
        self._mask.add(launch.environment)
        return launch

    async def _ask(self, launch: Launch) -> ModelReply:
        process = self._process = await self._started(launch)
        reading = asyncio.create_task(self._log.read(process.streams.stderr))
        connection: AgentConnection | None = None
        try:
            await load_library()
            connection = AgentConnection(process.streams, self._profile.title, self._mask)
            work, seconds = str(self._folder.work), self._limits.handshake_seconds
            conversation = Conversation(self._profile, launch, self._request, work, seconds, self._mask)
            return await conversation.hold(connection)
        except Closed as error:
            raise await self._broke_off(process, connection) from error
        finally:
            await uninterrupted(_end(process, connection, reading))

    async def _started(self, launch: Launch) -> AgentProcess:
        environment = {**self._run.environment, **launch.environment, RUN_VARIABLE: self._folder.name}
        check_texts(self._profile, launch.command, environment)
        program = program_of(self._profile, launch.command, environment)
        try:
            return await start_agent(Start(program, launch.command, environment, self._folder, self._note))
        except StartError as error:
            raise Failed("model_unavailable", not_started(self._profile, program, error)) from error
        except OSError as error:
            raise Failed("model_error", f"no process could be started for {self._profile.title}: {error}") from error

    def _note(self, agent_pid: int, launcher_pid: int | None) -> None:
        self._folder.note({**self._facts(), "agentPid": agent_pid, "launcherPid": launcher_pid})

    def _facts(self) -> dict[str, Any]:
        return {"agent": self._profile.name, "serverPid": os.getpid(), "startedAt": time.time()}

    async def _broke_off(self, process: AgentProcess, connection: AgentConnection | None) -> Failed:
        how = exit_words(await process.exit_code(EXIT_SECONDS))
        if connection is not None and connection.is_prompting:
            message = f"{self._profile.title} broke off in the middle of its answer: it {how}"
            return Failed("model_error", message, line=last_line)
        command = shortened(self._mask(" ".join(self._run.command)), 120)
        message = f"{self._profile.title} {how} before it could be asked; check that `{command}` runs and speaks ACP"
        return Failed("model_unavailable", message, line=last_line)

    def _tidy(self) -> None:
        try:
            self._folder.regain()
            self._profile.tidy(self._run)
        except OSError as error:
            logger.warning("what %s left behind could not be removed: %s", self._profile.title, error)


async def _end(process: AgentProcess, connection: AgentConnection | None, reading: asyncio.Task[None]) -> None:
    """Ends the agent, and reads its log to the last line."""
    if connection is not None:
        await connection.cancel()
    await process.end()
    if connection is not None:
        await connection.close()
    await reading


def check_texts(profile: Profile, command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raises Failed, which names the setting, where a text is none that the system gives to a program."""
    odd = "holds a character that no program can be given (NUL, or half of a surrogate pair)"
    for place, word in enumerate(command):
        if cannot_be_given(word):
            message = f"word {place + 1} of the command of {profile.title} {odd}; correct model.acp.command"
            raise Failed("model_unavailable", message, retryable=False)
    for name, value in environment.items():
        if cannot_be_given(name) or cannot_be_given(value):
            message = f"the variable {shortened(name, 80)}, which {profile.title} is to get, {odd}"
            raise Failed("model_unavailable", f"{message}; correct it, or model.acp.env", retryable=False)


def program_of(profile: Profile, command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The path of the command's program. Raises Failed, which says what is missing."""
    program = find_program(command[0], environment)
    if not isinstance(program, NoProgram):
        return program.path
    if program.found is not None:
        message = f"{program.found} is not a program that can be run; make it executable, or change model.acp.command"
        raise Failed("model_unavailable", message, retryable=False)
    install = f" {profile.install}" if profile.install else ""
    message = f"the command {command[0]} of {profile.title} was not found; install it or change model.acp.command."
    raise Failed("model_unavailable", message + install, retryable=False, absent=True)


def not_started(profile: Profile, program: str, error: OSError) -> str:
    """Why the system does not run a program that is there."""
    hint = {
        errno.ENOENT: " (the interpreter that its first line names is missing)",
        errno.ENOEXEC: " (it is neither a program for this machine nor a script that names its interpreter)",
    }.get(error.errno or 0, "")
    return f"{profile.title} could not be started: {program}: {error.strerror}{hint}"


async def _put_away(folder: RunFolder, agent_run: _AgentRun | None) -> None:
    """What guards the folder goes after it."""
    await asyncio.to_thread(_remove, folder)
    if agent_run is not None:
        await agent_run.release()


def _remove(folder: RunFolder) -> None:
    try:
        folder.remove()
    except OSError as error:
        logger.warning("the folder of an agent's run could not be removed and is tried again later: %s", error)
