"""What endpoints say is wrong, and which kind of error it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.llm.http.refusals import Refusal, parsed, read_refusal, refusal_in, retry_after_s

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def refusal(status: int, body: Any, **headers: str) -> Refusal:
    given_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_refusal(status, given_headers, json.dumps(body).encode(), NOW)


# --- shapes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "sentence", "kinds"),
    [
        ({"error": {"message": "m", "type": "T", "code": "C"}}, "m", {"t", "c"}),
        ({"error": {"message": "m", "code": 400}}, "m", {"400"}),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "m"}}, "m", {"overloaded_error"}),
        ({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}, "m", {"badrequesterror", "400"}),
        ({"error": "in words"}, "in words", set()),
        ({"detail": "in detail"}, "in detail", set()),
        ({"detail": [{"msg": "field required"}, {"msg": "too long"}, 5]}, "field required; too long", set()),
        ({"message": "m"}, "m", set()),
        ([{"error": {"message": "m", "status": "NOT_FOUND"}}], "m", {"not_found"}),
        ("just words", "just words", set()),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": "r"}}},
            "Provider returned error r",
            set(),
        ),
        ({"error": None}, "", set()),
        ({"error": {"message": None, "code": None}}, "", set()),
        ({}, "", set()),
        ([], "", set()),
        (7, "", set()),
    ],
)
def test_the_sentence_and_the_kinds_are_found_in_every_shape(body: Any, sentence: str, kinds: set[str]) -> None:
    assert refusal_in(body, 400) == Refusal(400, frozenset(kinds), sentence)


def test_plain_text_is_a_sentence() -> None:
    assert (
        read_refusal(502, {"content-type": "text/plain; charset=utf-8"}, b"no upstream", NOW).sentence == "no upstream"
    )


def test_a_web_page_is_no_sentence() -> None:
    assert read_refusal(502, {"content-type": "text/html"}, b"<html>Bad gateway</html>", NOW).sentence == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "message", "type", "code", "detail", "msg", "metadata", "raw", "status"])
            | st.text(),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_refusal(value: Any) -> None:
    found = refusal_in(value, 400)
    assert isinstance(found.sentence, str)
    assert not (found.is_busy and found.status != 429 and not found.kinds)


@given(st.binary())
def test_any_body_is_a_refusal(body: bytes) -> None:
    assert read_refusal(500, {}, body, NOW).status == 500


def test_json_too_deep_to_be_read_is_none() -> None:
    assert parsed("[" * 100_000) is None


# --- kinds ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."),
        (400, "Your input exceeds the context window of this model. Please adjust your input and try again."),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length"),
        (413, ""),
        (400, "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it"),
        (500, "Context size has been exceeded."),
        (500, "Requested tokens (2285) exceed context window of 2048"),
        (400, "the input length exceeds the context length"),
        (400, "prompt too long; exceeded max context length by 12 tokens"),
        (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."),
        (400, "This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens"),
        (
            400,
            "Trying to keep the first 4098 tokens when context the overflows. However, the model is loaded",
        ),
        (400, "The number of tokens to keep from the initial prompt is greater than the context length."),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
        (400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 275363)"),
        (400, "Input is too long for requested model."),
        (None, "the request exceeds the available context size. try increasing the context size"),
        (
            429,
            "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 90000.",
        ),
    ],
)
def test_too_long_is_known_by_the_sentences_of_the_known_servers(status: int | None, sentence: str) -> None:
    assert Refusal(status, sentence=sentence).is_too_long


@pytest.mark.parametrize("kind", ["context_length_exceeded", "exceed_context_size_error", "request_too_large"])
def test_too_long_is_known_by_its_code(kind: str) -> None:
    assert refusal(400, {"error": {"message": "no", "code": kind}}).is_too_long


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (400, "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens"),
        (400, "Invalid value: 'context'."),
        (429, "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000."),
        (401, "the input is too long ago"),
    ],
)
def test_other_sentences_are_not_too_long(status: int, sentence: str) -> None:
    assert not Refusal(status, sentence=sentence).is_too_long


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, {"error": {"message": "m", "type": "insufficient_quota"}}),
        (429, {"error": {"message": "m", "type": "exceeded_current_quota_error"}}),
        (402, {"error": {"message": "Insufficient Balance"}}),
        (402, {}),
        (400, {"error": {"message": "Your credit balance is too low to access the Anthropic API."}}),
        (403, {"error": {"message": "You have run out of credits"}}),
    ],
)
def test_a_used_up_quota_is_known(status: int, body: Any) -> None:
    assert refusal(status, body).is_quota


def test_a_rate_limit_is_no_used_up_quota() -> None:
    found = refusal(429, {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}})
    assert (found.is_quota, found.is_busy) == (False, True)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"message": "m", "code": "model_not_found"}}),
        (404, {"error": {"message": "The model `gpt-9` does not exist or you do not have access to it."}}),
        (404, {"error": {"message": 'model "gpt-9" not found, try pulling it first'}}),
        (404, {"error": "model 'gpt-9' not found"}),
        (400, {"error": {"message": "gpt-9 is not a valid model ID", "code": 400}}),
        (404, {"error": {"message": "No endpoints found for gpt-9.", "code": 404}}),
        (404, {"type": "error", "error": {"type": "not_found_error", "message": "model: gpt-9"}}),
        (404, {"object": "error", "message": "The model `gpt-9` does not exist.", "type": "NotFoundError"}),
        (400, {"error": {"message": 'Invalid model identifier "gpt-9". Please specify a valid downloaded model'}}),
        (400, {"error": {"message": 'Failed to load model "gpt-9". Error: Error loading model.'}}),
        (404, {"error": {"message": "Not found the model gpt-9 or Permission denied"}}),
        (400, {"message": "Invalid model: gpt-9", "type": "invalid_model", "code": "1500"}),
        (400, {"error": {"message": "Model Not Exist"}}),
        (404, [{"error": {"message": "models/gpt-9 is not found for API version v1main", "status": "NOT_FOUND"}}]),
        (404, {"error": {"message": "could not find gpt-9"}}),
    ],
)
def test_an_unknown_model_is_known_by_the_sentences_of_the_known_servers(status: int, body: Any) -> None:
    assert refusal(status, body).is_unknown_model("gpt-9")


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (404, "Invalid URL (POST /chat/completions)"),
        (404, "Not Found"),
        (404, ""),
        (400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."),
        (400, "Unsupported value: 'temperature' does not support 0.0 with this model."),
        (500, "model gpt-9 not found"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
)
def test_other_errors_are_no_unknown_model(status: int, sentence: str) -> None:
    assert not Refusal(status, sentence=sentence).is_unknown_model("gpt-9")


# --- how long to wait -----------------------------------------------------------------------------------------


def http_date(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).strftime("%a, %d %b %Y %H:%M:%S GMT")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": http_date(30)}, 30),
        ({"retry-after": http_date(-30)}, 0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1),
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Mon, 99 Foo 2026 99:99:99 GMT"}, None),
    ],
)
def test_the_wait_is_read_as_seconds_or_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds


@given(st.text())
def test_any_wait_is_a_number_of_seconds_or_none(text: str) -> None:
    found = retry_after_s({"retry-after": text}, NOW)
    assert found is None or 0 <= found < float("inf")
