"""An agent CLI that costs nothing, for an image in the place of the real one, whose protocols it speaks.

It takes messages as lines of JSON, asks the models of the port that its environment names, and carries out
the calls of `shell` that they make. After a call it waits for one more message, so that its requests have one
order.
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


def reply(conversation: list[dict[str, Any]]) -> list[dict[str, Any]]:
    body = {"model": "hub", "max_tokens": 1000, "system": "Work.", "tools": [TOOL], "messages": conversation}
    place = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    connection = http.client.HTTPConnection(str(place.hostname), place.port)
    connection.request("POST", f"{place.path}/v1/messages", json.dumps(body))
    return json.loads(connection.getresponse().read())["content"]


def carried_out(call: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(["/bin/sh", "-c", call["input"]["command"]], capture_output=True, text=True)
    return {"type": "tool_result", "tool_use_id": call["id"], "content": done.stdout + done.stderr}


def main() -> None:
    conversation: list[dict[str, Any]] = []
    heard = hear(conversation)
    while heard:
        content = reply(conversation)
        conversation.append({"role": "assistant", "content": content})
        say(type="assistant", message={"content": content})
        results = [carried_out(one) for one in content if one["type"] == "tool_use"]
        if results:
            say(type="user", message={"content": results})
        else:
            say(type="result", subtype="success", is_error=False, result="")
        heard = hear(conversation, *results)


main()
