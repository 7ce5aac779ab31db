"""A scripted model server to try things on by hand."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Sequence

from tests.support.model_server import OK, Answer, ModelServer, Text


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves one text until it is interrupted; the first line it prints is the base URL."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.model_server", description=main.__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--text", default=OK.text, help="what the model answers")
    parser.add_argument("--pieces", type=int, default=1, help="how many parts of the text a stream brings")
    given = parser.parse_args(arguments)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_until_interrupted(Text(given.text, pieces=given.pieces), given.port))
    return 0


async def _serve_until_interrupted(answer: Answer, port: int) -> None:
    async with ModelServer(answer, port=port) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
