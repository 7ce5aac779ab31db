"""The yardstick of a language server: pygls as it comes, with one typed notification and one request that do nothing.

`python stock_server.py` serves over standard input and output.
"""

from __future__ import annotations

from typing import Any

import attrs
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

NOTIFICATION, REQUEST = "lithify/didRecordEvents", "bench/nothing"


@attrs.define
class Params:
    """What Lithify's notification holds."""

    events: list[dict[str, Any]]


@attrs.define
class Notification:
    """The notification."""

    method: str
    params: Params
    jsonrpc: str = "2.0"


class TypedProtocol(LanguageServerProtocol):
    """pygls' protocol, told of one message type."""

    def get_message_type(self, method: str) -> Any:
        """The type of a method."""
        return Notification if method == NOTIFICATION else super().get_message_type(method)


def main() -> None:
    """Serves until standard input ends."""
    server = LanguageServer("stock", "1", protocol_cls=TypedProtocol)

    @server.feature(NOTIFICATION)
    def did_record(params: Params) -> None:
        """Takes the events and forgets them."""

    @server.feature(REQUEST)
    def nothing(params: Any) -> None:
        """Answers null."""

    server.start_io()


if __name__ == "__main__":
    main()
