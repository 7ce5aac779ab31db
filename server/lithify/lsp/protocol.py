"""The protocol: one place where messages come in and go out.

pygls structures nested objects too (anything with a `jsonrpc` key inside a body), leaves requests with unfit params
unanswered, keeps a future for each notification, and cancels only the outer half of a command. Here a message is
structured once, at the top, and only when it is one of LSP's own; ours stay plain dicts, whatever keys they hold.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import re
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from lsprotocol import types
from pydantic import BaseModel, ValidationError
from pygls.protocol import LanguageServerProtocol, lsp_method

from lithify.core.events import storable_json
from lithify.core.outcomes import LithifyError
from lithify.lsp import errors
from lithify.lsp.framing import frame
from lithify.lsp.wire import ExecuteCommand

logger = logging.getLogger(__name__)

Handler = Callable[[Any], Awaitable[Any]]
NotificationHandler = Callable[[Any], None]

_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)')

DOCUMENT_METHODS = ("textDocument/", "notebookDocument/")


@dataclass(frozen=True, slots=True)
class _Request:
    params: type[BaseModel]
    handler: Handler


@dataclass(frozen=True, slots=True)
class _Notification:
    params: type[BaseModel]
    handler: NotificationHandler


class ClientError(Exception):
    """The editor answered one of our requests with an error."""

    def __init__(self, error: Any) -> None:
        error = error if isinstance(error, dict) else {}
        super().__init__(str(error.get("message", "an error without a message")))
        self.code = error.get("code")
        data = error.get("data")
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}


class LithifyProtocol(LanguageServerProtocol):
    """pygls' protocol with our messages beside LSP's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._requests: dict[str, _Request] = {}
        self._notifications: dict[str, _Notification] = {}
        self._commands: dict[str, _Request] = {}
        self._tasks: dict[int | str, asyncio.Task[None]] = {}
        self._progress_tasks: dict[int | str, asyncio.Task[Any]] = {}
        self._answers: dict[str, asyncio.Future[Any]] = {}
        self._next_id = 0
        self._initialized = False
        self.initialize_params: dict[str, Any] = {}
        self.on_initialize: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _: None
        self.on_shutdown: Callable[[list[asyncio.Task[None]]], Awaitable[None]] = _wait_for_all
        self.on_exit: Callable[[int], None] = lambda _: None
        for method in list(self.fm.builtin_features):
            if method.startswith(DOCUMENT_METHODS):  # nothing keeps documents yet, so nothing is told of them
                del self.fm.builtin_features[method]

    # --- what the features register ---

    def on_request(self, method: str, params: type[BaseModel], handler: Handler) -> None:
        """Answers a request of ours; the handler gets the checked params."""
        self._requests[method] = _Request(params, handler)

    def on_notification(self, method: str, params: type[BaseModel], handler: NotificationHandler) -> None:
        """Takes a notification of ours; the handler only queues, so that the order of arrival is kept."""
        self._notifications[method] = _Notification(params, handler)

    def on_command(self, name: str, params: type[BaseModel], handler: Handler) -> None:
        """Answers `workspace/executeCommand` for one command; the handler gets its one argument, checked."""
        self._commands[name] = _Request(params, handler)

    # --- in ---

    def receive(self, body: bytes) -> None:
        """One message body from the stream. Whatever it is, a request in it is answered."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            found = _ID.search(body[:4096])
            message_id = json.loads(found[1]) if found else None
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            self._answer_error(message_id, errors.plain_error(errors.PARSE_ERROR, f"the message is no JSON: {why}"))
            return
        self.handle_message(message)

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Nothing is structured inside a message."""
        return data

    def handle_message(self, message: Any) -> None:
        """Takes a message apart into request, notification or answer."""
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            message_id = message.get("id") if isinstance(message, dict) else None
            problem = "a message is a JSON object with jsonrpc '2.0'"
            self._answer_error(message_id, errors.plain_error(errors.INVALID_REQUEST, problem))
            return
        method, message_id = message.get("method"), message.get("id")
        if isinstance(method, str) and "id" not in message:
            self._take_notification(method, message)
        elif isinstance(method, str) and isinstance(message_id, (int, str)) and not isinstance(message_id, bool):
            self._take_request(message_id, method, message)
        elif method is None and ("result" in message or "error" in message):
            self._take_answer(message)
        else:
            problem = "a request has a method and an id that is a number or a string"
            self._answer_error(None, errors.plain_error(errors.INVALID_REQUEST, problem))

    def _take_request(self, message_id: int | str, method: str, message: dict[str, Any]) -> None:
        refusal = self._refusal(method)
        if refusal is not None:
            self._answer_error(message_id, refusal)
        elif method == types.SHUTDOWN:
            self._shutdown = True
            self._start(message_id, self.on_shutdown(self.cancel_all()))
        elif method == types.WORKSPACE_EXECUTE_COMMAND:
            self._start(message_id, self._run_command(message.get("params")))
        elif method in self._requests:
            known = self._requests[method]
            self._start(message_id, self._run(known, message.get("params"), method))
        else:
            self._take_lsp_request(message_id, method, message)

    def _refusal(self, method: str) -> dict[str, Any] | None:
        if self._shutdown:
            return errors.plain_error(errors.INVALID_REQUEST, "the server is shutting down")
        if method == types.INITIALIZE:
            if self._initialized:
                return errors.plain_error(errors.INVALID_REQUEST, "the server is initialized already")
            return None
        if not self._initialized:
            return errors.plain_error(errors.SERVER_NOT_INITIALIZED, f"{method} came before initialize")
        return None

    def _take_lsp_request(self, message_id: int | str, method: str, message: dict[str, Any]) -> None:
        params = message.get("params")
        try:
            structured = self._structured(method, message)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the request is answered
            logger.debug("Params of %s do not fit: %s", method, type(error).__name__)
            problem = f"the params of {method} do not fit the LSP specification"
            self._answer_error(message_id, errors.plain_error(errors.INVALID_PARAMS, problem))
            return
        if method == types.INITIALIZE:
            params = params if isinstance(params, dict) else {}
            refusal = self.on_initialize(params)
            if refusal is not None:
                self._answer_error(message_id, refusal)
                return
            self._initialized = True
            self.initialize_params = params
        contextvars.copy_context().run(self._handle_request, message_id, method, structured)

    def _take_notification(self, method: str, message: dict[str, Any]) -> None:
        if not self._initialized and method != types.EXIT:
            logger.warning("%s came before initialize and was not taken", method)
        elif method == types.CANCEL_REQUEST:
            self._cancel(message.get("params"))
        elif method == types.WINDOW_WORK_DONE_PROGRESS_CANCEL:
            self._cancel_progress(message.get("params"))
        elif method in self._notifications:
            self._take_own_notification(self._notifications[method], method, message.get("params"))
        elif method in self.fm.builtin_features or method in self.fm.features:
            self._take_lsp_notification(method, message)
        else:
            logger.debug("No handler for the notification %s", method)

    def _take_own_notification(self, known: _Notification, method: str, params: Any) -> None:
        try:
            known.handler(known.params.model_validate(params))
        except ValidationError as error:
            logger.warning("%s was not taken: %s", method, errors.field_problems(error))
        except LithifyError as error:
            logger.warning("%s was not taken: %s", method, error.message)

    def _take_lsp_notification(self, method: str, message: dict[str, Any]) -> None:
        try:
            structured = self._structured(method, message)
        except Exception as error:  # noqa: BLE001 - there is nobody to answer; the log tells
            logger.warning("The params of %s do not fit the LSP specification (%s)", method, type(error).__name__)
            return
        contextvars.copy_context().run(self._handle_notification, method, structured)

    def _structured(self, method: str, message: dict[str, Any]) -> Any:
        message_type = self.get_message_type(method)
        if message_type is None:
            return message.get("params")
        return self._converter.structure(message, message_type).params

    def _take_answer(self, message: dict[str, Any]) -> None:
        waiting = self._answers.pop(str(message.get("id")), None)
        if waiting is None or waiting.done():
            logger.debug("An answer came that nobody waits for")
        elif "error" in message:
            waiting.set_exception(ClientError(message["error"]))
        else:
            waiting.set_result(message.get("result"))

    def _execute_handler(
        self,
        msg_id: Any,
        handler: Any,
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Forgets the future of a handler once it is done, which pygls does for requests only."""

        def done(future: Future[Any]) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)

    # --- running our own requests ---

    async def _run_command(self, params: Any) -> Any:
        command = _checked(ExecuteCommand, params, types.WORKSPACE_EXECUTE_COMMAND)
        known = self._commands.get(command.command)
        if known is None:
            raise LithifyError("invalid_params", f"there is no command {command.command!r}")
        arguments = command.arguments or [{}]
        if len(arguments) > 1:
            raise LithifyError("invalid_params", f"{command.command} takes one argument object, not {len(arguments)}")
        WORK_DONE_TOKEN.set(command.work_done_token)
        return await self._run(known, arguments[0], command.command)

    async def _run(self, known: _Request, params: Any, name: str) -> Any:
        return await known.handler(_checked(known.params, {} if params is None else params, name))

    def _start(self, message_id: int | str, work: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(self._answered(message_id, work))
        self._tasks[message_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(message_id, None))

    async def _answered(self, message_id: int | str, work: Awaitable[Any]) -> None:
        try:
            self.send({"jsonrpc": self.VERSION, "id": message_id, "result": await work})
        except asyncio.CancelledError:
            cancelled = LithifyError("cancelled", "the request was cancelled; nothing was changed")
            self._answer_error(message_id, errors.response_error(cancelled))
        except LithifyError as error:
            self._answer_error(message_id, errors.response_error(error))
        except Exception as error:
            logger.exception("A request failed")
            problem = f"internal error: {type(error).__name__}; please report it"
            self._answer_error(message_id, errors.plain_error(errors.INTERNAL_ERROR, problem))

    def cancel_all(self) -> list[asyncio.Task[None]]:
        """Cancels all running requests; the tasks that are ending."""
        running = list(self._tasks.values())
        for task in running:
            task.cancel()
        return running

    def _cancel(self, params: Any) -> None:
        message_id = params.get("id") if isinstance(params, dict) else None
        task = self._tasks.get(message_id) if isinstance(message_id, (int, str)) else None
        if task is not None:
            task.cancel()

    def _cancel_progress(self, params: Any) -> None:
        token = params.get("token") if isinstance(params, dict) else None
        task = self._progress_tasks.get(token) if isinstance(token, (int, str)) else None
        if task is not None:
            task.cancel()

    def cancel_with(self, token: int | str) -> Callable[[], None]:
        """Lets `window/workDoneProgress/cancel` of this token cancel the running task; call the result to stop that."""
        task = asyncio.current_task()
        if task is not None:
            self._progress_tasks[token] = task

        def forget() -> None:
            self._progress_tasks.pop(token, None)

        return forget

    # --- out ---

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message that is plain JSON already."""
        if self.writer is not None:
            self.writer.write(frame(storable_json(message).encode()))

    def tell(self, method: str, params: Any) -> None:
        """Sends a notification that is plain JSON already."""
        self.send({"jsonrpc": self.VERSION, "method": method, "params": params})

    async def ask_client(self, method: str, params: Any) -> Any:
        """Sends a request and waits for its answer. Raises ClientError. Nothing is left behind when cancelled."""
        self._next_id += 1
        message_id = f"lithify-{self._next_id}"
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers[message_id] = waiting
        try:
            self.send({"jsonrpc": self.VERSION, "id": message_id, "method": method, "params": params})
            return await waiting
        finally:
            self._answers.pop(message_id, None)

    def _send_data(self, data: Any) -> None:
        """pygls' own way out: the same frames, and no body in any log."""
        if data:
            self.send(json.loads(json.dumps(data, default=self._serialize_message)))

    def _answer_error(self, message_id: Any, error: dict[str, Any]) -> None:
        message_id = message_id if isinstance(message_id, (int, str)) else None
        self.send({"jsonrpc": self.VERSION, "id": message_id, "error": error})

    # --- lifecycle ---

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Any:
        """Announces our commands and the version of the wire contract."""
        result = yield from super().lsp_initialize(params)
        result.capabilities.experimental = {"lithify": {"protocolVersion": 1}}
        result.capabilities.execute_command_provider = types.ExecuteCommandOptions(commands=list(self._commands))
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> Any:
        """Ends the process: 0 after a shutdown, else 1, as LSP says."""
        self.on_exit(0 if self._shutdown else 1)


WORK_DONE_TOKEN: contextvars.ContextVar[int | str | None] = contextvars.ContextVar("work_done_token", default=None)
"""The token under which the editor wants to hear of the running command's progress."""


async def _wait_for_all(ending: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*ending, return_exceptions=True)


def _checked(shape: Any, params: Any, name: str) -> Any:
    try:
        return shape.model_validate(params)
    except ValidationError as error:
        raise errors.invalid_params(error, name) from None
