"""The elements of a chat's JSON array with their places, read on past whatever is broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lithify.transcripts.json_text import Fault, skip_mark, skip_space, value_at
from lithify.transcripts.model import is_message

KEYS = ("messages", "history")
"""Where an object holds its chat; the first that has a message counts."""

MAX_FAULTS = 1000
"""Broken places read past in one text, so that no text takes for ever."""

CHAT_KEY = re.compile(rf'"({"|".join(KEYS)})"\s*:\s*(?=\[)')
_TOKEN = re.compile(r'"(?:[^"\\\r\n]++|\\[^\r\n])*+"|["\[\]{}]')
_OBJECT = re.compile(r'\{\s*"')


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an array: the value of the characters [start, end)."""

    start: int
    end: int
    value: Any


@dataclass(slots=True)
class Scan:
    """A walk through one text. `faults` are the places that are not JSON: with any, the text is no JSON document."""

    text: str
    at: int = 0
    faults: list[Fault] = field(default_factory=list)

    def chat(self) -> Iterator[Element]:
        """The elements of the array that holds the chat, whether it is the document or lies under one of KEYS."""
        self._move(skip_mark(self.text))
        if self._sees("["):
            yield from self._elements()
            self._end_document()
        elif self._sees("{"):
            yield from self._chat_of_object()
        elif self.at < len(self.text):
            self._fault("not a JSON array or object")

    def _chat_of_object(self) -> list[Element]:
        held: dict[str, list[Element]] = {}
        if self._read_members(held):
            self._end_document()
        else:
            while found := CHAT_KEY.search(self.text, self.at):
                self.at = found.end()
                held.setdefault(found.group(1), list(self._elements()))
        chats = (held.get(key, []) for key in KEYS)
        return next((chat for chat in chats if any(is_message(element.value) for element in chat)), [])

    def _read_members(self, held: dict[str, list[Element]]) -> bool:
        """Reads an object and keeps its arrays under KEYS, the last of each; False where the object is broken."""
        self._move(self.at + 1)
        if self._takes("}"):
            return True
        while (key := self._key()) is not None:
            if key in KEYS and self._sees("["):
                held[key] = list(self._elements())
            elif not self._skip_value():
                return False
            if self._takes("}"):
                return True
            if not self._takes(","):
                self._fault("a comma or a closing brace is missing")
                return False
        return False

    def _key(self) -> str | None:
        key = value_at(self.text, self.at)
        if isinstance(key, Fault):
            self.faults.append(key)
            return None
        name, end = key
        self._move(end)
        if not isinstance(name, str) or not self._takes(":"):
            self._fault("a key is missing")
            return None
        return name

    def _skip_value(self) -> bool:
        value = value_at(self.text, self.at)
        if not isinstance(value, Fault):
            self._move(value[1])
            return True
        self.faults.append(value)
        return False

    def _elements(self) -> Iterator[Element]:
        """The readable elements of the array that begins here; ends behind it, or where nothing more is found."""
        self._move(self.at + 1)
        if self._takes("]"):
            return
        while True:
            start = self.at
            value = value_at(self.text, start)
            if isinstance(value, Fault):
                self.faults.append(value)
                self._move(_balanced_end(self.text, start) or start + 1)
            else:
                self._move(value[1])
                yield Element(start, value[1], value[0])
            broken = isinstance(value, Fault)
            if self._takes("]") or (broken and self._is_hopeless()) or not self._to_next_element(broken=broken):
                return

    def _to_next_element(self, *, broken: bool) -> bool:
        """Goes behind the comma, or to the next message where there is none; False at the end of the array."""
        if self._takes(","):
            if not self._sees("]"):
                return True
            self._fault("a comma before the closing bracket")
            self._move(self.at + 1)
            return False
        if not broken:
            self._fault("a comma or a closing bracket is missing")
        return self._find_message()

    def _is_hopeless(self) -> bool:
        """Whether so much was broken that the rest is left unread."""
        if len(self.faults) < MAX_FAULTS:
            return False
        self._fault("too much is broken: the rest was not read")
        self.at = len(self.text)
        return True

    def _find_message(self) -> bool:
        """Goes to the next object that is a message, at this place or behind it."""
        while not self._is_hopeless() and (found := _OBJECT.search(self.text, self.at)):
            value = value_at(self.text, found.start())
            if isinstance(value, Fault):
                self.faults.append(value)
                self.at = found.end()
            elif is_message(value[0]):
                self.at = found.start()
                return True
            else:
                self.at = value[1]
        self.at = len(self.text)
        return False

    def _end_document(self) -> None:
        if self.at < len(self.text):
            self._fault("more text behind the end of the JSON")

    def _fault(self, message: str) -> None:
        self.faults.append(Fault(self.at, message))

    def _move(self, offset: int) -> None:
        self.at = skip_space(self.text, offset)

    def _sees(self, character: str) -> bool:
        return self.text.startswith(character, self.at)

    def _takes(self, character: str) -> bool:
        found = self._sees(character)
        if found:
            self._move(self.at + 1)
        return found


def _balanced_end(text: str, start: int) -> int | None:
    """Where the brackets opened at this place are closed, strings read over; None where they are not."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        first = token.group()[0]
        if depth == 0 and token.start() != start:
            return None
        if first in "[{":
            depth += 1
        elif first in "]}":
            depth -= 1
        elif token.end() - token.start() == 1:
            return None
        if depth <= 0:
            return token.end() if depth == 0 else None
    return None
