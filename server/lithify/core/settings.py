"""Every setting: its name, default, bounds and meaning. The settings reference is generated from here.

Settings arrive nested under the section `lithify` (wire contract, section 7), with camelCase names on the wire.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError
from pydantic.alias_generators import to_camel

from lithify.core.exclusion import DEFAULT_PATTERNS, Exclusion
from lithify.core.forced_formats import problem_of
from lithify.core.format_names import FORMAT_NAMES
from lithify.core.messages import compact_json

VARIABLE_NAME = r"^[A-Za-z_][A-Za-z0-9_]*$"
HIDDEN = "(not shown)"

Positive = Annotated[StrictInt, Field(gt=0)]
NotNegative = Annotated[StrictInt, Field(ge=0)]
VariableName = Annotated[StrictStr, Field(pattern=VARIABLE_NAME)]
ModelName = Annotated[StrictStr, Field(min_length=1)] | None


class Section(BaseModel):
    """A group of settings. Unknown names are ignored here and told by `unknown_settings`."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", defer_build=True
    )


class Recording(Section):
    enabled: StrictBool = Field(True, description="Record events at all. A workspace may only switch this off.")
    exclude: tuple[StrictStr, ...] = Field(
        DEFAULT_PATTERNS,
        description="Globs of paths; a tool event that names one is rejected. A workspace may only add to them.",
    )


class Sessions(Section):
    record: Literal["turns", "all", "none"] = Field(
        "turns",
        description="What is said in a session and recorded as events: user and assistant turns, also tool calls "
        "with their results (`all`), or nothing.",
    )


class Buffer(Section):
    idle_ms: StrictInt = Field(
        30_000, ge=5_000, le=300_000, description="Milliseconds without an append that start an extraction."
    )
    extraction_bytes: StrictInt = Field(262_144, ge=1024, description="Buffer size that starts an extraction.")
    compaction_bytes: StrictInt = Field(1_048_576, ge=1024, description="Buffer size above which it is compacted.")
    ceiling_bytes: StrictInt = Field(
        4_194_304, ge=1024, description="Buffer size above which events wait in the database."
    )


class Extraction(Section):
    enabled: StrictBool = Field(True, description="Extract memory records from the buffer.")
    timeout_ms: Positive = Field(120_000, description="Milliseconds one model call may take.")
    max_failures: Positive = Field(3, description="Failed runs that open the breaker.")
    cooldown_ms: NotNegative = Field(
        300_000, description="Milliseconds an open breaker waits before it tries again; 0: until a manual run succeeds."
    )
    model: ModelName = Field(None, description="Model for extraction; none: the provider's own.")


class BufferCompaction(Section):
    enabled: StrictBool = Field(False, description="Compact the buffer when extraction falls behind.")
    timeout_ms: Positive = Field(120_000, description="Milliseconds one model call may take.")
    max_attempts: Positive = Field(2, description="Attempts before the oldest entries are evicted.")
    max_failures: Positive = Field(3, description="Failed runs that open the breaker.")
    cooldown_ms: NotNegative = Field(
        300_000, description="Milliseconds an open breaker waits before it tries again; 0: until a manual run succeeds."
    )
    model: ModelName = Field("claude-haiku-4.5", description="Model for buffer compaction, where the provider has it.")


class MemoryCompaction(Section):
    enabled: StrictBool = Field(False, description="Reserved for a later version.")
    max_records: Positive = Field(5000, description="Reserved for a later version.")


class ConversationCompaction(Section):
    """The agent config of documents, and of sessions opened without one."""

    enabled: StrictBool = True
    type: StrictStr = "kimi"
    max_preserved_messages: StrictInt = 2
    compaction_model: ModelName = None
    prompt: StrictStr | None = None
    settings_overrides: dict[str, Any] | None = None


class Conversation(Section):
    timeout_ms: Positive = Field(120_000, description="Milliseconds one model call may take.")
    max_request_tokens: NotNegative = Field(
        150_000, description="Tokens above which a request is folded into several; 0 never folds."
    )
    refuse_larger_from: NotNegative = Field(
        20_000,
        description="Ranges of at least this many tokens whose result is not smaller are refused; 0 never refuses.",
    )
    exact_anchor: StrictBool = Field(
        False, description="Take ranges exactly as asked, even where that parts a tool call from its results."
    )
    keep_originals: StrictBool = Field(True, description="Keep what a compaction replaced, so that it can be undone.")
    compaction: ConversationCompaction = Field(
        ConversationCompaction(), description="The agent config of documents and of sessions opened without one."
    )


class Documents(Section):
    formats: dict[StrictStr, StrictStr] = Field(
        {},
        description="Globs of paths, each with the name of the format that such a chat file is read as, whatever it "
        f"looks like; the longest glob decides. Formats: {', '.join(f'`{name}`' for name in FORMAT_NAMES)}.",
    )


class AcpModel(Section):
    command: tuple[StrictStr, ...] = Field((), description="The agent's command and arguments. Machine scope.")
    profile: ModelName = Field(None, description="Which agent it is. Machine scope.")
    env: tuple[VariableName, ...] = Field((), description="Names of environment variables passed on. Machine scope.")


class HttpModel(Section):
    base_url: ModelName = Field(None, description="The endpoint. Machine scope.")
    wire: Literal["openai", "anthropic"] | None = Field(None, description="The wire format. Machine scope.")
    model: ModelName = Field(None, description="The model's name. Machine scope.")
    api_key_env: VariableName | None = Field(
        None, description="Name of the variable that holds the key. Machine scope."
    )


class Model(Section):
    provider: Literal["auto", "editor", "acp", "http", "offline"] = Field(
        "auto",
        description="Which model answers. `auto`: the editor's, else a configured agent or endpoint, else offline.",
    )
    acp: AcpModel = Field(default_factory=AcpModel)
    http: HttpModel = Field(default_factory=HttpModel)


class Background(Section):
    max_model_calls_per_hour: Positive = Field(60, description="Model calls an hour that no user asked for.")
    max_tokens_per_hour: Positive = Field(2_000_000, description="Tokens an hour that no user asked for.")


class Privacy(Section):
    redact_secrets: StrictBool = Field(True, description="Reserved for a later version.")


class Log(Section):
    level: Literal["debug", "info", "warning", "error"] = Field(
        "warning", description="What the log holds; never a body at `info` or above."
    )


class Settings(Section):
    """All settings of the section `lithify`; values out of bounds never get this far (see `read_settings`)."""

    data_dir: ModelName = Field(
        None, description="Folder of the database and the buffers; none: the platform's. Machine scope."
    )
    recording: Recording = Field(default_factory=Recording)
    sessions: Sessions = Field(default_factory=Sessions)
    buffer: Buffer = Field(default_factory=Buffer)
    extraction: Extraction = Field(default_factory=Extraction)
    buffer_compaction: BufferCompaction = Field(default_factory=BufferCompaction)
    memory_compaction: MemoryCompaction = Field(default_factory=MemoryCompaction)
    conversation: Conversation = Field(default_factory=Conversation)
    documents: Documents = Field(default_factory=Documents)
    model: Model = Field(default_factory=Model)
    background: Background = Field(default_factory=Background)
    privacy: Privacy = Field(default_factory=Privacy)
    log: Log = Field(default_factory=Log)


MACHINE_SCOPED = ("dataDir", "model.acp", "model.http")
"""Settings (with all below them) that a workspace must never choose: what runs, and where text goes."""


@dataclass(frozen=True, slots=True)
class SettingProblem:
    """One invalid setting: its dotted name, the JSON value given, and what is expected in words."""

    setting: str
    given: Any
    expected: str


def read_settings(given: Any) -> Settings | list[SettingProblem]:
    """The settings of a (nested, camelCase) JSON object with defaults filled in, or every problem it has."""
    if given is None:
        given = {}
    if not isinstance(given, dict):
        return [SettingProblem("lithify", given, "an object of settings")]
    try:
        settings = Settings.model_validate(given, by_alias=True, by_name=False)
    except ValidationError as error:
        return _problems(error)
    problems = [*_order_problems(settings.buffer), *_exclude_problems(settings.recording)]
    return [*problems, *_format_problems(settings.documents)] or settings


_EXPECTED = {"model_type": "an object of settings", "dict_type": "an object", "tuple_type": "a list"}


def _problems(error: ValidationError) -> list[SettingProblem]:
    """The first problem of each setting, in the order of the settings."""
    found: dict[str, SettingProblem] = {}
    for detail in error.errors():
        names = [part for part in detail["loc"] if isinstance(part, str) and "[" not in part]
        expected = _EXPECTED.get(detail["type"], detail["msg"].removeprefix("Input should be "))
        setting = ".".join(names)
        given = _json_value(detail["input"])
        if detail["type"] == "string_pattern_mismatch":  # somebody may have put the key itself there
            given, expected = given and HIDDEN, "the name of an environment variable, such as OPENAI_API_KEY"
        found.setdefault(setting, SettingProblem(setting, given, expected))
    return list(found.values())


def _json_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _order_problems(buffer: Buffer) -> list[SettingProblem]:
    problems = []
    if buffer.compaction_bytes <= buffer.extraction_bytes:
        expected = f"more than buffer.extractionBytes ({buffer.extraction_bytes})"
        problems.append(SettingProblem("buffer.compactionBytes", buffer.compaction_bytes, expected))
    if buffer.ceiling_bytes <= buffer.compaction_bytes:
        expected = f"more than buffer.compactionBytes ({buffer.compaction_bytes})"
        problems.append(SettingProblem("buffer.ceilingBytes", buffer.ceiling_bytes, expected))
    return problems


def _exclude_problems(recording: Recording) -> list[SettingProblem]:
    if recording.exclude == DEFAULT_PATTERNS:
        return []
    try:
        Exclusion(recording.exclude)
    except ValueError as error:
        return [SettingProblem("recording.exclude", list(recording.exclude), f"globs of paths ({error})")]
    return []


def _format_problems(documents: Documents) -> list[SettingProblem]:
    expected = problem_of(documents.formats)
    return [] if expected is None else [SettingProblem("documents.formats", documents.formats, expected)]


def unknown_settings(given: Any) -> list[str]:
    """The dotted names in a settings object that are no settings (`client`, an editor's own part, is not one)."""
    names = list(_unknown(given, Settings, "")) if isinstance(given, dict) else []
    return [name for name in names if name != "client"]


def _unknown(given: Mapping[str, Any], section: type[Section], prefix: str) -> Iterator[str]:
    fields = {field.alias or name: field for name, field in section.model_fields.items()}
    for name, value in given.items():
        inner = fields[name].annotation if name in fields else None
        if name not in fields:
            yield prefix + name
        elif isinstance(inner, type) and issubclass(inner, Section) and isinstance(value, dict):
            yield from _unknown(value, inner, f"{prefix}{name}.")


@dataclass(frozen=True, slots=True)
class Change:
    """Changed settings as they take effect, and the machine-scoped names that were left as they are."""

    settings: Settings
    ignored: tuple[str, ...]


def changed_settings(initial: dict[str, Any], change: dict[str, Any]) -> Change | list[SettingProblem]:
    """What a configuration change makes of the settings the editor started with.

    The change is laid over the initial ones name by name. Machine-scoped settings stay, recording can only be
    switched off and exclusions only be added (`!glob`, which takes one back, is left out). Where the user began with
    `offline`, no change leads to an agent or an endpoint: text does not leave at a workspace's word.
    """
    merged, ignored = _merge(initial, change, "")
    settings = read_settings(merged)
    first = read_settings(initial)
    if isinstance(settings, list) or isinstance(first, list):
        return settings if isinstance(settings, list) else []
    added = (glob for glob in settings.recording.exclude if not glob.startswith("!"))
    if first.model.provider == "offline" and _leaves_the_editor(settings.model):
        settings = settings.model_copy(update={"model": first.model})
        ignored.append("model.provider")
    recording = Recording(
        enabled=first.recording.enabled and settings.recording.enabled,
        exclude=tuple(dict.fromkeys((*first.recording.exclude, *added))),
    )
    return Change(settings.model_copy(update={"recording": recording}), tuple(ignored))


def _leaves_the_editor(model: Model) -> bool:
    """Whether an agent or an endpoint may answer."""
    named = model.acp.command or model.acp.profile or model.http.base_url
    return model.provider in ("acp", "http") or (model.provider == "auto" and bool(named))


def _merge(base: Mapping[str, Any], change: Mapping[str, Any], prefix: str) -> tuple[dict[str, Any], list[str]]:
    merged, ignored = dict(base), []
    for name, value in change.items():
        dotted = prefix + name
        if dotted in MACHINE_SCOPED:
            if compact_json(value) != compact_json(base.get(name)):
                ignored.append(dotted)
        elif isinstance(value, dict) and isinstance(base.get(name, {}), dict):
            merged[name], inner = _merge(base.get(name, {}), value, f"{dotted}.")
            ignored.extend(inner)
        else:
            merged[name] = value
    return merged, ignored
