"""Where in a text the members of a JSON object and the elements of a JSON array stand, as far as the text is sound."""

from __future__ import annotations

from collections.abc import Iterator

from lithify.transcripts.json_array import Element
from lithify.transcripts.json_text import Fault, skip_space, value_at


def members(text: str, start: int) -> Iterator[tuple[str, Element]]:
    """The members of the object that begins at `start`, in order. A broken value ends them; it is the last one, with
    None as its value and the end of the text as its end."""
    at = _behind(text, start, "{")
    while at is not None and not isinstance(key := value_at(text, at), Fault):
        name, end = key
        colon = _behind(text, end, ":")
        if colon is None or not isinstance(name, str):
            return
        member = _element(text, colon)
        yield name, member or Element(colon, len(text), None)
        at = _behind(text, member.end, ",") if member else None


def member(text: str, start: int, name: str) -> Element | None:
    """The last member of that name, for it is the one that counts."""
    found = None
    for key, element in members(text, start):
        found = element if key == name else found
    return found


def elements(text: str, start: int) -> Iterator[Element]:
    """The elements of the array that begins at `start`, in order, up to one that is broken."""
    at = _behind(text, start, "[")
    while at is not None and (element := _element(text, at)):
        yield element
        at = _behind(text, element.end, ",")


def _element(text: str, start: int) -> Element | None:
    value = value_at(text, start)
    return None if isinstance(value, Fault) else Element(start, value[1], value[0])


def _behind(text: str, offset: int, character: str) -> int | None:
    """Where what follows the character begins; None where another one stands there."""
    at = skip_space(text, offset)
    return skip_space(text, at + 1) if text.startswith(character, at) else None
