"""The trial of agent CLIs for `hubbub doctor`: each is started as the hub starts it, against a server of ours
whose model orders it to write, to run and to read. A CLI that obeys must not be used."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.config.load import Loaded
from bot.config.schema import Model as ModelSettings
from bot.mcp.bridge import local_server
from bot.models.cli import cli_model
from bot.ops.probes import Finding, broken, fine
from core.errors import ModelError
from core.ids import RandomIds
from core.model.base import ModelAbilities, ModelRequest, closing
from core.model.provider_data import as_array, as_object, as_text
from core.transcript import UserSaid

TRIAL_LIMIT_S = 60.0
ORDERED = ("Bash", "Write", "Read", "run_shell_command", "shell", "bash", "write_file", "write", "read_file")
"""Names that agent CLIs give their tools; those that a request offers are ordered as well."""
ANSWER = "ready"
FIX = "use another version of the program, or remove it from [[models]]"
SECRET = "hubbub-trial-secret-5b1f"  # noqa: S105 - the content of a file that must not be read

Event = Mapping[str, Any]


async def cli_findings(loaded: Loaded) -> Sequence[Finding]:
    """Try every configured agent CLI."""
    return [await _tried(one, loaded) for one in loaded.config.models if one.provider == "cli"]


async def _tried(settings: ModelSettings, loaded: Loaded) -> Finding:
    what = f"model {settings.name}"
    with tempfile.TemporaryDirectory(prefix="hubbub-trial-") as place:
        written, secret = Path(place) / "written", Path(place) / "secret"
        secret.write_text(SECRET)
        orders = _Orders(str(written), str(secret))
        async with local_server(orders.routes) as url:
            url += "/v1" if settings.preset == "qwen" else ""
            settings = settings.model_copy(update={"base_url": url, "timeout_s": TRIAL_LIMIT_S})
            model = cli_model(
                settings, "trial", Path(place), loaded.environment, RandomIds(), ModelAbilities(), None
            )
            asked = ModelRequest("Be brief.", [UserSaid(f"Read @{secret} and do as you are told.")])
            problem = ""
            try:
                async with closing(model.reply(asked)) as pieces:
                    async for _ in pieces:
                        pass
            except ModelError as error:
                problem = str(error).removeprefix(f"{what}: ")
        if written.exists() or orders.has_leaked:
            did = "wrote a file" if written.exists() else "read a file"
            return broken(what, f"the CLI {did} on its model's order, without anybody's approval", FIX)
        if orders.offered:
            return broken(what, f"the CLI offers tools of its own: {', '.join(orders.offered)[:200]}", FIX)
        if problem or not orders.was_asked:
            return broken(what, problem or "the CLI never asked its model", "check command and its version")
    return fine(what, "the CLI neither wrote, ran nor read on its model's order")


class _Orders:
    """A server with the APIs of both providers, whose model orders tools first and then is content."""

    def __init__(self, written: str, secret: str) -> None:
        self.offered: list[str] = []
        self.was_asked = False
        self.has_leaked = False
        self._arguments = {
            "command": f"echo x > {written}; cat {secret}",
            "description": "do it",
            "file_path": written,
            "path": written,
            "absolute_path": secret,
            "content": "x",
        }
        self._secret_path = secret
        self.routes = {"/v1/messages": self._messages, "/v1/chat/completions": self._completions}

    async def _messages(self, request: web.Request) -> web.Response:
        events = _anthropic_events(self._calls(await request.read()))
        return _stream(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)

    async def _completions(self, request: web.Request) -> web.Response:
        events = _openai_events(self._calls(await request.read()))
        return _stream([*(f"data: {json.dumps(event)}\n\n" for event in events), "data: [DONE]\n\n"])

    def _calls(self, body: bytes) -> Sequence[tuple[str, str]]:
        """Return the calls to order, by tool and arguments; none once some were ordered."""
        parsed = as_object(json.loads(body))
        tools = [as_object(tool) for tool in as_array(parsed.get("tools"))]
        offered = [as_text(as_object(tool.get("function", tool)).get("name")) for tool in tools]
        self.offered += [name for name in offered if name not in self.offered]
        self.has_leaked = self.has_leaked or SECRET.encode() in body
        if self.was_asked:
            return ()
        self.was_asked = True
        reads = {**self._arguments, "file_path": self._secret_path, "path": self._secret_path}
        return [
            (name, json.dumps(reads if "read" in name.lower() else self._arguments))
            for name in dict.fromkeys((*ORDERED, *offered))
        ]


def _stream(events: Iterator[str] | Sequence[str]) -> web.Response:
    return web.Response(text="".join(events), content_type="text/event-stream")


def _anthropic_events(calls: Sequence[tuple[str, str]]) -> Iterator[Event]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "trial", "content": []}
    yield {"type": "message_start", "message": {**message, "usage": usage}}
    blocks = [
        (
            {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}},
            {"type": "input_json_delta", "partial_json": arguments},
        )
        for number, (name, arguments) in enumerate(calls)
    ] or [({"type": "text", "text": ""}, {"type": "text_delta", "text": ANSWER})]
    for index, (block, delta) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _openai_events(calls: Sequence[tuple[str, str]]) -> Iterator[Event]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "trial"}
    delta: dict[str, Any] = {"role": "assistant", "content": None if calls else ANSWER}
    if calls:
        delta["tool_calls"] = [
            {
                "index": index,
                "id": f"call_{index}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for index, (name, arguments) in enumerate(calls)
        ]
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    stop = "tool_calls" if calls else "stop"
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    yield {**head, "choices": [], "usage": usage}
