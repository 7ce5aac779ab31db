"""The log: to standard error and to the editor's output channel; never a message's content."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

ERROR_TYPE, WARNING_TYPE, INFO_TYPE, LOG_TYPE = 1, 2, 3, 4


class _Formatter(logging.Formatter):
    """The library's own records carry parameters, which are the user's text: only their template is shown."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name.startswith("pygls"):
            kind = f" ({record.exc_info[0].__name__})" if record.exc_info and record.exc_info[0] else ""
            return f"lithify {record.levelname.lower()}: language server library: {record.msg}{kind}"
        return f"lithify {record.levelname.lower()}: {super().format(record)}"


class EditorHandler(logging.Handler):
    """Sends Lithify's records to the editor with `window/logMessage`."""

    def __init__(self, send: Callable[[int, str], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        self._send(message_type(record.levelno), record.getMessage())


def message_type(level: int) -> int:
    """The LSP MessageType of a logging level."""
    if level >= logging.ERROR:
        return ERROR_TYPE
    if level >= logging.WARNING:
        return WARNING_TYPE
    return INFO_TYPE if level >= logging.INFO else LOG_TYPE


def set_up(send: Callable[[int, str], None]) -> None:
    """Sends the log of this process to standard error and to the editor."""
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(_Formatter("%(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [to_stderr]
    root.setLevel(logging.WARNING)
    logging.getLogger("pygls").setLevel(logging.ERROR)
    own = logging.getLogger("lithify")
    own.handlers[:] = [EditorHandler(send)]


def set_level(name: str) -> None:
    """Sets what Lithify's own log holds; the library's stays at errors, since it logs bodies below."""
    logging.getLogger("lithify").setLevel(LEVELS[name])
