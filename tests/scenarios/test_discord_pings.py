"""Nobody is notified by what the hub says on Discord, also where a mention would get past its escaping."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.messages import Address, File, Message, MessageRef, plain
from tests.harness.discord_hub import OWNER, DiscordHub, open_discord_hub
from tests.simulators.discord import markdown
from tests.simulators.discord.world import EPHEMERAL, SUPPRESS_EMBEDS

STRANGER = 100_000_000_000_000_008
NAMED = f"<@{STRANGER}> "
NOBODY = {"users": [], "roles": [], "everyone": False}


def town(place: DiscordHub) -> int:
    """A room with the owner, the bot and somebody who may be named."""
    place.joins(STRANGER, "sam")
    return place.room("build").id


def said(body: object) -> Mapping[str, Any] | None:
    """The part of a request that says something, if any."""
    data = body.get("data", body) if isinstance(body, dict) else None
    return data if isinstance(data, dict) and data.get("content") else None


async def test_each_sent_request_allows_no_mentions(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path, extra='groups = "addressed"') as place:
        room = town(place)
        place.discord.user_mentions_bot(OWNER, "hello", room)
        answer = await place.hears(room, "hello")
        assert answer.pings == NOBODY, "it answers a message of the owner's"
        place.discord.user_mentions_bot(OWNER, "please run: echo ran >> log", room)
        card = await place.card(room)
        (aside,) = (await place.presses(STRANGER, card, 0)).messages()
        assert aside.ephemeral_for == STRANGER
        await place.presses(OWNER, card, 1)
        await place.discord.wait_for(lambda: "enied" in card.text)
        bodies = [found for one in place.discord.requests() if (found := said(one.params)) is not None]
        kinds = {(bool(body.get("flags", 0) & EPHEMERAL), bool(body.get("components"))) for body in bodies}
        assert kinds == {(False, False), (False, True), (True, False)}, "texts, cards, asides"
        assert {str(body.get("allowed_mentions")) for body in bodies} == {
            "{'parse': [], 'replied_user': False}"
        }
        flags = {body.get("flags", 0) for body in bodies}
        assert flags == {SUPPRESS_EMBEDS, EPHEMERAL}, "nobody fetches what a link leads to"


async def test_a_mention_that_got_past_the_escaping_notifies_no_one(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        room = Address(str(town(place)))
        discord = place.app.manager.channel("discord")
        (part,) = discord.render(plain("look"))
        assert isinstance(part, dict)
        named = {**part, "content": f"{NAMED}{part['content']}"}
        posted = await discord.post(room, named, nonce="n")
        (shown,) = place.discord.bot_messages(int(room))
        for _ in range(2):
            assert markdown.mentions(shown.content) == [("user", STRANGER)]
            assert shown.pings == NOBODY
            await discord.edit(posted.ref, {**named, "content": f"{named['content']} again"})


async def test_a_file_sent_as_a_reply_notifies_no_one(tmp_path: Path) -> None:
    async with open_discord_hub(tmp_path) as place:
        room = town(place)
        asked = place.discord.user_sends_text(OWNER, "the report?", room)
        discord = place.app.manager.channel("discord")
        (place.workspace / "report.txt").write_bytes(b"all is well")
        files = (File("report.txt", "report.txt", "text/plain"),)
        (part,) = discord.render(Message((), files=files, reply_to=MessageRef(f"{room}:{asked.id}")))
        await discord.post(Address(str(room)), part, nonce="n")
        (shown,) = place.discord.bot_messages(room)
        assert shown.reply_to_id == asked.id
        assert shown.pings == NOBODY
