"""What of the server's environment an agent gets, where its program is, and keeping secret values out of messages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
    """Puts the name of a variable in the place of its value, wherever a text quotes it."""

    def __init__(self, environment: Mapping[str, str], names: Iterable[str]) -> None:
        """Masks the variables of those names, and all that look like secrets."""
        self._names = frozenset(names)
        self._values: list[tuple[str, str]] = []
        self.add(environment)

    def add(self, environment: Mapping[str, str]) -> None:
        """Masks those of more variables too."""
        for name, value in environment.items():
            if len(value) >= SHORTEST_SECRET and (name in self._names or _is_secret(name, value)):
                self._values.append((value, f"<{name}>"))
        self._values.sort(key=lambda pair: len(pair[0]), reverse=True)  # a value may hold a shorter one

    def __call__(self, text: str) -> str:
        for value, name in self._values:
            text = text.replace(value, name)
        return text


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
