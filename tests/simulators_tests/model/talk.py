"""Short names for what the tests say to the simulator."""

from typing import Any

import httpx
import openai

JsonObject = dict[str, Any]

SHELL: JsonObject = {
    "type": "function",
    "function": {
        "name": "shell",
        "description": "Runs a command.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}


def user(text: str) -> JsonObject:
    return {"role": "user", "content": text}


def assistant(text: str) -> JsonObject:
    return {"role": "assistant", "content": text}


def called(*call_ids: str, name: str = "shell", arguments: Any = "{}") -> JsonObject:
    """An assistant message with one call for each id."""
    calls = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call_id in call_ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, text: str = "ok") -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def request(*messages: JsonObject, **options: Any) -> JsonObject:
    return {"model": "sim-1", "messages": list(messages) or [user("hello")], **options}


def function(name: str = "shell", **parts: Any) -> JsonObject:
    """A tool as a request offers it."""
    return {"type": "function", "function": {"name": name, **parts}}


async def post(http: httpx.AsyncClient, body: Any) -> tuple[int, JsonObject]:
    """The status of a plain request and the error in its body, {} if there is none."""
    answer = await http.post("/v1/chat/completions", json=body)
    return answer.status_code, answer.json().get("error", {})


async def ask(client: openai.AsyncOpenAI, *messages: JsonObject | str, **options: Any) -> Any:
    """A completion of the whole kind; strings are the user's words."""
    body = request(*[user(m) if isinstance(m, str) else m for m in messages], **options)
    return await client.chat.completions.create(**body)


async def ask_text(client: openai.AsyncOpenAI, *messages: JsonObject | str, **options: Any) -> str | None:
    return (await ask(client, *messages, **options)).choices[0].message.content


async def stream(client: openai.AsyncOpenAI, *messages: JsonObject | str, **options: Any) -> list[Any]:
    """Every chunk of a streamed completion, in order."""
    return [chunk async for chunk in await ask(client, *messages, stream=True, **options)]


def streamed_text(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def finish_of(chunks: list[Any]) -> str | None:
    return [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1]
