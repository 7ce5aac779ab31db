"""A model behind an HTTP endpoint, as the settings name it; httpx is imported with the first question."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lithify.core.model_calls import ModelFailure, ModelReply, ModelRequest
from lithify.core.settings import HttpModel as HttpSettings
from lithify.llm.http import failures
from lithify.llm.http.endpoint import Access, Endpoint, read_endpoint
from lithify.llm.http.overrides import choose_model_name
from lithify.llm.http.reading import WIRE_FORMATS, WireFormat
from lithify.llm.http.refusals import Refusal
from lithify.llm.http.retrying import pause_s
from lithify.llm.http.stage import Stage

if TYPE_CHECKING:
    from lithify.llm.http.exchange import Exchange

LONGEST_TIMEOUT_MS = 30 * 24 * 3600 * 1000
MOST_REQUESTS = 10
"""How often one question is sent at most, with all that is amended and waited for."""

logger = logging.getLogger(__name__)


class HttpModel:
    """The model of an endpoint. Keep one for as long as its settings hold: it remembers which models are missing.

    A call has a connection of its own, which is closed with it; the key is read from `environment` at each call.
    """

    name = "http"

    def __init__(
        self,
        settings: HttpSettings,
        environment: Mapping[str, str],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._sleep = sleep
        self._endpoint = _endpoint(settings)
        self._missing: set[str] = set()
        self._warned = False

    @property
    def host(self) -> str | None:
        """Host and port of the endpoint; None where the base URL is none."""
        return self._endpoint.host if isinstance(self._endpoint, Endpoint) else None

    @property
    def default_model(self) -> str | None:
        """The model of the settings."""
        return self._settings.model

    def lack(self) -> ModelFailure | None:
        """What keeps it from being asked, as far as that is seen from here without asking: the URL, the key."""
        access = self._access()
        return access if isinstance(access, ModelFailure) else None

    async def ask(self, request: ModelRequest) -> ModelReply | ModelFailure:
        """One answer, within the request's time. Cancelling it closes the connection."""
        access = self._access()
        if isinstance(access, ModelFailure):
            return access
        self._warn_of_exposure(access)
        timeout_s = min(request.timeout_ms, LONGEST_TIMEOUT_MS) / 1000
        deadline = asyncio.get_running_loop().time() + timeout_s
        stage = Stage()
        try:
            async with asyncio.timeout_at(deadline):
                exchange = await asyncio.to_thread(_open, access, stage)
                if isinstance(exchange, ModelFailure):
                    return exchange
                async with exchange:
                    return await self._answer(request, access, exchange, stage, deadline)
        except TimeoutError:
            return failures.timed_out(access, timeout_s, stage.where())

    async def _answer(
        self, request: ModelRequest, access: Access, exchange: Exchange, stage: Stage, deadline: float
    ) -> ModelReply | ModelFailure:
        """Asks until there is an answer, or a refusal that no other try can help."""
        wire_format = WIRE_FORMATS[access.endpoint.wire]
        model, missing = choose_model_name(request, self._settings.model, self._missing)
        if not model and wire_format.NEEDS_MODEL:
            return _no_model(missing)
        body = wire_format.body(request, model)
        waits = 0
        for number in range(MOST_REQUESTS):
            outcome = await exchange.send(body, model, missing)
            if isinstance(outcome, ModelFailure) and number > 0:
                return replace(outcome, sent=True)  # with a request before this one
            if not isinstance(outcome, Refusal):
                return outcome
            failure = failures.refused(outcome, access, model)
            pause = pause_s(outcome, waits)
            if (amended := wire_format.amended(body, outcome)) is not None:
                body = amended
            elif outcome.is_unknown_model(model) and self._has_another(model, wire_format):
                self._note_missing(model, access)
                model, missing = choose_model_name(request, self._settings.model, self._missing)
                body = wire_format.body(request, model)
            elif pause is not None and asyncio.get_running_loop().time() + pause < deadline:
                waits += 1
                stage.name = "pausing"
                await self._sleep(pause)
            else:
                break
        return failure

    def _has_another(self, model: Any, wire_format: WireFormat) -> bool:
        """Whether the endpoint has a model of its own beside that one."""
        if not isinstance(model, str):
            return False
        return self._settings.model != model if self._settings.model else not wire_format.NEEDS_MODEL

    def _note_missing(self, model: str, access: Access) -> None:
        """Remembers a model that is not there; so the log names it once."""
        self._missing.add(model)
        name = failures.quoted(model, access.key)
        logger.warning("the endpoint %s has no model %s; its own one answers", access.endpoint.host, name)

    def _access(self) -> Access | ModelFailure:
        """The endpoint with its key, or which setting is in the way."""
        if isinstance(self._endpoint, ModelFailure):
            return self._endpoint
        name = self._settings.api_key_env
        named = f"the environment variable {name}, which model.http.apiKeyEnv names,"
        if name is None:
            return Access(self._endpoint)
        key = self._environment.get(name, "").strip()
        if not key:
            return _unavailable(f"{named} is not set where Lithify runs; set it there, and start Lithify anew")
        if not key.isascii() or not key.isprintable() or " " in key:
            return _unavailable(f"{named} holds no key: it has blanks or characters that no HTTP header can carry")
        return Access(self._endpoint, name, key)

    def _warn_of_exposure(self, access: Access) -> None:
        if access.key is not None and access.endpoint.is_exposed and not self._warned:
            self._warned = True
            logger.warning(
                "model.http.baseUrl is plain http: the key in %s and all text travel to %s where others can read them",
                access.key_env,
                access.endpoint.host,
            )


def _open(access: Access, stage: Stage) -> Exchange | ModelFailure:
    """Imports httpx where nobody did yet; run in a thread, since it takes its time."""
    from lithify.llm.http.exchange import Exchange

    try:
        return Exchange(access, stage)
    except ValueError as error:
        return _unavailable(str(error))


def _endpoint(settings: HttpSettings) -> Endpoint | ModelFailure:
    if settings.base_url is None:
        return _unavailable("no endpoint is set; name its URL in model.http.baseUrl", absent=True)
    found = read_endpoint(settings.base_url, settings.wire)
    return found if isinstance(found, Endpoint) else _unavailable(f"model.http.baseUrl cannot be used: {found}")


def _no_model(missing: str | None) -> ModelFailure:
    had = f"the endpoint does not have the model {missing}; " if missing else ""
    message = f"{had}Anthropic's wire format needs a model: name one in model.http.model"
    return _unavailable(message, sent=missing is not None)


def _unavailable(message: str, *, absent: bool = False, sent: bool = False) -> ModelFailure:
    return ModelFailure("model_unavailable", message, retryable=False, absent=absent, sent=sent)
