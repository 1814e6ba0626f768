"""Requests without a library: what is sent is what the test says, and the answer is what came."""

import io
import json
from typing import Any

import aiohttp

from tests.simulators.discord import DiscordSimulator
from tests.simulators_tests.discord.conftest import TOKEN

Json = dict[str, Any]


async def ask(
    sim: DiscordSimulator, verb: str, path: str, body: Any = None, files: dict[str, bytes] | None = None
) -> tuple[int, Any, dict[str, str]]:
    """Status, JSON (None for an empty answer) and headers of a request to ``/api/v10{path}``.

    With files the body goes as ``payload_json``.
    """
    headers = {"Authorization": f"Bot {TOKEN}", "User-Agent": "DiscordBot (https://example.com, 1)"}
    sent: dict[str, Any] = {} if body is None else {"json": body}
    if files is not None:
        form = aiohttp.FormData()
        for n, (name, content) in enumerate(files.items()):
            form.add_field(f"files[{n}]", io.BytesIO(content), filename=name)
        if body is not None:
            form.add_field("payload_json", json.dumps(body), content_type="application/json")
        sent = {"data": form}
    url = sim.api_base_url + path
    async with (
        aiohttp.ClientSession(headers=headers) as client,
        client.request(verb, url, **sent) as response,
    ):
        read = await response.read()
        return response.status, await response.json() if read else None, dict(response.headers)


def mistakes(body: Json, path: str) -> list[str]:
    """The codes of a 50035's mistakes at a place such as ``embeds.0.title``."""
    assert (body["code"], body["message"]) == (50035, "Invalid Form Body")
    node = body["errors"]
    for step in path.split("."):
        node = node[step]
    return [mistake["code"] for mistake in node["_errors"]]
