"""Items about the environment: the working directory, versions, dependencies, the project's layout."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lithify.core.digest.cleaning import file_view
from lithify.core.digest.gathering import Facts
from lithify.core.digest.items import Entry, Item, newest_first
from lithify.core.digest.labels import CWD, DEPENDENCIES, ENVIRONMENT, LAYOUT
from lithify.core.digest.shortening import one_line, shortened

_CWD = re.compile(
    r"(?:<cwd>|\(Current directory: |[Cc]urrent [Ww]orking [Dd]irectory(?: is)? ?[:(] ?|[Ww]orking directory: |"
    r"[Ww]orkspace [Pp]ath: )((?:[~/]|[A-Za-z]:[\\/])[^\n<>()'\"`]{0,300})"
)
_PLATFORM = re.compile(
    r"^[ \t]*(?:<(shell|approval_policy|sandbox_mode|network_access|os|platform)>([^<\n]{1,80})|"
    r"((?:Platform|OS|OS Version|Shell|Default Shell|Operating System|Is directory a git repo|Git branch)[: ]+"
    r"[^\n]{1,80})$)",
    re.M | re.I,
)
_VERSION = re.compile(
    r"^[ \t]*[\"']?("
    r"(?:requires-python|python_requires|rust-version|edition|toolchain|target-version|packageManager)[\"' ]{0,4}[:= ]"
    r".{1,60}|"
    r"go \d+\.\d+\S{0,40}|"
    r"(?:Python|node|npm|rustc|cargo|go version|ruby|java|gcc|Docker version|git version) ?v?\d+\.\d+[^\n]{0,40}|"
    r"v\d+\.\d+\.\d+|\"(?:node|typescript|react|vue|next|engines)\": \"[^\"\n]{1,30}\")[,\"']{0,4}[ \t]*$",
    re.M,
)
_MANIFESTS = re.compile(
    r"(?:^|/)(?:pyproject\.toml|package\.json|go\.mod|Cargo\.toml|requirements[\w-]*\.txt|Gemfile|pom\.xml|"
    r"build\.gradle|\.python-version|\.nvmrc|rust-toolchain(?:\.toml)?|docker-compose\.ya?ml)$"
)
_DEPENDENCY_BLOCK = re.compile(
    r"^(?:dependencies = \[|[ \t]*\"dependencies\": \{|require \()\n((?:[ \t]+[^\n]*\n)*)|"
    r"^\[dependencies\]\n((?:[^\[\n][^\n]*\n)*)",
    re.M,
)
_DEPENDENCY = re.compile(r"^[ \t]*[\"']?([A-Za-z@][\w./@-]{0,100})(?![^\n]*// indirect)", re.M)
_LONG_LIST = re.compile(r"^[bcdlps-][rwxsStT-]{9}\S?\s+\d+\s+\S+\s+\S+\s+[\d,]+\s+\S+\s+\S+\s+\S+\s+(.+)$", re.M)
_ASKS = re.compile(r"version|\B-[vV]\b|\benv\b|\bpwd\b|\binfo\b")
_CONTEXT_CHARS = 40_000
_NEWEST = 300
_NAME = re.compile(r"[\w.@+-][\w.@+/-]*[\w/*@+-]|\w")


def items(facts: Facts) -> Iterator[Item]:
    """Everything known of the environment, ranked."""
    yield from _places(facts)
    yield from newest_first(ENVIRONMENT, 14, 2, _platform(facts), share=15, counted=False)
    yield from newest_first(ENVIRONMENT, 15, 3, _versions(facts), share=20, counted=False)
    yield from newest_first(ENVIRONMENT, 19, 6, _dependencies(facts), share=40, counted=False)
    yield from newest_first(ENVIRONMENT, 24, 6, _layouts(facts), share=40, counted=False)


def _texts(facts: Facts) -> Iterator[tuple[int, str]]:
    """Texts that may tell of the environment: context blocks, and outputs of commands that ask for it."""
    yield from ((position, text[:_CONTEXT_CHARS]) for position, text in _blocks(facts))
    for run in facts.commands[-_NEWEST:]:
        if not run.silent and _ASKS.search(run.command[:200]):
            yield run.position, run.output[:2000]


def _blocks(facts: Facts) -> list[tuple[int, str]]:
    """The context blocks: clients repeat them, so the first and the newest tell all."""
    blocks = facts.surroundings
    return blocks if len(blocks) <= 30 else [*blocks[:10], *blocks[-20:]]


def _places(facts: Facts) -> Iterator[Item]:
    places = [found.strip() for _, text in _texts(facts) for found in _CWD.findall(text)]
    place = facts.working_directory or (places[-1] if places else "")
    if place:
        yield Item(ENVIRONMENT, 6, -2, CWD + place, share=40)


def _platform(facts: Facts) -> Iterator[Entry]:
    known: dict[str, int] = {}
    for position, text in _blocks(facts):
        for tag, value, line in _PLATFORM.findall(text):
            known[line.strip() or f"{tag}: {value.strip()}"] = position
    yield from (Entry(position, text) for text, position in known.items())


def _versions(facts: Facts) -> Iterator[Entry]:
    """Version lines of manifests that were shown, and of command outputs; the newest of each."""
    known: dict[str, Entry] = {}
    for position, text in _texts(facts):
        for line in _VERSION.findall(text[:4000]):
            known[line.split()[0]] = Entry(position, line.strip())
    for path, position, content in _manifests(facts):
        lines = list(dict.fromkeys(line.strip() for line in _VERSION.findall(content)))
        if lines:
            known[path] = Entry(position, f"{path}: {'; '.join(lines[:6])}")
    yield from known.values()


def _dependencies(facts: Facts) -> Iterator[Entry]:
    """The names a manifest depends on, as it was last shown."""
    for path, position, content in _manifests(facts):
        blocks = _DEPENDENCY_BLOCK.findall(content)
        names = [name for block in blocks for name in _DEPENDENCY.findall("".join(block))]
        if names:
            yield Entry(position, f"{DEPENDENCIES}{path}: {', '.join(dict.fromkeys(names))}")


def _manifests(facts: Facts) -> Iterator[tuple[str, int, str]]:
    """Path, position and content of the manifests that were shown or written."""
    for state in facts.files.states.values():
        if state.content and _MANIFESTS.search(state.path):
            content = state.content[:_CONTEXT_CHARS]
            yield state.path, state.position, file_view(content) if state.viewed else content


def _layouts(facts: Facts) -> Iterator[Entry]:
    """Names under a place, as the last listing of it showed them."""
    known: dict[str, Entry] = {}
    for listing in facts.listings[-_NEWEST:]:
        names = _names(listing.text[:6000])
        if len(names) > 1:
            known[listing.place] = Entry(
                listing.position, f"{LAYOUT}{shortened(listing.place, 120)}: {' '.join(names)}"
            )
    yield from known.values()


def _names(text: str) -> list[str]:
    long = [name.strip() for name in _LONG_LIST.findall(text)]
    if long:
        return [one_line(name) for name in long if name not in {".", ".."}]
    names: list[str] = []
    for line in text.split("\n"):
        words = line.split()
        if len(words) <= 8 and all(_NAME.fullmatch(word) for word in words):
            names.extend(words)
    return names
