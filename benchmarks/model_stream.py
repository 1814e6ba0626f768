"""What reading a streamed reply costs: the adapters beside the providers' official clients.

`python -m benchmarks.model_stream [--rounds 5] [--json FILE]`

A reply of 200 chunks comes from the model simulator, a process of its own. Each contestant reads it 20 times
in a row in this process, after a warm-up; contestants alternate within each round, and figures are medians
over the rounds, in milliseconds of this process's CPU per reply. Every contestant joins the text and must
come to the same. Exits 1 if the adapter for OpenAI takes more than a third of the official client's CPU.
"""

import argparse
import asyncio
import json
import ssl
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import httpx
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from core.clock import SystemClock
from core.model.anthropic import AnthropicModel
from core.model.base import Model, ModelReply, ModelRequest
from core.model.openai import OpenAIModel
from core.model.provider_http import model_client
from core.transcript import UserSaid

KEY, MODEL = "test-key", "sim-1"
CHUNKS, CHUNK_CHARS, STREAMS = 200, 8, 20
TEXT = ("word " * CHUNKS * CHUNK_CHARS)[: CHUNKS * CHUNK_CHARS]
AIM = 1 / 3

Read = Callable[[], Awaitable[str]]


@asynccontextmanager
async def provider() -> AsyncIterator[str]:
    """The simulator with its one rule; yields its address."""
    words = ("-m", "tests.simulators.model", "--api-key", KEY)
    child = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    try:
        assert child.stdout is not None
        url: str = json.loads(await child.stdout.readline())["url"]
        rule = {"match": "tell", "reply": {"text": TEXT, "chunk_chars": CHUNK_CHARS}}
        async with aiohttp.ClientSession() as http:
            await http.post(f"{url}/_control/rules", json=rule, raise_for_status=True)
        yield url
    finally:
        child.terminate()
        await child.wait()


def adapter(model: Model) -> Read:
    async def read() -> str:
        text = ""
        async for piece in model.reply(ModelRequest("Be kind.", [UserSaid("tell me")])):
            text = piece.text if isinstance(piece, ModelReply) else text + piece.text
        return text

    return read


def openai_client(client: AsyncOpenAI) -> Read:
    async def read() -> str:
        stream = await client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": "tell me"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        return "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])

    return read


def anthropic_client(client: AsyncAnthropic) -> Read:
    async def read() -> str:
        async with client.messages.stream(
            model=MODEL, max_tokens=4096, messages=[{"role": "user", "content": "tell me"}]
        ) as stream:
            return "".join([text async for text in stream.text_stream])

    return read


async def cpu_ms(read: Read) -> float:
    """The CPU of one reply, in milliseconds."""
    began_s = time.process_time()
    for _ in range(STREAMS):
        assert await read() == TEXT
    return (time.process_time() - began_s) * 1000 / STREAMS


async def measured(rounds: int) -> dict[str, float]:
    async with AsyncExitStack() as opened:
        url = await opened.enter_async_context(provider())
        shared: httpx.AsyncClient = await opened.enter_async_context(
            model_client(tls=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        )
        theirs = await opened.enter_async_context(AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1"))
        claude = await opened.enter_async_context(AsyncAnthropic(api_key=KEY, base_url=url))
        options = {"name": "main", "model": MODEL, "api_key": KEY, "client": shared, "clock": SystemClock()}
        contestants: dict[str, Read] = {
            "openai: adapter": adapter(OpenAIModel(base_url=f"{url}/v1", **options)),
            "openai: official client": openai_client(theirs),
            "anthropic: adapter": adapter(AnthropicModel(base_url=url, **options)),
            "anthropic: official client": anthropic_client(claude),
        }
        found: dict[str, list[float]] = {name: [] for name in contestants}
        for read in contestants.values():
            await read()
        for _ in range(rounds):
            for name, read in contestants.items():
                found[name].append(await cpu_ms(read))
        return {name: statistics.median(values) for name, values in found.items()}


def main(words: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", type=Path)
    given = options.parse_args(words)
    found = asyncio.run(measured(given.rounds))
    for name, value in found.items():
        print(f"{name:28} {value:6.2f} ms")
    ratios = {
        wire: found[f"{wire}: adapter"] / found[f"{wire}: official client"]
        for wire in ("openai", "anthropic")
    }
    for wire, ratio in ratios.items():
        print(f"{wire}: {ratio:.2f} of the official client's")
    if given.json is not None:
        given.json.write_text(json.dumps({"cpu_ms": found, "of_official": ratios}, indent=2))
    return 0 if ratios["openai"] <= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
