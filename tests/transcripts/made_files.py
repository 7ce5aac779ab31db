"""Hypothesis strategies for chat files: random messages, white space, line endings and broken pieces."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

ENDINGS = ("\n", "\r\n", "\r")
MARK = "\ufeff"

texts = st.text(max_size=12) | st.sampled_from(["", "a\nb", '"\\', "\u2028\x85", "😀 ü", "\x1b[0m", "\ud800", "},\n{"])
parts = st.builds(lambda text: {"type": "text", "text": text}, texts) | st.builds(
    lambda text: {"type": "think", "think": text}, texts
)
contents = texts | st.none() | st.lists(parts, max_size=3)
scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-1, 1) | texts


def messages(roles: tuple[str, ...] = ("user", "assistant", "tool", "system", "developer")) -> st.SearchStrategy[Any]:
    """Messages with a role first or last, and now and then a key of the user's own."""

    def made(role: str, content: Any, extra: dict[str, Any], role_last: bool) -> dict[str, Any]:
        said = {"content": content, **{f"x_{key}": value for key, value in extra.items()}}
        return {**said, "role": role} if role_last else {"role": role, **said}

    extra = st.dictionaries(texts, scalars, max_size=2)
    return st.builds(made, st.sampled_from(roles), contents, extra, st.booleans())


compact_or_spaced = st.sampled_from([(",", ":"), (", ", ": ")])


def on_one_line(value: Any) -> st.SearchStrategy[str]:
    """Some spelling of a value in one line; a lone surrogate is always escaped, as in any UTF-8 file."""
    return st.builds(
        lambda ascii_only, separators: json.dumps(
            value, ensure_ascii=ascii_only or _has_surrogate(value), separators=separators
        ),
        st.booleans(),
        compact_or_spaced,
    )


def spelled(value: Any) -> st.SearchStrategy[str]:
    """Some spelling of a value, on one line or many."""
    many = st.builds(
        lambda indent, ending: json.dumps(value, indent=indent).replace("\n", ending),
        st.sampled_from(["\t", 1, 2, 4]),
        st.sampled_from(ENDINGS),
    )
    return on_one_line(value) | many


def _has_surrogate(value: Any) -> bool:
    return "\ud800" in json.dumps(value, ensure_ascii=False)


broken_lines = st.sampled_from(
    [
        *("{", "[1,2]", "17", '"text"', "null", "nonsense", "{}", "NaN", "[" * 9),
        *('{"role":5}', '{"content":"no role"}', '{"role":"user"} {"role":"user"}', '{"role":"user","content":NaN}'),
        *('{"role":"user","content":"cut', '{"role":"user","content":"\\x"}'),
    ]
)
blank_lines = st.sampled_from(["", " ", "\t "])


@st.composite
def json_lines_files(draw: st.DrawFn, records: st.SearchStrategy[Any], broken: st.SearchStrategy[str]) -> str:
    """A file of JSON lines: records among broken and blank lines, some indented, with or without a final newline."""
    lines = draw(st.lists(st.one_of(records.flatmap(on_one_line), records.flatmap(on_one_line), broken, blank_lines)))
    indented = [
        draw(st.sampled_from(["", "", " ", "\t"])) + line + draw(st.sampled_from(["", "", " "])) for line in lines
    ]
    ending = st.sampled_from([draw(st.sampled_from(ENDINGS)), draw(st.sampled_from(ENDINGS))])
    text = "".join(line + draw(ending) for line in indented)
    if lines and draw(st.booleans()):
        text = text.rstrip("\r\n")
    return text


white_space = st.sampled_from(["", "", " ", "\n", "\r\n  ", "\t", "\r"])
strangers = st.sampled_from([0, None, "text", [], {}, {"content": "no role"}, {"role": 7}, [{"role": "user"}]])


@st.composite
def json_arrays(draw: st.DrawFn) -> str:
    """An array of messages and strangers, any white space between its tokens."""
    elements = draw(st.lists(messages() | messages() | strangers, max_size=8))
    spelt = [draw(white_space) + draw(spelled(element)) + draw(white_space) for element in elements]
    return f"[{','.join(spelt) if spelt else draw(white_space)}]"


@st.composite
def json_documents(draw: st.DrawFn) -> str:
    """An array of messages, or an object that holds one between keys of other tools."""
    array = draw(json_arrays())
    before, after = draw(white_space), draw(white_space)
    if draw(st.booleans()):
        return draw(st.sampled_from(["", MARK])) + before + array + after
    others = draw(st.lists(st.tuples(texts.map(lambda text: f"x_{text}"), scalars), max_size=3))
    members = [
        json.dumps(key) + draw(white_space) + ":" + draw(white_space) + json.dumps(value) for key, value in others
    ]
    key = draw(st.sampled_from(["messages", "history"]))
    members.insert(draw(st.integers(0, len(members))), f'"{key}"{draw(white_space)}:{draw(white_space)}{array}')
    return f"{before}{{{f',{draw(white_space)}'.join(members)}}}{after}"


kimi_records = (
    messages(("user", "assistant", "tool", "system"))
    | messages(("user", "assistant", "tool"))
    | st.builds(lambda number: {"role": "_checkpoint", "id": number}, st.integers(0, 9))
    | st.builds(lambda count: {"role": "_usage", "token_count": count}, st.integers(0, 99999))
    | st.builds(lambda text: {"role": "_system_prompt", "content": text}, texts)
)
kimi_broken_lines = broken_lines | st.sampled_from(
    ['{"role":"_usage"}', '{"role":"_checkpoint","id":"1"}', '{"role":"_later","id":1,"content":""}']
)
"""Broken lines that kimi-cli passes over; those that end its load are tested one by one."""

any_text = st.text(max_size=40) | st.text(alphabet='{}[]",:\\ \n\rerolusmagctn0', max_size=60)

openai_lines_files = json_lines_files(messages(), broken_lines)
kimi_files = json_lines_files(kimi_records, kimi_broken_lines)
