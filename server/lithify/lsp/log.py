"""The log: to standard error and to the editor's output channel; never a message's content."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

ERROR_TYPE, WARNING_TYPE, INFO_TYPE, LOG_TYPE = 1, 2, 3, 4


class _Formatter(logging.Formatter):
    """Of the records of libraries only the template is shown: parameters and errors hold the user's text."""

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname.lower()
        if record.name.startswith("lithify"):
            return f"lithify {level}: {super().format(record)}"
        error = record.exc_info[1] if record.exc_info else None
        template = str(record.msg).partition("\n")[0]
        return f"lithify {level}: {record.name}: {template}{f' ({where(error)})' if error is not None else ''}"


class EditorHandler(logging.Handler):
    """Sends Lithify's records to the editor with `window/logMessage`."""

    def __init__(self, send: Callable[[int, str], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        self._send(message_type(record.levelno), record.getMessage())


def where(error: BaseException) -> str:
    """The kind of an error and the line it came from; never its text, which may quote the user's."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


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
