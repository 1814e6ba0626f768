"""Faults on request, as OpenAI's own client and a plain HTTP client meet them."""

import asyncio
import email.utils
import json
import time

import httpx
import openai
import pytest

from tests.simulators.model import (
    CutArguments,
    Drop,
    EmptyBody,
    EndEarly,
    Fault,
    Hold,
    HttpError,
    MalformedEvent,
    ModelSimulator,
    StreamError,
    ToolCall,
    tools,
)
from tests.simulators_tests.model.talk import SHELL, ask, ask_text, request, stream, streamed_text, user

PATH = "/v1/chat/completions"


@pytest.mark.parametrize(
    "status,raised",
    [
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (502, openai.InternalServerError),
        (503, openai.InternalServerError),
        (529, openai.InternalServerError),
    ],
)
@pytest.mark.parametrize("streaming", [False, True])
async def test_statuses_become_the_clients_exceptions(
    model: ModelSimulator,
    client: openai.AsyncOpenAI,
    status: int,
    raised: type[openai.APIStatusError],
    streaming: bool,
) -> None:
    model.fault(HttpError(status))
    with pytest.raises(raised) as failure:
        await ask(client, "go", stream=streaming)
    assert failure.value.status_code == status
    assert (model.log[-1].state, model.log[-1].status) == ("failed", status)
    assert await ask_text(client, "go") == "You said: go"


async def test_the_error_of_a_gateway_is_not_json(model: ModelSimulator, http: httpx.AsyncClient) -> None:
    model.fault(HttpError(502))
    answer = await http.post(PATH, json=request())
    assert answer.headers["content-type"] == "text/html"
    assert "502 Bad Gateway" in answer.text


async def test_an_error_body_can_be_chosen(model: ModelSimulator, http: httpx.AsyncClient) -> None:
    model.fault(HttpError(413, body='{"error":{"message":"payload too large"}}'))
    answer = await http.post(PATH, json=request())
    assert (answer.status_code, answer.json()["error"]["message"]) == (413, "payload too large")


async def test_an_exhausted_quota_differs_from_a_rate_limit(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.fault(HttpError(429))
    model.fault(HttpError(429, code="insufficient_quota"))
    with pytest.raises(openai.RateLimitError) as rate:
        await ask(client, "go")
    with pytest.raises(openai.RateLimitError) as quota:
        await ask(client, "go")
    assert rate.value.code == "rate_limit_exceeded"
    assert (quota.value.code, quota.value.type) == ("insufficient_quota", "insufficient_quota")


async def test_retry_after_comes_in_both_forms(model: ModelSimulator, http: httpx.AsyncClient) -> None:
    """RFC 9110, 10.2.3: seconds, or a date."""
    model.fault(HttpError(429, retry_after_s=30))
    model.fault(HttpError(503, retry_after_s=30, retry_after_form="date"))
    assert (await http.post(PATH, json=request())).headers["retry-after"] == "30"
    before = time.time()
    date = (await http.post(PATH, json=request())).headers["retry-after"]
    assert date.endswith(" GMT")
    named = email.utils.parsedate_to_datetime(date).timestamp()
    assert before + 29 <= named <= time.time() + 30
    assert "retry-after" not in (await http.post(PATH, json=request())).headers


async def test_the_client_retries_into_an_answer(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    """The official client's own retries take the simulator's 429 and 500 for the real ones."""
    model.fault(HttpError(429, retry_after_s=0))
    model.fault(Drop())
    assert await ask_text(client.with_options(max_retries=2), "go") == "You said: go"
    assert [exchange.state for exchange in model.log.all()] == ["failed", "dropped", "answered"]


@pytest.mark.parametrize("at", ["before_headers", "in_headers", "after_headers", "mid_stream"])
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
async def test_a_connection_can_be_dropped(
    model: ModelSimulator, client: openai.AsyncOpenAI, at: str, reset: bool, streaming: bool
) -> None:
    model.fault(Drop(at, reset=reset))  # type: ignore[arg-type]
    with pytest.raises(openai.APIConnectionError):
        if streaming:
            await stream(client, "go on")
        else:
            await ask(client, "go on")
    assert model.log[-1].state == "dropped"
    assert await ask_text(client, "go") == "You said: go"


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_a_reset_is_not_an_orderly_end(model: ModelSimulator, reset: bool) -> None:
    """RFC 9293, 3.5.2 and 3.6: on the socket itself, FIN reads as an end and RST as an error."""
    model.fault(Drop(reset=reset))
    reader, writer = await asyncio.open_connection(model.host, model.port)
    body = json.dumps(request()).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer test-key\r\nContent-Length: {len(body)}"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    if reset:
        with pytest.raises(ConnectionResetError):
            await reader.read()
    else:
        assert await reader.read() == b""
    writer.close()


async def test_a_stream_dropped_in_its_middle_has_delivered_its_beginning(
    model: ModelSimulator, http: httpx.AsyncClient
) -> None:
    model.fault(Drop("mid_stream", after_events=3))
    got = b""
    with pytest.raises(httpx.RemoteProtocolError):
        async with http.stream("POST", PATH, json=request(user("x" * 100), stream=True)) as answer:
            assert answer.status_code == 200
            async for part in answer.aiter_raw():
                got += part
    assert got.count(b"data: ") == 3
    assert model.log[-1].events_sent == 3


@pytest.mark.parametrize("at", ["before_headers", "in_headers", "after_headers", "mid_stream"])
@pytest.mark.parametrize("streaming", [False, True], ids=["whole", "stream"])
async def test_a_held_request_continues_when_released(
    model: ModelSimulator, client: openai.AsyncOpenAI, at: str, streaming: bool
) -> None:
    model.fault(Hold(at))  # type: ignore[arg-type]

    async def say() -> str | None:
        if streaming:
            return streamed_text(await stream(client, "go on"))
        return await ask_text(client, "go on")

    asking = asyncio.create_task(say())
    (held,) = await model.wait_requests(state="held")
    assert not asking.done()
    assert model.release(number=held.number + 1) == 0
    assert model.release(number=held.number) == 1
    assert await asking == "You said: go on"
    assert (held.state, held.was_held) == ("answered", True)


async def test_a_hold_ends_after_its_time(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.fault(Hold("mid_stream", at_most_s=0.05))
    assert streamed_text(await stream(client, "go")) == "You said: go"


@pytest.mark.parametrize("at", ["before_headers", "in_headers", "after_headers", "mid_stream"])
async def test_a_client_that_disconnects_is_noticed(
    model: ModelSimulator, client: openai.AsyncOpenAI, at: str
) -> None:
    model.enqueue("kept")
    model.fault(Hold(at))  # type: ignore[arg-type]
    asking = asyncio.create_task(stream(client, "go"))
    await model.wait_requests(state="held")
    asking.cancel()
    (gone,) = await model.wait_requests(state="client_gone")
    assert gone.was_held
    assert len(model.holds) == 0
    assert await ask_text(client, "go") == "kept"


async def test_a_client_that_gives_up_is_noticed(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.fault(Hold("after_headers"))
    with pytest.raises(openai.APITimeoutError):
        await stream(client.with_options(timeout=0.1), "go")
    await model.wait_requests(state="client_gone")


async def test_many_are_held_and_released_together(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.fault(Hold(gate="barrier"), times=None, match="together")
    asking = [asyncio.create_task(ask_text(client, f"together {i}")) for i in range(20)]
    await model.wait_requests(20, state="held")
    assert await ask_text(client, "alone") == "You said: alone"
    model.clear_faults()
    assert model.release(gate="barrier") == 20
    assert sorted(map(str, await asyncio.gather(*asking))) == sorted(
        f"You said: together {i}" for i in range(20)
    )


@pytest.mark.parametrize("fault", [MalformedEvent(after_events=1), StreamError(after_events=1)])
async def test_a_stream_can_have_defects(
    model: ModelSimulator, client: openai.AsyncOpenAI, fault: Fault
) -> None:
    model.fault(fault)
    with pytest.raises((openai.APIError, json.JSONDecodeError)) as failure:
        await stream(client, "go")
    assert isinstance(failure.value, openai.APIError) == isinstance(fault, StreamError)
    assert (model.log[-1].state, model.log[-1].status) == ("failed", 200)


async def test_an_error_object_can_replace_an_answer(model: ModelSimulator, http: httpx.AsyncClient) -> None:
    model.fault(StreamError(message="overloaded", type="server_error", code="busy"))
    answer = await http.post(PATH, json=request())
    assert answer.status_code == 200
    assert answer.json() == {
        "error": {"message": "overloaded", "type": "server_error", "param": None, "code": "busy"}
    }


async def test_a_stream_can_end_early_without_an_error(
    model: ModelSimulator, http: httpx.AsyncClient
) -> None:
    model.fault(EndEarly())
    model.fault(EndEarly(after_events=1))
    without_end = (await http.post(PATH, json=request(stream=True))).text
    assert "[DONE]" not in without_end
    assert '"finish_reason":"stop"' in without_end
    cut = (await http.post(PATH, json=request(stream=True))).text
    assert cut.count("data: ") == 1
    assert '"finish_reason":"stop"' not in cut


@pytest.mark.parametrize("streaming", [False, True])
async def test_a_body_can_be_empty(model: ModelSimulator, http: httpx.AsyncClient, streaming: bool) -> None:
    model.fault(EmptyBody())
    answer = await http.post(PATH, json=request(stream=streaming))
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("fault", [MalformedEvent(), EndEarly()])
async def test_a_body_can_be_cut_in_half(
    model: ModelSimulator, http: httpx.AsyncClient, fault: Fault
) -> None:
    model.fault(fault)
    answer = await http.post(PATH, json=request())
    assert answer.status_code == 200
    with pytest.raises(json.JSONDecodeError):
        answer.json()


async def test_arguments_can_be_cut(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.enqueue(tools(ToolCall("shell", {"command": "ls"})))
    model.fault(CutArguments(keep_chars=5))
    chunks = await stream(client, "go", tools=[SHELL])
    calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or []]
    assert "".join(call.function.arguments for call in calls) == '{"com'
    assert chunks[-1].choices[0].finish_reason == "length"


async def test_faults_are_taken_in_order_by_those_they_match(
    model: ModelSimulator, client: openai.AsyncOpenAI
) -> None:
    model.fault(HttpError(500), match="b", times=2)
    model.fault(HttpError(429), match="c")
    assert await ask_text(client, "a") == "You said: a"
    for _ in range(2):
        with pytest.raises(openai.InternalServerError):
            await ask(client, "b c")
    with pytest.raises(openai.RateLimitError):
        await ask(client, "b c")
    assert await ask_text(client, "b c") == "You said: b c"


async def test_the_server_goes_and_comes_back(model: ModelSimulator, client: openai.AsyncOpenAI) -> None:
    model.fault(Hold())
    asking = asyncio.create_task(ask(client, "go"))
    (held,) = await model.wait_requests(state="held")
    await model.stop()
    for failing in (asking, ask(client, "go")):
        with pytest.raises(openai.APIConnectionError) as failure:
            await failing
        assert not isinstance(failure.value, openai.APITimeoutError)
    assert held.state == "dropped"
    await model.start()
    assert await ask_text(client, "go") == "You said: go"
    assert len(model.log) == 2
