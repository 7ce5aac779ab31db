"""What the formats of chat files are called, in settings and on the command line. A test holds the list against the
registry, which is not asked for them: with it comes the code of all formats."""

from __future__ import annotations

CLAUDE_CODE = "claude-code"
CODEX = "codex"
GEMINI = "gemini"
KIMI_CODE = "kimi-code"
KIMI_CONTEXT = "kimi-context"
OPENCODE = "opencode"

FORMAT_NAMES = (
    *(KIMI_CONTEXT, CLAUDE_CODE, CODEX, GEMINI, KIMI_CODE, "copilot-cli", "specstory", OPENCODE),
    *("vscode-chat", "cline", "openai-json", "openai-jsonl"),
)
