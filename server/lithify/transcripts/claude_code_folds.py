"""What a Claude Code session holds beside its conversation, as folds: branches, subagents, what was compacted away."""

from __future__ import annotations

from collections.abc import Iterator

from lithify.transcripts.claude_code_graph import Effective
from lithify.transcripts.claude_code_records import Record, Records
from lithify.transcripts.folds import titled
from lithify.transcripts.line_format import LineFold


def folds_of(found: Records, effective: Effective) -> Iterator[LineFold]:
    """Runs of messages that are no part of the conversation, in the order of the text."""
    shown = {record.key for record in effective.sequence}
    everything = (*found.main.values(), *found.sidechains.values())
    run: list[Record] = []
    run_title = ""
    for record in sorted((one for one in everything if one.said is not None), key=lambda one: one.line):
        title = "" if record.key in shown else _title(record, found, effective)
        if title != run_title and run:
            yield _fold(run_title, run)
            run = []
        run_title = title
        if title:
            run.append(record)
    if run:
        yield _fold(run_title, run)


def _title(record: Record, found: Records, effective: Effective) -> str:
    if found.main.get(record.key) is not record:
        return "Subagent"
    return "Compacted away" if record.key in effective.compacted else "Earlier branch"


def _fold(title: str, run: list[Record]) -> LineFold:
    count = len({record.message_id or record.key for record in run})
    return LineFold(run[0].line, run[-1].line, titled(title, count), count)
