"""The settings that a command is given in a file, and the models they name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from lithify.core.settings import Settings
    from lithify.llm.acp.model import AcpModel
    from lithify.llm.http.model import HttpModel
    from lithify.llm.offline import OfflineModel

    CommandLineModel: TypeAlias = AcpModel | HttpModel | OfflineModel

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
        raise BadSettings(f"{path} cannot be read: {error.strerror or error}; {_ADVICE}") from error
    except (ValueError, RecursionError) as error:
        raise BadSettings(f"{path} is not JSON ({error}); {_ADVICE}") from error
    if isinstance(given, dict) and isinstance(given.get("lithify"), dict):
        given = given["lithify"]
    settings = read_settings(given)
    if isinstance(settings, list):
        told = "; ".join(f"{one.setting} is {one.given!r}, expected {one.expected}" for one in settings)
        raise BadSettings(f"{path}: {told}")
    if unknown := unknown_settings(given):
        raise BadSettings(f"{path}: there is no setting {unknown[0]}; docs/SETTINGS.md lists them")
    return settings


def models_of(settings: Settings) -> tuple[CommandLineModel, ...]:
    """The models that answer without an editor. Raises BadSettings."""
    import os

    from lithify.core.model_calls import ModelFailure
    from lithify.llm import choice
    from lithify.llm.editor import EditorModel

    models = choice.Models(None, os.environ).choose(settings.model)
    if isinstance(models, ModelFailure):
        raise BadSettings(models.message)
    return tuple(one for one in models if not isinstance(one, EditorModel))
