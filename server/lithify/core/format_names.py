"""What the formats of chat files are called, in settings and on the command line. A test holds the list against the
registry, which cannot be asked here: it would be loaded for every `lithify --help`."""

from __future__ import annotations

FORMAT_NAMES = (
    *("kimi-context", "claude-code", "codex", "gemini", "kimi-code", "copilot-cli", "specstory", "opencode"),
    *("vscode-chat", "cline", "openai-json", "openai-jsonl"),
)
