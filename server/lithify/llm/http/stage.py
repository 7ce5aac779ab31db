"""How far a request is, for the sentence that says where it ran out of time."""

from __future__ import annotations

from typing import Literal, TypeAlias

from lithify.llm.http.answer import Answer

Name: TypeAlias = Literal["preparing", "connecting", "sending", "waiting", "reading", "pausing"]

_WHERE: dict[Name, str] = {
    "preparing": "nothing was sent yet",
    "connecting": "no connection came about",
    "sending": "it did not take the whole request",
    "waiting": "it took the request and sent nothing back",
    "pausing": "it had asked to wait",
}

_BEGINS: dict[str, Name] = {
    "connect_tcp.started": "connecting",
    "start_tls.started": "connecting",
    "send_request_headers.started": "sending",
    "send_request_body.complete": "waiting",
}


class Stage:
    """The stage of one call."""

    def __init__(self) -> None:
        self.name: Name = "preparing"
        self._answer: Answer | None = None

    def read(self, answer: Answer) -> None:
        """The answer has begun."""
        self.name = "reading"
        self._answer = answer

    def where(self) -> str:
        """How far it is, in words."""
        if self.name == "reading" and self._answer is not None:
            return f"{self._answer.size_bytes} bytes of its text had come"
        return _WHERE[self.name]

    def note(self, step: str) -> None:
        """Takes a step of httpcore's trace (`connect_tcp.started`); those that begin no stage are nothing."""
        self.name = _BEGINS.get(step, self.name)
