"""What an answer adds up to while it is read, and what it is worth in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lithify.core.messages import utf8_length
from lithify.core.model_calls import ModelFailure, ModelReply, Usage
from lithify.llm.http import failures
from lithify.llm.http.endpoint import Access
from lithify.llm.http.refusals import Refusal

MOST_TEXT_BYTES = 8 << 20
"""More is no summary."""

MOST_TOKENS = 1 << 53
"""What is more is no count of tokens."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in an answer that makes it unusable: what the model did (`called a tool, ...`)."""

    clause: str
    retryable: bool = True


TOOL_CALL = Fault("called a tool, though it was offered none")
WITHHELD = Fault("answered, but the endpoint's filter withheld it", retryable=False)


class Answer:
    """An answer so far. `is_whole`: its end mark or stop reason came, so that it is no torso. `is_over`: nothing that
    may still come belongs to it. `is_foreign`: it is not in the wire format."""

    def __init__(self) -> None:
        self.size_bytes = 0
        self._pieces: list[str] = []
        self.stop_reason: str | None = None
        self.model: str | None = None
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.refusal: Refusal | None = None
        self.fault: Fault | None = None
        self.declined = ""
        self.is_whole = False
        self.is_over = False
        self.is_foreign = False
        self.is_too_large = False

    def add(self, text: Any) -> None:
        """Takes a piece of the text; what is no text is nothing."""
        if isinstance(text, str) and text:
            self.size_bytes += utf8_length(text)
            self._pieces.append(text)
            if self.size_bytes > MOST_TEXT_BYTES:
                self.give_up()

    def give_up(self) -> None:
        """Keeps nothing of an answer that grew too large."""
        self._pieces.clear()
        self.is_too_large = self.is_over = True

    def refuse(self, refusal: Refusal) -> None:
        """An error instead of the rest."""
        self.refusal = refusal
        self.is_over = True

    def spoil(self, fault: Fault) -> None:
        """Makes the answer unusable, whatever else comes."""
        self.fault = fault
        self.is_over = True

    def note_model(self, name: Any) -> None:
        if isinstance(name, str) and name:
            self.model = name

    def text(self) -> str:
        """The text; halves of a character that came in two pieces are joined, a lone half is replaced."""
        text = "".join(self._pieces)
        return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def usage(self) -> Usage | None:
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return Usage(self.input_tokens, self.output_tokens)


def token_count(value: Any) -> int | None:
    """A number of tokens, or None for what is none."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS
    return value if is_count else None


def verdict(
    answer: Answer, access: Access, status: int, content_type: str, model: Any, missing_model: str | None
) -> ModelReply | ModelFailure:
    """The reply that an answer is, or why it is none. `model` is what was asked for."""
    if answer.refusal is not None:
        return failures.refused(answer.refusal, access, model)
    if answer.is_too_large:
        return failures.too_large(access, MOST_TEXT_BYTES)
    if answer.is_foreign:
        return failures.not_an_answer(access, status, content_type)
    if answer.fault is not None:
        what = f"the model at {access.endpoint.host} {answer.fault.clause}"
        return ModelFailure("model_error", what, retryable=answer.fault.retryable)
    text = answer.text()
    if not answer.is_whole:
        return failures.broke_off(access, answer.size_bytes)
    if not text.strip():
        return _empty(answer, access)
    return ModelReply(
        text=text,
        provider="http",
        model=failures.quoted(answer.model or (model if isinstance(model, str) else ""), access.key) or None,
        stop_reason=answer.stop_reason,
        usage=answer.usage(),
        missing_model=missing_model,
    )


def _empty(answer: Answer, access: Access) -> ModelFailure:
    if answer.declined:
        said = failures.quoted(answer.declined, access.key)
        return ModelFailure("model_error", f"the model at {access.endpoint.host} declined: {said}", retryable=False)
    why = "; its output limit was reached before it wrote any" if answer.stop_reason == "max_tokens" else ""
    return ModelFailure("empty_response", f"the model at {access.endpoint.host} answered without any text{why}")
