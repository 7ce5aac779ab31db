"""Which URL a base URL means, and which ones are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.llm.http.endpoint import Endpoint, Wire, guess_wire, read_endpoint


def endpoint(base_url: str, wire: Wire | None = None) -> Endpoint:
    found = read_endpoint(base_url, wire)
    assert isinstance(found, Endpoint), found
    return found


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        ("https://api.openai.com/v1//", "https://api.openai.com/v1/chat/completions"),
        ("http://localhost:8080", "http://localhost:8080/chat/completions"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
        ("HTTPS://OpenRouter.ai/api/v1", "https://OpenRouter.ai/api/v1/chat/completions"),
        ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/v1/chat/completions/", "https://h/v1/chat/completions"),
        ("https://h/openai/v1?api-version=1", "https://h/openai/v1/chat/completions?api-version=1"),
        ("https://h/v1#part", "https://h/v1/chat/completions"),
    ],
)
def test_the_way_to_chat_completions_is_put_behind_the_base_once(base_url: str, url: str) -> None:
    assert endpoint(base_url, "openai").url == url


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/v1/", "https://api.anthropic.com/v1/messages"),
        ("https://h/anthropic", "https://h/anthropic/v1/messages"),
        ("https://h/v1/messages", "https://h/v1/messages"),
        ("https://h/v1/messages/", "https://h/v1/messages"),
        ("https://h/v1?beta=true", "https://h/v1/messages?beta=true"),
    ],
)
def test_the_way_to_messages_is_put_behind_the_base_once(base_url: str, url: str) -> None:
    assert endpoint(base_url, "anthropic").url == url


@pytest.mark.parametrize(
    ("host", "wire"),
    [
        ("api.anthropic.com", "anthropic"),
        ("API.Anthropic.com", "anthropic"),
        ("eu.api.anthropic.com", "anthropic"),
        ("notanthropic.com", "openai"),
        ("anthropic.com.example.org", "openai"),
        ("api.openai.com", "openai"),
        ("localhost", "openai"),
    ],
)
def test_the_wire_format_is_guessed_by_the_host(host: str, wire: str) -> None:
    assert guess_wire(host) == wire
    assert endpoint(f"https://{host}").wire == wire


def test_the_wire_format_of_the_settings_wins() -> None:
    assert endpoint("https://api.anthropic.com/v1", "openai").url == "https://api.anthropic.com/v1/chat/completions"


@pytest.mark.parametrize(
    ("base_url", "why"),
    [
        ("api.openai.com/v1", "no http:// or https:// URL"),
        ("localhost:11434/v1", "no http:// or https:// URL"),
        ("ftp://host/v1", "no http:// or https:// URL"),
        ("file:///etc/passwd", "no http:// or https:// URL"),
        ("https://", "no http:// or https:// URL"),
        ("https:///v1", "no http:// or https:// URL"),
        ("http://host:port/v1", "no URL"),
        ("http://host:99999/v1", "no URL"),
        ("http://host:0/v1", "port 0"),
        ("http://[::1/v1", "no URL"),
        ("https://user:password@host/v1", "model.http.apiKeyEnv"),
        ("https://key@host/v1", "model.http.apiKeyEnv"),
        (" https://host/v1", "blanks"),
        ("https://host/v1\n", "blanks"),
        ("https://ho st/v1", "blanks"),
        ("https://host/\x00", "control characters"),
    ],
)
def test_what_is_no_address_of_an_endpoint_is_refused_with_the_reason(base_url: str, why: str) -> None:
    found = read_endpoint(base_url, None)
    assert isinstance(found, str)
    assert why in found


def test_a_refusal_does_not_repeat_a_password() -> None:
    assert "hunter2" not in str(read_endpoint("https://me:hunter2@host:port/v1", None))


@given(st.text() | st.text().map("http://".__add__))
def test_any_text_is_an_endpoint_or_refused(text: str) -> None:
    assert isinstance(read_endpoint(text, None), Endpoint | str)


@pytest.mark.parametrize(
    ("base_url", "host"), [("http://Host:8080/v1", "host:8080"), ("http://[::1]:1/", "[::1]:1"), ("https://h/", "h")]
)
def test_the_host_is_named_with_its_port(base_url: str, host: str) -> None:
    assert endpoint(base_url).host == host


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("[::1]", True),
        ("0.0.0.0", True),
        ("192.168.1.2", False),
        ("localhost.example.org", False),
    ],
)
def test_loopback_is_this_machine(host: str, is_loopback: bool) -> None:
    assert endpoint(f"http://{host}:1/v1").is_loopback is is_loopback


@pytest.mark.parametrize(
    ("base_url", "is_exposed"),
    [
        ("http://localhost:1", False),
        ("http://127.0.0.1:1", False),
        ("http://[fe80::1%25eth0]:1", False),
        ("http://10.1.2.3", False),
        ("http://192.168.1.2:11434", False),
        ("http://ollama:11434", False),
        ("http://nas.local", False),
        ("http://host.docker.internal:1234", False),
        ("http://8.8.8.8", True),
        ("http://api.example.org/v1", True),
        ("https://api.example.org/v1", False),
    ],
)
def test_plain_http_beyond_the_own_network_is_exposed(base_url: str, is_exposed: bool) -> None:
    assert endpoint(base_url).is_exposed is is_exposed
