"""What a process that holds a session is called: its program, and nothing else of how it was called."""

from __future__ import annotations

import pytest

from lithify.storage.agent_sessions.processes import Process


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("/usr/bin/claude", "--api-key", "sk-1"), "claude"),
        (("node", "/opt/bin/gemini.js", "--key", "sk-1"), "gemini"),
        (("/usr/bin/python3.11", "-c", "password = 'sk-1'"), "python3.11"),
        (("python3", "-m", "tool"), "python3"),
        (("node", "--token", "sk-1", "agent.js"), "node"),
        (("claude --api-key sk-1",), "a program"),
        (("python3", "print('sk-1')"), "python3"),
        (("\x1b[31mtool",), "a program"),
        (("",), "a program"),
        ((), "a program"),
    ],
)
def test_a_process_is_named_without_what_it_was_called_with(arguments: tuple[str, ...], name: str) -> None:
    assert Process(1, arguments, None).name == name
