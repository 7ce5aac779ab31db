"""What an endpoint says is wrong, and which of the known kinds it is."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

RATE_LIMITED, UNAVAILABLE, OVERLOADED, FAILED = 429, 503, 529, 500

_QUOTA_KINDS = frozenset(
    {
        "insufficient_quota",
        "exceeded_current_quota_error",
        "billing_hard_limit_reached",
        "billing_error",
        "insufficient_balance",
        "insufficient_credits",
    }
)
_QUOTA = re.compile(
    r"credit balance is too low|insufficient (balance|credits|quota|funds)|exceeded your current quota|out of credits",
    re.IGNORECASE,
)

_TOO_LONG_KINDS = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "request_too_large", "string_above_max_length"}
)
_TOO_LONG = re.compile(
    r"""maximum\ context\ length                                                # OpenAI, vLLM, OpenRouter, Mistral
    | exceed(s|ed)?\ (the\ |its\ )?(available\ |max(imum)?\ |model\ )?context\ (window|size|length|limit)
                                                                              # OpenAI, llama.cpp, Ollama, Anthropic
    | context\ (length|window|size)\ (has\ been\ |was\ |is\ )?exceeded          # llama.cpp
    | (prompt|input)\ (is\ )?too\ long                                          # Anthropic, Ollama, Bedrock
    | longer\ than\ the\ maximum\ model\ length                                 # vLLM
    | greater\ than\ the\ context\ length | context\ (the\ )?overflows | context\ length\ of\ only  # LM Studio
    | input\ token\ count.{0,60}exceeds\ the\ maximum                           # Gemini
    | exceeded\ model\ token\ limit                                             # Moonshot
    | maximum\ prompt\ length\ is                                               # xAI
    | request\ too\ large | request\ exceeds\ the\ maximum\ size                # Groq, Anthropic
    """,
    re.IGNORECASE | re.VERBOSE,
)

_UNKNOWN_MODEL_KINDS = frozenset({"model_not_found", "model_not_available", "model_not_supported", "invalid_model"})
_UNKNOWN_MODEL = re.compile(
    r"""^model:\ \S                                                             # Anthropic
    | \bmodels?\b(\W?\S+)?\ (is\ |was\ |does\ |currently\ )*not\ (found|exist|available|supported)
                                                                              # OpenAI, Ollama, vLLM, Gemini, DeepSeek
    | not\ a\ valid\ model | no\ endpoints\ found\ for                          # OpenRouter
    | invalid\ model\b | failed\ to\ load\ model                                # LM Studio, Mistral
    | not\ found\ the\ model | unable\ to\ access\ model | unknown\ model       # Moonshot, Together
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error an endpoint answers with. `status` is None for an error inside a stream; `kinds` are its words for the
    type and the code, in lower case; `sentence` is what it says, as it says it; `retry_after_s` how long it asks to
    wait, where it does."""

    status: int | None
    kinds: frozenset[str] = frozenset()
    sentence: str = ""
    retry_after_s: float | None = None

    @property
    def is_quota(self) -> bool:
        """What was paid for is used up; waiting does not help."""
        return self.status == 402 or bool(self.kinds & _QUOTA_KINDS or _QUOTA.search(self.sentence))

    @property
    def is_too_long(self) -> bool:
        """A smaller request would pass."""
        if self.status == 413 or self.kinds & _TOO_LONG_KINDS:
            return True
        return self.status in (None, 400, 422, RATE_LIMITED, FAILED) and bool(_TOO_LONG.search(self.sentence))

    @property
    def is_busy(self) -> bool:
        """The endpoint takes no more for the moment."""
        return self.status == RATE_LIMITED or bool(self.kinds & {"rate_limit_error", "rate_limit_exceeded"})

    def is_unknown_model(self, model: Any) -> bool:
        """The endpoint does not have the model it was asked for."""
        if self.kinds & _UNKNOWN_MODEL_KINDS:
            return True
        if self.status == 404 and isinstance(model, str) and model and model in self.sentence:
            return True
        return self.status in (None, 400, 404, 422) and bool(_UNKNOWN_MODEL.search(self.sentence))


def read_refusal(status: int, headers: Mapping[str, str], body: bytes, now: datetime) -> Refusal:
    """What an answer with an error status says. Header names are in lower case."""
    found = refusal_in(parsed(body), status)
    sentence = found.sentence
    if not sentence and headers.get("content-type", "").startswith("text/plain"):
        sentence = body.decode("utf-8", "replace")
    return Refusal(status, found.kinds, sentence, retry_after_s(headers, now))


def parsed(text: bytes | str) -> Any:
    """The JSON value of a text; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def refusal_in(value: Any, status: int | None = None) -> Refusal:
    """The error that a JSON value of any of the known shapes tells."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return Refusal(status, sentence=value if isinstance(value, str) else "")
    inner = value.get("error")
    told = inner if isinstance(inner, dict) else value
    kinds = frozenset(word.lower() for word in _kinds(told))
    return Refusal(status, kinds, " ".join(filter(None, _sentences(value, inner))))


def _kinds(told: Mapping[str, Any]) -> Iterator[str]:
    for name in ("type", "code", "status"):
        word = told.get(name)
        if isinstance(word, str | int):
            yield str(word)[:100]


def _sentences(value: Mapping[str, Any], inner: Any) -> Iterator[str]:
    """The sentence of an error, and that of the provider behind a router (OpenRouter's `metadata.raw`)."""
    if isinstance(inner, str):
        yield inner
    for told in (inner, value):
        if isinstance(told, dict):
            for name in ("message", "detail"):
                said = told.get(name)
                yield said if isinstance(said, str) else _details(said)
            metadata = told.get("metadata")
            raw = metadata.get("raw") if isinstance(metadata, dict) else None
            yield raw if isinstance(raw, str) else ""


def _details(said: Any) -> str:
    """FastAPI's list of what does not fit."""
    if not isinstance(said, list):
        return ""
    return "; ".join(one["msg"] for one in said if isinstance(one, dict) and isinstance(one.get("msg"), str))


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """How many seconds the headers ask to wait (`retry-after-ms`, or `retry-after` as seconds or as a date)."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    given = headers.get("retry-after", "")
    seconds = _number(given)
    if seconds is not None or not given:
        return seconds
    try:
        until = parsedate_to_datetime(given)
        return max((until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds(), 0.0)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return max(number, 0.0) if math.isfinite(number) else None
