"""Images that people send reach models that see, for the turn they came with; others are told of them."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from core.runs.services import MAX_IMAGE_BYTES
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.simulators.model import HttpError

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels " * 40
JPEG = b"\xff\xd8\xff\xe0" + b"pixels " * 40
SEES = "images = true"


async def shown(house: Hub, text: str) -> None:
    await house.telegram.wait_text(OWNER, text, timeout_s=LIMIT_S)


def images_in(body: dict[str, Any]) -> list[tuple[int, str, bytes]]:
    """The images of a request of either API: the place of their message, their type and content."""
    found: list[tuple[int, str, bytes]] = []
    for place, message in enumerate(body["messages"]):
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part["type"] == "image_url":
                media_type, _, data = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
                found.append((place - len(body["messages"]), media_type, base64.b64decode(data)))
            elif part["type"] == "image":
                source = part["source"]
                data = base64.b64decode(source["data"])
                found.append((place - len(body["messages"]), source["media_type"], data))
    return found


def downloads(house: Hub) -> int:
    return len(house.telegram.requests("getFile"))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_model_that_sees_is_shown_an_image_in_its_own_turn_alone(
    tmp_path: Path, provider: str
) -> None:
    async with open_hub(tmp_path, provider=provider, model=SEES) as house:
        house.telegram.user_sends_document(
            OWNER, "cat.png", PNG, media_type="image/png", caption="please call: time"
        )
        await shown(house, "Done: ")
        house.telegram.user_sends_text(OWNER, "say: and then?")
        await shown(house, "and then?")
        first, second, third = (one.body for one in house.model.log.all())
        assert images_in(first) == [(-1, "image/png", PNG)]
        assert images_in(second) == [(-3, "image/png", PNG)], "gone in the middle of the turn"
        assert images_in(third) == []
        assert '[Attached file: \\"cat.png\\", image/png, 288 bytes]' in json.dumps(third)
        assert downloads(house) == 1, "downloaded for each call"
    assert PNG[8:30] not in b"".join(path.read_bytes() for path in (tmp_path / "data").glob("hub.db*"))


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_a_model_without_vision_is_told_what_it_cannot_see(tmp_path: Path, provider: str) -> None:
    async with open_hub(tmp_path, provider=provider) as house:
        house.telegram.user_sends_document(
            OWNER, "cat.png", PNG, media_type="image/png", caption="say: hello"
        )
        await shown(house, 'You can\'t see the image "cat.png": this model does not accept images')
        (asked,) = house.model.log.all()
        assert images_in(asked.body) == []
        assert downloads(house) == 0


async def test_content_that_cannot_be_shown_has_a_reason(tmp_path: Path) -> None:
    async with open_hub(tmp_path, model=SEES) as house:
        send = house.telegram.user_sends_document
        send(OWNER, "big.png", PNG, media_type="image/png", size_bytes=MAX_IMAGE_BYTES + 1)
        await shown(house, 'You can\'t see the image "big.png": it is larger than 3.7 MB')
        send(OWNER, "fake.png", b"<svg onload=...>", media_type="image/png")
        await shown(house, 'You can\'t see the image "fake.png": it is not a PNG, JPEG, GIF or WebP image')
        send(OWNER, "real.png", JPEG, media_type="image/png")
        await shown(house, "real.png")
        assert images_in(house.model.log[-1].body) == [(-1, "image/jpeg", JPEG)], "the name is believed"
        house.telegram.user_sends_album(OWNER, 6, caption="say: six")
        await shown(house, "only 4 images of a message are shown")
        assert len(images_in(house.model.log[-1].body)) == 4
        assert [len(images_in(one.body)) for one in house.model.log.all()] == [0, 0, 1, 4]


async def test_a_damaged_image_does_not_lose_the_words(tmp_path: Path) -> None:
    refusal = json.dumps(
        {"error": {"message": "You uploaded an unsupported image.", "code": "invalid_image"}}
    )
    async with open_hub(tmp_path, model=SEES) as house:
        house.model.fault(HttpError(400, body=refusal))
        house.telegram.user_sends_document(OWNER, "a.png", PNG, media_type="image/png", caption="say: hello")
        await shown(house, "You can't see the image \"a.png\": the provider can't read it")
        house.telegram.user_sends_document(OWNER, "b.png", PNG, media_type="image/png", caption="say: again")
        await shown(house, "again")
        assert [len(images_in(one.body)) for one in house.model.log.all()] == [1, 0, 1]
