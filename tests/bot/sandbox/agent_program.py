"""An agent CLI that costs nothing, for an image in the place of the real one, whose protocols it speaks.

It takes messages as lines of JSON, asks the models of the port that its environment names, and carries out
the calls of `shell` that they make. After a call it waits for one more message, so that its requests have one
order. It speaks Anthropic's messages, or the protocol whose path its first message names in brackets.
"""

import http.client
import json
import os
import subprocess
import sys
import urllib.parse
from typing import Any

TOOL = {"name": "shell", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}


def say(**event: Any) -> None:
    print(json.dumps({"session_id": "one", **event}), flush=True)


def hear(conversation: list[dict[str, Any]], *results: dict[str, Any]) -> bool:
    """Take the next message, behind results of calls; return whether there is one."""
    line = sys.stdin.readline()
    if not line:
        return False
    message = json.loads(line)["message"]
    say(type="user", message=message, isReplay=True)
    words = {"type": "text", "text": message["content"]}
    conversation.append({"role": "user", "content": [*results, words]})
    return True


def reply(conversation: list[dict[str, Any]], path: str) -> list[dict[str, Any]]:
    ask, read = PROTOCOLS[path]
    place = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    connection = http.client.HTTPConnection(str(place.hostname), place.port)
    connection.request("POST", path, json.dumps({"model": "hub", **ask(conversation)}))
    return read(connection.getresponse().read())


def asked_messages(conversation: list[dict[str, Any]]) -> dict[str, Any]:
    return {"max_tokens": 1000, "system": "Work.", "tools": [TOOL], "messages": conversation}


def said_messages(body: bytes) -> list[dict[str, Any]]:
    return json.loads(body)["content"]


def asked_completions(conversation: list[dict[str, Any]]) -> dict[str, Any]:
    lines: list[dict[str, Any]] = [{"role": "system", "content": "Work."}]
    for role, block in blocks_in(conversation):
        match block["type"]:
            case "text":
                lines.append({"role": role, "content": block["text"]})
            case "tool_use":
                function = {"name": block["name"], "arguments": json.dumps(block["input"])}
                calls = [{"id": block["id"], "type": "function", "function": function}]
                lines.append({"role": role, "content": None, "tool_calls": calls})
            case _:
                lines.append(
                    {"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]}
                )
    function = {"name": TOOL["name"], "parameters": TOOL["input_schema"]}
    tools = [{"type": "function", "function": function}]
    return {"max_tokens": 1000, "tools": tools, "messages": lines}


def said_completions(body: bytes) -> list[dict[str, Any]]:
    (choice,) = json.loads(body)["choices"]
    functions = [(one["id"], one["function"]) for one in choice["message"].get("tool_calls", ())]
    calls = [call_of(call, one["name"], one["arguments"]) for call, one in functions]
    text = choice["message"]["content"]
    return [{"type": "text", "text": text}] * bool(text) + calls


def asked_responses(conversation: list[dict[str, Any]]) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    for role, block in blocks_in(conversation):
        match block["type"]:
            case "text":
                kind = "output_text" if role == "assistant" else "input_text"
                part = {"type": kind, "text": block["text"]}
                items.append({"type": "message", "role": role, "content": [part]})
            case "tool_use":
                given = {"name": block["name"], "arguments": json.dumps(block["input"])}
                items.append({"type": "function_call", "call_id": block["id"], **given})
            case _:
                result = {"call_id": block["tool_use_id"], "output": block["content"]}
                items.append({"type": "function_call_output", **result})
    tool = {"type": "function", "name": TOOL["name"], "parameters": TOOL["input_schema"]}
    return {"stream": True, "store": False, "instructions": "Work.", "tools": [tool], "input": items}


def said_responses(body: bytes) -> list[dict[str, Any]]:
    events = [json.loads(one[6:]) for one in body.split(b"\n") if one.startswith(b"data: ")]
    assert events[-1]["type"] == "response.completed", events
    said: list[dict[str, Any]] = []
    for item in events[-1]["response"]["output"]:
        if item["type"] == "message":
            said += [{"type": "text", "text": one["text"]} for one in item["content"]]
        else:
            said.append(call_of(item["call_id"], item["name"], item["arguments"]))
    return said


def blocks_in(conversation: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    return [(one["role"], block) for one in conversation for block in one["content"]]


def call_of(call: str, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": json.loads(arguments)}


PROTOCOLS = {
    "/v1/messages": (asked_messages, said_messages),
    "/v1/chat/completions": (asked_completions, said_completions),
    "/v1/responses": (asked_responses, said_responses),
}
"""Of each path, how it is asked and how its answer is read."""


def carried_out(call: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(["/bin/sh", "-c", call["input"]["command"]], capture_output=True, text=True)
    return {"type": "tool_result", "tool_use_id": call["id"], "content": done.stdout + done.stderr}


def main() -> None:
    conversation: list[dict[str, Any]] = []
    heard = hear(conversation)
    first = conversation[0]["content"][0]["text"] if heard else ""
    path = next((one for one in PROTOCOLS if f"({one})" in first), "/v1/messages")
    while heard:
        content = reply(conversation, path)
        conversation.append({"role": "assistant", "content": content})
        say(type="assistant", message={"content": content})
        results = [carried_out(one) for one in content if one["type"] == "tool_use"]
        if results:
            say(type="user", message={"content": results})
        else:
            say(type="result", subtype="success", is_error=False, result="")
        heard = hear(conversation, *results)


main()
