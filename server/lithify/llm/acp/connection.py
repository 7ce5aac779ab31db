"""The protocol with one agent: requests to it, what it tells meanwhile, and what we refuse it."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lithify
from lithify.llm.acp.failures import Failed, masked_error, shortened, without_halves, words_of
from lithify.llm.acp.streams import Streams
from lithify.llm.acp.transport import LineTransport

logger = logging.getLogger(__name__)

PROTOCOL_VERSION = 1

CAPABILITIES = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
"""What we offer an agent: nothing."""

MOST_CHARACTERS = 16 << 20
"""No answer is longer; one that is has run away."""


class AgentError(Exception):
    """The agent answered a request with an error, from which secrets are masked."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(words_of(error.get("message")))
        self.error = error


class Closed(Exception):
    """The agent has closed its output, or its input."""


async def load_library() -> None:
    """Imports `acp`, half a second the first time, without holding up the event loop."""
    await asyncio.to_thread(importlib.import_module, "acp")


class AgentConnection:
    """One agent, one session, one prompt."""

    def __init__(self, streams: Streams, title: str, mask: Callable[[str], str]) -> None:
        """The library must be loaded; `mask` takes the secrets out of what is shown."""
        from acp.connection import Connection

        self._title = title
        self._mask = mask
        self._session: str | None = None
        self.is_prompting = False
        """Whether the prompt was sent."""
        self._is_answered = False
        self._pieces: list[str] = []
        self._characters = 0
        self._stopped: asyncio.Future[Failed] = asyncio.get_running_loop().create_future()
        self._transport = LineTransport(streams.stdout, streams.stdin, self._notified, self._ran_away)
        self._rpc = Connection(self._answer, self._transport)

    @property
    def skipped_lines(self) -> int:
        """How much the agent printed that was no message."""
        return self._transport.skipped_lines

    async def initialize(self) -> Mapping[str, Any]:
        """The handshake; the agent's answer."""
        return await self._request(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                "clientCapabilities": CAPABILITIES,
                "clientInfo": {"name": "lithify", "title": "Lithify", "version": lithify.__version__},
            },
        )

    async def open_session(self, work: str, meta: Mapping[str, Any]) -> Mapping[str, Any]:
        """Opens the session in that folder; the agent's answer. Raises Failed where it names no session."""
        params: dict[str, Any] = {"cwd": work, "mcpServers": []}
        if meta:
            params["_meta"] = dict(meta)
        answer = await self._request("session/new", params)
        if not isinstance(answer.get("sessionId"), str):
            raise Failed("model_error", f"{self._title} opened a session without an id")
        self._session = answer["sessionId"]
        return answer

    async def set_option(self, option: str, value: str) -> Mapping[str, Any]:
        """Sets a configuration option of the session; the agent's answer."""
        params = {"sessionId": self._session, "configId": option, "value": value}
        return await self._request("session/set_config_option", params)

    async def set_model(self, model: str) -> None:
        """Chooses a model in the way of older agents."""
        await self._request("session/set_model", {"sessionId": self._session, "modelId": model})

    async def prompt(self, texts: Sequence[str]) -> tuple[str, Mapping[str, Any]]:
        """One prompt, each text a block of its own; all that the agent said, and its answer. Raises Failed at once when
        it uses a tool."""
        blocks = [{"type": "text", "text": text} for text in texts]
        self.is_prompting = True
        answer = await self._request("session/prompt", {"sessionId": self._session, "prompt": blocks})
        self._is_answered = True
        return without_halves("".join(self._pieces)), answer

    async def cancel(self) -> None:
        """Tells an agent at work that nobody waits for its answer any more."""
        if self.is_prompting and not self._is_answered:
            try:
                await asyncio.wait_for(
                    self._rpc.send_notification("session/cancel", {"sessionId": self._session}), CANCEL_SECONDS
                )
            except (ConnectionError, TimeoutError) as error:
                logger.debug("%s could not be told to cancel: %r", self._title, error)

    async def close(self) -> None:
        """Stops reading; to be called after the streams have ended or while nothing is awaited."""
        await self._rpc.close()

    async def _request(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The result; nothing for one that is no object. Raises AgentError, Closed, and Failed when the agent does what
        it must not."""
        from acp.exceptions import RequestError

        sending = asyncio.ensure_future(self._rpc.send_request(method, params))
        try:
            await asyncio.wait({sending, self._stopped}, return_when=asyncio.FIRST_COMPLETED)
            if self._stopped.done():
                raise self._stopped.result()
            answer = sending.result()
        except RequestError as error:
            told = {"code": error.code, "message": str(error), "data": error.data}
            raise AgentError(masked_error(told, self._mask)) from error
        except ConnectionError as error:
            raise Closed from error
        finally:
            if sending.done():
                sending.cancelled() or sending.exception()
            else:
                sending.cancel()
        return answer if isinstance(answer, Mapping) else {}

    def _notified(self, method: str, params: Any) -> None:
        """What the agent tells. Only the session's own words during the prompt are its answer."""
        update = params.get("update") if method == "session/update" and isinstance(params, Mapping) else None
        if not isinstance(update, Mapping):
            return
        match update.get("sessionUpdate"):
            case "tool_call" | "tool_call_update":
                self._stop(tool_failure(self._title, update, self._mask))
            case "agent_message_chunk" if self.is_prompting and params.get("sessionId") == self._session:
                self._take(update.get("content"))

    def _take(self, content: Any) -> None:
        text = content.get("text") if isinstance(content, Mapping) and content.get("type") == "text" else None
        if isinstance(text, str):
            self._pieces.append(text)
            self._characters += len(text)
            if self._characters > MOST_CHARACTERS:
                self._stop(Failed("model_error", f"{self._title} did not stop: more than {MOST_CHARACTERS} characters"))

    def _ran_away(self, reason: str) -> None:
        self._stop(Failed("model_error", f"{self._title} {reason}, so it was stopped"))

    def _stop(self, failure: Failed) -> None:
        if not self._stopped.done():
            self._stopped.set_result(failure)

    async def _answer(self, method: str, params: Any, is_notification: bool) -> dict[str, Any]:  # noqa: ARG002
        """What the agent asks of us: every permission is refused, and there is nothing else here."""
        from acp.exceptions import RequestError

        if method == "session/request_permission":
            return {"outcome": refusal(params)}
        raise RequestError.method_not_found(method)


CANCEL_SECONDS = 0.2


def tool_failure(title: str, update: Mapping[str, Any], mask: Callable[[str], str]) -> Failed:
    """The failure of an agent that uses a tool, by the tool's name or kind where it tells one."""
    names = (update.get(key) for key in ("title", "kind", "toolCallId"))
    tool = next((shortened(mask(name), 80) for name in names if isinstance(name, str) and name), "without a name")
    return Failed(
        "model_error",
        f"{title} wanted to use a tool ({tool}) where it was only asked for a text, so it was stopped; "
        "let it run without tools",
    )


def refusal(params: Any) -> dict[str, Any]:
    """The outcome that refuses a permission: the agent's own way to reject, else cancelled."""
    options = params.get("options") if isinstance(params, Mapping) else None
    ways = [option for option in options or [] if isinstance(option, Mapping)] if isinstance(options, list) else []
    for kind in ("reject_once", "reject_always"):
        for way in ways:
            if way.get("kind") == kind:
                return {"outcome": "selected", "optionId": way.get("optionId")}
    return {"outcome": "cancelled"}
