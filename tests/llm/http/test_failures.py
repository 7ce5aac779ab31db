"""Failures in words: type, what the breaker makes of them, the endpoint's sentence, the way out; never the key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.model_calls import ModelFailure
from lithify.llm.http import failures
from lithify.llm.http.endpoint import Access, Endpoint, read_endpoint
from lithify.llm.http.failures import LONGEST_QUOTE, quoted, refused
from lithify.llm.http.refusals import Refusal

KEY = "sk-very-secret-0123456789"


def access(*, key: bool = True, base_url: str = "https://h.example/v1") -> Access:
    endpoint = read_endpoint(base_url, None)
    assert isinstance(endpoint, Endpoint)
    return Access(endpoint, "MY_KEY", KEY) if key else Access(endpoint)


def failure(status: int | None, sentence: str = "no", *, model: str | None = "m", key: bool = True) -> ModelFailure:
    return refused(Refusal(status, sentence=sentence), access(key=key), model)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (Refusal(400, sentence="no"), ("model_error", False, True)),
        (Refusal(401), ("model_error", False, True)),
        (Refusal(402), ("model_unavailable", False, False)),
        (Refusal(403), ("model_error", False, True)),
        (Refusal(404), ("model_error", False, True)),
        (Refusal(408), ("model_error", True, True)),
        (Refusal(413), ("context_too_long", True, True)),
        (Refusal(429), ("model_error", True, False)),
        (Refusal(429, retry_after_s=60), ("model_error", True, False)),
        (Refusal(429, frozenset({"insufficient_quota"})), ("model_unavailable", False, False)),
        (Refusal(500), ("model_error", True, True)),
        (Refusal(503, retry_after_s=60), ("model_error", True, False)),
        (Refusal(529), ("model_error", True, True)),
        (Refusal(None, sentence="no"), ("model_error", True, True)),
        (Refusal(None, sentence="prompt is too long"), ("context_too_long", True, True)),
    ],
)
def test_every_refusal_has_its_type_and_says_whether_another_try_and_the_breaker_are_meant(
    refusal: Refusal, expected: tuple[str, bool, bool]
) -> None:
    found = refused(refusal, access(), "m")
    assert (found.type, found.retryable, found.counts) == expected


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (failure(401), ("h.example", "HTTP 401", "MY_KEY", "model.http.apiKeyEnv", "no")),
        (failure(401, key=False), ("wants a key", "model.http.apiKeyEnv")),
        (failure(404), ("/v1/chat/completions", "model.http.baseUrl", "/v1")),
        (failure(404, "the model m does not exist"), ("does not have the model m", "model.http.model")),
        (failure(400, "you must provide a model", model=None), ("name one in model.http.model",)),
        (failure(404, "Not Found", model=None), ("/v1/chat/completions", "model.http.baseUrl")),
        (failure(500, "it hurts"), ("h.example", "HTTP 500", "it hurts")),
        (refused(Refusal(429, retry_after_s=90), access(), "m"), ("wait 90 s",)),
        (refused(Refusal(429, retry_after_s=1800), access(), "m"), ("wait 30 minutes",)),
        (failures.unreachable(access(), "refused"), ("no connection", "h.example", "refused", "model.http.baseUrl")),
        (failures.broke_off(access(), 12, "gone"), ("broke off after 12 bytes", "gone")),
        (failures.not_an_answer(access(), 200, "text/html"), ("HTTP 200", "text/html", "model.http.baseUrl")),
        (failures.timed_out(access(), 0.5, "far"), ("within 0.5 s", "far")),
    ],
)
def test_the_sentence_names_the_thing_and_the_way_out(found: ModelFailure, words: tuple[str, ...]) -> None:
    assert [word for word in words if word not in found.message] == []


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://elsewhere.example/v1/x?token=abc#d", "https://elsewhere.example/v1/x"),
        ("https://me:hunter2@elsewhere.example/", "https://elsewhere.example/"),
        ("/other/path?x=1", "/other/path"),
        ("", "nowhere"),
        ("http://[::1", "no URL"),
    ],
)
def test_a_redirect_names_its_target_without_what_may_be_secret(location: str, shown: str) -> None:
    message = failures.redirected(access(), 307, location).message
    assert shown in message
    assert not {"abc", "hunter2", "x=1"} & set(message.replace("=", " ").replace(":", " ").replace("@", " ").split())
    assert "model.http.baseUrl" in message


# --- quoting --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo\r\n\tthree", "one two three"),
        ("\x1b[31mred\x00\x07", "[31mred"),
        (f"the key {KEY} and again {KEY}.", "the key *** and again ***."),
        ("header Authorization: Bearer abc.def, ok", "header Authorization: Bearer *** ok"),
        (f'"bearer {KEY}"', '"Bearer ***"'),
    ],
)
def test_a_quote_is_one_line_without_the_key(text: str, expected: str) -> None:
    assert quoted(text, KEY) == expected


def test_a_long_quote_is_cut() -> None:
    assert len(quoted("x" * 1000, None)) == LONGEST_QUOTE
    assert quoted("x" * LONGEST_QUOTE, None) == "x" * LONGEST_QUOTE


@given(st.integers(0, 400), st.text(max_size=40))
def test_no_part_of_the_key_is_left_where_a_quote_is_cut(before: int, after: str) -> None:
    assert "secret" not in quoted("x" * before + KEY + after, KEY)


SECRET = Refusal(400, sentence=f"your key {KEY} is odd")


@pytest.mark.parametrize(
    "found",
    [
        *(
            refused(Refusal(status, sentence=SECRET.sentence), access(), KEY)
            for status in (None, 400, 401, 404, 429, 500)
        ),
        failures.unreachable(access(), KEY),
        failures.broke_off(access(), 0, KEY),
        failures.not_an_answer(access(), 200, KEY),
        failures.redirected(access(), 307, f"https://e/{KEY}"),
    ],
)
def test_no_failure_holds_the_key(found: ModelFailure) -> None:
    assert KEY not in found.message


def test_the_key_is_not_in_the_repr_of_the_access() -> None:
    assert KEY not in repr(access())


@pytest.mark.parametrize(
    "spelling",
    ['sk/a+b="c', 'SK/A+B="C', "sk%2Fa%2Bb%3D%22c", "sk/a%2Bb%3D%22c", 'sk/a+b=\\"c', "c2svYStiPSJj"],
)
def test_the_key_is_masked_however_the_endpoint_spells_it(spelling: str) -> None:
    assert failures.quoted(f"bad key {spelling} given", 'sk/a+b="c') == "bad key *** given"
