"""What a model's answer to a compaction is worth: what is missing, echoed or cut off.

A conversation keeps any answer that is not blank; what is wrong with it becomes a warning (wire contract, section 5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lithify.core.repetition import runs_away

SECTIONS = ("current_focus", "environment", "completed_tasks", "active_issues", "code_state", "important_context")
"""The tags of the six sections that the compaction prompts ask for."""

_PLACEHOLDER = re.compile(r"\[[^\[\]\n]* [^\[\]\n]*\]")


_TAG = re.compile(r"</?\w+>")


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know about a result: a code for programs, a sentence for people."""

    code: str
    message: str


def missing_sections(answer: str) -> list[str]:
    """The section tags that the answer lacks, in their order."""
    return [tag for tag in SECTIONS if f"<{tag}>" not in answer or f"</{tag}>" not in answer]


def echoed_placeholders(answer: str, prompt: str) -> list[str]:
    """The placeholders of the prompt's template (bracketed, several words) that stand in the answer unfilled."""
    return [found for found in dict.fromkeys(_PLACEHOLDER.findall(prompt)) if found in answer]


def answer_warnings(
    answer: str, prompt: str, *, sections_asked: bool, stop_reason: str | None, literal: bool = False
) -> list[Notice]:
    """The warnings that an answer alone gives rise to. What a `literal` answer (the offline model's) says over and
    over was said so in the conversation."""
    found = []
    missing = missing_sections(answer) if sections_asked else []
    if missing:
        found.append(Notice("missing_sections", f"The summary lacks the sections {', '.join(missing)}."))
    if echoed := echoed_placeholders(answer, prompt):
        found.append(Notice("echoed_template", f"The model repeated the prompt's template unfilled: {echoed[0]}."))
    if not literal and runs_away(_TAG.sub("", answer)):
        found.append(Notice("repetition", "The model repeated itself over and over; look at the summary before use."))
    if stop_reason == "max_tokens":
        found.append(Notice("cut_off", "The model stopped at its output limit, so the end of the summary is missing."))
    return found
