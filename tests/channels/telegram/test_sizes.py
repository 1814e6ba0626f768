"""Answers of Telegram's that are over their size: not parsed, nothing beside them lost, nothing held up."""

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from channels.manager import Phase
from channels.telegram.addresses import Timeouts
from channels.telegram.client import BotClient, BotRequest, OverSize, RequestTimeouts
from channels.telegram.errors import AnswerTooLarge
from core.errors import AttachmentTooLarge, InboxUnavailable, Unanswered
from core.messages import Unreadable
from tests.channels.memory import MemoryInbox
from tests.harness.channel_bench import TOKEN, open_channel, simulated_telegram
from tests.simulators.telegram import TelegramSimulator

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")

OVER = "sk-" * 200_000
"""More than the limit by itself."""


def asked_for(sim: TelegramSimulator) -> list[int]:
    return [int(request.params["limit"]) for request in sim.requests("getUpdates")]


# --- polling ------------------------------------------------------------------------------------------------
async def test_an_update_over_the_size_is_recorded_and_passed_over_alone() -> None:
    async with simulated_telegram() as sim:
        for text in ("first", "second", OVER, "third"):
            sim.user_sends_text(7, text)
        sim.user_sends_text(8, "another chat")
        async with open_channel(sim) as house:
            await sim.wait_confirmed()
            assert house.inbox.texts == ["first", "second", "third", "another chat"]
            (unread,) = (event for event in house.inbox.events.values() if isinstance(event, Unreadable))
            assert unread.key == f"tg:123456:u:{sim.updates()[2].update_id}"
            assert unread.summary == "an update of more than 524,288 bytes"
            assert house.phase() is Phase.RUNNING
            sim.user_sends_text(7, "after it")
            await sim.wait_confirmed()
            assert house.inbox.texts[-1] == "after it"


async def test_updates_too_large_for_one_batch_are_all_accepted() -> None:
    async with simulated_telegram() as sim:
        texts = [f"{number:02} {'word ' * 8_000}".strip() for number in range(30)]
        for text in texts:
            sim.user_sends_text(7, text)
        async with open_channel(sim) as house:
            await sim.wait_confirmed()
            assert house.inbox.texts == texts
            assert min(asked_for(sim)) == 12  # at 40 kB each; 25 are over the limit
            for number in range(4):  # and soon as many as ever are asked for again
                sim.user_sends_text(7, f"after {number}")
                await sim.wait_confirmed()
            await sim.wait_polling()
            assert asked_for(sim)[-1] == 100


async def test_skipped_updates_are_recorded_before_they_are_confirmed() -> None:
    async with simulated_telegram() as sim:
        inbox = MemoryInbox()
        inbox.failure = lambda event: InboxUnavailable("disk full") if isinstance(event, Unreadable) else None
        sim.user_sends_text(7, OVER)
        sim.user_sends_text(7, "behind it")
        async with open_channel(sim, inbox=inbox) as house:
            await house.reaches(Phase.BACKING_OFF)
            assert house.reason() == "disk full"
            assert not any(update.confirmed_at for update in sim.updates())
            inbox.failure = lambda _: None
            await sim.wait_confirmed()
            assert [isinstance(event, Unreadable) for event in inbox.events.values()] == [True, False]


# --- on the wire --------------------------------------------------------------------------------------------
@asynccontextmanager
async def answering(answer: Callable[[web.StreamResponse], Awaitable[None]]) -> AsyncIterator[str]:
    """A server that answers everything so; its address."""

    async def handle(request: web.Request) -> web.StreamResponse:
        kind = "application/json" if request.method == "POST" else "application/octet-stream"
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        try:
            await answer(response)
        except ConnectionError:  # nobody reads on
            pass
        return response

    runner = web.AppRunner(web.Application())
    runner.app.router.add_route("*", "/{path:.*}", handle)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def over_size(*pieces: bytes) -> OverSize:
    """Return what becomes of an answer that comes in these pieces."""

    async def answer(response: web.StreamResponse) -> None:
        for piece in pieces:
            await response.write(piece)

    request = BotRequest(ssl.create_default_context(), 1, RequestTimeouts(5, 5, 5))
    async with answering(answer) as url:
        try:
            with pytest.raises(OverSize) as raised:
                await request.do_request(f"{url}/bot1/getUpdates", "POST")
        finally:
            await request.shutdown()
    return raised.value


WITHIN = json.dumps('"update_id": 5,' * 50_000).encode()
"""A text that says what is looked for."""


@pytest.mark.parametrize(
    "pieces, update_id",
    [
        ((b'{"result":[{"update_id":17,', WITHIN), 17),
        ((b'{"result":[{"message":', WITHIN, b',"update_id": 17}]}'), 17),
        ((b'{"result":[{"message":', WITHIN, b',"upda', b'te_id":1', b"7}]}"), 17),
        ((b'{"result":[{"message":', WITHIN, b',"update_id":"none"}]}'), None),
        ((b'{"result":[', WITHIN, b"]}"), None),
    ],
)
async def test_the_update_id_is_found_at_any_position_but_not_in_text(
    pieces: tuple[bytes, ...], update_id: int | None
) -> None:
    assert (await over_size(*pieces)).update_id == update_id


async def test_an_oversized_answer_makes_the_message_ambiguous() -> None:
    async def answer(response: web.StreamResponse) -> None:
        await response.write(b'{"ok":true,"result":{"message_id":1,"text":' + WITHIN + b"}}")

    async with answering(answer) as url:
        client = BotClient(TOKEN, url, Timeouts())
        with pytest.raises(AnswerTooLarge) as raised:
            await client.send({"chat_id": 7, "text": "x"})
        await client.close()
    assert isinstance(raised.value, Unanswered)


async def test_a_file_is_read_up_to_telegrams_download_limit() -> None:
    async def answer(response: web.StreamResponse) -> None:
        if response.content_type == "application/json":
            await response.write(b'{"ok":true,"result":{"file_id":"f","file_unique_id":"f","file_path":"f"}}')
        while response.content_type != "application/json":
            await response.write(b"x" * 65_536)

    async with answering(answer) as url:
        client = BotClient(TOKEN, url, Timeouts())
        with pytest.raises(AttachmentTooLarge):
            await client.download("f", 1)
        await client.close()
