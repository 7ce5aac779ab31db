"""The usual errors of model servers, in the words and shapes that these send."""

from __future__ import annotations

import json
from typing import Any

from tests.support.model_server.answers import ByWire, Error, ErrorInStream


def unauthorized() -> ByWire:
    """The key is wrong."""
    message = (
        "Incorrect API key provided: wrong. You can find your API key at https://platform.openai.com/account/api-keys."
    )
    return ByWire(
        openai=Error(401, "invalid_request_error", message, "invalid_api_key"),
        anthropic=Error(401, "authentication_error", "invalid x-api-key"),
    )


def forbidden() -> ByWire:
    """The key is right and may not do this."""
    return ByWire(
        openai=Error(403, "invalid_request_error", "You have insufficient permissions for this operation."),
        anthropic=Error(
            403, "permission_error", "Your API key does not have permission to use the specified resource."
        ),
    )


def unknown_model(name: str) -> ByWire:
    message = f"The model `{name}` does not exist or you do not have access to it."
    return ByWire(
        openai=Error(404, "invalid_request_error", message, "model_not_found"),
        anthropic=Error(404, "not_found_error", f"model: {name}"),
    )


def rate_limited(retry_after: int | float | str | None = 1) -> ByWire:
    """Too much asked for now. `retry_after` goes into the header as it is; None leaves it out."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    message = (
        "Rate limit reached for gpt-4o in organization org-script on tokens per min (TPM): "
        "Limit 30000, Used 29000, Requested 2000. Please try again in 2s."
    )
    return ByWire(
        openai=Error(429, "tokens", message, "rate_limit_exceeded", headers=headers),
        anthropic=Error(
            429,
            "rate_limit_error",
            "This request would exceed the rate limit for your organization of 30,000 input tokens per minute. "
            "For details, refer to: https://docs.anthropic.com/en/api/rate-limits.",
            headers=headers,
        ),
    )


def quota_exhausted() -> ByWire:
    """Nothing is left that was paid for: waiting does not help."""
    message = (
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
    )
    return ByWire(
        openai=Error(429, "insufficient_quota", message, "insufficient_quota"),
        anthropic=Error(
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. "
            "Please go to Plans & Billing to upgrade or purchase credits.",
        ),
    )


def overloaded(retry_after: int | None = None) -> ByWire:
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    message = (
        "The server is currently overloaded with other requests. Sorry about that! You can retry your request, or "
        "contact us through our help center at help.openai.com if the error persists."
    )
    return ByWire(
        openai=Error(503, "server_error", message, headers=headers),
        anthropic=Error(529, "overloaded_error", "Overloaded", headers=headers),
    )


def server_error() -> ByWire:
    message = "The server had an error while processing your request. Sorry about that!"
    return ByWire(
        openai=Error(500, "server_error", message),
        anthropic=Error(500, "api_error", "Internal server error"),
    )


def context_too_long(tokens: int = 210_883, maximum: int = 200_000) -> ByWire:
    message = (
        f"This model's maximum context length is {maximum} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    )
    return ByWire(
        openai=Error(400, "invalid_request_error", message, "context_length_exceeded", "messages"),
        anthropic=Error(400, "invalid_request_error", f"prompt is too long: {tokens} tokens > {maximum} maximum"),
    )


def body_too_large() -> ByWire:
    """The request has more bytes than the server, or what stands before it, lets through."""
    return ByWire(
        openai=Error(413, "invalid_request_error", "Request Entity Too Large"),
        anthropic=Error(413, "request_too_large", "Request exceeds the maximum size"),
    )


def anthropic_no_room_for_output(tokens: int = 198_981, output: int = 21_333, maximum: int = 200_000) -> Error:
    """The prompt fits, and what may be written does not fit after it."""
    message = (
        f"input length and `max_tokens` exceed context limit: {tokens} + {output} > {maximum}, "
        "decrease input length or `max_tokens` and try again"
    )
    return Error(400, "invalid_request_error", message)


def llama_cpp_context_too_long(tokens: int = 4390, maximum: int = 4096) -> Error:
    message = f"request ({tokens} tokens) exceeds the available context size ({maximum} tokens), try increasing it"
    numbers = {"n_prompt_tokens": tokens, "n_ctx": maximum}
    return _raw(400, {"error": {"code": 400, "message": message, "type": "exceed_context_size_error", **numbers}})


def llama_cpp_context_too_long_of_old() -> Error:
    """As llama.cpp said it until the autumn of 2025."""
    message = "the request exceeds the available context size. try increasing the context size or enable context shift"
    return _raw(400, {"error": {"code": 400, "message": message, "type": "exceed_context_size_error"}})


def llama_cpp_loading() -> Error:
    return _raw(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})


def vllm_context_too_long(tokens: int = 5000, maximum: int = 4096) -> Error:
    """The old shape of vLLM: the error's fields stand at the top."""
    message = (
        f"This model's maximum context length is {maximum} tokens. However, you requested {tokens} tokens in the "
        "messages. Please reduce the length of the messages."
    )
    return _raw(400, {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400})


def moonshot_context_too_long(tokens: int = 275_363, maximum: int = 262_144) -> Error:
    message = f"Invalid request: Your request exceeded model token limit: {maximum} (requested: {tokens})"
    return _raw(400, {"error": {"message": message, "type": "invalid_request_error"}})


def moonshot_overloaded() -> Error:
    """Says 429, and means that nobody is served; waiting helps."""
    message = "The engine is currently overloaded, please try again later"
    return _raw(429, {"error": {"message": message, "type": "engine_overloaded_error"}})


def deepseek_context_too_long(tokens: int = 122_942, output: int = 8_192, maximum: int = 131_072) -> Error:
    """No code of its own, and the prompt may be what fits."""
    message = (
        f"This model's maximum context length is {maximum} tokens. However, you requested {tokens + output} tokens "
        f"({tokens} in the messages, {output} in the completion). Please reduce the length of the messages or "
        "completion."
    )
    return Error(400, "invalid_request_error", message, "invalid_request_error")


def ollama_unknown_model(name: str) -> Error:
    message = f'model "{name}" not found, try pulling it first'
    return Error(404, "api_error", message)


def ollama_unknown_model_in_words(name: str) -> Error:
    """As Ollama's own interface says it: the error is a text."""
    message = f"model '{name}' not found"
    return Error(404, "", message, body=json.dumps({"error": message}).encode())


def openrouter_unknown_model(name: str) -> Error:
    message = f"{name} is not a valid model ID"
    return _raw(400, {"error": {"message": message, "code": 400}, "user_id": "user_script"})


def openrouter_out_of_credits() -> Error:
    message = "Insufficient credits. Add more using https://openrouter.ai/settings/credits"
    return _raw(402, {"error": {"message": message, "code": 402}})


def openrouter_error_in_stream(text: str, message: str = "Provider disconnected", code: int = 502) -> ErrorInStream:
    """An answer that breaks off in OpenRouter's way: the last chunk has both an error and a choice."""
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    event = {"id": "gen-script", "object": "chat.completion.chunk", "created": 1_750_000_000, "model": "script"}
    return ErrorInStream(
        text, message, event={**event, "error": {"code": code, "message": message}, "choices": [choice]}
    )


def _raw(status: int, body: dict[str, Any]) -> Error:
    error = body.get("error", body)
    return Error(
        status, str(error.get("type", "")), error["message"], error.get("code"), body=json.dumps(body).encode()
    )
