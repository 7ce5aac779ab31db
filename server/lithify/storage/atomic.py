"""A user's file written whole or not at all, never over something that is not kept."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from lithify.storage.system import sync_folder

_PRIVATE = 0o600
_AS_THE_USER_HAS_IT = 0o666


def write_new(path: Path, data: bytes, temporary: Path | None = None, *, private: bool = False) -> None:
    """A new file with these bytes, on the disk when this returns; never a part of them under this name.

    Till then they lie under a `temporary` name beside it. `private`: for the user alone. Raises FileExistsError, and
    OSError where it cannot be written; then nothing is left behind.
    """
    written = temporary or file_beside(path)
    _write(written, data, _PRIVATE if private else _AS_THE_USER_HAS_IT)
    try:
        _place_new(written, path)
    finally:
        written.unlink(missing_ok=True)
    sync_folder(path.parent)


def replace_with_backup(path: Path, data: bytes, backup_path: Path, temporary: Path | None = None) -> None:
    """These bytes in place of the file's, which stay under `backup_path`; rights and, where allowed, owner are kept.

    A symbolic link is followed, so that the file behind it is replaced. At any instant the old or the new bytes lie
    under `path`, and till they are there the new ones under a `temporary` name beside it. Raises FileExistsError when
    the backup's name is taken, and OSError; then nothing is changed.
    """
    path = path.resolve(strict=True)
    written = temporary or file_beside(path)
    _write(written, data, _PRIVATE)
    try:
        _copy_rights(path, written)
        _place_new(path, backup_path)
        try:
            sync_folder(backup_path.parent)
            os.replace(written, path)
        except BaseException:
            backup_path.unlink()
            raise
    finally:
        written.unlink(missing_ok=True)
    sync_folder(path.parent)


def file_beside(path: Path) -> Path:
    """A name for a file that is not finished yet, in the folder of a file; no agent takes it for a session."""
    return path.parent / f".lithify-{secrets.token_hex(8)}.tmp"


def _write(written: Path, data: bytes, mode: int) -> None:
    descriptor = os.open(written, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        written.unlink(missing_ok=True)
        raise


def _place_new(source: Path, target: Path) -> None:
    """The file under a second name, which must be free: a hard link, a copy where there are no links."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        _copy_new(source, target)


def _copy_new(source: Path, target: Path) -> None:
    with source.open("rb") as original, target.open("xb") as copy:
        try:
            shutil.copyfileobj(original, copy)
            copy.flush()
            os.fsync(copy.fileno())
            shutil.copystat(source, target)
        except BaseException:
            target.unlink()
            raise


def _copy_rights(source: Path, target: Path) -> None:
    status = source.stat()
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(target, status.st_uid, status.st_gid)
    target.chmod(stat.S_IMODE(status.st_mode))
