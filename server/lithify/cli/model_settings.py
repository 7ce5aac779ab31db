"""The settings that a command is given in a file, and the models they name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lithify.core.settings import Settings
    from lithify.workers.ports import Models

_ADVICE = "give a JSON object of settings, such as an editor sends; docs/MODELS.md has examples"


class BadSettings(Exception):
    """A settings file that cannot be used: one line that says why, and what to do."""


def add_settings(parser: argparse._ActionsContainer, help_text: str) -> None:
    """Adds `--settings`."""
    parser.add_argument("--settings", metavar="FILE", help=help_text)


def read_settings_file(path: str) -> Settings:
    """The settings in a file: those of an editor, as JSON, nested or below one key `lithify`. Raises BadSettings."""
    import json
    from pathlib import Path

    from lithify.core.settings import read_settings, unknown_settings

    try:
        given = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadSettings(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise BadSettings(f"{path} is not JSON ({error}); {_ADVICE}") from error
    if isinstance(given, dict) and isinstance(given.get("lithify"), dict):
        given = given["lithify"]
    settings = read_settings(given)
    if isinstance(settings, list):
        first = settings[0]
        raise BadSettings(f"{path}: {first.setting} is {first.given!r}, expected {first.expected}")
    if unknown := unknown_settings(given):
        raise BadSettings(f"{path}: there is no setting {unknown[0]}; docs/SETTINGS.md lists them")
    return settings


def models_of(settings: Settings) -> Models:
    """The models that answer without an editor. Raises BadSettings."""
    import os

    from lithify.core.model_calls import ModelFailure
    from lithify.llm import choice

    models = choice.Models(None, os.environ).choose(settings.model)
    if isinstance(models, ModelFailure):
        raise BadSettings(models.message)
    return models
