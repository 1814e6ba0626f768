"""Messages that reach people through a Telegram on the wire, judged by its log."""

from pathlib import Path
from typing import Any

import pytest

from channels.manager import Phase
from channels.telegram.addresses import Timeouts
from core.errors import AttachmentTooLarge
from core.messages import Address, Choice, File, InboundMessage, Message, MessageRef, Moved, Plain
from core.ports import KnownMessage, SendState
from tests.channels.memory import MemoryOutbox
from tests.harness.channel_bench import SPEED, TOKEN, ChannelBench, open_channel, simulated_telegram
from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.people_files import PHOTO

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")


async def meet(house: ChannelBench, *people: int) -> None:
    """People start the bot, so that it may write to them."""
    for person in people or (7,):
        house.sim.user_sends_text(person, f"hi {person}")
        await house.inbox.until(lambda text=f"hi {person}": text in house.inbox.texts)


def said(sim: TelegramSimulator, person: int = 7) -> list[str]:
    return [message.text for message in sim.bot_messages(person)]


async def test_a_row_is_shown_and_its_ref_kept() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        house.outbox.enqueue("7", "hello", state=SendState.SENDING)
        await house.outbox.settled()
        (message,) = sim.bot_messages(7)
        assert message.text == "hello"
        assert house.outbox.row(1).refs == (f"7:{message.id}",)
        (request,) = sim.requests("sendMessage")
        assert request.params["link_preview_options"] == {"is_disabled": True}


async def test_429_is_obeyed_and_costs_neither_message_nor_order() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house, 7, 8)
        fault = sim.fail("rate_limit", method="sendMessage", chat_id=7, count=3, retry_after_s=2)
        for i in range(5):
            house.outbox.enqueue("7", f"ann {i}")
            house.outbox.enqueue("8", f"ben {i}")
        await house.outbox.settled()
        assert said(sim, 7) == [f"ann {i}" for i in range(5)]
        assert said(sim, 8) == [f"ben {i}" for i in range(5)]
        refused = [request for request in sim.requests("sendMessage", chat_id=7) if request.fault]
        assert len(refused) == 3
        assert [request.number for request in refused] == fault.hits
        assert house.outbox.row(1).repeats == 0


async def test_a_message_taken_but_not_answered_is_found_once_it_must_have_arrived() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        house.outbox.earlier = (KnownMessage(Address("7"), f"{1:020d}", 0),)
        sim.fail("drop", method="sendMessage", when="after", count=1)
        house.outbox.enqueue("7", "hello")
        house.outbox.enqueue("7", "next")
        await house.outbox.settled()
        assert said(sim) == ["hello", "next"]
        assert [house.outbox.row(n).repeats for n in (1, 2)] == [0, 0]
        (looked, *_), (sent, *_) = sim.requests("editMessageReplyMarkup"), sim.requests("sendMessage")
        # The hub counts its 30 s from when it made the request, which is before the request arrived.
        assert looked.received_at - sent.received_at >= 15 / SPEED


async def test_a_part_taken_but_not_answered_is_found_and_the_others_follow() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        house.outbox.earlier = (KnownMessage(Address("7"), f"{1:020d}", 0),)
        sim.fail("drop", method="sendMessage", when="after", skip=1, count=1)
        house.outbox.enqueue("7", "x" * 10_000)
        await house.outbox.settled()
        assert [len(text) for text in said(sim)] == [4096, 4096, 1808]
        row = house.outbox.row(1)
        assert (row.state, row.repeats, len(set(row.refs))) == (SendState.SENT, 0, 3)


async def test_a_message_of_which_nothing_can_be_found_is_repeated_once_and_marked() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        sim.fail("drop", method="sendMessage", when="after", count=1)
        house.outbox.enqueue("7", "hello")
        house.outbox.enqueue("7", "next")
        await house.outbox.settled()
        assert said(sim) == ["hello", "hello", "next"]
        assert house.outbox.row(1).repeats == 1
        assert (1, "ambiguous") in house.outbox.history
        assert house.outbox.row(2).repeats == 0


@pytest.mark.parametrize("fault", [
    {"kind": "drop", "when": "before"},
    {"kind": "garbage", "when": "before"},
    {"kind": "silent"},
])  # fmt: skip
async def test_a_request_that_may_have_arrived_is_ambiguous(fault: dict[str, Any]) -> None:
    async with simulated_telegram() as sim, open_channel(sim, timeouts=Timeouts(read_s=0.3)) as house:
        await meet(house)
        sim.fail(method="sendMessage", count=1, **fault)
        house.outbox.enqueue("7", "hello")
        await house.outbox.settled()
        assert said(sim) == ["hello"]
        assert house.outbox.row(1).repeats == 1


async def test_a_lost_message_is_repeated_only_once() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        sim.fail("drop", method="sendMessage", when="after", count=2)
        house.outbox.enqueue("7", "hello")
        house.outbox.enqueue("7", "next")
        await house.outbox.settled()
        assert said(sim) == ["hello", "hello", "next"]
        assert house.outbox.row(1).state is SendState.AMBIGUOUS


@pytest.mark.parametrize("fault", [
    {"kind": "server_error", "status": 502, "html": True},
    {"kind": "server_error", "status": 500, "description": "Internal Server Error: restart"},
    {"kind": "server_error", "status": 503},
    {"kind": "server_error", "status": 403, "html": True},
])  # fmt: skip
async def test_an_error_answered_by_the_platform_is_retried_and_not_ambiguous(fault: dict[str, Any]) -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        sim.fail(method="sendMessage", count=4, **fault)
        house.outbox.enqueue("7", "hello")
        house.outbox.enqueue("7", "next")
        await house.outbox.settled()
        assert said(sim) == ["hello", "next"]
        assert house.outbox.row(1).repeats == 0
        assert not [what for _, what in house.outbox.history if what == "ambiguous"]


async def test_a_gateway_timeout_makes_the_message_ambiguous() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        sim.fail("server_error", method="sendMessage", count=1, status=504, description="Gateway Timeout")
        house.outbox.enqueue("7", "hello")
        await house.outbox.settled()
        assert house.outbox.row(1).repeats == 1


async def test_a_message_to_a_person_who_blocked_the_bot_fails_without_retry() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house, 7, 8)
        sim.user_blocks_bot(7)
        house.outbox.enqueue("7", "hello")
        house.outbox.enqueue("8", "hello")
        house.outbox.enqueue("4711", "nobody")
        await house.outbox.settled()
        assert [house.outbox.row(i).state.value for i in (1, 2, 3)] == ["failed", "sent", "failed"]
        assert "blocked" in (house.outbox.reason(1) or "")
        assert house.outbox.reason(3) == "Chat not found"
        assert len(sim.requests("sendMessage", chat_id=7)) == 1


async def test_a_message_follows_its_group_into_the_supergroup() -> None:
    async with simulated_telegram() as sim:
        group = sim.create_group("The team", [7, 8])
        async with open_channel(sim) as house:
            await sim.wait_polling()
            sim.fail("hold", method="getUpdates")  # nobody tells but the answer to the request
            supergroup = sim.group_migrates(group.id)
            house.outbox.enqueue(str(group.id), "hello")
            await house.outbox.settled()
            assert house.outbox.row(1).state is SendState.SENT
            assert [message.text for message in sim.bot_messages(supergroup.id)] == ["hello"]
            await house.inbox.until(lambda: any(isinstance(e, Moved) for e in house.inbox.events.values()))


async def test_messages_after_a_group_upgrade_quote_nothing_wrong() -> None:
    """Messages are numbered anew there."""
    async with simulated_telegram() as sim:
        group = sim.create_group("The team", [7, 8])
        async with open_channel(sim) as house:
            await sim.wait_polling()
            sim.fail("hold", method="getUpdates")
            supergroup = sim.group_migrates(group.id)
            house.outbox.enqueue(
                str(group.id), Message((Plain("hello"),), reply_to=MessageRef(f"{group.id}:1"))
            )
            await house.outbox.settled()
            (sent,) = sim.requests("sendMessage", chat_id=supergroup.id)
            assert "reply_parameters" not in sent.params


@pytest.mark.parametrize(
    "name, media_type, content, shown_as",
    [
        ("a.txt", "text/plain", b"text", "document"),
        ("a.jpg", "image/jpeg", PHOTO, "photo"),
        ("broken.jpg", "image/jpeg", b"no image", "document"),
    ],
)
async def test_files_are_shown_as_what_they_are(
    tmp_path: Path, name: str, media_type: str, content: bytes, shown_as: str
) -> None:
    (tmp_path / name).write_bytes(content)
    async with simulated_telegram() as sim, open_channel(sim, files=tmp_path) as house:
        sim.user_sends_text(7, "send it")
        await house.inbox.until(lambda: house.inbox.texts)
        message = Message((Plain("Here it is."),), files=(File(str(tmp_path / name), name, media_type),))
        house.outbox.enqueue("7", message)
        await house.outbox.settled()
        text, file = sim.bot_messages(7)
        assert text.text == "Here it is."
        assert shown_as in file.content
        if shown_as == "document":
            assert file.content["document"]["file_name"] == name


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/hostname", "missing.txt", "empty.txt", ".env"])
async def test_a_file_that_may_not_be_shown_fails_its_message_visibly(tmp_path: Path, path: str) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "outside.txt").write_text("secret")
    (tmp_path / "shown" / "empty.txt").write_text("")
    (tmp_path / "shown" / ".env").write_text("KEY=secret")
    async with simulated_telegram() as sim, open_channel(sim, files=tmp_path / "shown") as house:
        sim.user_sends_text(7, "send it")
        await house.inbox.until(lambda: house.inbox.texts)
        house.outbox.enqueue("7", Message((), files=(File(path, "it.txt", "text/plain"),)))
        await house.outbox.settled()
        assert house.outbox.row(1).state is SendState.FAILED
        assert "it.txt can't be sent" in (house.outbox.reason(1) or "")
        assert sim.bot_messages(7) == []


async def test_a_slow_chat_delays_no_other() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house, 7, 8)
        sim.fail("hold", method="sendMessage", chat_id=7, when="before")
        house.outbox.enqueue("7", "slow")
        await sim.wait_held()
        for i in range(20):
            house.outbox.enqueue("8", f"n{i}")
        await sim.wait_bot_messages(8, count=20)
        assert said(sim, 7) == []
        sim.release()
        await house.outbox.settled()
        assert said(sim, 8) == [f"n{i}" for i in range(20)]


async def test_many_chats_are_sent_to_concurrently() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        people = range(100, 150)
        for person in people:
            sim.add_user(person)
        await meet(house, *people)
        for i in range(6):
            for person in people:
                house.outbox.enqueue(str(person), f"n{i}")
        await house.outbox.settled()
        assert all(said(sim, person) == [f"n{i}" for i in range(6)] for person in people)


CARD = Message((Plain("Run it?"),), (Choice("Approve"), Choice("Deny")), "7Q2M9ZK4XA")
SETTLED = Message((Plain("Run it?"),), (), "7Q2M9ZK4XA", outcome="Approved by Ann")


async def test_a_card_is_changed_to_its_outcome_and_loses_its_buttons() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        house.outbox.enqueue("7", CARD)
        house.outbox.enqueue("7", SETTLED, edit_of=1)
        await house.outbox.settled()
        (message,) = sim.bot_messages(7)
        assert message.text == "Run it?\n\nApproved by Ann"
        assert message.keyboard is None
        (buttons,) = message.history[0]["keyboard"]
        assert [button["text"] for button in buttons] == ["Approve", "Deny"]


async def test_a_card_changed_twice_is_changed() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        house.outbox.enqueue("7", CARD)
        house.outbox.enqueue("7", SETTLED, edit_of=1)
        house.outbox.enqueue("7", SETTLED, edit_of=1)
        await house.outbox.settled()
        assert house.outbox.row(3).state is SendState.SENT
        (first, second) = sim.requests("editMessageText")
        assert first.ok
        assert "not modified" in (second.error or "")


async def test_an_unanswered_edit_is_retried_and_not_ambiguous() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        house.outbox.enqueue("7", CARD)
        await house.outbox.settled()
        sim.fail("drop", method="editMessageText", when="after", count=1)
        house.outbox.enqueue("7", SETTLED, edit_of=1)
        await house.outbox.settled()
        assert said(sim) == ["Run it?\n\nApproved by Ann"]
        assert house.outbox.row(2).state is SendState.SENT
        assert house.outbox.row(2).repeats == 0


async def test_a_change_of_a_message_that_is_gone_fails() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        house.outbox.enqueue("7", CARD)
        await house.outbox.settled()
        channel = house.manager.channel("tg")
        ref = house.outbox.row(1).refs[0]
        assert await channel.retract(ref)
        assert not await channel.retract(ref)
        house.outbox.enqueue("7", SETTLED, edit_of=1)
        await house.outbox.settled()
        assert house.outbox.row(2).state is SendState.FAILED
        assert said(sim) == []


async def test_a_429_between_parts_repeats_no_part() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        sim.fail("rate_limit", method="sendMessage", skip=1, count=1, retry_after_s=1)
        house.outbox.enqueue("7", "x" * 10_000)
        house.outbox.enqueue("7", "next")
        await house.outbox.settled()
        assert [len(text) for text in said(sim)] == [4096, 4096, 1808, 4]
        assert len(house.outbox.row(1).refs) == 3


async def test_ambiguous_and_queued_rows_go_out_at_the_next_start() -> None:
    outbox = MemoryOutbox()
    async with simulated_telegram() as sim:
        async with open_channel(sim, outbox=outbox) as house:
            await meet(house)
        outbox.enqueue("7", "cut off", state=SendState.AMBIGUOUS, tell=False)
        outbox.enqueue("7", "queued", tell=False)
        async with open_channel(sim, outbox=outbox):
            await outbox.settled()
        assert said(sim) == ["cut off", "queued"]


async def test_a_token_revoked_while_running_keeps_what_is_to_be_sent() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        sim.fail("error", method="sendMessage", status=401, description="Unauthorized")
        house.outbox.enqueue("7", "kept")
        await house.reaches(Phase.FAILED)
        assert house.reason() == "Telegram rejected the token"
        await house.outbox.reaches(1, SendState.QUEUED)
        assert said(sim) == []


async def test_reasons_never_hold_the_token() -> None:
    async with simulated_telegram() as sim, open_channel(sim, timeouts=Timeouts(read_s=0.2)) as house:
        await meet(house)
        await house.outbox.settled()
        for kind in ("drop", "silent", "garbage"):
            sim.fail(kind, method="sendMessage", count=2)
            row = house.outbox.enqueue("7", kind)
            await house.outbox.reaches(row.id, SendState.AMBIGUOUS)
            await house.outbox.settled()
            assert TOKEN not in (house.outbox.reason(row.id) or "")


async def test_files_come_whole_or_not_at_all() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        sim.user_sends_document(7, "note.txt", b"hello world")
        message = await house.inbox.until(
            lambda: next(
                (
                    event
                    for event in house.inbox.events.values()
                    if isinstance(event, InboundMessage) and event.attachments
                ),
                None,
            )
        )
        assert message is not None
        (attachment,) = message.attachments
        channel = house.manager.channel("tg")
        assert await channel.fetch(attachment, 100) == b"hello world"
        with pytest.raises(AttachmentTooLarge):
            await channel.fetch(attachment, 5)


async def test_a_direct_message_is_sent_and_edited() -> None:
    async with simulated_telegram() as sim, open_channel(sim) as house:
        await meet(house)
        channel = house.manager.channel("tg")
        address = channel.direct("7")
        (payload,) = channel.render(Message((Plain("psst"),)))
        posted = await channel.post(address, payload, nonce="n")
        assert address == Address("7")
        assert said(sim) == ["psst"]
        hi = next(event for event in house.inbox.events.values() if isinstance(event, InboundMessage))
        assert posted.order_key > hi.order_key
        assert posted.ref == MessageRef(f"7:{sim.bot_messages(7)[0].id}")
        await channel.edit(posted.ref, payload)
