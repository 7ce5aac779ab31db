"""The compaction request and the summary message, part for part as kimi-cli's SimpleCompaction makes them.

Source: kimi-cli 1.52.0, `soul/compaction.py`, as measured; where Lithify deliberately differs, the tests' table of
deviations names it.
"""

from __future__ import annotations

from collections.abc import Sequence

from lithify.core.messages import Message, role_of, text_parts

OUTPUT_PREFIX = "<system>Previous context has been compacted. Here is the compaction output:</system>"
"""The first text part of every summary message."""


def request_parts(
    messages: Sequence[Message], prompt: str, instruction_intro: str, instructions: str
) -> tuple[str, ...]:
    """The text parts of the one user message: for each message a header and its texts, last the prompt.

    Nothing is put between the parts: a transport that needs one string joins them with nothing. `instructions` are
    stripped, and left out when blank; `prompt` is taken as it stands.
    """
    parts: list[str] = []
    for number, message in enumerate(messages, start=1):
        content = message.get("content")
        parts.append(f"## Message {number}\nRole: {role_of(message)}\nContent:\n")
        if not isinstance(content, str):
            parts.extend(sendable_texts(message))
        elif content and not content.isspace():
            parts.append(content)
    parts.append(closing_part(prompt, instruction_intro, instructions))
    return tuple(parts)


def closing_part(prompt: str, instruction_intro: str, instructions: str) -> str:
    """The last part: a newline, the prompt, and the user's instruction behind its introduction."""
    wanted = instructions.strip()
    return "\n" + prompt + (instruction_intro + wanted if wanted else "")


def sendable_texts(message: Message) -> list[str]:
    """A message's text parts without empty ones, which providers refuse; white space joins the part before it."""
    content = message.get("content")
    if isinstance(content, str):
        return [content] if content.strip() else []
    texts: list[str] = []
    for text in text_parts(message):
        if text.strip():
            texts.append(text)
        elif texts:
            texts[-1] += text
    return texts


def summary_message(messages: Sequence[Message], answer: str) -> Message:
    """The message that replaces the range: two text parts, or one string where every message holds a string."""
    if messages and all(isinstance(message.get("content"), str) for message in messages):
        return {"role": "user", "content": f"{OUTPUT_PREFIX}\n{answer}"}
    return {"role": "user", "content": [{"type": "text", "text": OUTPUT_PREFIX}, {"type": "text", "text": answer}]}


def is_summary(message: Message) -> bool:
    """Whether a message is a summary made by a compaction, ours or kimi-cli's."""
    texts = text_parts(message)
    return role_of(message) == "user" and bool(texts) and texts[0].startswith(OUTPUT_PREFIX)
