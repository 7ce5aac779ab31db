"""The protocol: one place where messages come in and go out.

pygls structures nested objects too (anything with a `jsonrpc` key inside a body), leaves requests with unfit params
unanswered, keeps a future for each notification, and cancels only the outer half of a command. Here a message is
structured once, at the top, and only when it is one of LSP's own; ours stay plain dicts, whatever keys they hold.
"""

from __future__ import annotations

import contextvars
import json
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from lsprotocol import types
from pydantic import BaseModel, ValidationError
from pygls.protocol import LanguageServerProtocol, lsp_method

from lithify.core.outcomes import LithifyError
from lithify.core.stored_json import storable_json
from lithify.lsp import errors
from lithify.lsp.announced import announce
from lithify.lsp.asking import ClientRequests
from lithify.lsp.folders import with_usable_folders
from lithify.lsp.framing import frame
from lithify.lsp.inbox import Inbox
from lithify.lsp.log import where
from lithify.lsp.parsing import Unreadable, parse
from lithify.lsp.running import JsonText, MessageId, RunningRequests
from lithify.lsp.wire_base import ExecuteCommand

logger = logging.getLogger(__name__)

Handler = Callable[[Any], Awaitable[Any]]
NotificationHandler = Callable[[Any], None]

DOCUMENT_METHODS = ("textDocument/", "notebookDocument/")


@dataclass(frozen=True, slots=True)
class _Known:
    params: type[BaseModel]
    handler: Any
    cancellable: bool = False


class LithifyProtocol(LanguageServerProtocol):
    """pygls' protocol with our messages beside LSP's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._requests: dict[str, _Known] = {}
        self._notifications: dict[str, _Known] = {}
        self._commands: dict[str, _Known] = {}
        self.running = RunningRequests(self._answer)
        self.asking = ClientRequests(self.send)
        self.inbox = Inbox(self._take, lambda: self.running.started)
        self._initialized = False
        self.initialize_params: dict[str, Any] = {}
        self.failure: dict[str, Any] | None = None
        """The error that answers every request, where the server could not begin its work."""
        self.on_initialize: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda _: None
        self.on_answered: Callable[[], None] = lambda: None
        self.on_shutdown: Callable[[], Awaitable[None]] = _nothing
        self.on_exit: Callable[[int], None] = lambda _: None
        for method in list(self.fm.builtin_features):
            if method.startswith(DOCUMENT_METHODS):  # lsp.documents keeps the texts; nobody else keeps another copy
                del self.fm.builtin_features[method]

    # --- what the features register ---

    def on_request(self, method: str, params: type[BaseModel], handler: Handler) -> None:
        """Answers a request of ours; the handler gets the checked params."""
        self._requests[method] = _Known(params, handler)

    def on_notification(self, method: str, params: type[BaseModel], handler: NotificationHandler) -> None:
        """Takes a notification of ours; the handler only queues, so that the order of arrival is kept."""
        self._notifications[method] = _Known(params, handler)

    def on_command(self, name: str, params: type[BaseModel], handler: Handler, *, cancellable: bool = False) -> None:
        """Answers `workspace/executeCommand` for one command; the handler gets its one argument, checked."""
        self._commands[name] = _Known(params, handler, cancellable)

    # --- in ---

    def receive(self, body: bytes) -> None:
        """One message body from the stream. Never raises: whatever it is, a request in it is answered."""
        self.inbox.put(body)

    def _take(self, body: bytes) -> None:
        message = parse(body)
        if isinstance(message, Unreadable):
            problem = f"the message cannot be read: {message.problem}"
            self._answer_error(message.message_id, errors.plain_error(errors.PARSE_ERROR, problem))
            return
        try:
            self.handle_message(message)
        except Exception as error:  # noqa: BLE001 - the messages after this one must still be read
            logger.error("A message could not be handled: %s", where(error))  # noqa: TRY400
            if isinstance(message, dict) and "method" in message and "id" in message:
                self._answer_error(message["id"], errors.internal_error(error))

    def structure_message(self, data: dict[str, Any]) -> dict[str, Any]:
        """Nothing is structured inside a message."""
        return data

    def handle_message(self, message: Any) -> None:
        """Takes a message apart into request, notification or answer."""
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            problem = "a message is a JSON object with jsonrpc '2.0'"
            self._answer_error(_member(message, "id"), errors.plain_error(errors.INVALID_REQUEST, problem))
            return
        method, message_id = message.get("method"), message.get("id")
        if isinstance(method, str) and "id" not in message:
            self._take_notification(method, message)
        elif isinstance(method, str) and isinstance(message_id, (int, str)) and not isinstance(message_id, bool):
            self._take_request(message_id, method, message)
        elif method is None and "id" in message:
            self.asking.take_answer(message)
        else:
            problem = "a request has a method and an id that is a number or a string"
            self._answer_error(message_id, errors.plain_error(errors.INVALID_REQUEST, problem))

    def _take_request(self, message_id: MessageId, method: str, message: dict[str, Any]) -> None:
        if (refusal := self._refusal(method)) is not None:
            self._answer_error(message_id, refusal)
        elif method == types.SHUTDOWN:
            self._shutdown = True
            self.running.start(message_id, self.on_shutdown())
        elif method == types.WORKSPACE_EXECUTE_COMMAND:
            self._take_command(message_id, message.get("params"))
        elif method in self._requests:
            known = self._requests[method]
            work = self._run(known, message.get("params"), method)
            self.running.start(message_id, work, cancellable=known.cancellable)
        else:
            self._take_lsp_request(message_id, method, message)

    def _refusal(self, method: str) -> dict[str, Any] | None:
        if self.failure is not None:
            return self.failure
        if self._shutdown:
            return errors.plain_error(errors.INVALID_REQUEST, "the server is shutting down")
        if method == types.INITIALIZE:
            if self._initialized:
                return errors.plain_error(errors.INVALID_REQUEST, "the server is initialized already")
            return None
        if not self._initialized:
            return errors.plain_error(errors.SERVER_NOT_INITIALIZED, f"{method} came before initialize")
        return None

    def _take_lsp_request(self, message_id: MessageId, method: str, message: dict[str, Any]) -> None:
        params: Any = message.get("params")
        if method == types.INITIALIZE:
            params = with_usable_folders(params)
        if method not in self.fm.builtin_features and method not in self.fm.features:
            problem = f"there is no request {method}"
            self._answer_error(message_id, errors.plain_error(errors.METHOD_NOT_FOUND, problem))
            return
        try:
            structured = self._structured(method, {**message, "params": params})
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the request is answered
            logger.debug("Params of %s do not fit: %s", method, type(error).__name__)
            problem = f"the params of {method} do not fit the LSP specification"
            self._answer_error(message_id, errors.plain_error(errors.INVALID_PARAMS, problem))
            return
        if method == types.INITIALIZE:
            if (refusal := self.on_initialize(params)) is not None:
                self._answer_error(message_id, refusal)
                return
            self._initialized = True
            self.initialize_params = params
        contextvars.copy_context().run(self._handle_request, message_id, method, structured)
        if method == types.INITIALIZE:
            self.on_answered()

    def _take_notification(self, method: str, message: dict[str, Any]) -> None:
        if not self._initialized and method != types.EXIT:
            logger.warning("%s came before initialize and was not taken", method)
        elif method == types.CANCEL_REQUEST:
            self.running.cancel(_member(message.get("params"), "id"))
        elif method == types.WINDOW_WORK_DONE_PROGRESS_CANCEL:
            self.running.cancel_token(_member(message.get("params"), "token"))
        elif method in self._notifications:
            self._take_own_notification(self._notifications[method], method, message.get("params"))
        elif method in self.fm.builtin_features or method in self.fm.features:
            self._take_lsp_notification(method, message)
        else:
            level = logging.WARNING if method.startswith("lithify/") else logging.DEBUG
            logger.log(level, "There is no notification %s", method)

    def _take_own_notification(self, known: _Known, method: str, params: Any) -> None:
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

    def _take_command(self, message_id: MessageId, params: Any) -> None:
        name = _member(params, "command")
        known = self._commands.get(name) if isinstance(name, str) else None
        work = self._run_command(known, params)
        token = params.get("workDoneToken") if isinstance(params, dict) else None
        self.running.start(message_id, work, cancellable=known is not None and known.cancellable, token=token)

    async def _run_command(self, known: _Known | None, params: Any) -> Any:
        command = _checked(ExecuteCommand, params, types.WORKSPACE_EXECUTE_COMMAND)
        if known is None:
            raise LithifyError("invalid_params", f"command: there is no command {command.command!r}")
        arguments = command.arguments or [{}]
        if len(arguments) > 1:
            raise LithifyError(
                "invalid_params", f"arguments: {command.command} takes one argument object, not {len(arguments)}"
            )
        WORK_DONE_TOKEN.set(command.work_done_token)
        return await self._run(known, arguments[0], command.command)

    async def run_command(self, name: str, argument: dict[str, Any]) -> Any:
        """What one of our commands answers to that argument, in the task of the request that is answered by it."""
        return await self._run(self._commands[name], argument, name)

    async def _run(self, known: _Known, params: Any, name: str) -> Any:
        nothing = params is None or params == []  # Lua writes an empty table as a list
        return await known.handler(_checked(known.params, {} if nothing else params, name))

    # --- out ---

    def send(self, message: dict[str, Any]) -> None:
        """Sends a message that is plain JSON already."""
        self._write(storable_json(message))

    def _write(self, text: str) -> None:
        if self.writer is not None:
            self.writer.write(frame(text.encode()))

    def tell(self, method: str, params: Any) -> None:
        """Sends a notification that is plain JSON already."""
        self.send({"jsonrpc": self.VERSION, "method": method, "params": params})

    def _send_data(self, data: Any) -> None:
        """pygls' own way out: the same frames, and no body in any log."""
        if data:
            self.send(json.loads(json.dumps(data, default=self._serialize_message)))

    def _answer(self, message_id: Any, answer: dict[str, Any]) -> None:
        message, result = {"jsonrpc": self.VERSION, "id": message_id}, answer.get("result")
        if isinstance(result, JsonText):
            self._write(f'{storable_json(message)[:-1]},"result":{result.text}}}')
        else:
            self.send({**message, **answer})

    def _answer_error(self, message_id: Any, error: dict[str, Any]) -> None:
        self._answer(message_id if isinstance(message_id, (int, str)) else None, {"error": error})

    # --- lifecycle ---

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Any:
        """Announces what we have beside what pygls finds registered."""
        result = yield from super().lsp_initialize(params)
        announce(result.capabilities)
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: Any) -> Any:
        """Ends the process: 0 after a shutdown, else 1, as LSP says."""
        self.on_exit(0 if self._shutdown else 1)


WORK_DONE_TOKEN: contextvars.ContextVar[int | str | None] = contextvars.ContextVar("work_done_token", default=None)
"""The token under which the editor wants to hear of the running command's progress."""


async def _nothing() -> None:
    """What `shutdown` waits for where nothing is to be stored."""


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _checked(shape: Any, params: Any, name: str) -> Any:
    try:
        return shape.model_validate(params)
    except ValidationError as error:
        raise errors.invalid_params(error, name) from None
