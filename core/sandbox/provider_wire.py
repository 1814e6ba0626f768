"""The protocols of providers, as agent CLIs speak them, to requests of the hub's and back.

Needs nothing but the standard library. A call that can't be read raises KeyError, TypeError or ValueError.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from core.errors import InvalidArguments
from core.model.base import ModelRequest, ToolSpec
from core.safety.fencing import fence_tool_output, sanitise
from core.safety.leaks import LeakDetector
from core.transcript import AssistantSaid, ResultStatus, Said, ToolCalled, ToolResult, UserSaid

OUTPUT_TOKENS = 16_000
"""The most that one reply to an agent may have."""
DESCRIPTION_CHARS = 1_000
"""Some providers refuse tools with longer descriptions; the hub adds these to the instructions instead."""
_STOPS = {
    "length": ("max_tokens", "length"),
    "filtered": ("refusal", "content_filter"),
    "overflow": ("model_context_window_exceeded", "length"),
}
_INCOMPLETE = {"length": "max_output_tokens", "filtered": "content_filter", "overflow": "max_output_tokens"}
_TEXTS = ("text", "input_text", "output_text")
Json = dict[str, Any]


def texts_of(content: Any) -> str:
    """Return the text of a content: a string, or blocks of which some are texts."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in objects_in(content):
        kind = block.get("type")
        parts.append(str(block.get("text", "")) if kind in _TEXTS else f"[{kind} left out]")
    return "\n".join(parts)


def objects_in(value: Any) -> Sequence[Json]:
    if not isinstance(value, list):
        return ()
    return [cast("Json", one) for one in cast("list[Any]", value) if isinstance(one, dict)]


def from_anthropic(body: Json) -> Json:
    """Return the request of the hub's that a call of the messages API is."""
    said: list[list[str]] = []
    for message in objects_in(body.get("messages")):
        role, content = message.get("role"), message.get("content")
        if isinstance(content, str):
            said.append(["user" if role == "user" else "assistant", content])
            continue
        for block in objects_in(content):
            match block.get("type"):
                case "tool_use":
                    said.append(
                        ["call", str(block["id"]), str(block["name"]), json.dumps(block.get("input"))]
                    )
                case "tool_result":
                    status = "error" if block.get("is_error") else "ok"
                    said.append(["result", str(block["tool_use_id"]), status, texts_of(block.get("content"))])
                case "thinking" | "redacted_thinking":
                    pass
                case _:
                    said.append(["user" if role == "user" else "assistant", texts_of([block])])
    tools = [_tool(one, one.get("input_schema")) for one in objects_in(body.get("tools"))]
    return _request(texts_of(body.get("system", "")), said, tools, body.get("max_tokens"))


def from_openai(body: Json) -> Json:
    """Return the request of the hub's that a call of chat completions is."""
    system: list[str] = []
    said: list[list[str]] = []
    for message in objects_in(body.get("messages")):
        text = texts_of(message.get("content") or "")
        match message.get("role"):
            case "system" | "developer":
                system.append(text)
            case "tool":
                said.append(["result", str(message["tool_call_id"]), "ok", text])
            case "assistant":
                said.append(["assistant", text])
                for call in objects_in(message.get("tool_calls")):
                    function = call["function"]
                    said.append(["call", str(call["id"]), function["name"], function.get("arguments", "")])
            case _:
                said.append(["user", text])
    functions = objects_in([one.get("function") for one in objects_in(body.get("tools"))])
    tools = [_tool(one, one.get("parameters")) for one in functions]
    most = body.get("max_completion_tokens") or body.get("max_tokens")
    return _request("\n\n".join(system), said, tools, most)


def from_responses(body: Json) -> Json:
    """Return the request of the hub's that a call of the responses API is. The hub keeps no response, so the
    call has the whole conversation."""
    if body.get("previous_response_id") or body.get("conversation"):
        raise ValueError("nothing is kept between calls: send the whole conversation as `input`")
    system = [str(body["instructions"])] if body.get("instructions") else []
    said: list[list[str]] = []
    given = body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else objects_in(given)
    for item in items:
        match item.get("type", "message"), item.get("role"):
            case "message", "system" | "developer":
                system.append(texts_of(item.get("content")))
            case "message", role:
                who = "assistant" if role == "assistant" else "user"
                said.append([who, texts_of(item.get("content"))])
            case "function_call", _:
                said.append(["call", str(item["call_id"]), str(item["name"]), str(item["arguments"])])
            case "function_call_output", _:
                said.append(["result", str(item["call_id"]), "ok", texts_of(item["output"])])
            case "reasoning", _:
                pass
            case kind, _:
                raise ValueError(f"an item of the type {kind} can't be passed on")
    functions = [one for one in objects_in(body.get("tools")) if one.get("type") == "function"]
    tools = [_tool(one, one.get("parameters")) for one in functions]
    return _request("\n\n".join(system), said, tools, body.get("max_output_tokens"))


def _tool(given: Json, parameters: Any) -> Json:
    empty: Json = {"type": "object", "properties": {}}
    schema = cast("Json", parameters) if isinstance(parameters, dict) else empty
    return {"name": given["name"], "description": given.get("description") or "", "parameters": schema}


def _request(system: str, said: list[list[str]], tools: list[Json], most: Any) -> Json:
    tokens = most if isinstance(most, int) and most > 0 else OUTPUT_TOKENS
    return {"system": system, "said": said, "tools": tools, "max_tokens": tokens}


def to_anthropic(answer: Json, number: int, *, stream: bool) -> Iterator[bytes]:
    """Yield the answer of the messages API: the events of a stream, or one object."""
    blocks: list[Json] = [{"type": "text", "text": answer["text"]}] if answer["text"] else []
    for call in answer["calls"]:
        given = {"id": call["id"], "name": call["tool"], "input": _given(call["arguments"])}
        blocks.append({"type": "tool_use", **given})
    stop = _STOPS.get(answer["stop"], ("tool_use" if answer["calls"] else "end_turn", ""))[0]
    usage = {"input_tokens": answer["input_tokens"], "output_tokens": answer["output_tokens"]}
    message: Json = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "hub"}
    if not stream:
        done = {"content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}
        yield json.dumps({**message, **done}).encode()
        return
    empty: Json = {"content": [], "stop_reason": None, "stop_sequence": None}
    yield _event("message_start", message={**message, **empty, "usage": {**usage, "output_tokens": 0}})
    for index, block in enumerate(blocks):
        text = block["type"] == "text"
        start: Json = {**block, "text": ""} if text else {**block, "input": {}}
        piece = {"type": "text_delta", "text": block.get("text")}
        if not text:
            piece = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield _event("content_block_start", index=index, content_block=start)
        yield _event("content_block_delta", index=index, delta=piece)
        yield _event("content_block_stop", index=index)
    yield _event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage)
    yield _event("message_stop")


def to_openai(answer: Json, number: int, *, stream: bool) -> Iterator[bytes]:
    """Yield the answer of chat completions: the events of a stream, or one object."""
    calls = [
        {"index": at, "id": one["id"], "type": "function"}
        | {"function": {"name": one["tool"], "arguments": one["arguments"]}}
        for at, one in enumerate(answer["calls"])
    ]
    said: Json = {"role": "assistant", "content": answer["text"] or None}
    if calls:
        said["tool_calls"] = calls
    stop = _STOPS.get(answer["stop"], ("", "tool_calls" if calls else "stop"))[1]
    used, written = answer["input_tokens"], answer["output_tokens"]
    usage = {"prompt_tokens": used, "completion_tokens": written, "total_tokens": used + written}
    whole: Json = {"id": f"chatcmpl-{number}", "created": 0, "model": "hub"}
    if not stream:
        choices = [{"index": 0, "message": said, "finish_reason": stop}]
        yield json.dumps({**whole, "object": "chat.completion", "choices": choices, "usage": usage}).encode()
        return
    whole["object"] = "chat.completion.chunk"
    for delta, finish in ((said, None), ({}, stop)):
        yield _data({**whole, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    yield _data({**whole, "choices": [], "usage": usage}) + b"data: [DONE]\n\n"


def to_responses(answer: Json, number: int, *, stream: bool) -> Iterator[bytes]:
    """Yield the answer of the responses API: the events of a stream, or one object."""
    items = [_message_item(answer["text"], number)] if answer["text"] else []
    for call in answer["calls"]:
        given = {"call_id": call["id"], "name": call["tool"], "arguments": call["arguments"]}
        items.append({"type": "function_call", "id": f"fc_{call['id']}", "status": "completed", **given})
    why = _INCOMPLETE.get(answer["stop"])
    used, written = answer["input_tokens"], answer["output_tokens"]
    counted: Json = {"input_tokens": used, "output_tokens": written, "total_tokens": used + written}
    counted["input_tokens_details"] = {"cached_tokens": 0}
    counted["output_tokens_details"] = {"reasoning_tokens": 0}
    begun: Json = {"id": f"resp_{number}", "object": "response", "created_at": 0, "model": "hub"}
    begun |= {"error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "tools": []}
    begun |= {"parallel_tool_calls": True, "tool_choice": "auto", "temperature": None, "top_p": None}
    whole = {**begun, "status": "incomplete" if why else "completed", "output": items, "usage": counted}
    if why:
        whole["incomplete_details"] = {"reason": why}
    if not stream:
        yield json.dumps(whole).encode()
        return
    empty: Json = {**begun, "status": "in_progress", "output": []}
    events: list[tuple[str, Json]] = [("response.created", {"response": empty})]
    for index, item in enumerate(items):
        events += _item_events(index, item)
    events.append((f"response.{whole['status']}", {"response": whole}))
    for place, (kind, more) in enumerate(events):
        yield _event(kind, sequence_number=place, **more)


def _message_item(text: str, number: int) -> Json:
    part: Json = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    said: Json = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
    return {**said, "content": [part]}


def _item_events(index: int, item: Json) -> Iterator[tuple[str, Json]]:
    """Yield the events of one item of a response: it begins, comes in one piece, and ends."""
    at: Json = {"item_id": item["id"], "output_index": index}
    text = item["type"] == "message"
    empty: Json = {"content": []} if text else {"arguments": ""}
    begun = {**item, **empty, "status": "in_progress"}
    yield "response.output_item.added", {"output_index": index, "item": begun}
    if text:
        at["content_index"], (part,) = 0, item["content"]
        yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
        yield "response.output_text.delta", {**at, "delta": part["text"], "logprobs": []}
        yield "response.output_text.done", {**at, "text": part["text"], "logprobs": []}
        yield "response.content_part.done", {**at, "part": part}
    else:
        arguments = item["arguments"]
        yield "response.function_call_arguments.delta", {**at, "delta": arguments}
        yield "response.function_call_arguments.done", {**at, "name": item["name"], "arguments": arguments}
    yield "response.output_item.done", {"output_index": index, "item": item}


def _given(arguments: str) -> Json:
    try:
        given = json.loads(arguments)
    except ValueError:
        given = None
    return cast("Json", given) if isinstance(given, dict) else {"arguments": arguments}


def _event(kind: str, **more: Any) -> bytes:
    return f"event: {kind}\n".encode() + _data({"type": kind, **more})


def _data(value: Json) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


WIRES = {
    "/v1/messages": (from_anthropic, to_anthropic, _event("ping")),
    "/v1/chat/completions": (from_openai, to_openai, b": wait\n\n"),
    "/v1/responses": (from_responses, to_responses, b": wait\n\n"),
}
"""The reader and the writer of each path, and the line that it sends while the hub works on it."""


# The hub's side: the request of an agent, which can't be trusted.


def read_request(asked: Mapping[str, Any], leaks: LeakDetector) -> ModelRequest:
    """Return the call of a model that an agent asks for, without credentials; the output of its tools is
    fenced. Raises InvalidArguments."""
    tools: dict[str, str] = {}

    def line(one: Sequence[str]) -> Said:
        match one:
            case ["user", text]:
                return UserSaid(leaks.redacted(sanitise(text)))
            case ["assistant", text]:
                return AssistantSaid(leaks.redacted(sanitise(text)))
            case ["call", call_id, tool, arguments]:
                tools[call_id] = tool
                return ToolCalled(call_id, tool, leaks.redacted(sanitise(arguments)))
            case ["result", call_id, status, text] if call_id in tools:
                fenced = fence_tool_output(tools[call_id], leaks.redacted(sanitise(text)))
                return ToolResult(call_id, ResultStatus(status), fenced)
            case _:
                raise ValueError("there is no such line")

    try:
        said = tuple(line([str(part) for part in one]) for one in asked["said"])
        system = [str(asked["system"])]
        specs: list[ToolSpec] = []
        for one in objects_in(asked["tools"]):
            name, description = str(one["name"]), str(one["description"])
            if len(description) > DESCRIPTION_CHARS:
                system.append(f"# The tool {name}\n{description}")
                description = f"See “The tool {name}” among your instructions."
            specs.append(ToolSpec(name, description, dict(one["parameters"])))
        return ModelRequest("\n\n".join(system), said, specs)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArguments(f"this is no call of a model: {error!r}") from error
