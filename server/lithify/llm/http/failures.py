"""Failures of an endpoint in words: what went wrong, what the endpoint says itself, and the setting to look at."""

from __future__ import annotations

import base64
import json
import re
from urllib.parse import quote, urlsplit

from lithify.core.model_calls import ModelFailure
from lithify.llm.http.endpoint import Access
from lithify.llm.http.refusals import Refusal

LONGEST_QUOTE = 300

_BEARER = re.compile(r"\bBearer\s+[^\s\"']+", re.IGNORECASE)


def quoted(text: str, key: str | None) -> str:
    """A text of the endpoint's on one line, without the key, cut at LONGEST_QUOTE characters."""
    line = " ".join("".join(one if one.isprintable() else " " for one in without_key(text, key)).split())
    line = _BEARER.sub("Bearer ***", line)
    return line if len(line) <= LONGEST_QUOTE else f"{line[: LONGEST_QUOTE - 1]}…"


def without_key(text: str, key: str | None) -> str:
    """A text without the key, however an endpoint may spell it: as it is, in other letters, escaped or encoded."""
    if not key:
        return text
    encoded = base64.b64encode(key.encode()).decode()
    spellings = {key, quote(key), quote(key, safe=""), json.dumps(key)[1:-1], encoded, encoded.rstrip("=")}
    longest_first = sorted(spellings, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), "***", text, flags=re.IGNORECASE)


def refused(refusal: Refusal, access: Access, model: object) -> ModelFailure:
    """The failure that an error answer of the endpoint is."""
    said = quoted(refusal.sentence, access.key)
    tail = f": {said}" if said else ""
    status = "with an error" if refusal.status is None else f"HTTP {refusal.status}"
    what = f"the endpoint {access.endpoint.host} answered {status}"
    if refusal.is_quota:
        return ModelFailure(
            "model_unavailable", f"{what}, its quota or credit is used up{tail}", retryable=False, counts=False
        )
    if refusal.is_too_long:
        return ModelFailure("context_too_long", f"{what}, the request is too long for the model{tail}")
    if refusal.status in (401, 403):
        return ModelFailure("model_error", f"{what}, {_key_advice(access)}{tail}", retryable=False)
    if refusal.retry_after_s is not None and _may_pass(refusal):
        asked = f"it asks to wait {_duration(refusal.retry_after_s)}; try again after that"
        return ModelFailure("model_error", f"{what}, {asked}{tail}", counts=False)
    if refusal.is_busy:
        return ModelFailure("model_error", f"{what}, its rate limit is reached; try again later{tail}", counts=False)
    return ModelFailure("model_error", f"{what}{_advice(refusal, access, model)}{tail}", retryable=_may_pass(refusal))


def _may_pass(refusal: Refusal) -> bool:
    return refusal.status is None or refusal.status >= 500 or refusal.status in (408, 409, 425, 429)


def _key_advice(access: Access) -> str:
    if access.key_env is None:
        return "it wants a key: name the environment variable that holds it in model.http.apiKeyEnv"
    return f"it does not take the key in {access.key_env} (model.http.apiKeyEnv)"


def _advice(refusal: Refusal, access: Access, model: object) -> str:
    if refusal.status is None or not 400 <= refusal.status < 500:
        return ""
    if not model and (refusal.status in (400, 422) or "model" in refusal.sentence.lower()):
        return ", asked for no model; name one in model.http.model"
    if refusal.is_unknown_model(model):
        return f", it does not have the model {quoted(str(model), access.key)}; look at model.http.model"
    if refusal.status in (404, 405):
        base = "it often ends in /v1" if access.endpoint.wire == "openai" else "it is the part before /v1/messages"
        return f", there is no model at {access.endpoint.path}; look at model.http.baseUrl ({base})"
    return ""


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def unreachable(access: Access, why: str) -> ModelFailure:
    """Nobody answers, so that nothing was sent: refused, no such host, no trusted certificate."""
    why = f" ({quoted(why, access.key)})" if why else ""
    return ModelFailure(
        "model_unavailable",
        f"no connection to the endpoint {access.endpoint.host}{why}; see that it runs, and look at model.http.baseUrl",
        sent=False,
    )


def broke_off(access: Access, received_bytes: int, why: str = "") -> ModelFailure:
    """The connection ended before the answer did."""
    what = f"its answer broke off after {received_bytes} bytes of text" if received_bytes else "the answer broke off"
    why = f" ({quoted(why, access.key)})" if why else ""
    return ModelFailure("model_error", f"the endpoint {access.endpoint.host} did not finish: {what}{why}")


def not_an_answer(access: Access, status: int, content_type: str) -> ModelFailure:
    """Something came, but no answer in the wire format of the settings."""
    kind = quoted(content_type, access.key) or "no content type"
    return ModelFailure(
        "model_error",
        f"the endpoint {access.endpoint.host} answered HTTP {status} with something ({kind}) that is no answer in the "
        f"wire format '{access.endpoint.wire}'; look at model.http.baseUrl and model.http.wire",
        retryable=False,
    )


def redirected(access: Access, status: int, location: str) -> ModelFailure:
    """The endpoint wants the text and the key sent elsewhere, which is not done."""
    return ModelFailure(
        "model_error",
        f"the endpoint {access.endpoint.host} answered HTTP {status} and points to {_target(location, access)}; "
        "Lithify does not follow it with your text and key: set model.http.baseUrl to the right place",
        retryable=False,
    )


def _target(location: str, access: Access) -> str:
    """A redirect's target without its query, which may hold a secret, and without user name and password."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return "a place that is no URL"
    host = parts.netloc.rpartition("@")[2]
    target = f"{parts.scheme}://{host}{parts.path}" if host else parts.path
    return quoted(target, access.key) or "nowhere"


def timed_out(access: Access, timeout_s: float, where: str) -> ModelFailure:
    """The time of the call is over; `where` says how far it was."""
    return ModelFailure(
        "timeout", f"the endpoint {access.endpoint.host} did not answer within {timeout_s:g} s ({where})"
    )


def too_large(access: Access, limit: int) -> ModelFailure:
    """An answer that does not end."""
    return ModelFailure(
        "model_error",
        f"the endpoint {access.endpoint.host} sent more than {limit >> 20} MiB; the answer was thrown away",
    )
