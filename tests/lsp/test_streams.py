"""What comes from the editor through a pipe."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from lithify.lsp.framing import frame
from lithify.lsp.streams import PIPE_BYTES, MessageStream, read_pipe

pytestmark = pytest.mark.asyncio


async def test_an_editor_may_put_as_much_into_the_pipe_as_the_system_lets_it() -> None:
    bodies: list[bytes] = []
    stream = MessageStream(bodies.append)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with os.fdopen(reading, "rb") as stdin, os.fdopen(writing, "wb", buffering=0) as editor:
        await read_pipe(stdin, stream)
        sent = frame(b"x" * PIPE_BYTES)
        taken = editor.write(sent) or 0
        assert sys.platform != "linux" or taken == PIPE_BYTES
        while taken < len(sent):
            await asyncio.sleep(0)
            taken += editor.write(sent[taken:]) or 0
        editor.close()
        assert await stream.ended is None
        (await stream.connected).close()
        await asyncio.sleep(0)
    assert bodies == [b"x" * PIPE_BYTES]
