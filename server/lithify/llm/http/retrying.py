"""How long to wait before a request that was refused is sent again, if waiting helps."""

from __future__ import annotations

from lithify.llm.http.refusals import FAILED, OVERLOADED, RATE_LIMITED, UNAVAILABLE, Refusal

MOST_WAITS = 5
LEAST_WAIT_S = 0.25
"""Doubled with each wait: an endpoint that asks for none is not asked again at once."""
SHORT_WAIT_S = 2.0
"""Once, where a rate limit does not say how long it holds."""


def pause_s(refusal: Refusal, waits: int) -> float | None:
    """Seconds to wait after a refusal and the waits before it; None where another try is of no use."""
    if refusal.is_quota or refusal.is_too_long or waits >= MOST_WAITS:
        return None
    if refusal.status in (RATE_LIMITED, FAILED, UNAVAILABLE, OVERLOADED) and refusal.retry_after_s is not None:
        return max(refusal.retry_after_s, LEAST_WAIT_S * float(2**waits))
    return SHORT_WAIT_S if refusal.status == RATE_LIMITED and waits == 0 else None
