"""The operating system's calls behind the buffer's durability; the one place where tests let the disk fail.

A rewrite is: a temporary file in the same folder, its bytes, fsync, rename over the old file, fsync of the folder.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from lithify.storage.paths import open_private

LEFTOVER = ".rewrite-"


def replace_durably(path: Path, data: bytes) -> None:
    """These bytes in place of the file's; at any instant the old or the new ones. Raises OSError; then the old stay."""
    temporary = path.with_name(f"{path.name}{LEFTOVER}{secrets.token_hex(6)}")
    try:
        descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            written = 0
            while written < len(data):
                written += write(descriptor, data[written:])
            fsync(descriptor)
        finally:
            os.close(descriptor)
        rename(temporary, path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent)


def delete_durably(path: Path) -> None:
    """The file gone, if there was one. Raises OSError; then it stays."""
    with suppress(FileNotFoundError):
        unlink(path)
        sync_folder(path.parent)


def sweep(path: Path) -> None:
    """Removes the temporary files of rewrites that a crash cut short; only while the buffer's lock is held."""
    for leftover in path.parent.glob(f"{path.name}{LEFTOVER}*"):
        with suppress(OSError):
            leftover.unlink()


def sync_folder(folder: Path) -> None:
    """Makes new names in the folder survive a power cut; Windows has no way to ask for that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fsync(descriptor)
    finally:
        os.close(descriptor)


def write(descriptor: int, data: bytes) -> int:
    """`os.write`."""
    return os.write(descriptor, data)


def fsync(descriptor: int) -> None:
    """`os.fsync`."""
    os.fsync(descriptor)


def rename(source: Path, target: Path) -> None:
    """`os.replace`."""
    os.replace(source, target)


def unlink(path: Path) -> None:
    """`os.unlink`."""
    os.unlink(path)
