"""How the server imports what it is made of: in two halves, each at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 5_000
"""New objects after which memory is looked through while modules are imported: nearly all of them stay, and to look as
often as Python does by itself makes the start a tenth longer."""


@contextmanager
def importing() -> Iterator[None]:
    """For the time of an import memory is looked through more rarely; after it, never for what was imported. Looking
    whether that may go would stop the event loop for some 50 ms at each full collection."""
    usual = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.freeze()
