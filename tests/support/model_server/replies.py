"""What goes over the wire for an answer of the script, and for what is asked beside the model."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tests.support.model_server import anthropic as anthropic
from tests.support.model_server import gemini as gemini
from tests.support.model_server import openai as openai
from tests.support.model_server import responses as responses
from tests.support.model_server.answers import (
    Answer,
    ByWire,
    Commented,
    CutOff,
    Drip,
    Dropped,
    Error,
    ErrorInStream,
    Garbage,
    Hang,
    Redirect,
    Shredded,
    Silent,
    Slow,
    Text,
    ToolCall,
)
from tests.support.model_server.http import Reply, Request
from tests.support.model_server.parts import Stream

JSON = {"content-type": "application/json"}
EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
SHAPES = {"openai": openai, "anthropic": anthropic, "responses": responses, "gemini": gemini}


def reply_to(answer: Answer, request: Request, model: str) -> Reply:
    """The reply to a question. `model` is named where the request names none."""
    reply = _reply(answer, request, request.model or model)
    return replace(reply, headers={**reply.headers, **_identity(request)})


def _reply(answer: Answer, request: Request, model: str) -> Reply:
    match answer:
        case Text() | ToolCall():
            return _content(answer, request, model)
        case Error():
            return error_reply(answer, request)
        case CutOff():
            return _cut_off(answer, request, model)
        case ErrorInStream():
            return _error_in_stream(answer, request, model)
        case Hang():
            return Reply(headers=_headers(request), chunked=True, ending="hang")
        case Silent():
            return Reply(has_head=False, ending="hang")
        case Dropped():
            return Reply(has_head=False, ending="close")
        case Garbage():
            return Reply(answer.status, {"content-type": answer.content_type}, (answer.data,))
        case Redirect():
            return Reply(answer.status, {"location": answer.url})
        case _:
            return _changed(answer, request, model)


def _changed(answer: ByWire | Slow | Drip | Shredded | Commented, request: Request, model: str) -> Reply:
    if isinstance(answer, ByWire):
        return _reply(answer.anthropic if request.wire == "anthropic" else answer.openai, request, model)
    reply = _reply(answer.answer, request, model)
    match answer:
        case Slow():
            return replace(reply, first_byte_gate=answer.first_byte_gate)
        case Drip():
            return replace(reply, part_gate=answer.gate)
        case Shredded():
            return _shredded(reply, answer.size)
        case Commented():
            return _commented(reply, answer.comment)


def _content(answer: Text | ToolCall, request: Request, model: str) -> Reply:
    if request.streams:
        return Reply(headers=EVENTS, parts=_stream(answer, request, model).parts, chunked=True)
    return Reply(headers=JSON, parts=(_json(_body(answer, request, model)),))


def _body(answer: Text | ToolCall, request: Request, model: str) -> dict[str, Any]:
    body: dict[str, Any] = SHAPES[request.wire].body(answer, request, model)
    return body


def _stream(answer: Text | ToolCall, request: Request, model: str) -> Stream:
    stream: Stream = SHAPES[request.wire].stream(answer, request, model)
    return stream


def _cut_off(answer: CutOff, request: Request, model: str) -> Reply:
    text = Text(answer.text, pieces=answer.pieces)
    if request.streams:
        stream = _stream(text, request, model)
        parts = (stream.opening, *stream.pieces[: answer.after_pieces])
        return Reply(headers=EVENTS, parts=parts, chunked=True, ending="close")
    body = _json(_body(text, request, model))
    return Reply(headers=JSON, parts=(body[: len(body) // 2],), length=len(body), ending="close")


def _error_in_stream(answer: ErrorInStream, request: Request, model: str) -> Reply:
    default = "overloaded_error" if request.wire == "anthropic" else "server_error"
    shape = _error_body(Error(200, answer.type or default, answer.message, answer.code), request)
    data = dict(answer.event) if answer.event is not None else shape
    if not request.streams:
        return Reply(headers=JSON, parts=(_json(data),))
    last = anthropic.event("error", **data) if request.wire == "anthropic" else openai.event(data)
    stream = _stream(Text(answer.text, pieces=answer.pieces), request, model)
    return Reply(headers=EVENTS, parts=(stream.opening, *stream.pieces, last), chunked=True)


def error_reply(answer: Error, request: Request) -> Reply:
    body = _json(_error_body(answer, request)) if answer.body is None else answer.body
    return Reply(answer.status, {**JSON, **answer.headers}, (body,))


def _error_body(answer: Error, request: Request) -> dict[str, Any]:
    if request.wire == "anthropic":
        return anthropic.error(answer, request)
    return gemini.error(answer) if request.wire == "gemini" else openai.error(answer)


def _shredded(reply: Reply, size: int) -> Reply:
    whole = b"".join(reply.parts)
    shreds = tuple(whole[start : start + size] for start in range(0, len(whole), size))
    return replace(reply, parts=shreds, chunked=True) if shreds else reply


def _commented(reply: Reply, comment: str) -> Reply:
    if not reply.chunked:
        return reply
    return replace(reply, parts=tuple(f": {comment}\n\n".encode() + part for part in reply.parts))


def _headers(request: Request) -> dict[str, str]:
    return EVENTS if request.streams else JSON


def _identity(request: Request) -> dict[str, str]:
    name = "request-id" if request.wire == "anthropic" else "x-request-id"
    return {name: anthropic.request_id(request)}


def side_reply(request: Request, models: tuple[str, ...]) -> Reply:
    """The reply to anything but a question: models, tokens, is anybody there."""
    if request.method == "POST" and request.path.endswith("/messages/count_tokens"):
        return Reply(headers=JSON, parts=(_json({"input_tokens": -(-len(request.raw) // 4)}),))
    if request.method == "POST" and request.path.endswith(":countTokens"):
        return Reply(headers=JSON, parts=(_json({"totalTokens": -(-len(request.raw) // 4)}),))
    if request.method not in {"GET", "HEAD"}:
        return _not_found(request)
    if request.path in {"", "/"}:
        return Reply(headers={"content-type": "text/plain"}, parts=(b"A scripted model.\n",))
    shapes = anthropic if request.wire == "anthropic" else openai
    if request.path.endswith("/models"):
        return Reply(headers=JSON, parts=(_json(shapes.models(models)),))
    folder, _, name = request.path.rpartition("/models/")
    if folder and name in models:
        return Reply(headers=JSON, parts=(_json(shapes.model(name)),))
    return _not_found(request)


def _not_found(request: Request) -> Reply:
    kind = "not_found_error" if request.wire == "anthropic" else "invalid_request_error"
    return error_reply(Error(404, kind, f"Invalid URL ({request.method} {request.path})"), request)


def unreadable_reply(request: Request) -> Reply:
    """The reply to a question whose body is no JSON object."""
    message = "We could not parse the JSON body of your request."
    return error_reply(Error(400, "invalid_request_error", message), request)


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode()
