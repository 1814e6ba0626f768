"""Successive requests of a thread begin with the same bytes, which providers can read from their caches."""

import ssl

import pytest

from core.model import anthropic, openai
from core.model.base import ImagePart, Model, ModelRequest
from core.model.openai import Dialect as OpenAIDialect
from core.model.provider_http import model_client
from core.transcript import AssistantSaid, ResultStatus, Said, ToolCalled, ToolResult, UserSaid
from tests.core.model.odd_servers import adapter
from tests.core.model.support import SHELL, TIME, collect
from tests.simulators.model import ModelSimulator

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
WIRES = ["openai", "anthropic"]
SYSTEM = "Be kind, in words of one syllable if you can. " * 120
TOOLS = (SHELL, TIME)
TURNS: list[list[Said]] = [
    [
        UserSaid("list the files"),
        AssistantSaid("Looking."),
        ToolCalled("call1", "shell", '{"command": "ls"}'),
    ],
    [ToolResult("call1", ResultStatus.OK, "a.txt")],
    [AssistantSaid("There is a.txt."), UserSaid("and now?")],
    [AssistantSaid(""), ToolCalled("call2", "time", "{}"), ToolResult("call2", ResultStatus.ERROR, "")],
    [AssistantSaid("It is late."), UserSaid("thanks 🚀", sender="Ann")],
]


def grown() -> list[list[Said]]:
    """The conversation as it stood at each of its requests."""
    conversation: list[Said] = []
    found: list[list[Said]] = []
    for turn in TURNS:
        conversation = [*conversation, *turn]
        found.append(conversation)
    return found[2:]


def bodies(wire: str) -> list[bytes]:
    requests = [ModelRequest(SYSTEM, conversation, TOOLS) for conversation in grown()]
    if wire == "openai":
        texts = openai.RequestTexts(model="m", host="h")
        return [texts.encoded(request, OpenAIDialect()) for request in requests]
    other = anthropic.RequestTexts(model="m", host="h")
    return [other.encoded(request, anthropic.Dialect()) for request in requests]


@pytest.mark.parametrize("wire", WIRES)
def test_a_request_begins_with_all_of_the_one_before_it(wire: str) -> None:
    end = b"]" if wire == "openai" else b"]}"
    for before, after in zip(bodies(wire), bodies(wire)[1:], strict=False):
        messages = before.rpartition(b',"tools":')[0] if wire == "openai" else before
        said = messages.removesuffix(end)
        # Anthropic's results and what a person says next are one message.
        said = said if wire == "openai" else said.removesuffix(b"]}")
        assert len(said) > len(SYSTEM)
        assert after.startswith(said)


@pytest.mark.parametrize("wire", WIRES)
async def test_the_second_request_of_a_thread_is_read_from_the_providers_cache(wire: str) -> None:
    async with ModelSimulator(models=("m-1",), api_key="k") as provider, model_client(tls=NO_TLS) as client:
        model: Model = adapter(wire, client, provider.openai_base_url)
        usages = [
            (await collect(model, ModelRequest(SYSTEM, conversation, TOOLS)))[1].usage
            for conversation in grown()
        ]
    assert usages[0].cached_input_tokens == 0
    for usage in usages[1:]:
        fresh = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
        assert usage.cached_input_tokens > 1024
        assert 0 <= fresh < 200, "most of it was read again"
    if wire == "anthropic":
        assert usages[0].cache_write_tokens > 1024


@pytest.mark.parametrize("wire", WIRES)
def test_an_image_changes_nothing_before_its_message(wire: str) -> None:
    conversation = grown()[-1]
    request = ModelRequest(SYSTEM, conversation, TOOLS)
    shown = ModelRequest(SYSTEM, conversation, TOOLS, images=[ImagePart("a", "image/png", b"\x89PNG")])
    if wire == "openai":
        texts = openai.RequestTexts(model="m", host="h")
        plain, seen, again = (texts.encoded(one, OpenAIDialect()) for one in (request, shown, request))
    else:
        other = anthropic.RequestTexts(model="m", host="h")
        plain, seen, again = (other.encoded(one, anthropic.Dialect()) for one in (request, shown, request))
    assert b"iVBORw==" in seen
    assert plain == again, "the image was kept"
    common = next(place for place, (one, other) in enumerate(zip(plain, seen, strict=False)) if one != other)
    assert b"It is late." in plain[:common]
