"""What a model answers to an extraction and to a buffer compaction (wire contract, section 9)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lithify.core import markup, records
from lithify.core.entries import Entry
from lithify.core.observations import contents
from lithify.core.records import RECORD_TYPES, RecordDraft, RecordType
from lithify.core.repetition import runs_away
from lithify.core.replies import echoed_placeholders

RECORD, SKIP, COMPACTED = "memory_record", "skip", "compacted_entry"

_LINE_ENDS = re.compile(r"[\t\n]+")
_ID = re.compile(r"[^\s,;\"'<>()\[\]]+")
_COMMA = re.compile(r"\s*[,，、]\s+|\s*[，、]\s*")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that steer a terminal or turn the direction of writing; what parts lines is none of them."""
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffd")
"""Characters that count as letters or signs and show nothing: fillers, and what stands for a lost character."""
_THOUGHTS = re.compile(r"\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_UNFILLED = re.compile(r"(?:\s*(?:[-*] )?(?:</?\w+/?>|\[[^\W\d_][\w’'()/,.:;-]* [\w’'()/,.:; -]*\]|\.\.\.))+\s*")
"""Nothing but tags, dots and bracketed phrases, as a template stands before anybody filled it."""

_UNSAID = re.compile(r"\s*(?:\.\.\.|…)\s*")
"""A reason as the prompt's template has it."""

_LEAST_SENTENCE = 30
"""Characters from which on a text that stands in the prompt was taken from there."""

_CUT_OFF_REASONS = frozenset({"max_tokens", "length"})


@dataclass(frozen=True, slots=True)
class Unusable:
    """An answer that is a failure, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """The records of a batch; none when the model found nothing worth keeping and said so."""

    records: tuple[RecordDraft, ...]


@dataclass(frozen=True, slots=True)
class CompactedText:
    """One summary of a buffer compaction, and the entries of the batch it stands for."""

    text: str
    entries: tuple[Entry, ...]


def read_extraction(
    answer: str, batch: Sequence[Entry], template: str, stop_reason: str | None, *, literal: bool = False
) -> Extracted | Unusable:
    """The records in an answer. A record that names no id of the batch, or only unknown ones, came from all of it.

    `template` is the prompt without the observations. Neither records nor an explicit skip, a cut-off, an echoed
    template or a runaway repetition are failures, not an empty success. A `literal` answer (the offline model's) only
    quotes the observations: what is said over and over in it was said so there.
    """
    answer = _without_thoughts(answer)
    found = list(markup.elements(answer, RECORD))
    problem = _problem(answer, batch, template, stop_reason) or _broken_off(answer, found, RECORD)
    if problem is not None:
        return Unusable(problem)
    known = _Known(batch)
    drafts = [draft for element in found if (draft := _draft(element, known, template)) is not None]
    facts = [fact for draft in drafts for fact in draft.facts]
    summaries = [draft.summary for draft in drafts]
    if not literal and (_repeats_itself(_worded(summaries)) or _repeats_itself(_worded(facts))):
        return Unusable("the answer repeats itself over and over")
    if drafts:
        return Extracted(tuple(drafts))
    if found:
        return Unusable("no memory record in the answer has both a title and a summary")
    skips = list(markup.elements(answer, SKIP))
    if skips and all(_UNSAID.fullmatch(skip.attributes.get("reason", "")) for skip in skips):
        return Unusable("the answer repeats the prompt's skip without a reason of its own")
    return Extracted(()) if skips else Unusable("the answer holds neither a memory record nor a skip")


def read_compaction(
    answer: str, batch: Sequence[Entry], template: str, stop_reason: str | None, *, literal: bool = False
) -> tuple[CompactedText, ...] | Unusable:
    """The summaries in an answer. Each entry of the batch belongs to exactly one: the first that names it; those that
    none names are shared out in order, among the summaries that name none if there are such. A summary that is left
    without an entry goes on in the one that has those it names. `literal` as for `read_extraction`."""
    answer = _without_thoughts(answer)
    found = list(markup.elements(answer, COMPACTED))
    problem = _problem(answer, batch, template, stop_reason) or _broken_off(answer, found, COMPACTED)
    if problem is not None:
        return Unusable(problem)
    texts = [(text, one) for one in found if _says_something(text := markup.text_of(one.content), batch, template)]
    if not texts or not batch:
        return Unusable("the answer holds no compacted entry with text")
    if not literal and _repeats_itself([text for text, _ in texts]):
        return Unusable("the answer repeats itself over and over")
    return _shared_out([(text, _ID.findall(one.attributes.get("sources", ""))) for text, one in texts], batch)


def _without_thoughts(answer: str) -> str:
    """The answer without what a model thought aloud before it."""
    thoughts = _THOUGHTS.match(answer)
    return answer.partition(f"</{thoughts[1]}>")[2] if thoughts is not None else answer


def _problem(answer: str, batch: Sequence[Entry], template: str, stop_reason: str | None) -> str | None:
    if not answer.strip():
        return "the answer is empty"
    if stop_reason in _CUT_OFF_REASONS:
        return "the answer is cut off at the model's output limit"
    for placeholder in echoed_placeholders(answer, template):
        if not _quoted(placeholder, batch):
            return f"the answer repeats the prompt's template unfilled: {placeholder}"
    return None


def _quoted(text: str, batch: Sequence[Entry]) -> bool:
    """Whether a text stands in the observations themselves, white space aside."""
    wanted = " ".join(text.split())
    return any(wanted in " ".join(shown.split()) for entry in batch for shown in contents(entry) if shown)


def _broken_off(answer: str, found: Sequence[markup.Element], name: str) -> str | None:
    """An element without its end is forgiven where another follows; the last one without it is cut off."""
    if (found and not found[-1].closed) or markup.breaks_off_in_tag(answer, name):
        return f"the answer is cut off inside a {name}"
    return None


def _repeats_itself(texts: Sequence[str]) -> bool:
    return any(map(runs_away, texts)) or runs_away("\n".join(texts))


def _worded(texts: Iterable[str]) -> list[str]:
    """Texts of more than one word: of a record, a filler of one word is cut like anything too long, not refused."""
    return [text for text in texts if len(set(text.split())) > 1]


class _Known:
    """The ids a record may name: of the entries of a batch, and of the events that a summary among them covers."""

    def __init__(self, batch: Sequence[Entry]) -> None:
        self.batch = batch
        self.all = tuple(dict.fromkeys(event_id for entry in batch for event_id in entry.covered_ids))
        self._by_name: dict[str, tuple[str, ...]] = {event_id.casefold(): (event_id,) for event_id in self.all}
        self._by_name.update((entry.event_id.casefold(), entry.covered_ids) for entry in batch)

    def events_of(self, named: Iterable[str]) -> tuple[str, ...]:
        """The original events behind the ids; those of the whole batch where no id is known."""
        found = [event_id for name in named for event_id in self._by_name.get(name.casefold(), ())]
        return tuple(dict.fromkeys(found)) or self.all


def _draft(element: markup.Element, known: _Known, template: str) -> RecordDraft | None:
    content = element.content
    title, summary = (
        _on_one_line(markup.child_text(content, "title")),
        _printable(markup.child_text(content, "summary")),
    )
    if not all(_says_something(text, known.batch, template) for text in (title, summary)):
        return None
    named = [name for text in markup.child_texts(content, "source_event_ids", "id") for name in _ID.findall(text)]
    return RecordDraft(
        type=_type(element.attributes.get("type", "")),
        title=title[: records.MAX_TITLE],
        summary=summary[: records.MAX_SUMMARY],
        facts=_cut(map(_printable, markup.child_texts(content, "facts", "fact")), records.MAX_FACT),
        concepts=_cut(_listed(content, "concepts", "concept"), records.MAX_CONCEPT),
        files=_cut(_listed(content, "files", "file"), records.MAX_FILE, ignore_case=False),
        source_event_ids=known.events_of(named),
    )


def _printable(text: str) -> str:
    """A text of lines without characters that would steer what shows it."""
    return _CONTROLS.sub("", "\n".join(text.splitlines())).strip()


def _on_one_line(text: str) -> str:
    return " ".join(_printable(text).split())


def _says_something(text: str, batch: Sequence[Entry], template: str) -> bool:
    """Whether a text shows anything, and is more than the brackets of a template or the prompt's own sentences, or
    quotes such."""
    if not any(map(_shows, text)):
        return False
    if _UNFILLED.fullmatch(text) is None and not _is_from(template, text):
        return True
    return all(_quoted(line, batch) for line in _bare_lines(text))


def _shows(character: str) -> bool:
    """Whether a character is seen by itself: no blank, no control or format character, no accent without a letter."""
    category = unicodedata.category(character)
    return category[0] not in "ZM" and category not in ("Cc", "Cf", "Cs") and character not in _BLANKS


def _is_from(template: str, text: str) -> bool:
    """Whether all the lines of a text, if it is no mere word or two, stand in the prompt."""
    told = " ".join(template.split())
    return len(text) >= _LEAST_SENTENCE and all(" ".join(line.split()) in told for line in _bare_lines(text))


def _bare_lines(text: str) -> list[str]:
    return [bare for line in text.splitlines() if (bare := line.strip().removeprefix("- "))]


def _type(named: str) -> RecordType:
    wanted = "_".join(re.findall(r"[a-z]+", named.lower()))
    return next((one for one in RECORD_TYPES if one == wanted), "discovery")


def _listed(content: str, parent: str, name: str) -> list[str]:
    """Short texts of a list; several in one element are parted at their commas."""
    texts = map(_printable, markup.child_texts(content, parent, name))
    return [_LINE_ENDS.sub(" ", piece) for text in texts for piece in _COMMA.split(text)]


def _cut(texts: Iterable[str], limit: int, *, ignore_case: bool = True) -> tuple[str, ...]:
    return records.merged((text[:limit] for text in texts if text), ignore_case=ignore_case)


def _shared_out(summaries: Sequence[tuple[str, list[str]]], batch: Sequence[Entry]) -> tuple[CompactedText, ...]:
    known = {entry.event_id.casefold() for entry in batch}
    named = [[name for each in ids if (name := each.casefold()) in known] for _, ids in summaries]
    owner: dict[str, int] = {}
    for index, names in enumerate(named):
        for name in names:
            owner.setdefault(name, index)
    free = [entry for entry in batch if entry.event_id.casefold() not in owner]
    takers = [index for index, names in enumerate(named) if not names] or list(range(len(summaries)))
    for place, entry in enumerate(free):
        owner[entry.event_id.casefold()] = takers[place * len(takers) // len(free)]
    entries: list[list[Entry]] = [[] for _ in summaries]
    for entry in batch:
        entries[owner[entry.event_id.casefold()]].append(entry)
    texts = _joined(summaries, named, owner, [bool(each) for each in entries])
    return tuple(
        CompactedText("\n\n".join(text), tuple(each)) for text, each in zip(texts, entries, strict=True) if each
    )


def _joined(
    summaries: Sequence[tuple[str, list[str]]],
    named: Sequence[list[str]],
    owner: dict[str, int],
    filled: Sequence[bool],
) -> list[list[str]]:
    """The texts of each summary: its own, and those of summaries left without an entry that belong to it."""
    texts: list[list[str]] = [[] for _ in summaries]
    last = filled.index(True)
    for index, (text, _) in enumerate(summaries):
        last = index if filled[index] else owner[named[index][0]] if named[index] else last
        texts[last].append(text)
    return texts
