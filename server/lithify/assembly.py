"""Builds everything from the settings; the only place that names concrete classes."""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from lithify.core.breaker import phase
from lithify.core.events import EventResult
from lithify.core.forced_formats import forced_format
from lithify.core.model_calls import ModelFailure
from lithify.core.outcomes import LithifyError
from lithify.core.pipeline import Purpose
from lithify.core.projects import BufferSize, Project, ProjectCounts
from lithify.core.settings import Settings
from lithify.core.status import BufferStatus, WorkStatus, buffer_status
from lithify.llm import choice
from lithify.llm.acp.folders import is_run_folder
from lithify.llm.acp.runs import sweep
from lithify.llm.editor import Client, EditorModel
from lithify.prompt_files.templates import ConversationPrompt, find_conversation_prompt, find_template, user_prompts_dir
from lithify.storage.agent_sessions.catalogue import Catalogue
from lithify.storage.paths import data_dir
from lithify.storage.preview_files import PreviewFiles
from lithify.storage.projects import find_project, path_of
from lithify.storage.session_files import SessionFiles
from lithify.storage.store import open_store
from lithify.storage.unfinished import Unfinished
from lithify.workers.agent_sessions import AgentSessions
from lithify.workers.buffer_compaction import BufferCompactor
from lithify.workers.document_compaction import DocumentCompactor, Workplace
from lithify.workers.document_places import Desk, Places
from lithify.workers.document_records import DocumentRecords
from lithify.workers.document_undo import DocumentUndoer
from lithify.workers.document_writing import DocumentWriter, Marks
from lithify.workers.extraction import Extractor
from lithify.workers.ingestion import EventBatch, Ingestion
from lithify.workers.model_use import Ledger, ModelUse
from lithify.workers.ports import Models, Store
from lithify.workers.session_compaction import SessionCompactor
from lithify.workers.sessions import SessionKeeper
from lithify.workers.storage_thread import StorageThread, one_at_a_time
from lithify.workers.watcher import LOOK_EVERY_SECONDS, Watcher

logger = logging.getLogger(__name__)

USER = "user"


def now() -> str:
    """The time, as stored and sent: ISO 8601 in UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def now_in_transcripts() -> str:
    """The time, as coding agents write it: ISO 8601 in UTC with milliseconds, `Z` at the end."""
    return now().replace("+00:00", "Z")


def hour_ago() -> str:
    """The time an hour ago, as stored."""
    return (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds")


def now_ms() -> int:
    """The time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> float:
    """A clock that never goes back, in milliseconds."""
    return time.monotonic() * 1000


def new_id() -> str:
    """A new ULID."""
    from ulid import ULID

    return str(ULID())


MARKS = Marks(now_in_transcripts, new_id, lambda: str(uuid4()))
"""What new records of transcripts are marked with."""


def actor_id() -> str:
    """The operating system's name for the user, at most 128 characters."""
    try:
        return getpass.getuser()[:128] or USER
    except (OSError, KeyError):
        return USER


def find_prompt() -> ConversationPrompt:
    """The prompt that conversations are compacted with."""
    return find_conversation_prompt(user_prompts_dir())


def session_files(folder: Path, environment: Mapping[str, str]) -> SessionFiles:
    """The chat files on the disk and the sessions of agents, with their backups in a data folder; none that its agent
    has open is written."""
    return SessionFiles(folder, environment)


def project_finder(workspace_folders: Sequence[str]) -> Callable[[str | None], Project]:
    """Finds the project of a path or URI; None means the first workspace folder, else the working folder, else (where
    that was deleted) the home folder."""
    folders = tuple(path_of(folder) for folder in workspace_folders)
    home = str(Path.home())
    default = folders[0] if folders else _working_folder() or home

    @lru_cache(maxsize=1024)
    def find(named: str | None) -> Project:
        path = default if named is None else os.path.join(default, os.path.expanduser(path_of(named)))
        return find_project(path, folders, home)

    return find


def _working_folder() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


@dataclass(slots=True)
class Hooks:
    """What the assembled parts ask back, each read anew at every call."""

    settings: Callable[[], Settings]
    find_project: Callable[[str | None], Project]
    on_change: Callable[[Project], None]
    on_trouble: Callable[[], None]
    on_look: Callable[[], None]
    """Called about every second, once the buffers were looked at."""
    client: Client | None
    desk: Desk


async def _sweep(left_behind: Callable[[], object], what: str) -> None:
    """Takes away what dead servers left; what stays is swept by the next one."""
    try:
        await asyncio.to_thread(left_behind)
    except OSError as error:
        logger.warning("%s that were left behind could not be looked at: %s", what, error)


class Lithify:
    """The assembled parts of one server process."""

    def __init__(self, hooks: Hooks, environment: dict[str, str]) -> None:
        self._hooks = hooks
        self._environment = environment
        self.data_dir = data_dir(hooks.settings().data_dir, environment)
        self.previews = PreviewFiles(self.data_dir / "previews")
        self.ingestion = Ingestion(hooks.settings, hooks.find_project, hooks.on_change, is_run_folder)
        self.storage: StorageThread[EventBatch, list[EventResult]] = StorageThread(
            lambda: open_store(self.data_dir, now), self.ingestion.handle, on_trouble=hooks.on_trouble
        )
        self.sessions = SessionKeeper(hooks.settings, self.ingestion, now, new_id, actor_id(), hooks.on_change)
        editor = EditorModel(hooks.client, new_id) if hooks.client is not None else None
        self._models = choice.Models(editor, environment)
        self.compactor = SessionCompactor(
            self.storage.run, self.sessions, hooks.settings, self.choose_models, find_prompt, now, new_id
        )
        self.document_compactor = self._document_compactor()
        self.agent_sessions = AgentSessions(Catalogue(environment))
        use = ModelUse(one_at_a_time(self.storage.run), hooks.settings, self.choose_models, now, hour_ago)
        self.extractor = Extractor(
            use,
            hooks.settings,
            lambda: find_template("extraction"),
            new_id,
            now_ms,
            asyncio.sleep,
            hooks.on_change,
        )
        self.buffer_compactor = BufferCompactor(
            use,
            hooks.settings,
            lambda: find_template("buffer_compaction"),
            new_id,
            now_ms,
            asyncio.sleep,
            self.extractor.first_claim,
            hooks.on_change,
        )
        self.watcher = Watcher(
            self.storage.run, hooks.settings, self.extractor, self.buffer_compactor, monotonic_ms, hooks.on_change
        )

    def choose_models(self) -> Models | ModelFailure:
        """The models that the next call goes to, in the order in which they are tried."""
        return self._models.choose(self._hooks.settings().model)

    def _document_compactor(self) -> DocumentCompactor:
        settings = self._hooks.settings

        def format_of(uri: str) -> str | None:
            return forced_format(settings().documents.formats, uri)

        places = Places(self._hooks.desk, session_files(self.data_dir, self._environment), format_of=format_of)
        records = DocumentRecords(self.storage.run)
        workplace = Workplace(settings, self.choose_models, find_prompt, Ledger(self.storage.run, now), new_id)
        writer = DocumentWriter(places, records, MARKS, lambda: settings().conversation.keep_originals)
        undoer = DocumentUndoer(places, records)
        return DocumentCompactor(places, writer, undoer, self.compactor.drafts, workplace)

    async def watch(self) -> None:
        """Watches the buffers until it is cancelled: what is due is started, what waits is fed in as room appears. What
        servers and commands that were killed left behind is taken away first."""
        left_behind = (
            (sweep, "Runs of agents"),
            (self.previews.sweep, "Previews of compactions"),
            (Unfinished(self.data_dir).sweep, "Parts of sessions"),
        )
        sweeping = [asyncio.ensure_future(_sweep(*one)) for one in left_behind]
        try:
            while True:
                try:
                    await self.watcher.look()
                except LithifyError as error:
                    logger.debug("The buffers cannot be looked at: %s", error.message)
                except Exception as error:  # noqa: BLE001 - the next look may go well, and the log tells
                    logger.error("The buffers could not be looked at: %s", type(error).__name__)  # noqa: TRY400
                self._hooks.on_look()
                await asyncio.sleep(LOOK_EVERY_SECONDS)
        finally:
            for one in sweeping:
                one.cancel()
            await self.watcher.stop()

    async def status(self, project: Project) -> BufferStatus:
        """The state of a project's buffer now; `degraded`, with the reason, when it cannot be read."""
        settings = self._hooks.settings()
        problem = self.storage.problem

        def read(store: Store) -> BufferStatus:
            project_id = project.project_id
            return buffer_status(
                project,
                store.events.size(project_id),
                store.events.counts(project_id),
                settings,
                extraction=_work(store, project_id, "extraction", settings.extraction.cooldown_ms),
                compaction=_work(store, project_id, "compaction", settings.buffer_compaction.cooldown_ms),
                use=store.model_use_since(hour_ago()),
                problem=store.events.disk_error(project_id) or problem,
            )

        try:
            return await self.storage.run(read)
        except Exception as error:  # noqa: BLE001 - a status is answered whatever is broken
            nothing = ProjectCounts(waiting=0, records=0, recording=True)
            return buffer_status(project, BufferSize(0, 0), nothing, settings, problem=str(error))


def _work(store: Store, project_id: str, purpose: Purpose, cooldown_ms: int) -> WorkStatus:
    run = store.pipeline.run_state(project_id, purpose)
    return WorkStatus(store.staging.is_working(project_id, purpose), phase(run.breaker, now_ms(), cooldown_ms), run)
