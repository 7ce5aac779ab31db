"""Which prompt a model is given: for conversations kimi-cli's own where it is at hand, else Lithify's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from lithify.prompt_files.installed import installed_prompts
from lithify.prompt_files.kept import Damaged, KeptPrompt, read_kept
from lithify.prompt_files.pins import FETCH_COMMAND, Pin, kimi_pin, templates_dir

OWN_SOURCE = "lithify"
"""`source` of Lithify's own prompt."""

_PARTS = ("_system", "_instructions")
"""How the names of files end that are parts of another template."""

Origin: TypeAlias = Literal["fetched", "shipped", "installed"]


@dataclass(frozen=True, slots=True)
class ConversationPrompt:
    """What a model is told about compacting a conversation, every text to be used as it stands.

    The request's last part is `"\\n" + text`, then for a custom instruction `instruction_intro + instruction`; the
    intro begins with an empty line and ends with a newline. `source` is what results show as `promptSource`; `exact`
    says whether it is kimi-cli's prompt, byte for byte. `problem` is a sentence for the user about a damaged copy that
    was passed over.
    """

    text: str
    system_prompt: str
    instruction_intro: str
    source: str
    exact: bool
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """What a model is told about a batch of observations, which follow right after `text`."""

    text: str
    system_prompt: str


@dataclass(frozen=True, slots=True)
class PromptCopy:
    """A place where the exact prompt lies, or something that is not quite it."""

    origin: Origin
    place: Path
    found: KeptPrompt | Damaged


@dataclass(frozen=True, slots=True)
class PromptListing:
    """One line of `lithify prompts list`. `in_use` marks the prompt that a compaction would take now."""

    name: str
    source: str
    place: Path
    state: Literal["exact", "own", "damaged", "other release"]
    in_use: bool


def user_prompts_dir() -> Path:
    """The folder that fetched prompts are kept in: one for each user, whatever `dataDir` and LITHIFY_DATA_DIR say."""
    import platformdirs

    return platformdirs.user_data_path("lithify", appauthor=False) / "prompts"


def find_conversation_prompt(user_prompts_dir: Path, *, templates: Path | None = None) -> ConversationPrompt:
    """The prompt to compact a conversation with: the exact one where a sound copy is found, else Lithify's own.

    Looks in `user_prompts_dir`, then in the folder of Lithify's templates (`templates`), then for a kimi-cli on this
    machine, and takes the first copy whose digests match the pins. Starts nothing and writes nothing. Raises OSError
    only when Lithify's own files are missing.
    """
    templates = templates or templates_dir()
    pin = kimi_pin(templates)
    problem = None
    for copy in exact_copies(user_prompts_dir, templates=templates, pin=pin):
        if isinstance(copy.found, KeptPrompt):
            return _exact(copy.found, pin, problem)
        problem = problem or _problem(copy)
    return _own(templates, problem)


def exact_copies(user_prompts_dir: Path, *, templates: Path, pin: Pin) -> Iterator[PromptCopy]:
    """The copies of the exact prompt in the order they are preferred, sound or not; looks only as far as asked."""
    places: tuple[tuple[Origin, Path], ...] = (("fetched", user_prompts_dir), ("shipped", templates))
    for origin, parent in places:
        found = read_kept(parent / pin.folder_name, pin)
        if found is not None:
            yield PromptCopy(origin, parent / pin.folder_name, found)
    for place, installed in installed_prompts(pin):
        yield PromptCopy("installed", place, installed)


def read_template(name: str, templates: Path | None = None) -> str:
    """The text of Lithify's own template `<name>.md`, as it stands. Raises OSError when it is missing."""
    return ((templates or templates_dir()) / f"{name}.md").read_bytes().decode("utf-8")


def find_template(name: Literal["extraction", "buffer_compaction"], *, templates: Path | None = None) -> Template:
    """Lithify's own template for the event memory. Raises OSError when its files are missing."""
    return Template(read_template(name, templates), read_template(f"{name}_system", templates).strip())


def list_prompts(user_prompts_dir: Path, *, templates: Path | None = None) -> list[PromptListing]:
    """Every prompt at hand: the copies of the exact one by preference, then Lithify's own templates by name."""
    templates = templates or templates_dir()
    pin = kimi_pin(templates)
    listed: list[PromptListing] = []
    exact_found = False
    for copy in exact_copies(user_prompts_dir, templates=templates, pin=pin):
        sound = isinstance(copy.found, KeptPrompt)
        unsound: Literal["damaged", "other release"] = "other release" if copy.origin == "installed" else "damaged"
        listed.append(
            PromptListing(
                "conversation", pin.label, copy.place, "exact" if sound else unsound, sound and not exact_found
            )
        )
        exact_found = exact_found or sound
    for path in sorted(templates.glob("*.md")):
        if not path.stem.endswith(_PARTS):
            in_use = path.stem != "conversation" or not exact_found
            listed.append(PromptListing(path.stem, OWN_SOURCE, path, "own", in_use))
    return listed


def _exact(kept: KeptPrompt, pin: Pin, problem: str | None) -> ConversationPrompt:
    return ConversationPrompt(
        text=kept.template.decode(),
        system_prompt=kept.system_prompt.decode(),
        instruction_intro=kept.instruction_intro.decode(),
        source=pin.label,
        exact=True,
        problem=problem,
    )


def _own(templates: Path, problem: str | None) -> ConversationPrompt:
    return ConversationPrompt(
        text=read_template("conversation", templates),
        system_prompt=read_template("conversation_system", templates).strip(),
        instruction_intro=f"\n\n{read_template('conversation_instructions', templates).strip()}\n",
        source=OWN_SOURCE,
        exact=False,
        problem=problem,
    )


def _problem(copy: PromptCopy) -> str | None:
    """The sentence about a copy that is not used; an installed kimi-cli of another release is no problem."""
    if copy.origin == "installed" or isinstance(copy.found, KeptPrompt):
        return None
    return (
        f"The copy of the exact prompt in {copy.place} is not used, because {copy.found.detail}; "
        f"run '{FETCH_COMMAND}' to get it anew."
    )
