"""Inputs on their way into a turn: albums, edits, conversations that moved, and answers that quote them."""

from dataclasses import replace

import pytest

from core.messages import Address, Attachment, InboundEvent, InboundMessage, MessageRef, Moved, plain
from core.store.accept import Accepted, AcceptView, Admission, TurnedAway, Verdict
from core.store.effects import Say, StopThread
from core.transcript import UserSaid
from core.users import Identity
from tests.contracts.store.bench import ADA, BEN, CHANNEL, Bench, Rules, admit

WAIT_S = 0.5


def part(world: Bench, number: int, text: str = "", **where: object) -> InboundMessage:
    file = Attachment(f"handle-{number}", f"{number}.jpg", "image/jpeg", 2048)
    message = world.message(text, **where)  # type: ignore[arg-type]
    return replace(message, attachments=(file,), album="album", ref=MessageRef(f"room:{number}"))


async def accept(world: Bench, message: InboundMessage) -> Accepted:
    """As input that waits for the rest of its album."""
    wait_us = int(WAIT_S * 1_000_000) if message.album else 0

    def verdict(_: InboundEvent, view: AcceptView) -> Verdict:
        return Verdict("waiting", (replace(world.queue(view), wait_us=wait_us),))

    return await world.store.inbound.accept_event(message, Rules(admit(ADA), verdict), send_now=False)


async def test_parts_of_an_album_wait_for_each_other_and_are_one_input(world: Bench) -> None:
    first = await accept(world, part(world, 1, "look"))
    assert (first.outcome, first.started, first.wait_until) == ("waiting", None, world.clock.now() + 500_000)
    assert first.thread_id is not None
    world.clock.advance(0.4)
    second = await accept(world, part(world, 2))
    world.clock.advance(0.4)
    assert await world.store.recovery.start_waiting(first.thread_id, "too soon") is None
    await world.say("and this")
    world.clock.advance(0.1)
    assert second.wait_until == world.clock.now()
    started = await world.store.recovery.start_waiting(first.thread_id, "turn")
    assert started is not None
    lines = "".join(f'\n[Attached file: "{n}.jpg", image/jpeg, 2 kB]' for n in (1, 2))
    album, last = await world.said(started)
    assert isinstance(album, UserSaid)
    assert (album.text, [file.name for file in album.attachments]) == ("look" + lines, ["1.jpg", "2.jpg"])
    assert last == UserSaid("and this")
    outcomes = [event.outcome for event in await world.store.explanations.explain_recent(10)]
    assert outcomes == ["turn 1"] * 3


@pytest.mark.parametrize("by_operator", [False, True])
async def test_an_album_that_gathers_is_dropped_by_a_stop(world: Bench, *, by_operator: bool) -> None:
    parts = [part(world, 1, "look"), part(world, 2)]
    gathers, _ = [await accept(world, message) for message in parts]
    assert gathers.thread_id is not None
    if by_operator:
        stop = world.message("/stop")
        await world.store.inbound.stop_thread(stop, ADA, gathers.thread_id, "{} dropped".format)
    else:
        await world.rule(StopThread("Stopped."))
    outcomes = [await world.store.explanations.explain(message.key) for message in parts]
    assert [one.outcome for one in outcomes if one is not None] == ["stopped"] * 2
    world.clock.advance(WAIT_S)
    assert await world.store.recovery.start_waiting(gathers.thread_id, "turn") is None
    assert (await world.look()).waiting == 0


async def test_an_open_album_delays_later_input_only(world: Bench) -> None:
    running = await world.turn("first")
    await world.say("second")
    await accept(world, part(world, 1))
    await world.say("third")
    started = await world.finish(running)
    assert started is not None
    assert (await world.said(started))[-1] == UserSaid("second")
    assert await world.finish(started) is None
    world.clock.advance(WAIT_S)
    last = await world.store.recovery.start_waiting(running.thread.id, "turn")
    assert last is not None
    assert [said.text for said in await world.said(last) if isinstance(said, UserSaid)][-2:] == [
        '[Attached file: "1.jpg", image/jpeg, 2 kB]',
        "third",
    ]


async def test_all_parts_of_an_album_are_for_the_bot_if_one_is(world: Bench) -> None:
    seen: list[bool] = []

    def judged(event: InboundEvent, identity: Identity | None) -> Admission:
        assert isinstance(event, InboundMessage)
        seen.append(event.addressed)
        return admit(ADA)(event, identity) if event.addressed else TurnedAway("ignored")

    rules = Rules(judged, lambda _event, _view: Verdict("waiting"))
    stray = replace(part(world, 0), album="other", addressed=False)
    for message in (part(world, 1), replace(part(world, 2), addressed=False), stray):
        await world.store.inbound.accept_event(message, rules, send_now=False)
    other_person = replace(part(world, 3, by=BEN), addressed=False)
    await world.store.inbound.accept_event(other_person, rules, send_now=False)
    assert seen == [True, True, False, False]


async def test_a_starting_store_waits_a_little_for_the_rest_of_an_album(world: Bench) -> None:
    accepted = await accept(world, part(world, 1))
    world.clock.advance(60)
    recovery = await world.store.recovery.recover()
    assert recovery.threads_to_start == (accepted.thread_id,)
    assert accepted.thread_id is not None
    assert await world.store.recovery.start_waiting(accepted.thread_id, "too soon") is None
    world.clock.advance(2)
    assert await world.store.recovery.start_waiting(accepted.thread_id, "turn") is not None


async def test_an_edit_reaches_a_waiting_message_and_no_other(world: Bench) -> None:
    running = await world.turn("first")
    waiting = world.message("secnod")
    await accept(world, waiting)
    edit = replace(waiting, key=f"{waiting.key}:e1", edits=waiting.key, text="second")
    stranger = replace(edit, key=f"{waiting.key}:e2", sender=replace(edit.sender, platform_user_id="ben"))
    assert (await accept(world, edit)).outcome == "edited: the message was still queued"
    assert (await accept(world, edit)).duplicate
    await accept(world, replace(stranger, text="not mine", edits="chat:unknown"))
    started = await world.finish(running)
    assert started is not None
    told = [said.text for said in await world.said(started) if isinstance(said, UserSaid)]
    assert told[1] == "second"
    late = replace(edit, key=f"{waiting.key}:e3", text="third")
    assert (await accept(world, late)).outcome == "ignored: edited when no longer queued"
    assert [said.text for said in await world.said(started) if isinstance(said, UserSaid)] == told


async def test_a_conversation_that_moved_is_found_at_its_new_address(world: Bench) -> None:
    running = await world.turn("first", order=500)
    await world.say("second", order=501)
    row = await world.put_out("on its way")
    moved = Moved(
        "chat:mv", CHANNEL, Address("to room"), "room", Address("to hall"), "hall", world.clock.now()
    )
    done = await world.store.inbound.accept_event(moved, world.queueing(), send_now=False)
    assert done.outcome == "moved: 1 conversation continues"
    assert (await world.store.inbound.accept_event(moved, world.queueing(), send_now=False)).duplicate
    await world.say("third", scope="hall", order=1)
    started = await world.finish(running)
    assert started is not None
    assert (started.thread.id, started.thread.address) == (running.thread.id, "to hall")
    told = [said.text for said in await world.said(started) if isinstance(said, UserSaid)]
    assert told == ["first", "second", "third"]
    assert (await world.row(row.id)).address == "to hall"
    thread = await world.store.threads.thread(running.thread.id)
    assert thread is not None
    assert (thread.scope, thread.address) == ("=hall", "to hall")


async def test_an_answer_among_others_quotes_the_last_message_it_answers(world: Bench) -> None:
    running = await world.turn("in private")
    await world.finish(running, "answer", world.draft())
    asked = replace(world.message("in a group", scope="group", direct=False), ref=MessageRef("group:1"))
    queued = await world.store.inbound.accept_event(asked, world.queueing(), send_now=False)
    assert queued.started is not None
    for number in (2, 3):
        message = world.message(f"more {number}", scope="group", direct=False)
        await accept(world, replace(message, ref=MessageRef(f"group:{number}")))
    following = await world.finish(queued.started, "one", world.draft("one", to="to group"))
    assert following is not None
    await world.finish(following, "two", world.draft("two", to="to group"))
    quoted = [row.message.reply_to for row in await world.store.outbox.pending_outbox(CHANNEL)]
    assert quoted == [None, "group:1", "group:3"]


async def test_a_card_among_other_messages_quotes_the_request_and_its_copy_elsewhere_quotes_nothing(
    world: Bench,
) -> None:
    asked = replace(world.message(scope="group", direct=False), ref=MessageRef("group:1"))
    queued = await world.store.inbound.accept_event(asked, world.queueing(), send_now=False)
    assert queued.started is not None
    (call_id,) = await world.call(queued.started)
    gate = world.gate(queued.started, call_id)
    cards = [world.card(gate, to="to group"), world.card(gate, to="to Ada alone")]
    rows = await world.store.turns.ask_person(gate, cards)
    assert [(row.address, row.message.reply_to) for row in rows] == [
        ("to group", "group:1"),
        ("to Ada alone", None),
    ]
    assert [await world.row(row.id) for row in rows] == list(rows)


async def test_an_immediate_reply_quotes_its_message_unless_that_was_deleted(
    world: Bench,
) -> None:
    async def told(message: InboundMessage, *, withheld: bool = False) -> MessageRef | None:
        verdict = Verdict("command", (Say(plain("well")),), withheld=withheld)
        rules = Rules(admit(ADA), lambda _event, _view: verdict, None)
        (row,) = (await world.store.inbound.accept_event(message, rules, send_now=False)).outbox
        return row.message.reply_to

    group = replace(world.message("/status", direct=False), ref=MessageRef("group:1"))
    assert await told(group) == "group:1"
    assert await told(replace(group, key="2", direct=True)) is None
    assert await told(replace(group, key="3", ref=None)) is None
    assert await told(replace(group, key="4"), withheld=True) is None
