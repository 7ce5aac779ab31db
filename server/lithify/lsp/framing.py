"""The base protocol's frames: bytes in, message bodies out. Source: LSP 3.17, Base Protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO

MAX_HEADER_BYTES = 65_536
MAX_BODY_BYTES = 1 << 30

LONG_BODY_BYTES = 1 << 16
"""A longer body is gathered on its own and not copied any more: it may be a whole document."""

_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class FrameError(Exception):
    """The stream is no longer a sequence of frames; nothing after this can be understood."""


class FrameDecoder:
    """Cuts a byte stream into message bodies. Header names are matched in any case, as the base protocol says."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None
        self._long: BytesIO | None = None  # what has come of a long body

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bodies that are complete with this data, as they are found. Raises FrameError after the last good one."""
        if self._long is not None and self._length is not None:
            lacking = self._length - self._long.tell()
            self._long.write(memoryview(data)[:lacking])
            if len(data) < lacking:
                return
            body = self._long.getvalue()  # the very bytes that were gathered
            self._long = self._length = None
            yield body
            data = data[lacking:]
        yield from self._cut(data)

    def _cut(self, data: bytes) -> Iterator[bytes]:
        """The bodies in what does not belong to a long one that has begun."""
        self._buffer += data
        position = 0
        try:
            while True:
                if self._length is None:
                    end = self._buffer.find(b"\r\n\r\n", position)
                    if end < 0:
                        if len(self._buffer) - position > MAX_HEADER_BYTES:
                            raise FrameError(f"no end of a header in {MAX_HEADER_BYTES} bytes")
                        return
                    self._length = _content_length(bytes(self._buffer[position:end]))
                    position = end + 4
                end = position + self._length
                if len(self._buffer) < end:
                    if self._length > LONG_BODY_BYTES:
                        self._long = BytesIO()
                        self._long.write(memoryview(self._buffer)[position:])
                        position = len(self._buffer)
                    return
                body = bytes(memoryview(self._buffer)[position:end])
                position = end
                self._length = None
                yield body
        finally:
            del self._buffer[:position]


def _content_length(header: bytes) -> int:
    found = _LENGTH.search(header)
    if found is None:
        raise FrameError("a header without a Content-Length")
    length = int(found[1])
    if length > MAX_BODY_BYTES:
        raise FrameError(f"a message of {length} bytes; the limit is {MAX_BODY_BYTES}")
    return length


def frame(body: bytes) -> bytes:
    """A body as it is sent."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
