"""A model server on loopback that answers from a script, in the shapes of OpenAI, of Anthropic and of Gemini.

In a coroutine::

    async with ModelServer([rate_limited(1), Text("a summary")]) as server:
        ...  # a client of OpenAI is given server.base_url, one of Anthropic server.root_url
        request = await server.asked(2)

Elsewhere `with serve(Text("a summary")) as server:`, and by hand `python -m tests.support.model_server --text "..."`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from tests.support.model_server.answers import (
    Answer,
    ByWire,
    Commented,
    CutOff,
    Drip,
    Dropped,
    Error,
    ErrorInStream,
    Garbage,
    Hang,
    Redirect,
    Shredded,
    Silent,
    Slow,
    Text,
    ToolCall,
)
from tests.support.model_server.errors import (
    anthropic_no_room_for_output,
    body_too_large,
    context_too_long,
    deepseek_context_too_long,
    forbidden,
    llama_cpp_context_too_long,
    llama_cpp_context_too_long_of_old,
    llama_cpp_loading,
    moonshot_context_too_long,
    moonshot_overloaded,
    ollama_unknown_model,
    ollama_unknown_model_in_words,
    openrouter_error_in_stream,
    openrouter_out_of_credits,
    openrouter_unknown_model,
    overloaded,
    quota_exhausted,
    rate_limited,
    server_error,
    unauthorized,
    unknown_model,
    vllm_context_too_long,
)
from tests.support.model_server.http import Request
from tests.support.model_server.serving import OK, WAIT_SECONDS, ModelServer, Script

__all__ = [
    "Answer",
    "ByWire",
    "Commented",
    "CutOff",
    "Drip",
    "Dropped",
    "Error",
    "ErrorInStream",
    "Garbage",
    "Hang",
    "ModelServer",
    "Redirect",
    "Request",
    "Script",
    "ServedModel",
    "Shredded",
    "Silent",
    "Slow",
    "Text",
    "ToolCall",
    "anthropic_no_room_for_output",
    "body_too_large",
    "context_too_long",
    "deepseek_context_too_long",
    "forbidden",
    "llama_cpp_context_too_long",
    "llama_cpp_context_too_long_of_old",
    "llama_cpp_loading",
    "moonshot_context_too_long",
    "moonshot_overloaded",
    "ollama_unknown_model",
    "ollama_unknown_model_in_words",
    "openrouter_error_in_stream",
    "openrouter_out_of_credits",
    "openrouter_unknown_model",
    "overloaded",
    "quota_exhausted",
    "rate_limited",
    "serve",
    "server_error",
    "unauthorized",
    "unknown_model",
    "vllm_context_too_long",
]

Result = TypeVar("Result")


class ServedModel:
    """A model server that runs in a thread of its own, for code that is not a coroutine."""

    def __init__(self, script: Script, models: Sequence[str], port: int) -> None:
        self.server = ModelServer(script, models=models, port=port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model server", daemon=True)

    @property
    def base_url(self) -> str:
        return self.server.base_url

    @property
    def root_url(self) -> str:
        return self.server.root_url

    @property
    def requests(self) -> list[Request]:
        return list(self.server.requests)

    @property
    def questions(self) -> list[Request]:
        return self.server.questions

    def asked(self, number: int = 1, *, seconds: float = WAIT_SECONDS) -> Request:
        return self._run(self.server.asked(number, seconds=seconds))

    def hung_up(self, number: int = 1, *, seconds: float = WAIT_SECONDS) -> Request:
        return self._run(self.server.hung_up(number, seconds=seconds))

    def do(self, action: Callable[[], object]) -> None:
        """Runs it in the server's thread: the way to open a gate, as in `served.do(gate.set)`."""
        self._loop.call_soon_threadsafe(action)

    def __enter__(self) -> ServedModel:
        self._thread.start()
        try:
            self._run(self.server.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        try:
            self._run(self.server.__aexit__(*error))
        finally:
            self._stop()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def serve(script: Script = OK, *, models: Sequence[str] = ("scripted-model",), port: int = 0) -> ServedModel:
    """A model server in a thread, to be used as a context manager; its failures come out of the block."""
    return ServedModel(script, models, port)
