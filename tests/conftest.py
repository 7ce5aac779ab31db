"""Hypothesis without its clock: a busy machine makes no test of a rule fail."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("rules", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rules")
