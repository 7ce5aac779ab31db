"""Which models an agent offers in a session, and which of them was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Offer:
    """The models of a session. `option` is the configuration option that sets the model; without it the legacy
    `session/set_model` does. `models` are pairs of id and name."""

    option: str | None
    current: str | None
    models: tuple[tuple[str, str], ...]

    def find(self, asked: str) -> str | None:
        """The id of the model that was asked for by id or name; upper and lower case are the same where nothing fits
        exactly."""
        for fold in (str, str.casefold):
            for column in (0, 1):
                for model in self.models:
                    if fold(model[column]) == fold(asked):
                        return model[0]
        return None


def offer_of(session: Mapping[str, Any]) -> Offer | None:
    """What the answer to `session/new` (or to a changed option) says of models; None where it says nothing."""
    for option in _mappings(session.get("configOptions")):
        if option.get("category") == "model" and isinstance(option.get("id"), str):
            return Offer(option["id"], _text(option.get("currentValue")), tuple(_pairs(option.get("options"), "value")))
    models = session.get("models")
    if isinstance(models, Mapping):
        known = tuple(_pairs(models.get("availableModels"), "modelId"))
        return Offer(None, _text(models.get("currentModelId")), known)
    return None


def _pairs(options: Any, key: str) -> Iterator[tuple[str, str]]:
    """The options, those in groups too."""
    for option in _mappings(options):
        if isinstance(option.get("options"), list):
            yield from _pairs(option["options"], key)
        elif isinstance(found := option.get(key), str):
            yield found, _text(option.get("name")) or found


def _mappings(values: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, Mapping))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
