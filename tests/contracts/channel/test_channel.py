"""Promises of every channel, on every platform."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from core.errors import AttachmentTooLarge
from core.messages import Address, Message, plain
from tests.contracts.channel.subject import Subject
from tests.patience import PATIENCE_S
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import Hold, Reply

SHUT = "the hub is starting or stopping; try again in a moment"
"""What a hub logs, or says, that takes nothing."""


async def test_people_are_answered_and_the_bot_never_answers_itself(stage: Subject) -> None:
    stage.says("one")
    await stage.hears("You said: one")
    stage.says("two")
    await stage.hears("You said: two")
    await stage.settled()
    assert [shown.text for shown in stage.shown()] == ["You said: one", "You said: two"]


@pytest.mark.point("redelivery")
async def test_a_redelivered_message_is_part_of_one_turn(stage: Subject) -> None:
    stage.says("only once")
    await stage.hears("You said: only once")
    stage.delivered_again()
    await stage.settled()
    stage.says("and this")
    await stage.hears("You said: and this")
    assert [shown.text for shown in stage.shown()] == ["You said: only once", "You said: and this"]


@pytest.mark.point("delivery")
async def test_deliveries_from_others_are_refused(stage: Subject) -> None:
    assert await stage.forges("let me in") in (401, 403)
    stage.says("and me?")
    await stage.hears("You said: and me?")
    assert [shown.text for shown in stage.shown()] == ["You said: and me?"]


@pytest.mark.point("acknowledgement")
async def test_nothing_is_acknowledged_before_it_is_accepted(
    stage: Subject, caplog: pytest.LogCaptureFixture
) -> None:
    stage.app.hub.shut()
    stage.says("keep this")
    async with asyncio.timeout(PATIENCE_S):
        while SHUT not in caplog.text:  # noqa: ASYNC110 - the log tells nobody
            await asyncio.sleep(0.005)
    # It came to the hub and was refused. An answer to the platform would be on its way: both ends, which
    # run in this loop, have more turns than it takes.
    for _ in range(100):
        await asyncio.sleep(0.002)
    assert not stage.is_acknowledged()
    stage.app.hub.open()
    await stage.hears("You said: keep this")
    await stage.settled()
    assert [shown.text for shown in stage.shown()] == ["You said: keep this"]


@pytest.mark.point("limits")
async def test_a_long_answer_is_split_within_the_platforms_limit_and_is_complete(stage: Subject) -> None:
    stage.says("write 9000 characters")
    await stage.until(lambda: sum(shown.size for shown in stage.shown()) > 8900)
    shown = stage.shown()
    assert len(shown) > 1
    assert all(0 < one.size <= stage.limit for one in shown)


@pytest.mark.point("growth")
async def test_an_answer_grows_in_one_message_and_ends_as_the_model_wrote_it(stage: Subject) -> None:
    words = " ".join(f"word{number}" for number in range(40))
    most = Hold(at="mid_stream", after_events=20)
    stage.model.rule("story", Reply(text=words, chunk_chars=12), fault=most)
    stage.says("tell me a story")
    await stage.until(lambda: any("word1" in shown.text for shown in stage.shown()))
    (growing,) = stage.shown()
    assert "word39" not in growing.text
    stage.model.release()
    await stage.until(lambda: any("word39" in shown.text for shown in stage.shown()))
    (ended,) = stage.shown()
    assert (ended.id, ended.text) == (growing.id, words)


def ran(directory: Path) -> list[str]:
    """Return what the call left on disk, a word for each time it ran."""
    log = directory / "workspace" / "log"
    return log.read_text().split() if log.exists() else []


async def test_a_card_is_answered_by_its_button_once_and_says_so(stage: Subject) -> None:
    stage.says("please run: echo ran >> log")
    card = await stage.hears("Run `echo ran >> log`?")
    assert card.buttons[:2] == ("Approve", "Deny")
    await stage.presses(card, 0)
    await stage.hears("Done:")
    await stage.until(lambda: not stage.shown()[0].buttons)
    assert "pproved" in stage.shown()[0].text


async def test_a_denied_call_does_not_run_and_the_model_learns_it(stage: Subject, tmp_path: Path) -> None:
    stage.says("please run: echo ran >> log")
    card = await stage.hears("Run `echo ran >> log`?")
    await stage.presses(card, 1)
    await stage.hears("denied")
    assert ran(tmp_path) == []


@pytest.mark.point("company")
async def test_a_strangers_press_changes_nothing_and_is_answered(stage: Subject, tmp_path: Path) -> None:
    stage.in_company()
    stage.says("please run: echo ran >> log")
    card = await stage.hears("Run `echo ran >> log`?")
    assert await stage.presses(card, 0, stranger=True)
    assert stage.shown()[0].buttons
    assert ran(tmp_path) == []
    await stage.presses(card, 0)
    await stage.hears("Done:")
    assert ran(tmp_path) == ["ran"]


async def test_a_card_works_after_a_restart(stage: Subject, tmp_path: Path) -> None:
    stage.says("please run: echo ran >> log")
    card = await stage.hears("Run `echo ran >> log`?")
    await stage.settled()
    await stage.stop()
    await stage.start()
    assert ran(tmp_path) == []
    await stage.presses(card, 0)
    await stage.hears("Done:")
    assert ran(tmp_path) == ["ran"]


@pytest.mark.point("rates")
async def test_a_rate_limit_costs_no_message_and_no_order(stage: Subject) -> None:
    stage.limit_rate(2)
    for number in range(3):
        stage.says(f"number {number}")
        await stage.settled()
    await stage.hears("number 2")
    said = "\n".join(shown.text for shown in stage.shown())
    places = [said.index(f"number {number}") for number in range(3)]
    assert places == sorted(places)
    assert [said.count(f"number {number}") for number in range(3)] == [1, 1, 1]


@pytest.mark.point("files")
async def test_a_file_is_named_and_fetched_within_a_limit(stage: Subject) -> None:
    stage.sends_file("notes.txt", b"twelve bytes")
    await stage.hears("notes.txt")
    channel, file = stage.app.manager.channel(stage.name), stage.received_file()
    assert (file.name, file.size_bytes) == ("notes.txt", 12)
    assert await channel.fetch(file, 12) == b"twelve bytes"
    with pytest.raises(AttachmentTooLarge):
        await channel.fetch(file, 11)


@pytest.mark.point("refs")
async def test_addresses_and_refs_outlive_a_restart(stage: Subject) -> None:
    """References minted by a channel are plain text: the store keeps them, another process reads them."""
    stage.says("hello")
    await stage.hears("You said: hello")
    (thread,) = await stage.app.store.threads.threads(10)
    channel = stage.app.manager.channel(stage.name)
    posted = await channel.post(Address(str(thread.address)), channel.render(plain("before"))[0], nonce="n")
    await stage.stop()
    await stage.start()
    channel = stage.app.manager.channel(stage.name)
    await channel.edit(posted.ref, channel.render(plain("after"))[0])
    assert [shown.text for shown in stage.shown()] == ["You said: hello", "after"]
    assert await channel.retract(posted.ref)
    assert [shown.text for shown in stage.shown()] == ["You said: hello"]


@pytest.mark.point("connection")
async def test_a_lost_connection_comes_back_by_itself(
    stage: Subject, profile: Profile, proof_record: ProofRecord
) -> None:
    lost_s = profile.pick(test=1.0, ci=5.0, proof=30.0)
    stage.says("before")
    await stage.hears("You said: before")
    await stage.cut(lost_s)
    began_s = asyncio.get_running_loop().time()
    stage.says("after")
    async with asyncio.timeout(lost_s + PATIENCE_S):  # the pauses between attempts grow with what was lost
        while True:
            with contextlib.suppress(TimeoutError):
                await stage.hears("You said: after")
                break
    back_after_s = round(asyncio.get_running_loop().time() - began_s, 1)
    proof_record("channels", lost_s=lost_s, back_after_s=back_after_s)


async def test_a_turn_that_is_stopped_ends_at_once(stage: Subject) -> None:
    stage.says("slow 600: never")
    await stage.model.wait_requests(1)
    async with asyncio.timeout(PATIENCE_S):
        stage.says("/stop")
        await stage.hears("topped")


async def test_a_busy_hub_stops_at_once(stage: Subject) -> None:
    stage.says("slow 600: never")
    await stage.model.wait_requests(1)
    async with asyncio.timeout(PATIENCE_S):
        await stage.stop()


@pytest.mark.point("token")
async def test_a_refused_token_affects_only_its_channel(stage: Subject) -> None:
    stage.says("before")
    await stage.hears("You said: before")
    stage.says("slow 600: after")
    await stage.model.wait_requests(2)
    stage.revoke()
    stage.model.release()
    assert "token" in await stage.becomes("failed")
    assert stage.app.hub.is_open
    assert await stage.app.store.healthy()


def test_rendering_is_pure(stage: Subject) -> None:
    channel = stage.app.manager.channel(stage.name)
    message = Message(plain("same").blocks)
    assert channel.render(message) == channel.render(message)
