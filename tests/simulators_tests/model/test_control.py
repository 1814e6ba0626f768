"""The log, the means to wait for it, and the same from another process over HTTP."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest

from tests.simulators.model import ModelSimulator
from tests.simulators_tests.model.talk import ask, ask_text, request, result, stream, user


async def test_the_log_keeps_everything_but_the_key(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    await ask(client, "one")
    await stream(client, "two")
    first, second = model.log.all()
    assert (first.number, first.wire, first.method, first.path) == (
        1,
        "openai",
        "POST",
        "/v1/chat/completions",
    )
    assert first.body == request(user("one"))
    assert first.headers["Authorization"] == "<redacted>"
    assert "test-key" not in str(first.as_json())
    assert (first.state, first.status, first.stream, first.user_text) == ("answered", 200, False, "one")
    assert (second.number, second.stream, second.body["stream"]) == (2, True, True)


async def test_the_log_forgets_the_oldest() -> None:
    async with (
        ModelSimulator(log_limit=3) as model,
        httpx.AsyncClient(base_url=model.url, headers={"Authorization": "Bearer test-key"}) as http,
    ):
        for i in range(5):
            await http.post("/v1/chat/completions", json=request(user(str(i))))
        assert [exchange.user_text for exchange in model.log.all()] == ["2", "3", "4"]
        assert model.log.taken == 5


async def test_waiting_ends_when_its_condition_holds(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    waiting = asyncio.create_task(model.wait_requests(2, state="answered", match="^b"))
    for text in ("b1", "a", "b2"):
        await ask(client, text)
    assert [exchange.user_text for exchange in await waiting] == ["b1", "b2"]
    assert [e.user_text for e in await model.wait_requests(after=2)] == ["b2"]
    assert await model.wait_for(lambda log: len(log) == 3 and "three") == "three"


async def test_a_wait_that_fails_says_what_was_there(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    await ask(client, "hello there")
    with pytest.raises(TimeoutError, match="hello there"):
        await model.wait_requests(2, timeout_s=0.05)


async def test_refused_and_unknown_requests_are_logged(
    model: ModelSimulator, http: httpx.AsyncClient
) -> None:
    await http.post("/v1/chat/completions", json=request(result("c1")))
    await http.post("/v1/completions", json={})
    assert [(e.state, e.status, e.path) for e in model.log.all()] == [
        ("refused", 400, "/v1/chat/completions"),
        ("refused", 404, "/v1/completions"),
    ]


async def control(http: httpx.AsyncClient, path: str, **fields: Any) -> Any:
    answer = await http.post(f"/_control/{path}", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_replies_are_scripted_over_http(http: httpx.AsyncClient, client: openai.AsyncOpenAI) -> None:
    await control(http, "replies", reply="queued")
    await control(http, "replies", reply={"calls": [{"name": "shell", "arguments": {"a": 1}}]}, match="tool")
    await control(
        http,
        "rules",
        match="ruled",
        reply={"text": "by rule", "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
    )
    await control(http, "faults", fault={"kind": "http_error", "status": 503}, times=2, match="fail")
    assert await ask_text(client, "go") == "queued"
    assert (await ask(client, "tool")).choices[0].message.tool_calls[0].function.arguments == '{"a":1}'
    assert (await ask(client, "ruled")).usage.total_tokens == 3
    with pytest.raises(openai.InternalServerError):
        await ask(client, "fail")
    assert (await http.delete("/_control/faults")).status_code == 200
    assert await ask_text(client, "fail") == "You said: fail"
    await control(http, "settings", context_tokens=5, models=["other"])
    with pytest.raises(openai.NotFoundError):
        await ask(client, "go")
    with pytest.raises(openai.BadRequestError):
        await ask(client, "far too long", model="other")
    await control(http, "reset")
    assert (await http.get("/_control/log")).json()["exchanges"] == []


async def test_requests_are_held_and_awaited_over_http(
    http: httpx.AsyncClient, client: openai.AsyncOpenAI
) -> None:
    await control(http, "faults", fault={"kind": "hold", "gate": "g"})
    waiting = asyncio.create_task(http.get("/_control/wait", params={"state": "held", "match": "me"}))
    asking = asyncio.create_task(ask_text(client, "hold me"))
    (held,) = (await waiting).json()["exchanges"]
    assert (held["number"], held["state"], held["user_text"]) == (1, "held", "hold me")
    assert held["body"]["messages"] == [{"role": "user", "content": "hold me"}]
    assert (await control(http, "release", gate="g"))["released"] == 1
    assert await asking == "You said: hold me"
    found = (await http.get("/_control/log", params={"state": "held|answered", "limit": 5})).json()
    assert [(e["state"], e["was_held"]) for e in found["exchanges"]] == [("answered", True)]


async def test_waiting_over_http_has_an_end(http: httpx.AsyncClient) -> None:
    answer = await http.get("/_control/wait", params={"count": 1, "timeout_s": 0.05})
    assert answer.status_code == 408
    assert "1 requests" in answer.json()["error"]


@pytest.mark.parametrize(
    "path,fields,words",
    [
        ("replies", {}, "reply"),
        ("replies", {"reply": {"txt": "a"}}, "unknown field txt"),
        ("replies", {"reply": {"finish": "done"}}, "finish must be one of"),
        ("replies", {"reply": 3}, "must be an object"),
        ("replies", {"reply": {"calls": [{"name": "a"}]}}, "arguments"),
        ("rules", {"match": "(", "reply": "a"}, "unterminated"),
        ("faults", {"fault": {"kind": "fire"}}, "http_error"),
        ("faults", {"fault": {"kind": "hold", "seconds": 3}}, "unknown field seconds"),
        ("settings", {"speed": 3}, "unknown setting speed"),
    ],
)
async def test_a_script_that_does_not_fit_is_refused(
    http: httpx.AsyncClient, path: str, fields: dict[str, Any], words: str
) -> None:
    answer = await http.post(f"/_control/{path}", json=fields)
    assert answer.status_code == 400
    assert words in answer.json()["error"]


@pytest.fixture
async def process() -> AsyncIterator[asyncio.subprocess.Process]:
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.simulators.model", "--api-key", "k", "--model", "m",
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    yield running
    if running.returncode is None:
        running.kill()
        await running.wait()


async def test_the_simulator_runs_in_a_process_of_its_own(process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    ready = json.loads(await asyncio.wait_for(process.stdout.readline(), 20))
    assert ready["pid"] == process.pid
    async with openai.AsyncOpenAI(base_url=ready["openai_base_url"], api_key="k", max_retries=0) as client:
        assert await ask_text(client, "hello", model="m") == "You said: hello"
    os.kill(process.pid, signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), 10) == 0
