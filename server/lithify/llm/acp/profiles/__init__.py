"""The agents that Lithify knows, one module each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from lithify.llm.acp.profile import Profile
from lithify.llm.acp.profiles import claude_code, gemini, generic, kimi_code, kiro, opencode

PROFILES: tuple[Profile, ...] = (
    kiro.PROFILE,
    kimi_code.PROFILE,
    claude_code.PROFILE,
    opencode.PROFILE,
    gemini.PROFILE,
    generic.PROFILE,
)


def find_profile(name: str | None, command: Sequence[str]) -> Profile | None:
    """The profile of that name (None where there is none such); without a name, the one that knows the command's
    program, else the generic one."""
    if name is not None:
        return next((profile for profile in PROFILES if profile.name == name), None)
    words = {PurePath(word).stem for word in command[:3]}
    return next((one for one in PROFILES if words.intersection(one.programs)), generic.PROFILE)
