"""The server of one editor: its settings, its workspace, its assembled parts."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pydantic import ValidationError
from pygls.lsp.server import LanguageServer

from lithify import __version__
from lithify.core.settings import SettingProblem, Settings, read_settings, unknown_settings
from lithify.core.stored_json import storable_json
from lithify.lsp import errors, log
from lithify.lsp.folders import folders_of
from lithify.lsp.protocol import LithifyProtocol
from lithify.lsp.wire_base import ClientOptions, is_place, is_unicode
from lithify.storage.paths import named_data_dir

if TYPE_CHECKING:
    from lithify.assembly import Lithify
    from lithify.core.projects import Project
    from lithify.lsp.documents import Documents
    from lithify.lsp.instructions import Instructions
    from lithify.lsp.read_only import ReadOnlyReasons
    from lithify.lsp.session_documents import SessionDocuments

logger = logging.getLogger(__name__)

EARLY_LOG = 50
"""Lines of the log kept for the editor until it has been answered to `initialize`."""

CANCEL_SECONDS = 0.3
FLUSH_SECONDS = 1.0
"""Together less than the two seconds in which the process follows its editor."""


class LithifyServer(LanguageServer):
    """One server process: what it needs to answer `initialize`. `begin` makes the rest after that, so that the answer
    waits for no import of it."""

    protocol: LithifyProtocol
    documents: Documents
    session_documents: SessionDocuments
    read_only: ReadOnlyReasons
    instructions: Instructions
    find_project: Callable[[str | None], Project]
    """The project of a path or URI; None means the first workspace folder, else the working folder."""

    def __init__(self, begin: Callable[[LithifyServer], Lithify]) -> None:
        super().__init__(
            "lithify",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.None_,
            protocol_cls=LithifyProtocol,
        )
        self.settings = Settings()
        self.initial_settings: dict[str, Any] = {}
        self.client = ClientOptions()
        self.client_name = "unknown"
        self.folders: tuple[str, ...] = ()
        self.on_project_changed: Callable[[Project], None] = lambda _: None
        self.on_all_changed: Callable[[], None] = lambda: None
        self.on_look: Callable[[], None] = lambda: None
        self.on_sessions_changed: Callable[[], None] = lambda: None
        """Sessions were changed by this editor, or may have been by another one."""
        self.on_settings_changed: Callable[[Settings, Settings], None] = lambda _before, _after: None
        self.on_folders_changed: Callable[[], None] = lambda: None
        self.initialized = asyncio.Event()
        """Set once the editor has said `initialize`, and its settings are valid."""
        self._early_log: deque[dict[str, Any]] = deque(maxlen=EARLY_LOG)
        self._kept: set[asyncio.Task[Any]] = set()
        self.exit_code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._begin = begin
        self._parts: Lithify | None = None
        self._capabilities: Any = None
        self._loop = asyncio.get_running_loop()
        self.protocol.on_initialize = self._initialize
        self.protocol.on_answered = self._answered
        self.protocol.on_shutdown = self._shut_down
        self.protocol.on_exit = self.stop
        log.set_up(self._log_to_editor)

    @property
    def parts(self) -> Lithify:
        """The assembled parts. Raises RuntimeError before `initialize` is answered."""
        if self._parts is None:
            raise RuntimeError("not initialized")
        return self._parts

    @property
    def can_create_progress(self) -> bool:
        """Whether the editor takes progress that we start."""
        return self.capable("window", "workDoneProgress")

    @property
    def can_be_asked_configuration(self) -> bool:
        """Whether the editor answers `workspace/configuration`."""
        return self.capable("workspace", "configuration")

    def capability(self, *path: str) -> Any:
        """What the editor said of itself under those names; None where it said nothing."""
        found = self._capabilities
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def capable(self, *path: str) -> bool:
        """Whether the editor said that it can do that."""
        return self.capability(*path) is True

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Keeps a task that nobody waits for until it is done."""
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)

    def set_folders(self, folders: tuple[str, ...]) -> None:
        """Takes the workspace's folders, as URIs or paths; what cannot be one is left out."""
        self.folders = tuple(folder for folder in folders if is_place(folder))
        self.on_folders_changed()

    def set_settings(self, settings: Settings) -> None:
        """Puts settings in force."""
        before, self.settings = self.settings, settings
        log.set_level(settings.log.level)
        self.on_all_changed()
        if self.initialized.is_set():
            self.on_settings_changed(before, settings)

    def show_error(self, message: str) -> None:
        """Shows the user an error."""
        self.protocol.tell("window/showMessage", {"type": log.ERROR_TYPE, "message": message})

    def show_note(self, message: str) -> None:
        """Tells the user something that they asked for."""
        self.protocol.tell("window/showMessage", {"type": log.INFO_TYPE, "message": message})

    def show_warning(self, message: str) -> None:
        """Warns the user of what came of something that they asked for."""
        self.protocol.tell("window/showMessage", {"type": log.WARNING_TYPE, "message": message})

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Never a pop-up: errors of ours go to the log."""
        logger.error("%s: %s", getattr(source, "__name__", "error"), type(error).__name__)

    def stop(self, code: int) -> None:
        """Ends the process with that code, once what is queued is done."""
        if not self.exit_code.done():
            self.exit_code.set_result(code)

    async def finish(self) -> None:
        """Ends what runs, and stores what is queued."""
        self.protocol.inbox.take_all()
        for task in self._kept:
            task.cancel()
        if running := [*self.protocol.running.cancel_all(), *self._kept]:
            await asyncio.wait(running, timeout=CANCEL_SECONDS)
        if self._parts is None:
            return
        if not self._parts.storage.close(FLUSH_SECONDS):
            logger.error("Not everything that was queued could be stored in time")
        try:
            self._parts.previews.clear()
        except OSError as error:
            logger.error("The previews could not be deleted: %s", error)  # noqa: TRY400

    def backlog(self) -> int:
        """How much storage work is queued."""
        return self._parts.storage.backlog if self._parts is not None else 0

    async def _shut_down(self) -> None:
        """Eglot kills the server right after `exit`, so all is stored before `shutdown` is answered."""
        ending = set(self.protocol.running.cancel_all()) - {asyncio.current_task()}
        await asyncio.gather(*ending, return_exceptions=True)
        if self._parts is not None:
            await self._parts.storage.run(lambda _: None)

    def _initialize(self, params: dict[str, Any]) -> dict[str, Any] | None:
        """Takes the settings, the folders and what the editor handles; an error when a setting is invalid."""
        options = params.get("initializationOptions")
        settings = read_settings(options)
        client, client_problems = _client_options(options)
        if isinstance(settings, list) or client_problems:
            return invalid_settings([*(settings if isinstance(settings, list) else []), *client_problems])
        self.client = client
        self.initial_settings = options if isinstance(options, dict) else {}
        try:
            named_data_dir(settings.data_dir, os.environ)
        except RuntimeError as error:
            return invalid_settings([SettingProblem("dataDir", settings.data_dir, f"a folder that can be ({error})")])
        info = params.get("clientInfo")
        name = info.get("name") if isinstance(info, dict) else None
        self.client_name = name if isinstance(name, str) and name and is_unicode(name) else "unknown"
        self.set_folders(folders_of(params))
        self.set_settings(settings)
        for unknown in unknown_settings(options):
            logger.warning("There is no setting lithify.%s", unknown)
        self._capabilities = params.get("capabilities")
        self.initialized.set()
        self._loop.call_soon(self._tell_early_log)  # after the answer to this request
        return None

    def _answered(self) -> None:
        """The editor has its answer. What fails now ends the process: it could do nothing of what it announced."""
        try:
            self._parts = self._begin(self)
        except Exception as error:  # noqa: BLE001 - whoever waits for the exit code raises it
            self.protocol.failure = errors.internal_error(error)
            if not self.exit_code.done():
                self.exit_code.set_exception(error)
            return
        self.keep(asyncio.ensure_future(self._parts.watch()))

    def project_changed(self, project: Project) -> None:
        """Called from the storage thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.on_project_changed, project)

    def looked(self) -> None:
        """After each look at the buffers, on the event loop."""
        self.on_look()
        self.on_sessions_changed()

    def all_changed(self) -> None:
        """Called from the storage thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.on_all_changed)

    def _log_to_editor(self, kind: int, message: str) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell_log, {"type": kind, "message": message})

    def _tell_log(self, params: dict[str, Any]) -> None:
        if self.initialized.is_set():
            self.protocol.tell("window/logMessage", params)
        else:  # before that, LSP lets a server say nothing
            self._early_log.append(params)

    def _tell_early_log(self) -> None:
        while self._early_log:
            self.protocol.tell("window/logMessage", self._early_log.popleft())


def invalid_settings(problems: list[SettingProblem]) -> dict[str, Any]:
    """The error that `initialize` fails with, one entry for each problem."""
    shown = [{"setting": one.setting, "given": _shown(one.given), "expected": one.expected} for one in problems]
    error = errors.plain_error(errors.INVALID_PARAMS, f"invalid settings: {describe(problems)}")
    return {**error, "data": {"type": "invalid_settings", "retryable": False, "problems": shown}}


def _shown(given: Any) -> Any:
    """What was given, as far as JSON can hold it."""
    try:
        storable_json(given)
    except ValueError:
        return repr(given)
    return given


def describe(problems: list[SettingProblem]) -> str:
    """The problems in a sentence."""
    return "; ".join(f"lithify.{one.setting} is {one.given!r}, expected {one.expected}" for one in problems)


def _client_options(options: Any) -> tuple[ClientOptions, list[SettingProblem]]:
    given = options.get("client") if isinstance(options, dict) else None
    try:
        return ClientOptions.model_validate({} if given is None else given), []
    except ValidationError:
        expected = "an object with complete, bufferStatus, sessionChanged and askInstructions, each true or false"
        return ClientOptions(), [SettingProblem("client", given, expected)]
