"""Answers as servers really give them, for both APIs, and a client that hands them over in pieces."""

import gzip
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from core.model.anthropic import AnthropicModel
from core.model.base import ModelAbilities
from core.model.openai import OpenAIModel
from core.model.provider import ProviderModel
from tests.core.model.support import TestClock

SSE = "text/event-stream"
JSON = "application/json"
GZIP = {"Content-Encoding": "gzip"}


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a server."""

    body: bytes
    media_type: str = SSE
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class _Pieces(httpx.AsyncByteStream):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def client(
    answer: Answer, cut: Callable[[bytes], Sequence[bytes]] = lambda body: [body]
) -> httpx.AsyncClient:
    """A client that gets this answer to every request, its body in pieces."""

    def respond(request: httpx.Request) -> httpx.Response:
        del request
        headers = {"Content-Type": answer.media_type, **answer.headers}
        return httpx.Response(answer.status, headers=headers, stream=_Pieces(cut(answer.body)))

    return httpx.AsyncClient(transport=httpx.MockTransport(respond))


def adapter(
    wire: str,
    client: httpx.AsyncClient,
    base_url: str = "http://127.0.0.1:1/v1",
    *,
    stream: bool = True,
    abilities: ModelAbilities | None = None,
) -> ProviderModel[Any]:
    """The adapter of one of the two APIs, `openai` or `anthropic`."""
    kind = {"openai": OpenAIModel, "anthropic": AnthropicModel}[wire]
    return kind(
        name="main",
        model="m-1",
        base_url=base_url,
        api_key="k",
        client=client,
        clock=TestClock(),
        stream=stream,
        abilities=abilities,
    )


def events(*data: Any, end: str = "\n", named: bool = False) -> bytes:
    """Server-sent events; a string is its data as it stands."""
    lines: list[str] = []
    for one in data:
        if named and isinstance(one, dict):
            lines.append(f"event: {one['type']}")
        lines += [f"data: {one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)}", ""]
    return end.join([*lines, ""]).encode()


# --- OpenAI's -------------------------------------------------------------------------------------------


def chunk(finish: str | None = None, /, *, usage: Any = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": usage}


def call(number: int | None, name: str | None, arguments: Any, call_id: str | None = "") -> dict[str, Any]:
    function = ({"name": name} if name else {}) | {"arguments": arguments}
    found: dict[str, Any] = {"function": function, "type": "function"}
    if number is not None:
        found["index"] = number
    if call_id is not None:
        found["id"] = call_id or f"call_{name}"
    return found


USAGE = {"prompt_tokens": 9, "completion_tokens": 4}
ROLE, TEXT = chunk(role="assistant", content=""), chunk(content="Grüße 🚀")
FIRST = chunk(tool_calls=[call(0, "shell", '{"comm')])
FURTHER = chunk(tool_calls=[{"index": 0, "function": {"arguments": 'and": "ls 部"}'}}])
SECOND = chunk(tool_calls=[call(1, "time", "")])
END, LAST = chunk("tool_calls"), {"choices": [], "usage": USAGE}
BOTH = chunk(tool_calls=[call(0, "shell", '{"command": "ls 部"}'), call(1, "time", "{}")])
USUAL = (ROLE, TEXT, FIRST, FURTHER, SECOND, END, LAST, "[DONE]")
MESSAGE = {
    "role": "assistant",
    "content": "Grüße 🚀",
    "tool_calls": [call(0, "shell", '{"command": "ls 部"}'), call(1, "time", "{}")],
}
WHOLE = {"choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}], "usage": USAGE}
WITHOUT_INDEX = chunk(
    tool_calls=[call(None, "shell", '{"command": "ls 部"}', "a"), call(None, "time", "{}", "b")]
)
AS_OBJECT = chunk(tool_calls=[call(0, "shell", {"command": "ls 部"}), call(1, "time", {})])
SAME_IDS = chunk(tool_calls=[call(0, "shell", '{"command": "ls 部"}', "x"), call(1, "time", "{}", "x")])
NO_IDS = chunk(tool_calls=[call(0, "shell", '{"command": "ls 部"}', None), call(1, "time", "{}", None)])
PINGS = b": OPENROUTER PROCESSING\n\n" * 3
BOM = b"\xef\xbb\xbf"

OPENAI = {
    "usual": Answer(events(*USUAL)),
    "usage missing": Answer(events(ROLE, TEXT, BOTH, END, "[DONE]")),
    "usage in the last chunk": Answer(events(ROLE, TEXT, BOTH, chunk("tool_calls", usage=USAGE), "[DONE]")),
    "usage after the end mark": Answer(events(ROLE, TEXT, BOTH, END, "[DONE]", LAST)),
    "index missing": Answer(events(ROLE, TEXT, WITHOUT_INDEX, END, LAST, "[DONE]")),
    "arguments in one piece": Answer(events(ROLE, TEXT, BOTH, END, LAST, "[DONE]")),
    "arguments as an object": Answer(events(ROLE, TEXT, AS_OBJECT, END, LAST, "[DONE]")),
    "everything in one chunk": Answer(
        events(chunk("tool_calls", usage=USAGE, content="Grüße 🚀", tool_calls=MESSAGE["tool_calls"]))
    ),
    "no [DONE]": Answer(events(*USUAL[:-1])),
    "no [DONE] and no usage": Answer(events(ROLE, TEXT, BOTH, END)),
    "no finish reason": Answer(events(ROLE, TEXT, BOTH, LAST, "[DONE]")),
    "finish reason stop": Answer(events(ROLE, TEXT, BOTH, chunk("stop"), LAST, "[DONE]")),
    "CRLF": Answer(events(*USUAL, end="\r\n")),
    "CR": Answer(events(*USUAL, end="\r")),
    "no blank after the colon": Answer(events(*USUAL).replace(b"data: ", b"data:")),
    "byte order mark": Answer(BOM + events(*USUAL)),
    "keep-alives": Answer(PINGS + events(*USUAL[:3]) + PINGS + events(*USUAL[3:])),
    "blank lines first": Answer(b"\n\r\n\n" + events(*USUAL)),
    "role alone, again and again": Answer(events(ROLE, ROLE, TEXT, ROLE, BOTH, END, LAST, "[DONE]")),
    "nulls": Answer(events(ROLE, chunk(content="Grüße 🚀", tool_calls=None, refusal=None), BOTH, END, LAST)),
    "content in parts": Answer(
        events(chunk(content=[{"type": "text", "text": "Grüße 🚀"}]), BOTH, END, LAST, "[DONE]")
    ),
    "ids twice": Answer(events(ROLE, TEXT, SAME_IDS, END, LAST, "[DONE]")),
    "ids missing": Answer(events(ROLE, TEXT, NO_IDS, END, LAST, "[DONE]")),
    "ids in every piece": Answer(
        events(ROLE, TEXT, FIRST, chunk(tool_calls=[call(0, "shell", 'and": "ls 部"}')]), SECOND, END, LAST)
    ),
    "gzip": Answer(gzip.compress(events(*USUAL)), headers=GZIP),
    "a stream that says it is JSON": Answer(events(*USUAL), JSON),
    "a stream that says it is text": Answer(events(*USUAL), "text/plain"),
    "whole": Answer(json.dumps(WHOLE).encode(), JSON),
    "whole, and says it is a stream": Answer(json.dumps(WHOLE).encode(), SSE),
    "whole, over several lines": Answer(b"\n" + json.dumps(WHOLE, indent=2).encode(), JSON),
    "whole after keep-alive blanks": Answer(b" \n" * 50 + json.dumps(WHOLE).encode(), JSON),
    "whole with a byte order mark": Answer(BOM + json.dumps(WHOLE).encode(), JSON),
    "whole, gzip": Answer(gzip.compress(json.dumps(WHOLE).encode()), JSON, headers=GZIP),
    "created": Answer(events(*USUAL), status=201),
    "accepted": Answer(json.dumps(WHOLE).encode(), JSON, status=202),
}

# --- Anthropic's ----------------------------------------------------------------------------------------

A_USAGE = {"input_tokens": 9, "output_tokens": 1}


def start(index: int | None, block: dict[str, Any]) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {"type": "content_block_start", **place, "content_block": block}


def delta(index: int | None, kind: str, **fields: Any) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {"type": "content_block_delta", **place, "delta": {"type": kind, **fields}}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def use(name: str, given: Any = None, call_id: str | None = "") -> dict[str, Any]:
    block = {"type": "tool_use", "name": name, "input": given if given is not None else {}}
    return block if call_id is None else block | {"id": call_id or f"call_{name}"}


def a_end(reason: str | None = "tool_use", usage: Any = None) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


A_START = {"type": "message_start", "message": {"content": [], "usage": A_USAGE, "stop_reason": None}}
A_STOP, PING = {"type": "message_stop"}, {"type": "ping"}
A_END = a_end(usage={"output_tokens": 4})
A_TEXT = (
    start(0, {"type": "text", "text": ""}),
    delta(0, "text_delta", text="Grü"),
    delta(0, "text_delta", text="ße 🚀"),
    stop(0),
)
A_FIRST = (
    start(1, use("shell")),
    delta(1, "input_json_delta", partial_json=""),
    delta(1, "input_json_delta", partial_json='{"comm'),
    delta(1, "input_json_delta", partial_json='and": "ls 部"}'),
    stop(1),
)
A_SECOND = (start(2, use("time")), stop(2))
A_BEGUN = (A_START, *A_TEXT)
A_USUAL = (A_START, *A_TEXT, *A_FIRST, *A_SECOND, A_END, A_STOP)
A_PIECES = [delta(1, "input_json_delta", partial_json='{"command": "ls 部"}'), stop(1)]
A_CONTENT = [{"type": "text", "text": "Grüße 🚀"}, use("shell", {"command": "ls 部"}), use("time")]
A_WHOLE = {"type": "message", "content": A_CONTENT, "stop_reason": "tool_use", "usage": A_USAGE}
A_NO_INDEX = (
    A_START,
    start(None, {"type": "text", "text": ""}),
    delta(None, "text_delta", text="Grüße 🚀"),
    start(None, use("shell")),
    delta(None, "input_json_delta", partial_json='{"command": "ls 部"}'),
    start(None, use("time")),
    A_END,
    A_STOP,
)
A_SAME_INDEX = (
    A_START,
    *A_TEXT,
    start(0, use("shell")),
    delta(0, "input_json_delta", partial_json='{"command": "ls 部"}'),
    start(0, use("time")),
    A_END,
    A_STOP,
)
A_GIVEN = (
    A_START,
    *A_TEXT,
    start(1, use("shell", {"command": "ls 部"})),
    start(2, use("time")),
    A_END,
    A_STOP,
)
A_AS_TEXT = (A_START, *A_TEXT, start(1, use("shell", '{"command": "ls 部"}')), start(2, use("time")), A_END)
A_SAME_IDS = (
    A_START,
    *A_TEXT,
    start(1, use("shell", call_id="x")),
    *A_PIECES,
    start(2, use("time", None, "x")),
)
A_NO_IDS = (
    A_START,
    *A_TEXT,
    start(1, use("shell", call_id=None)),
    *A_PIECES,
    start(2, use("time", None, None)),
)

ANTHROPIC = {
    "usual": Answer(events(*A_USUAL, named=True)),
    "events without names": Answer(events(*A_USUAL)),
    "usage missing": Answer(
        events({"type": "message_start", "message": {}}, *A_USUAL[1:-2], a_end(), A_STOP, named=True)
    ),
    "index missing": Answer(events(*A_NO_INDEX, named=True)),
    "one index for all": Answer(events(*A_SAME_INDEX, named=True)),
    "arguments in one piece": Answer(
        events(A_START, *A_TEXT, start(1, use("shell")), *A_PIECES, *A_SECOND, A_END, A_STOP, named=True)
    ),
    "arguments as an object": Answer(events(*A_GIVEN, named=True)),
    "arguments as a text": Answer(events(*A_AS_TEXT, named=True)),
    "no message_stop": Answer(events(*A_USUAL[:-1], named=True)),
    "no stop reason": Answer(events(*A_USUAL[:-2], a_end(None), A_STOP, named=True)),
    "no block ends": Answer(
        events(*(one for one in A_USUAL if one["type"] != "content_block_stop"), named=True)
    ),
    "[DONE] at the end": Answer(events(*A_USUAL, named=True) + b"data: [DONE]\n\n"),
    "CRLF": Answer(events(*A_USUAL, named=True, end="\r\n")),
    "keep-alives": Answer(events(PING, *A_USUAL[:3], PING, *A_USUAL[3:], named=True)),
    "comments": Answer(b": hello\n\n" + events(*A_USUAL, named=True)),
    "byte order mark": Answer(BOM + events(*A_USUAL, named=True)),
    "events and blocks of later versions": Answer(
        events(
            A_START,
            {"type": "brand_new", "index": 0},
            *A_USUAL[1:-2],
            start(3, {"type": "brand_new", "data": 1}),
            delta(3, "brand_new_delta", data="x"),
            A_END,
            A_STOP,
        )
    ),
    "ids twice": Answer(events(*A_SAME_IDS, A_END, A_STOP, named=True)),
    "ids missing": Answer(events(*A_NO_IDS, A_END, A_STOP, named=True)),
    "gzip": Answer(gzip.compress(events(*A_USUAL, named=True)), headers=GZIP),
    "a stream that says it is JSON": Answer(events(*A_USUAL, named=True), JSON),
    "whole": Answer(json.dumps(A_WHOLE).encode(), JSON),
    "whole, and says it is a stream": Answer(json.dumps(A_WHOLE).encode(), SSE),
    "whole, over several lines": Answer(b"\n" + json.dumps(A_WHOLE, indent=2).encode(), JSON),
    "created": Answer(events(*A_USUAL, named=True), status=201),
}

ALL = {
    f"{wire}: {name}": (wire, answer)
    for wire, answers in (("openai", OPENAI), ("anthropic", ANTHROPIC))
    for name, answer in answers.items()
}
