"""What of the server's environment an agent gets, where its program is, and keeping secret values out of messages."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

BASE = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TMPDIR", "TZ"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "PROGRAMDATA", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME"),
        *("HOMEDRIVE", "HOMEPATH", "PATHEXT", "COMSPEC", "TEMP", "TMP"),
    )
)
"""Variables that every program needs: the user's places, the language, the way to the network."""

BASE_PREFIXES = ("LC_", "XDG_")

SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")

SHORTEST_SECRET = 6
"""Shorter values are no secrets, and masking them would make messages unreadable."""

SHORTEST_LINE = 8
"""A line of a secret of several lines is masked by itself from so many characters on."""

RUN_VARIABLE = "LITHIFY_AGENT_RUN"
"""Every process of an agent that we run has it; its value is the name of the run's folder."""


def base_environment(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """What an agent gets before its profile adds to it: the base, and the variables that the user names."""
    chosen = set(names)
    passed = {
        name: value
        for name, value in environment.items()
        if name in BASE or name in chosen or name.startswith(BASE_PREFIXES)
    }
    return {**passed, "TERM": "dumb"}


class Mask:
    """Puts the name of a variable in the place of its value, wherever a text quotes it: as it is, as in a URL, as in
    JSON, or one line of it. To be used on a whole text, before anything is cut off."""

    def __init__(self, environment: Mapping[str, str], names: Iterable[str]) -> None:
        """Masks the variables of those names, and all that look like secrets."""
        self._names = frozenset(names)
        self._values: list[tuple[str, str]] = []
        self.add(environment)

    def add(self, environment: Mapping[str, str]) -> None:
        """Masks those of more variables too."""
        for name, value in environment.items():
            if len(value) >= SHORTEST_SECRET and (name in self._names or _is_secret(name, value)):
                self._values.extend((form, f"<{name}>") for form in forms_of(value))
        self._values.sort(key=lambda pair: len(pair[0]), reverse=True)  # a value may hold a shorter one

    @property
    def longest(self) -> int:
        """The characters of the longest text that is masked."""
        return len(self._values[0][0]) if self._values else 0

    def __call__(self, text: str) -> str:
        for value, name in self._values:
            text = text.replace(value, name)
        return text


def forms_of(value: str) -> set[str]:
    """How a secret may be quoted."""
    return {form for part in _parts(value) for form in _spellings(part)}


def _parts(value: str) -> Iterator[str]:
    yield value
    if len(bare := value.strip()) >= SHORTEST_SECRET:
        yield bare
    for line in map(str.strip, value.splitlines()):
        if len(line) >= SHORTEST_LINE:
            yield line


def _spellings(text: str) -> Iterator[str]:
    yield text
    for escaped in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        yield escaped
        yield escaped.replace("/", "\\/")
    for encoded in (
        quote(text, "", errors="replace"),
        quote(text, errors="replace"),
        quote_plus(text, errors="replace"),
    ):
        yield encoded
        yield re.sub("%..", lambda found: found[0].lower(), encoded)


def cannot_be_given(text: str) -> bool:
    """Whether no program can be given that text as an argument or in its environment."""
    try:
        return b"\0" in os.fsencode(text)
    except UnicodeEncodeError:
        return True


def _is_secret(name: str, value: str) -> bool:
    upper = name.upper()
    return any(word in upper for word in SECRET_WORDS) or (upper.endswith("_PROXY") and "@" in value)


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can be started."""

    path: str


@dataclass(frozen=True, slots=True)
class NoProgram:
    """A program that cannot: there is none (`found` is None), or that file is not executable."""

    found: str | None


def find_program(word: str, environment: Mapping[str, str]) -> Program | NoProgram:
    """The program of a command's first word: a path, or a name looked up in the environment's PATH."""
    path = environment.get("PATH", os.defpath)
    word = os.path.expanduser(word)
    if os.path.dirname(word):
        word = os.path.abspath(word)
    if (program := shutil.which(word, path=path)) is not None:
        return Program(os.path.abspath(program))
    found = shutil.which(word, os.F_OK, path)
    return NoProgram(found)
