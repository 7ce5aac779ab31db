"""Who would be asked, and where the text would go, in words that read as a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.core.model_calls import ModelFailure
from lithify.llm.offline import OfflineModel
from lithify.lsp.preview_text import destination


class Named:
    """A model of a provider, as far as a preview names it."""

    host = "host:1"

    def __init__(self, name: str, default_model: str | None = None) -> None:
        self.name = name
        self.default_model = default_model


@pytest.mark.parametrize(
    ("model", "asked", "told"),
    [
        (OfflineModel(), None, "Lithify's own offline summariser, no model is asked"),
        (Named("editor"), None, "the one that the editor chooses"),
        (Named("acp"), None, "the one that the agent uses by itself"),
        (Named("http"), None, "the endpoint's own choice"),
        (Named("http", "small"), None, "small, by the provider `http`"),
        (Named("http", "small"), "large", "large, by the provider `http`"),
    ],
)
def test_the_model_is_named_in_words(model: Any, asked: str | None, told: str) -> None:
    assert destination([model], asked).model == told


def test_the_offline_model_sends_nothing_anywhere() -> None:
    assert destination([OfflineModel()], None).host == "nowhere: the offline model works in this process"


def test_where_none_can_be_asked_the_reason_is_told() -> None:
    failure = ModelFailure("model_unavailable", "no model is set up", retryable=False)
    assert destination(failure, None).model == "none can be asked: no model is set up"
