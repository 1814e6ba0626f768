"""Images in requests: their bytes for models that see, words for all others, for both APIs."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from core.errors import ModelRejected
from core.model.base import ImagePart, ModelAbilities, ModelRequest
from core.model.provider_http import model_client
from core.transcript import AssistantSaid, Note, UserSaid
from tests.core.model.odd_servers import adapter
from tests.core.model.support import collect
from tests.core.model.test_openai import NO_TLS
from tests.simulators.model import HttpError, ModelSimulator

CAT = ImagePart("cat.png", "image/png", b"\x89PNG\r\n\x1a\ncat")
DOG = ImagePart("dog.jpg", "image/jpeg", b"\xff\xd8\xffdog")
LARGE = ImagePart("large.png", "image/png", problem="it is larger than 3.7 MB")
REQUEST = ModelRequest(
    "",
    [UserSaid("earlier"), AssistantSaid("Yes."), UserSaid("say: seen"), Note("Be brief.")],
    images=[CAT, LARGE, DOG],
)
WORDS = 'You can\'t see the image "{}": {}'
BLIND = "this model does not accept images"


@pytest.fixture
async def provider() -> AsyncIterator[ModelSimulator]:
    async with ModelSimulator(models=("m-1",), api_key="k") as simulator:
        yield simulator


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with model_client(tls=NO_TLS) as shared:
        yield shared


def asked(wire: str, client: httpx.AsyncClient, provider: ModelSimulator, *, sees: bool) -> Any:
    return adapter(wire, client, provider.openai_base_url, abilities=ModelAbilities(images=sees))


def last(body: dict[str, Any]) -> list[str]:
    """The newest message: its texts as they are, its images by their type."""
    content = body["messages"][-1]["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [part.get("text") or part["type"] for part in parts]


@pytest.mark.parametrize("wire, kind", [("openai", "image_url"), ("anthropic", "image")])
async def test_a_model_with_vision_gets_the_bytes_with_the_newest_message(
    wire: str, kind: str, provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    await collect(asked(wire, client, provider, sees=True), REQUEST)
    body = provider.log[-1].body
    said, first, second, note = last(body)
    assert said == f"say: seen\n[{WORDS.format('large.png', LARGE.problem)}]"
    assert (first, second) == (kind, kind)
    assert "Be brief." in note
    assert "iVBORw0KGgpjYXQ=" in json.dumps(body)
    assert "/9j/ZG9n" in json.dumps(body)


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_a_model_without_vision_gets_words_and_no_bytes(
    wire: str, provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    await collect(asked(wire, client, provider, sees=False), REQUEST)
    body = json.dumps(provider.log[-1].body)
    for name, problem in (("cat.png", BLIND), ("large.png", LARGE.problem), ("dog.jpg", BLIND)):
        assert json.dumps(WORDS.format(name, problem))[1:-1] in body
    assert "base64" not in body
    assert "iVBORw0KGgpjYXQ=" not in body


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_an_image_the_provider_refuses_is_left_out_of_this_request_alone(
    wire: str, provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    model = asked(wire, client, provider, sees=True)
    provider.fault(HttpError(400, body=json.dumps({"error": {"message": "Could not process image"}})))
    await collect(model, REQUEST)
    assert "the provider can't read it" in json.dumps(provider.log[-1].body)
    await collect(model, REQUEST)
    assert ["base64" in json.dumps(one.body) for one in provider.log.all()] == [True, False, True]
    assert model.abilities.images is True


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
async def test_a_model_that_turns_out_to_have_no_vision_is_shown_no_further_image(
    wire: str, provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    model = asked(wire, client, provider, sees=True)
    provider.fault(HttpError(400, body=json.dumps({"error": {"message": "does not support image input"}})))
    for _ in range(2):
        await collect(model, REQUEST)
    assert ["base64" in json.dumps(one.body) for one in provider.log.all()] == [True, False, False]
    assert (model.abilities.images, model.abilities.learned) == (False, ("takes no images",))


async def test_an_image_without_words_of_a_person_is_not_sent(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    for wire in ("openai", "anthropic"):
        await collect(
            asked(wire, client, provider, sees=True), replace(REQUEST, conversation=[Note("Go on.")])
        )
        assert "base64" not in json.dumps(provider.log[-1].body)


async def test_other_refusals_are_not_about_the_image(
    provider: ModelSimulator, client: httpx.AsyncClient
) -> None:
    provider.fault(HttpError(400, body=json.dumps({"error": {"message": "Invalid 'messages'"}})))
    with pytest.raises(ModelRejected):
        await collect(asked("openai", client, provider, sees=True), REQUEST)
    assert provider.log.taken == 1
