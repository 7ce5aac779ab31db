"""The preview of a compaction as a Markdown document: what it would do, where the text would go, and what is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lithify.core.model_calls import ModelFailure
from lithify.lsp.shown_document import tokens
from lithify.transcripts.session_markdown import fenced
from lithify.workers.ports import Model

_WHERE = {
    "offline": "nowhere: the offline model works in this process",
    "editor": "the editor, which passes it to its own model",
    "acp": "the agent on this machine, which passes it to its own service",
}
_OWN = {
    "offline": "Lithify's own offline summariser, no model is asked",
    "editor": "the one that the editor chooses",
    "acp": "the one that the agent uses by itself",
}
_PROMPTS = {"override": "given by the command or the agent's settings", "lithify": "Lithify's own"}


@dataclass(frozen=True, slots=True)
class Destination:
    """Who would be asked, and where the text would go, in words."""

    model: str
    host: str


def destination(models: Sequence[Model] | ModelFailure, model_name: str | None) -> Destination:
    """Where a request goes that names that model, or none."""
    if isinstance(models, ModelFailure):
        return Destination(f"none can be asked: {models.message}", "nowhere")
    first = models[0]
    named = model_name or first.default_model
    model = f"{named}, by the provider `{first.name}`" if named else _OWN.get(first.name, "the endpoint's own choice")
    return Destination(model, first.host or _WHERE.get(first.name, "an unknown host"))


def preview_text(title: str, preview: dict[str, Any], to: Destination) -> str:
    """The document of a preview, as `lsp.convert.preview` gives it."""
    request, stats, place = preview["request"], preview["stats"], preview["range"]
    parts = "".join(part["text"] for part in request["message"]["content"])
    source = preview["promptSource"]
    facts = {
        "Messages": _messages(place, stats),
        "Size": f"{tokens(stats['tokensBefore'])} before, about {tokens(stats['tokensAfter'])} after",
        "Requests": str(preview["requests"]),
        "Model": to.model,
        "The text goes to": to.host,
        "Prompt": _PROMPTS.get(source, source),
    }
    first = preview["requests"] > 1
    return "\n\n".join(
        [
            f"# Preview: {title}",
            "No model was asked and nothing was changed. This is what the compaction would send.",
            "\n".join(f"* {name}: {fact}" for name, fact in facts.items()),
            *(["The conversation is too long for one request. Below is the first one."] if first else []),
            "## System prompt",
            fenced(request["systemPrompt"]),
            "## Message",
            f"{fenced(parts)}\n",
        ]
    )


def _messages(place: dict[str, int], stats: dict[str, int]) -> str:
    """Which messages the summary replaces, as every title counts them: a leading system message stays."""
    replaced = stats["messagesBefore"] - stats["messagesAfter"] + 1
    first = place["end"] - replaced + 1
    stays = " (message 1 is the system message and stays)" if first > place["start"] + 1 else ""
    which = f"from {first} to {place['end']}{stays}"
    return f"{replaced} of {stats['messagesBefore']} are summarised, {which}; {stats['messagesAfter']} are left"
