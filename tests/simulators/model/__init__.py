"""A model provider on a local port, for tests, benchmarks and trying things by hand.

It speaks OpenAI's chat completions at `/v1/chat/completions` and Anthropic's messages at `/v1/messages`
(versions 2023-06-01 and 2026-10-21), stream and whole, and `/v1/models` of both (Anthropic's when the request
carries `anthropic-version`). It refuses what they refuse, in their words, and shares no code with the
product.

Start
=====
In-process (asyncio)::

    async with ModelSimulator(api_key="test-key", models=("sim-1",)) as model:   # port 0: a free one
        model.openai_base_url      # "http://127.0.0.1:PORT/v1"
        model.anthropic_base_url   # "http://127.0.0.1:PORT"
        model.url                  # the root, where /_control lives

As a process: `python -m tests.simulators.model [--host H] [--port N] [--api-key K] [--model NAME]...
[--context-tokens N] [--log-limit N]` prints one JSON line {"url", "openai_base_url", "anthropic_base_url",
"pid"} when it accepts connections and serves until SIGINT or SIGTERM.

It costs 0.35 ms of CPU for a whole answer and 0.4 ms for a short stream, to a request with eleven messages
and eight tools: 2,800 and 2,400 a second on one core of a small machine.

What it answers
===============
For an accepted request, first match wins: queued replies (each used once, in order; one that did not reach
its client whole returns to the front), standing rules (the latest added first), built-in rules, echo. A
refused request (4xx) uses up nothing. The *user text* that patterns search is the user's messages since the
model last spoke, joined with newlines.

Built-in rules:

* ends with tool results         → `Done: <first 200 characters of the results joined with " | ">`
* a line `please run: CMD`       → tool call `shell` {"command": CMD}; several lines → parallel calls
* a line `please call: TOOL {…}` → that tool with those arguments, as they stand if they are not JSON
  (a tool that was not offered   → `I have no tool named TOOL.`)
* `slow N: TEXT`                 → TEXT after N seconds or once released (gate "slow"), whichever is first
* `say: TEXT`                    → TEXT, to the end of the user text
* `write N characters`           → exactly N characters of numbered lines
* anything else                  → `You said: <user text>`

A request's output limit cuts the text (4 characters are a token here). Where thinking is enabled on the
Anthropic wire the answer begins with a signed thinking block, and the turn continued with results must still
carry it, unchanged.

Python API
==========
Replies (`replies`): `text("…", **options)`, `tools(ToolCall("shell", {...}), ..., **options)`, or
`Reply(text, calls, refusal, thinking, finish, chunk_chars, delay_s, segment_bytes, usage)`; a plain `str` is
a text. `ToolCall(name, arguments, id=None)`: arguments as a `str` leave exactly as given.
`Usage(prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens)`. A callable `Prompt → Reply` may
stand for a reply.

Faults (`faults`): `HttpError(status, retry_after_s, retry_after_form="seconds"|"date", code, body)`,
`Drop(at, after_events, reset)`, `Hold(at, after_events, at_most_s, gate)`, `MalformedEvent(after_events)`,
`CutArguments(keep_chars)`, `EndEarly(after_events)`, `EmptyBody()`, `StreamError(after_events, message, type,
code)`; `at` is "before_headers" | "in_headers" | "after_headers" | "mid_stream".

* `model.enqueue(*replies, match=None, on="any", fault=None)`; with a fault the reply is used up by it
* `model.rule(match, reply, on="user", fault=None)`; `on`: the request ends with "user" words, "tool" results,
  or "any"
* `model.fault(fault, times=1, match=None)`: the next `times` (None: all) accepted requests that match;
  `model.clear_faults()`
* `model.release(number=None, gate=None) -> int`: let held requests go on
* `model.reset()`: forget script and log, release all; `model.provider`: `.models`, `.context_tokens`,
  `.max_output_tokens`, `.api_key`, changeable at any time
* `model.log`: a `Journal` of `Exchange(number, wire, method, path, headers, body, state, status, stream,
  user_text, tool_results, reply, fault, counted, events_sent, was_held, received_at)`; `log.all()`,
  `log.select(state, match, after, limit)`, `log[-1]`, `len(log)`, `log.taken`. States: "open", "held", then
  one of "answered" (whole, to the socket), "refused" (4xx), "failed" (an error or a defect was scripted),
  "dropped" (cut by a fault or by `stop`), "client_gone"
* `await model.wait_requests(count=1, state=None, match=None, after=0, timeout_s=5) -> list[Exchange]`
* `await model.wait_for(predicate(log), timeout_s=5)`; both raise TimeoutError telling what was there
* `await model.stop()` closes every connection; `await model.start()` listens on the same port again

HTTP control API
================
JSON in, JSON out, no key. What does not fit is answered 400 {"error"}.

* `POST /_control/replies`   {"reply": "text" | {fields of Reply}, "match"?, "on"?, "fault"?}
* `POST /_control/rules`     {"match", "reply", "on"?, "fault"?}
* `POST /_control/faults`    {"fault": {"kind", fields}, "times"? (null: all), "match"?}
* `DELETE /_control/faults`
* `POST /_control/release`   {"number"?, "gate"?} → {"released"}
* `POST /_control/reset`     {}
* `POST /_control/settings`  {"models"?, "context_tokens"?, "max_output_tokens"?, "api_key"?}
* `GET  /_control/log?after=&state=&match=&limit=` → {"taken", "exchanges": [fields of Exchange]};
  several states are joined with "|"
* `GET  /_control/wait?count=&state=&match=&after=&timeout_s=` → as log, as soon as `count` exchanges fit;
  408 {"error"} when `timeout_s` (at most 60) is over
"""

from tests.simulators.model.faults import (
    CutArguments,
    Drop,
    EmptyBody,
    EndEarly,
    Fault,
    Hold,
    HttpError,
    MalformedEvent,
    StreamError,
)
from tests.simulators.model.journal import Exchange, Journal
from tests.simulators.model.replies import Reply, ToolCall, Usage, text, tools
from tests.simulators.model.simulator import ModelSimulator
from tests.simulators.model.wire import Prompt

__all__ = [
    "CutArguments",
    "Drop",
    "EmptyBody",
    "EndEarly",
    "Exchange",
    "Fault",
    "Hold",
    "HttpError",
    "Journal",
    "MalformedEvent",
    "ModelSimulator",
    "Prompt",
    "Reply",
    "StreamError",
    "ToolCall",
    "Usage",
    "text",
    "tools",
]
