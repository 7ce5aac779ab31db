"""The scrub of private spans: no secret gets through, nothing else is lost, in linear time."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.core.privacy import REDACTED, scrub_body, scrub_text, scrub_value

SECRET = "hunter2"

# --- the forms a tag comes in ---------------------------------------------------------------------------------

OPENINGS = [
    "<private>",
    "<PRIVATE>",
    "< private >",
    "<private\n>",
    "<\u00a0private\u3000>",
    '<PRIVATE reason="x">',
    "<private reason='a > b' shown>",
    '<private a="</private>">',
    '<private a="<private>">',
    r"<private a=\"x > <\/private>\">",
    "<private a=&quot;&lt;/private&gt;&quot;>",
    "&lt;private&gt;",
    "&LT;Private&GT;",
    "&ltprivate&gt",
    "&#60;private&#62;",
    "&#060private&#062;",
    "&#x3c;private&#X3E;",
    "&amp;lt;private&amp;gt;",
    "&amp;amp;#60;private>",
    r"\u003cprivate\u003e",
    r"\u003Cprivate\u003E",
    r"\\u003cprivate\\u003e",
    r"\\\\u003cprivate\nreason=\"x\"\\\\u003e",
    r"\x3cprivate\x3e",
    r"\u{3c}private\u{3e}",
    r"\u0026lt;private\u0026gt;",
    r"<\u0070rivate>",
    "<&#112;&#x52;ivate>",
    "<&amp;#112;rivate>",
    r"&lt;private\u003e",
]
CLOSINGS = [
    "</private>",
    "</ private >",
    "< / PRIVATE\n>",
    '</private reason="x">',
    "&lt;/private&gt;",
    "&#60;&#47;private&#62;",
    "&#x3c;&#x2f;private&#x3e;",
    "&amp;lt;/private&amp;gt;",
    r"<\/private>",
    r"<\\/private>",
    r"\u003c/private\u003e",
    r"\u003c\u002fprivate\u003e",
    r"\\u003c\\/private\\u003e",
    r"\u0026lt;/private\u0026gt;",
    r"</\u0070rivate>",
]


@pytest.mark.parametrize("opening", OPENINGS)
def test_an_opening_of_any_form_starts_a_span(opening: str) -> None:
    assert scrub_text(f"a {opening}{SECRET}</private> b") == f"a {REDACTED} b"


@pytest.mark.parametrize("closing", CLOSINGS)
def test_a_closing_of_any_form_ends_a_span(closing: str) -> None:
    assert scrub_text(f"a <private>{SECRET}{closing} b") == f"a {REDACTED} b"


@pytest.mark.parametrize(
    "text",
    [
        "<privateer>x</privateer>",
        "<private-key>x</private-key>",
        "<private:x>y</private:x>",
        "a private <b>matter</b>",
        "<private",
        "see <private and no more",
        "x < private",
        "&#6;private&#62;",
        "&#600;private&#62;",
        "<private &#620; x",
        "<private &#x3ec; x",
        "&#x3cc;private&gt;",
        "class A : private B<int> {};",
    ],
)
def test_what_is_no_tag_stays_as_it_is(text: str) -> None:
    assert scrub_text(text) == text


# --- where a span ends ----------------------------------------------------------------------------------------


def test_nested_spans_are_one() -> None:
    assert scrub_text("a <private>b<private>c</private>d</private> e") == f"a {REDACTED} e"


def test_two_spans_side_by_side_are_two() -> None:
    assert scrub_text("<private>a</private>b<private>c</private>") == f"{REDACTED}b{REDACTED}"


@pytest.mark.parametrize("closing", CLOSINGS)
@pytest.mark.parametrize("after", ["}", "]", '"', ">", "0", "a", "\\", "&", ";;"])
def test_a_span_ends_with_its_closing_tag_to_the_character(closing: str, after: str) -> None:
    assert scrub_text(f"<private>{SECRET}{closing}{after}") == f"{REDACTED}{after}"


def test_an_unclosed_span_goes_to_the_end() -> None:
    assert scrub_text(f"a <private>{SECRET}\nb") == f"a {REDACTED}"


def test_an_inner_span_left_open_hides_the_rest() -> None:
    assert scrub_text("a <private>b<private>c</private>d") == f"a {REDACTED}"


def test_a_stray_closing_tag_stays_as_it_is() -> None:
    assert scrub_text("a </private> b <private>c</private>") == f"a </private> b {REDACTED}"


def test_a_stray_closing_tag_without_its_end_hides_no_opening() -> None:
    assert scrub_text(f"</private x <private>{SECRET}</private> b") == f"</private x {REDACTED} b"


def test_an_opening_whose_end_was_forgotten_still_hides() -> None:
    assert scrub_text(f"a <private {SECRET}</private> b") == f"a {REDACTED} b"


def test_a_closing_whose_end_was_forgotten_still_closes_before_an_opening() -> None:
    assert scrub_text(f"<private>a</private b <private>{SECRET}</private> c") == f"{REDACTED}{REDACTED} c"


def test_a_quote_that_is_never_closed_is_no_quote() -> None:
    text = f'<private a="x>{SECRET}</private> he said "hi'
    assert scrub_text(text) == f'{REDACTED} he said "hi'


def test_a_tag_of_open_quotes_does_not_uncover_the_span_after_it() -> None:
    text = f"a <private =' <private b=\"</private>\">{SECRET}</private>=' "
    assert scrub_text(text) == f"a {REDACTED}"


def test_after_many_tags_of_open_quotes_all_is_hidden() -> None:
    text = '<private a="></private>" ' * 5 + "y"
    assert scrub_text(text) == f'{REDACTED}" ' * 3 + REDACTED


def test_a_quote_that_ends_in_the_middle_of_words_is_no_quote() -> None:
    text = f'<private a="x>b <private>c "d" </private> {SECRET}</private> e'
    assert scrub_text(text) == f"{REDACTED} e"


# --- a tag that closes itself ---------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", ["<private/>", "< private / >", '<private reason="x" />', r"\u003cprivate\/\u003e"])
def test_a_self_closing_tag_alone_hides_nothing(tag: str) -> None:
    assert scrub_text(f"a {tag} b") == f"a {tag} b"


def test_a_self_closing_tag_that_is_closed_again_hides_what_is_between() -> None:
    assert scrub_text(f"a <private/>{SECRET}</private> b") == f"a {REDACTED} b"


def test_a_self_closing_tag_that_is_closed_again_takes_in_the_spans_between() -> None:
    assert scrub_text("<private/>a<private>b</private>c</private> d") == f"{REDACTED} d"


def test_a_self_closing_tag_inside_a_span_counts_when_it_is_closed_again() -> None:
    assert scrub_text(f"<private>a<private/>b</private>{SECRET}</private> d") == f"{REDACTED} d"


# --- bodies ---------------------------------------------------------------------------------------------------


def _turns(*contents: Any) -> dict[str, Any]:
    return {"type": "message", "turns": [{"role": "user", "content": content} for content in contents]}


def test_a_text_body_is_scrubbed() -> None:
    body = {"type": "text", "content": "a <private>b</private>"}
    assert scrub_body(body) == {"type": "text", "content": f"a {REDACTED}"}


def test_a_json_body_is_scrubbed_in_every_string() -> None:
    body = {"type": "json", "data": {"a": ["<private>x</private>", 1, None], "b": {"c": "<private>y"}}}
    assert scrub_body(body) == {"type": "json", "data": {"a": [REDACTED, 1, None], "b": {"c": REDACTED}}}


def test_an_open_tag_of_json_data_ends_with_its_string() -> None:
    body = {"type": "json", "data": ["<private>x", "y"]}
    assert scrub_body(body)["data"] == [REDACTED, "y"]


def test_an_open_tag_stays_open_over_the_following_turns() -> None:
    body = _turns("a <private>b", SECRET, "c</private> d", "e")
    assert scrub_body(body) == _turns(f"a {REDACTED}", REDACTED, f"{REDACTED} d", "e")


def test_an_open_tag_nobody_closes_hides_all_later_turns() -> None:
    assert scrub_body(_turns("a <private>b", "c", "")) == _turns(f"a {REDACTED}", REDACTED, "")


def test_the_depth_of_nesting_is_carried_from_turn_to_turn() -> None:
    body = _turns("<private>a<private>b", "c</private>d", "e</private>f")
    assert scrub_body(body) == _turns(REDACTED, REDACTED, f"{REDACTED}f")


def test_an_open_tag_hides_content_that_is_a_list_of_parts() -> None:
    body = _turns("<private>a", [{"type": "text", "text": SECRET}], "b</private>c")
    scrubbed = scrub_body(body)
    assert SECRET not in repr(scrubbed)
    assert scrubbed["turns"][2]["content"] == f"{REDACTED}c"


def test_an_open_tag_leaves_the_roles_of_later_turns() -> None:
    scrubbed = scrub_body(_turns("<private>a", "b"))
    assert [turn["role"] for turn in scrubbed["turns"]] == ["user", "user"]


def test_unknown_keys_of_a_body_are_scrubbed_too() -> None:
    body = {**_turns("a"), "extra": "<private>x</private>"}
    body["turns"][0]["note"] = "<private>y</private>"
    assert scrub_body(body) == {
        "type": "message",
        "turns": [{"role": "user", "content": "a", "note": REDACTED}],
        "extra": REDACTED,
    }


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"type": "message"},
        {"type": "message", "turns": "<private>x"},
        {"type": "message", "turns": ["<private>x", 1, None, {"role": "<private>x"}, {}]},
        {"type": "text", "content": ["<private>x"]},
        {"type": 3, "data": ("<private>x",)},
    ],
)
def test_a_foreign_body_is_scrubbed_and_never_refused(body: dict[str, Any]) -> None:
    assert "<private>" not in repr(scrub_body(body))


def test_a_turn_without_content_is_given_none() -> None:
    body = {"type": "message", "turns": [{"role": "<private>x"}]}
    assert scrub_body(body)["turns"] == [{"role": REDACTED}]


def test_the_body_given_is_never_changed() -> None:
    body = {**_turns("<private>a", "b</private>"), "data": {"<private>k": ["<private>v"]}}
    before = copy.deepcopy(body)
    scrub_body(body)
    assert body == before


def test_a_body_without_a_tag_is_returned_itself() -> None:
    body = _turns("nothing to hide")
    assert scrub_body(body) is body


# --- values ---------------------------------------------------------------------------------------------------


def test_keys_that_become_equal_keep_all_their_values_in_order() -> None:
    value = {"<private>a</private>": 1, "<private>b</private>": 2, "c": 3, "<private>d": 4}
    assert list(scrub_value(value).items()) == [(REDACTED, 1), (f"{REDACTED} 2", 2), ("c", 3), (f"{REDACTED} 3", 4)]


def test_a_key_that_was_there_before_keeps_its_name() -> None:
    value = {"<private>a": 1, REDACTED: 2, f"{REDACTED} 2": 3}
    assert scrub_value(value) == {f"{REDACTED} 3": 1, REDACTED: 2, f"{REDACTED} 2": 3}


def test_a_value_nested_thousands_of_levels_deep_is_scrubbed() -> None:
    value: Any = "<private>x</private>"
    for level in range(10_000):
        value = [value] if level % 2 else {"k": value}
    scrubbed = scrub_value(value)
    while not isinstance(scrubbed, str):
        scrubbed = scrubbed[0] if isinstance(scrubbed, list) else scrubbed["k"]
    assert scrubbed == REDACTED


# --- properties -----------------------------------------------------------------------------------------------

_PLAIN = st.text(alphabet=st.characters(exclude_characters="<>&\\/\"'=#", exclude_categories=["Cs"]), max_size=12)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | _PLAIN,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(_PLAIN, children, max_size=4),
    max_leaves=12,
)


@st.composite
def _spans(draw: st.DrawFn) -> str:
    inner = draw(st.lists(_PLAIN | _spans_of(SECRET), max_size=2))
    return draw(st.sampled_from(OPENINGS)) + SECRET + "".join(inner) + draw(st.sampled_from(CLOSINGS))


def _spans_of(word: str) -> st.SearchStrategy[str]:
    return st.builds(lambda o, c: f"{o}{word}{c}", st.sampled_from(OPENINGS), st.sampled_from(CLOSINGS))


_FRAGMENTS = [
    "<private",
    "</private",
    "<private ",
    "<private/>",
    ">",
    "<",
    "/",
    '"',
    "='",
    '="',
    "\\",
    "&",
    "&lt;",
    "private",
]
_TAG_SOUP = st.lists(
    st.sampled_from([*OPENINGS, *CLOSINGS, *_FRAGMENTS, " ", "u003c", REDACTED]) | _PLAIN, max_size=14
).map("".join)


@given(st.lists(st.tuples(_PLAIN, _spans()), max_size=4), _PLAIN)
def test_secrets_never_survive_and_all_else_does_in_order(pieces: list[tuple[str, str]], last: str) -> None:
    text = "".join(plain + span for plain, span in pieces) + last
    assert scrub_text(text) == "".join(plain + REDACTED for plain, _ in pieces) + last


@given(_PLAIN, st.sampled_from(OPENINGS), _PLAIN)
def test_secrets_after_an_opening_never_survive(before: str, opening: str, after: str) -> None:
    assert scrub_text(f"{before}{opening}{SECRET}{after}") == before + REDACTED


@given(_TAG_SOUP)
def test_a_scrubbed_text_is_not_changed_by_another_scrub(text: str) -> None:
    scrubbed = scrub_text(text)
    assert scrub_text(scrubbed) == scrubbed


@given(_TAG_SOUP, _spans_of(SECRET), _TAG_SOUP)
def test_whatever_stands_around_a_span_its_secret_never_survives(before: str, span: str, after: str) -> None:
    assert SECRET not in scrub_text(f"{before} {span} {after}")


@given(st.text())
def test_text_without_the_word_is_never_changed(text: str) -> None:
    assert scrub_text(text) == text


@given(_JSON)
def test_a_value_without_tags_is_returned_as_it_is(value: Any) -> None:
    assert scrub_value(value) == value
    assert scrub_value([value, "private"]) == [value, "private"]


@given(st.dictionaries(_PLAIN | _spans(), st.integers(), max_size=6))
def test_object_keys_are_scrubbed_without_losing_a_value(value: dict[str, int]) -> None:
    scrubbed = scrub_value([value])[0]
    assert list(scrubbed.values()) == list(value.values())
    assert not any(SECRET in key for key in scrubbed)


@given(st.lists(_TAG_SOUP, max_size=4))
def test_a_scrubbed_message_is_not_changed_by_another_scrub(contents: list[str]) -> None:
    scrubbed = scrub_body(_turns(*contents))
    assert scrub_body(scrubbed) == scrubbed


# --- time -----------------------------------------------------------------------------------------------------


CLOCK_STEP_SECONDS = time.get_clock_info("process_time").resolution


def _best_seconds(work: Callable[[], object], runs: int = 5) -> float:
    """The least processor time of several runs: what else the machine does in the meantime does not count."""

    def once() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return min(once() for _ in range(runs))


def _is_linear(seconds: Callable[[int], float], size: int) -> bool:
    """Whether four times the size takes less than six times as long, in one of five comparisons.

    What is quadratic takes sixteen times as long in each of them; a busy machine disturbs one or two.
    """
    return any(seconds(4 * size) < 6 * seconds(size) + 0.002 + CLOCK_STEP_SECONDS for _ in range(5))


def _nested(tags: int) -> str:
    """That many nested openings, each with a little text: 34 bytes a tag, 272 KB for 8,000."""
    return ("<private>" + "x" * 25) * tags


def test_a_body_of_272_kb_with_8000_nested_tags_takes_less_than_50_ms() -> None:
    body = {"type": "text", "content": _nested(8_000)}
    assert scrub_body(body)["content"] == REDACTED
    assert _best_seconds(lambda: scrub_body(body)) < 0.050


def test_nested_tags_take_linear_time() -> None:
    def seconds(tags: int) -> float:
        text = _nested(tags)
        return _best_seconds(lambda: scrub_text(text))

    assert _is_linear(seconds, 2_000)


@pytest.mark.parametrize("before", ["", "<private ", "<private>", "</private "])
@pytest.mark.parametrize(
    "unit",
    [
        "<private",
        "<private ",
        "</private ",
        "<private/>",
        "<private/></private>",
        "<private/></private></private>",
        "</private <private ",
        "&lt;",
        "&amp;",
        "&#0",
        "<",
        "</",
        "\\",
        "\\n",
        "\\/",
        "\\\\u003c",
        " ",
        "/ ",
        '"',
        '="',
        '<private a="',
        '<private a="></private>" ',
        "<private a='",
        "<private a=&quot;",
        '=\\"=\\\\"=\\\\\\"=\\\\\\\\"',
        "=&#34;=&#034;=&#0034;=&#00034;",
    ],
)
def test_input_made_to_be_slow_takes_linear_time(before: str, unit: str) -> None:
    def seconds(size: int) -> float:
        text = before + unit * (size // len(unit)) + " private"
        return _best_seconds(lambda: scrub_text(text), runs=3)

    assert _is_linear(seconds, 30_000)


def test_many_keys_that_become_equal_take_linear_time() -> None:
    def seconds(size: int) -> float:
        value = {f"<private>{index}": index for index in range(size)}
        return _best_seconds(lambda: scrub_value(value))

    assert _is_linear(seconds, 2_000)


def test_an_event_without_a_tag_costs_next_to_nothing() -> None:
    data = {"tool_name": "Read", "tool_input": {"file_path": "a.py", "limit": 3}, "tool_response": "x = 1\n" * 160}
    body = {"type": "json", "data": data}
    assert _best_seconds(lambda: [scrub_body(body) for _ in range(100)]) / 100 < 0.000_020 + CLOCK_STEP_SECONDS
