"""P12: a message that brings the process down is set aside; the others, and the hub, go on."""

from pathlib import Path

from core import texts
from tests.crash.entry import POISON
from tests.crash.mortal import LIMIT_S, OWNER, TOKEN, MortalHub, open_mortal_hub
from tests.simulators.model import Hold

NEIGHBOURS = (21, 22)


async def dies(town: MortalHub) -> None:
    """Start a hub and see it go down by itself."""
    hub = await town.start()
    await hub.wait(LIMIT_S)


async def outcomes(town: MortalHub) -> dict[str, tuple[str, str | None]]:
    """Every message's turn, by the message's key: its state and error."""
    return {event["key"]: (event["turn_state"], event["turn_error"]) for event in await town.account()}


async def test_a_message_that_crashes_the_hub_three_times_is_set_aside(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path) as town:
        for person in NEIGHBOURS:
            town.telegram.add_user(person)
        # The neighbours' turns are under way at the first two crashes; the model answers them afterwards.
        town.model.fault(Hold(at="before_headers"), times=None, match="say: neighbour")
        await town.start()
        for person in NEIGHBOURS:
            town.telegram.user_sends_text(person, f"say: neighbour {person}")
        await town.model.wait_requests(len(NEIGHBOURS), state="held", timeout_s=LIMIT_S)
        poison = town.telegram.user_sends_text(OWNER, POISON)
        after = town.telegram.user_sends_text(OWNER, "say: and then?")
        assert town.hub is not None
        await town.hub.wait(LIMIT_S)
        await dies(town)
        town.model.clear_faults()
        for _ in range(3):  # what ran beside others crashed nothing as far as is known; alone, it did
            await dies(town)

        await town.start()
        await town.telegram.wait_text(OWNER, texts.CRASHED, timeout_s=LIMIT_S)
        await town.telegram.wait_text(OWNER, "and then?", timeout_s=LIMIT_S)
        for person in NEIGHBOURS:
            await town.telegram.wait_text(person, f"neighbour {person}", timeout_s=LIMIT_S)
        town.telegram.user_sends_text(OWNER, "say: still there")
        await town.telegram.wait_text(OWNER, "still there", timeout_s=LIMIT_S)

        became = await outcomes(town)
        assert became.pop(key_of(OWNER, poison.id)) == ("crashed", "crashed repeatedly")
        assert became.pop(key_of(OWNER, after.id)) == ("done", None)
        assert set(became.values()) == {("done", None)}
        told = [message.text for message in town.telegram.bot_messages(OWNER)]
        assert told == [texts.CRASHED, "and then?", "still there"]
        for person in NEIGHBOURS:  # an answer under way at a crash may be shown twice
            assert {m.text for m in town.telegram.bot_messages(person)} == {f"neighbour {person}"}
        assert town.starts == 6


def key_of(person: int, message_id: int) -> str:
    """How the hub names a person's message in a private chat."""
    return f"tg:{TOKEN.partition(':')[0]}:m:{person}:{message_id}"
