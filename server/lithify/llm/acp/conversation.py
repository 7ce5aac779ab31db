"""One request put to an agent: handshake, session, model, prompt, and what its answer is worth."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.core.model_calls import ModelReply, ModelRequest, Usage
from lithify.llm.acp.connection import PROTOCOL_VERSION, AgentConnection, AgentError
from lithify.llm.acp.failures import (
    LONGEST_NAME,
    Failed,
    error_sentence,
    failure_of_error,
    is_about_login,
    login_sentence,
    shortened,
    telling_line,
    words_of,
)
from lithify.llm.acp.model_choice import Offer, offer_of
from lithify.llm.acp.profile import Launch, Profile

logger = logging.getLogger(__name__)

MOST_TOKENS = 1 << 53
"""What is more is no count of tokens."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is to be asked of which agent. `work` is its working folder; the handshake and the opening of the session
    may take `handshake_seconds` each; `mask` takes the secrets out of what is shown."""

    profile: Profile
    launch: Launch
    request: ModelRequest
    work: str
    handshake_seconds: float
    mask: Callable[[str], str]

    async def hold(self, connection: AgentConnection) -> ModelReply:
        """The agent's answer. Raises Failed, and `connection.Closed` when the agent is gone."""
        agent = await self._opening(connection, connection.initialize())
        self._check_version(agent)
        opening = connection.open_session(self.work, self.launch.session_meta)
        session = await self._opening(connection, opening, agent)
        model, missing = await self._choose_model(connection, offer_of(session))
        try:
            text, answer = await connection.prompt(self._texts())
        except AgentError as error:
            raise self._failure("the prompt", error, agent, opening=False) from error
        return self._reply(text, answer, model, missing)

    async def _opening(
        self, connection: AgentConnection, work: Awaitable[Mapping[str, Any]], agent: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        what = "the handshake" if agent is None else "opening a session"
        try:
            async with asyncio.timeout(self.handshake_seconds):
                return await work
        except TimeoutError as error:
            raise Failed("timeout", self._silence(what, connection.skipped_lines), line=telling_line) from error
        except AgentError as error:
            raise self._failure(what, error, agent or {}, opening=True) from error

    def _silence(self, what: str, skipped: int) -> str:
        printed = f"; it printed {skipped} lines that are no messages of the protocol" if skipped else ""
        return (
            f"{self.profile.title} did not answer {what} within {self.handshake_seconds:g} s{printed}; "
            f"check that `{self._shown(' '.join(self.launch.command), 120)}` is the command that speaks ACP"
        )

    def _failure(self, what: str, error: AgentError, agent: Mapping[str, Any], *, opening: bool) -> Failed:
        if is_about_login(error.error, opening=opening and bool(agent)):
            methods = [self._shown(name) for name in login_methods(agent)]
            said = error_sentence(error.error)
            sentence = login_sentence(self.profile.title, said, methods, self.profile.keys)
            return Failed("model_unavailable", sentence, retryable=False)
        return failure_of_error(self.profile.title, what, error.error)

    def _check_version(self, agent: Mapping[str, Any]) -> None:
        version = agent.get("protocolVersion")
        if version != PROTOCOL_VERSION or isinstance(version, bool):
            raise Failed(
                "model_unavailable",
                f"{self.profile.title} speaks version {self._shown(version)} of the Agent Client Protocol, "
                f"Lithify speaks version {PROTOCOL_VERSION}; install a version of the agent that does too",
                retryable=False,
            )

    async def _choose_model(self, connection: AgentConnection, offer: Offer | None) -> tuple[str, str | None]:
        """The model that answers, and the one that was asked for where the agent does not have it."""
        asked = self.launch.model or self.request.model
        current = (offer.current if offer is not None else None) or self.profile.name
        if asked is None:
            return current, None
        if self.launch.model_settled:
            return (offer.current if offer is not None else None) or asked, None
        chosen = offer.find(asked) if offer is not None else None
        if offer is None or chosen is None:
            return current, self.request.model
        if chosen != offer.current:
            try:
                await self._set_model(connection, offer, chosen)
            except AgentError as error:
                logger.debug(
                    "%s refused the model %s: %s", self.profile.title, self._shown(chosen), error_sentence(error.error)
                )
                return current, self.request.model
        return chosen, None

    async def _set_model(self, connection: AgentConnection, offer: Offer, model: str) -> None:
        if offer.option is not None:
            await connection.set_option(offer.option, model)
        else:
            await connection.set_model(model)

    def _texts(self) -> list[str]:
        first = self.request.system_prompt if self.launch.system_prompt == "before_text" else ""
        return [text for text in (first, *self.request.parts) if text]

    def _reply(self, text: str, answer: Mapping[str, Any], model: str, missing: str | None) -> ModelReply:
        reason = answer.get("stopReason")
        self._check_end(reason, text)
        other = self._shown(reason) if reason is not None else None
        return ModelReply(
            text=text,
            provider="acp",
            model=self._shown(model),
            stop_reason="end" if reason == "end_turn" else other,
            usage=usage_of(answer),
            missing_model=missing,
        )

    def _shown(self, value: Any, most: int = LONGEST_NAME) -> str:
        """Foreign words as they may be shown: without secrets, in one line, of bounded length."""
        return shortened(self.mask(words_of(value)), most)

    def _check_end(self, reason: Any, text: str) -> None:
        title = self.profile.title
        if not isinstance(reason, str | None):
            raise Failed("model_error", f"{title} ended its turn with an odd stop reason ({self._shown(reason)})")
        match reason:
            case "refusal":
                raise Failed("model_error", f"the model of {title} refused to answer", retryable=False)
            case "cancelled":
                raise Failed("model_error", f"{title} cancelled the request by itself")
            case "max_turn_requests":
                raise Failed("model_error", f"{title} reached its own limit of requests in one turn")
            case "max_tokens" if not text.strip():
                raise Failed("empty_response", f"the model of {title} used up its tokens before it said anything")
        if not text.strip():
            raise Failed(
                "empty_response",
                f"{title} ended its turn without a text, which is how agents hide an error of their model "
                "(a wrong key, a used-up quota, a model that is not there); ask it something in its own program to see",
                line=telling_line,
            )


def login_methods(agent: Mapping[str, Any]) -> Sequence[str]:
    """The ways to log in that an agent told in the handshake, by their names; ten at most."""
    methods = agent.get("authMethods")
    known = methods if isinstance(methods, list) else []
    names = [method.get("name") for method in known if isinstance(method, Mapping)]
    return [name for name in names if isinstance(name, str) and name][:10]


def usage_of(answer: Mapping[str, Any]) -> Usage | None:
    """The tokens that the answer to a prompt tells."""
    usage = answer.get("usage")
    if not isinstance(usage, Mapping):
        return None
    return Usage(_count(usage.get("inputTokens")), _count(usage.get("outputTokens")))


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS
    return value if is_count else None
