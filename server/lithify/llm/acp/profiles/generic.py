"""Any agent that speaks ACP and needs nothing special."""

from __future__ import annotations

from lithify.llm.acp.profile import Profile

PROFILE = Profile(name="generic", title="an agent over ACP", command=())
