"""The circuit breaker's phases."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lithify.core.breaker import Breaker, allows, failed, phase, succeeded

NOW, COOLDOWN, MAX = 1_000_000, 300_000, 3


def after_failures(count: int, now_ms: int = NOW) -> Breaker:
    breaker = Breaker()
    for _ in range(count):
        breaker = failed(breaker, now_ms, MAX)
    return breaker


OPEN = after_failures(MAX)


def test_a_new_breaker_is_closed() -> None:
    assert phase(Breaker(), NOW, COOLDOWN) == "closed"


def test_below_the_limit_it_stays_closed() -> None:
    assert phase(after_failures(MAX - 1), NOW, COOLDOWN) == "closed"


def test_at_the_limit_it_opens() -> None:
    assert phase(OPEN, NOW, COOLDOWN) == "open"


def test_a_limit_of_one_opens_at_the_first_failure() -> None:
    assert phase(failed(Breaker(), NOW, 1), NOW, COOLDOWN) == "open"


def test_it_counts_the_failures_in_a_row() -> None:
    assert after_failures(2).failures == 2


def test_a_success_in_between_starts_the_count_anew() -> None:
    breaker = failed(failed(succeeded(after_failures(MAX - 1)), NOW, MAX), NOW, MAX)
    assert phase(breaker, NOW, COOLDOWN) == "closed"


def test_it_is_open_up_to_the_last_millisecond_of_the_cooldown() -> None:
    assert phase(OPEN, NOW + COOLDOWN - 1, COOLDOWN) == "open"


def test_it_is_half_open_when_the_cooldown_is_over() -> None:
    assert phase(OPEN, NOW + COOLDOWN, COOLDOWN) == "half_open"


def test_a_failure_while_half_open_opens_it_for_another_cooldown() -> None:
    again = failed(OPEN, NOW + COOLDOWN, MAX)
    assert phase(again, NOW + 2 * COOLDOWN - 1, COOLDOWN) == "open"


def test_a_success_while_half_open_closes_it() -> None:
    assert succeeded(OPEN) == Breaker()


def test_a_cooldown_of_zero_never_ends_by_itself() -> None:
    assert phase(OPEN, NOW + 10**12, 0) == "open"


def test_a_clock_put_back_a_little_keeps_it_open() -> None:
    assert phase(OPEN, NOW - 5000, COOLDOWN) == "open"


def test_a_clock_put_back_by_a_year_does_not_keep_it_open_for_a_year() -> None:
    assert phase(OPEN, NOW - 365 * 86_400_000, COOLDOWN) == "half_open"


def test_an_open_breaker_allows_no_run_of_its_own() -> None:
    assert not allows(OPEN, NOW, COOLDOWN, by_user=False)


def test_an_open_breaker_allows_a_user_s_run() -> None:
    assert allows(OPEN, NOW, COOLDOWN, by_user=True)


def test_a_half_open_breaker_allows_a_run() -> None:
    assert allows(OPEN, NOW + COOLDOWN, COOLDOWN, by_user=False)


@given(st.lists(st.booleans(), max_size=12))
def test_it_is_open_exactly_when_the_last_runs_failed_up_to_the_limit(outcomes: list[bool]) -> None:
    breaker = Breaker()
    for worked in outcomes:
        breaker = succeeded(breaker) if worked else failed(breaker, NOW, MAX)
    trailing = 0
    for worked in reversed(outcomes):
        if worked:
            break
        trailing += 1
    assert (phase(breaker, NOW, COOLDOWN) == "open") is (trailing >= MAX)
