"""Where a request goes: the URL made of the base URL in the settings, its wire format, and the key it carries."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from urllib.parse import SplitResult, urlsplit, urlunsplit

Wire: TypeAlias = Literal["openai", "anthropic"]

LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint: its whole URL, `host` (with the port where one is named) and `path` for sentences.

    `is_loopback`: it is this machine. `is_exposed`: plain HTTP to a host that is neither this machine nor in its own
    network, so that others on the way can read what is sent.
    """

    url: str
    host: str
    path: str
    wire: Wire
    is_loopback: bool
    is_exposed: bool


@dataclass(frozen=True, slots=True)
class Access:
    """An endpoint, the key it is asked with, and the variable that holds the key."""

    endpoint: Endpoint
    key_env: str | None = None
    key: str | None = field(default=None, repr=False)


def read_endpoint(base_url: str, wire: Wire | None) -> Endpoint | str:
    """The endpoint that a base URL means, or what is wrong with it. The query is kept."""
    if any(not one.isprintable() or one.isspace() for one in base_url):
        return "it holds blanks or control characters"
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError as error:
        return f"it is no URL ({error})"
    host = parts.hostname or ""
    if problem := _problem(parts, host, port):
        return problem
    wire = wire or guess_wire(host)
    path = _joined(parts.path, wire)
    return Endpoint(
        url=urlunsplit((parts.scheme.lower(), parts.netloc, path, parts.query, "")),
        host=parts.netloc.lower(),
        path=path,
        wire=wire,
        is_loopback=_is_loopback(host),
        is_exposed=parts.scheme.lower() == "http" and not _is_nearby(host),
    )


def guess_wire(host: str) -> Wire:
    """The wire format where the settings name none."""
    return "anthropic" if f".{host.lower()}".endswith(".anthropic.com") else "openai"


def _problem(parts: SplitResult, host: str, port: int | None) -> str | None:
    if parts.scheme.lower() not in ("http", "https") or not host:
        return "it is no http:// or https:// URL"
    if "@" in parts.netloc:
        return "it holds a user name or a password; name the variable with the key in model.http.apiKeyEnv instead"
    if port == 0:
        return "it names port 0"
    return None


def _joined(path: str, wire: Wire) -> str:
    path = path.rstrip("/")
    if wire == "openai":
        return path if path.endswith("/chat/completions") else f"{path}/chat/completions"
    if path.endswith("/messages"):
        return path
    return f"{path}/messages" if path.endswith("/v1") else f"{path}/v1/messages"


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    address = _address(host)
    if address is not None:
        return address.is_loopback or address.is_unspecified
    return f".{host.lower().rstrip('.')}".endswith(".localhost")


def _is_nearby(host: str) -> bool:
    """Whether a host is this machine or in a private network; a name without a dot is one of the own network."""
    address = _address(host)
    if address is not None:
        return address.is_private or address.is_loopback or address.is_link_local
    name = host.lower().rstrip(".")
    return "." not in name or name.endswith(LOCAL_SUFFIXES)
