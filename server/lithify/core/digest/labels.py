"""The fixed words of a digest: section tags, and the few labels put before words of the transcript."""

from __future__ import annotations

import re

FOCUS = "current_focus"
ENVIRONMENT = "environment"
COMPLETED = "completed_tasks"
ISSUES = "active_issues"
CODE = "code_state"
CONTEXT = "important_context"
SECTIONS = (FOCUS, ENVIRONMENT, COMPLETED, ISSUES, CODE, CONTEXT)
"""The six sections of kimi-cli's compaction output, in its order."""

FILE = "file"

CUT = "…"
NOTHING = "- (none)"
UNNAMED = "(code block)"

USER = "User: "
ASSISTANT = "Assistant: "
FIRST_REQUEST = "first request: "
REQUEST = "request: "
EARLIER_FOCUS = "earlier focus: "
ASKED = "question: "
CWD = "working directory: "
LAYOUT = "layout of "
THEN = " → "
FAILED = "error: "
REFUSED = "refused: "
DEPENDENCIES = "dependencies in "
FAILING = "failing: "
OLDER_LEFT_OUT = " older left out)"
MORE_LEFT_OUT = " more left out)"
RUNS = " runs)"

WRITTEN = "written"
EDITED = "edited"
DELETED = "deleted"
READ = "read"
SHOWN = "shown in chat"
STATES = (WRITTEN, EDITED, DELETED, READ, SHOWN)

PENDING = "pending"
IN_PROGRESS = "in progress"
COMPLETED_STATE = "completed"

_STRUCTURE = re.compile(r"<(/?(?:" + "|".join((*SECTIONS, FILE)) + r"))>")


def defused(text: str) -> str:
    """The text with the digest's own tags in square brackets, so that quoting it cannot break the structure."""
    return _STRUCTURE.sub(r"[\1]", text) if "<" in text else text
