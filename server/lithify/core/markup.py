"""The elements of a model's answer, read tolerantly, and text made fit to stand in an element.

Any case, attribute order and quotes, CDATA, code fences and prose around are taken. Linear in the answer's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_TAG_REST = r"""((?=[\s/>])(?:(?:[^<>"']+|"[^"]{0,2000}"|'[^']{0,2000}'){0,40}+(?=>)|[^<>]*))>"""
"""The attributes of an opening tag: `<` and `>` may stand between quotes. The bounds keep the search linear."""

_ATTRIBUTE = re.compile(r"""(?<![\w-])([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|[“”]([^“”]*)[“”]|([^\s"'>]+))""")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_NO_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # compiled on first use: this takes 10 ms
_CDATA_START, _CDATA_END = "<![CDATA[", "]]>"
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_LEAST_TAG_START = 4


@dataclass(frozen=True, slots=True)
class Element:
    """One element: its attributes (names in lower case), what stands in it, and whether it was closed."""

    attributes: dict[str, str]
    content: str
    closed: bool


def elements(text: str, name: str) -> Iterator[Element]:
    """The elements of that name, in order. One that is not closed reaches to the next of its kind or the end."""
    text = _without_cdata(text)
    opening = re.compile(rf"<{name}{_TAG_REST}", re.IGNORECASE)
    closing = re.compile(rf"</{name}\s*>", re.IGNORECASE)
    found = opening.search(text)
    while found is not None:
        attributes = found[1]
        following = opening.search(text, found.end())
        stop = following.start() if following is not None else len(text)
        if attributes.rstrip().endswith("/"):
            yield Element(_attributes(attributes), "", closed=True)
        else:
            end = closing.search(text, found.end(), stop)
            stop = end.start() if end is not None else stop
            yield Element(_attributes(attributes), text[found.end() : stop], closed=end is not None)
        found = following


def breaks_off_in_tag(text: str, name: str) -> bool:
    """Whether the text ends inside a tag that opens an element of that name."""
    start = text.rfind("<")
    tail = text[start + 1 :].lower()
    if start < 0 or ">" in tail:
        return False
    return tail.startswith(name) or (len(tail) >= _LEAST_TAG_START and name.startswith(tail))


def text_of(content: str) -> str:
    """The text in an element: CDATA taken literally, entities resolved, outer white space dropped."""
    return _resolved(_without_cdata(content)).strip()


def child_text(content: str, name: str) -> str:
    """The text of the first element of that name, or an empty string."""
    first = next(elements(content, name), None)
    return text_of(first.content) if first is not None else ""


def child_texts(content: str, parent: str, name: str) -> list[str]:
    """The texts of the elements of that name inside the parent, empty ones left out.

    Where the parent holds text alone, its lines, without bullets; where there is no parent, the elements of that name
    wherever they stand.
    """
    around = next(elements(content, parent), None)
    inside = around.content if around is not None else content
    found = [text for one in elements(inside, name) if (text := text_of(one.content))]
    if found or around is None:
        return found
    lines = [_BULLET.sub("", line).strip() for line in text_of(inside).splitlines()]
    return [line for line in lines if line and not line.startswith("<")]


def escaped(text: str) -> str:
    """The text as it stands in an element; characters that XML cannot hold become U+FFFD."""
    if "&" in text:
        text = text.replace("&", "&amp;")
    return re.sub(_NO_XML, "\ufffd", text.replace("<", "&lt;").replace(">", "&gt;"))


def quoted(value: str) -> str:
    """A value as an attribute's, in double quotes."""
    return '"' + escaped(value).replace('"', "&quot;").replace("\n", "&#10;").replace("\r", "&#13;") + '"'


def _without_cdata(text: str) -> str:
    """The text with what stands in CDATA escaped instead, so that tags in it open nothing."""
    if _CDATA_START not in text:
        return text
    import html  # knows some two thousand entities, and few texts need them

    first, *rest = text.split(_CDATA_START)
    pieces = [first]
    for piece in rest:
        literal, end, after = piece.partition(_CDATA_END)
        pieces += [html.escape(literal, quote=False), after] if end else [_CDATA_START, piece]
    return "".join(pieces)


def _attributes(text: str) -> dict[str, str]:
    return {
        found[1].lower(): _resolved(next((value for value in found.groups()[1:] if value is not None), ""))
        for found in _ATTRIBUTE.finditer(text)
    }


def _resolved(text: str) -> str:
    """The text with its entities resolved; an `&` that begins none stands for itself, as in `?a=1&copy=2`."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    import html
    from html.entities import html5

    if entity[0][1] == "#":
        return html.unescape(entity[0])
    return html5.get(entity[0][1:], entity[0])
