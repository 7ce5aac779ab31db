"""A body unpacked in small steps: proxies may pack what was asked for plain, and little can unpack to very much."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

STEP_BYTES = 64 << 10
_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 47}


class NotUnpacked(Exception):
    """A body that is packed in a way that is not read here, or is broken."""


class Unpacking:
    """Unpacks one layer, as `content-encoding` names it; several are refused. Raises NotUnpacked."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", *_WINDOW_BITS):
            raise NotUnpacked(f"it is packed as {name}, though it was asked for plain")
        self._decoder = zlib.decompressobj(_WINDOW_BITS[name]) if name in _WINDOW_BITS else None

    def unpacked(self, piece: bytes) -> Iterator[bytes]:
        """What a piece holds, STEP_BYTES at a time at most, each made only when it is asked for."""
        if self._decoder is None:
            yield piece
            return
        while piece:
            try:
                data = self._decoder.decompress(piece, STEP_BYTES)
            except zlib.error as error:
                raise NotUnpacked("it is packed, and broken") from error
            if data:
                yield data
            piece = self._decoder.unconsumed_tail
