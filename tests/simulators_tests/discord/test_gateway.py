"""The gateway: what arrives, what is replayed, and how sessions end."""

import asyncio
import json

import aiohttp
import hikari
import pytest

from tests.patience import PATIENCE_S
from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.intents import DIRECT_MESSAGES, GUILD_MESSAGES, GUILDS, MESSAGE_CONTENT
from tests.simulators.discord.permissions import VIEW_CHANNEL
from tests.simulators.discord.world import Channel, Guild
from tests.simulators_tests.discord.conftest import ANN, BOB, BOT_ID, INTENTS, gateway_bot
from tests.simulators_tests.discord.wire import Wire

LIMIT_S = PATIENCE_S


async def test_a_bot_connects_and_hears_what_people_write(
    live: hikari.GatewayBot, sim: DiscordSimulator, guild: Guild, hall: Channel
) -> None:
    heard: asyncio.Queue[hikari.MessageCreateEvent] = asyncio.Queue()

    @live.listen()
    async def on_message(event: hikari.MessageCreateEvent) -> None:
        await heard.put(event)

    me = live.get_me()
    assert me is not None
    assert (me.id, me.username, list(live.cache.get_guilds_view())) == (BOT_ID, "hub_bot", [guild.id])
    sim.user_sends_text(ANN, "in private")
    question = sim.user_mentions_bot(BOB, "in the hall", hall.id)
    sim.user_sends_text(ANN, "an answer", hall.id, reply_to=question.id)
    async with asyncio.timeout(LIMIT_S):
        private, public, answer = [await heard.get() for _ in range(3)]
    assert isinstance(private, hikari.DMMessageCreateEvent)
    assert (private.author_id, private.content) == (ANN, "in private")
    assert isinstance(public, hikari.GuildMessageCreateEvent)
    assert (public.guild_id, public.channel_id, public.author_id) == (guild.id, hall.id, BOB)
    assert public.message.user_mentions_ids == [BOT_ID]
    assert public.member is not None
    assert answer.message.referenced_message is not None
    assert (answer.message.referenced_message.id, answer.message.type) == (question.id, 19)
    assert sim.events("MESSAGE_CREATE")[0].sent_at


async def test_a_bot_hears_edits_deletions_reactions_threads_and_its_own_messages(
    sim: DiscordSimulator, guild: Guild, hall: Channel, live: hikari.GatewayBot
) -> None:
    heard: asyncio.Queue[hikari.Event] = asyncio.Queue()
    kinds = (
        hikari.GuildMessageCreateEvent,
        hikari.GuildMessageUpdateEvent,
        hikari.GuildMessageDeleteEvent,
        hikari.GuildReactionAddEvent,
        hikari.GuildReactionDeleteEvent,
        hikari.GuildThreadCreateEvent,
        hikari.GuildChannelCreateEvent,
    )
    for kind in kinds:
        live.subscribe(kind, heard.put)
    message = sim.user_sends_text(ANN, "helo", hall.id)
    sim.user_edits_text(ANN, message.id, "hello")
    sim.user_reacts(BOB, message.id, "👍")
    sim.user_reacts(BOB, message.id, "👍", on=False)
    sim.user_deletes(ANN, message.id)
    await live.rest.create_message(hall.id, "mine")
    sim.user_posts_in_forum(ANN, sim.create_channel(guild.id, "ideas", "forum").id, "an idea", "what if")
    async with asyncio.timeout(LIMIT_S):
        found = [await heard.get() for _ in range(9)]
    assert [type(event).__name__ for event in found] == [
        "GuildMessageCreateEvent",
        "GuildMessageUpdateEvent",
        "GuildReactionAddEvent",
        "GuildReactionDeleteEvent",
        "GuildMessageDeleteEvent",
        "GuildMessageCreateEvent",
        "GuildChannelCreateEvent",
        "GuildThreadCreateEvent",
        "GuildMessageCreateEvent",
    ]
    own, post = found[5], found[8]
    assert isinstance(own, hikari.GuildMessageCreateEvent)
    assert isinstance(post, hikari.GuildMessageCreateEvent)
    assert (own.author_id, post.content) == (BOT_ID, "what if")
    assert post.message.id == post.channel_id  # a post's first message has the thread's id


async def test_a_library_resumes_after_the_gateway_was_cut(
    live: hikari.GatewayBot, sim: DiscordSimulator, guild: Guild, hall: Channel
) -> None:
    heard: asyncio.Queue[str | None] = asyncio.Queue()

    @live.listen()
    async def on_message(event: hikari.MessageCreateEvent) -> None:
        await heard.put(event.content)

    sim.ask_reconnect()
    await sim.wait_disconnected()
    sim.user_sends_text(ANN, "while you were away", hall.id)
    await sim.wait_gateway("resumed")
    async with asyncio.timeout(LIMIT_S):
        assert await heard.get() == "while you were away"
    assert len(sim.gateway_log("identified")) == 1


async def test_a_session_starts_with_hello_ready_and_guilds_and_answers_heartbeats(
    sim: DiscordSimulator, guild: Guild
) -> None:
    async with Wire(sim) as wire:
        assert (wire.hello["op"], wire.hello["d"]["heartbeat_interval"]) == (10, 41250)
        await wire.send(1, None)
        assert (await wire.read())["op"] == 11
        ready = await wire.identify()
        assert (ready["user"]["id"], ready["v"], ready["guilds"]) == (
            str(BOT_ID),
            10,
            [{"id": str(guild.id), "unavailable": True}],
        )
        assert wire.seq == 2
        sim.ask_heartbeat()
        assert (await wire.read())["op"] == 1


async def test_zlib_stream_and_payload_compression_are_supported(sim: DiscordSimulator, guild: Guild) -> None:
    async with Wire(sim, compress=True) as wire:
        assert (await wire.identify())["user"]["username"] == "hub_bot"
    async with Wire(sim) as wire:
        assert (await wire.identify(compress=True))["user"]["username"] == "hub_bot"


async def test_a_resume_replays_what_was_missed_in_order(sim: DiscordSimulator, hall: Channel) -> None:
    async with Wire(sim) as wire:
        ready = await wire.identify()
        sim.user_sends_text(ANN, "one", hall.id)
        await wire.until("MESSAGE_CREATE")
        seq = wire.seq
    await sim.wait_disconnected()
    sim.user_sends_text(ANN, "two", hall.id)
    sim.user_sends_text(ANN, "three", hall.id)
    async with Wire(sim) as wire:
        await wire.resume(ready["session_id"], seq)
        replayed = await wire.until("RESUMED")
        assert [p["d"].get("content") for p in replayed] == ["two", "three", None]
        assert [p["s"] for p in replayed] == [seq + 1, seq + 2, seq + 3] if seq is not None else False
        sim.user_sends_text(ANN, "four", hall.id)
        assert (await wire.read())["d"]["content"] == "four"


@pytest.mark.parametrize("how", ["forgotten", "closed by the client", "too old", "unknown"])
async def test_a_session_that_is_gone_cannot_be_resumed(
    sim: DiscordSimulator, hall: Channel, how: str
) -> None:
    wire = Wire(sim)
    async with wire:
        session_id = (await wire.identify())["session_id"]
        await wire.close(1000 if how == "closed by the client" else 4900)
    await sim.wait_disconnected()
    if how == "forgotten":
        sim.forget_sessions()
    if how == "too old":
        sim.configure(session_ttl_s=-1)
    async with Wire(sim) as again:
        await again.resume("nonsense" if how == "unknown" else session_id, wire.seq)
        assert await again.read() == {"op": 9, "s": None, "t": None, "d": False}
        assert (await again.identify())["session_id"] != session_id


async def test_the_server_may_invalidate_a_session(sim: DiscordSimulator, hall: Channel) -> None:
    async with Wire(sim) as wire:
        session_id = (await wire.identify())["session_id"]
        sim.invalidate_sessions(resumable=True)
        assert (await wire.read())["d"] is True
    async with Wire(sim) as wire:
        await wire.resume(session_id, wire.seq or 2)
        await wire.until("RESUMED")
        sim.invalidate_sessions()
        assert await wire.read() == {"op": 9, "s": None, "t": None, "d": False}
    async with Wire(sim) as wire:
        await wire.resume(session_id, 3)
        assert (await wire.read())["op"] == 9


async def test_mistakes_close_the_connection_with_their_codes(sim: DiscordSimulator, guild: Guild) -> None:
    """https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes."""

    async def code_after(op: int, data: object, *, identified: bool = False) -> int | None:
        async with Wire(sim) as wire:
            if identified:
                await wire.identify()
            await wire.send(op, data)
            return await wire.ended()

    sim.set_message_content(False)
    intents = int(INTENTS)
    assert await code_after(2, {"token": "wrong", "intents": 0}) == 4004
    assert await code_after(2, {"token": sim.bot().token, "intents": intents}) == 4014
    assert await code_after(2, {"token": sim.bot().token, "intents": 1 << 40}) == 4013
    assert await code_after(2, {"token": sim.bot().token, "intents": 0, "shard": [1, 1]}) == 4010
    assert await code_after(3, {}) == 4003
    assert await code_after(99, None) == 4001
    assert await code_after(2, "no object") == 4002
    sim.set_message_content(True)
    assert await code_after(2, {"token": sim.bot().token, "intents": 0}, identified=True) == 4005
    async with Wire(sim) as wire:
        session_id = (await wire.identify())["session_id"]
    async with Wire(sim) as wire:
        await wire.resume(session_id, 1_000)
        assert await wire.ended() == 4007


async def test_a_revoked_token_closes_the_gateway(sim: DiscordSimulator, guild: Guild) -> None:
    async with Wire(sim) as wire:
        await wire.identify()
        sim.revoke_token()
        assert await wire.ended() == 4004
    sim.revoke_token(token="new")
    async with Wire(sim) as wire:
        assert (await wire.identify(token="new"))["user"]["id"] == str(BOT_ID)


async def test_too_many_and_too_large_messages_close_the_connection(sim: DiscordSimulator) -> None:
    """https://docs.discord.com/developers/events/gateway#rate-limiting and #sending-events."""
    async with Wire(sim) as wire:
        for _ in range(120):
            await wire.send(1, None)
        assert [(await wire.read())["op"] for _ in range(120)] == [11] * 120
        await wire.send(1, None)
        assert await wire.ended() == 4008
    size = len(json.dumps({"op": 1, "d": ""}))
    async with Wire(sim) as wire:
        await wire.send(1, "x" * (4096 - size))
        assert (await wire.read())["op"] == 11
        await wire.send(1, "x" * (4097 - size))
        assert await wire.ended() == 4002


async def test_a_client_without_heartbeats_is_disconnected_and_may_resume(
    sim: DiscordSimulator, guild: Guild
) -> None:
    sim.configure(heartbeat_interval_s=0.05)
    async with Wire(sim) as wire:
        session_id = (await wire.identify())["session_id"]
        assert await wire.ended() == 4000
    sim.configure(heartbeat_interval_s=41.25)
    async with Wire(sim) as wire:
        await wire.resume(session_id, 2)
        await wire.until("RESUMED")
        sim.close_gateway(4009)
        assert await wire.ended() == 4009
    async with Wire(sim) as wire:
        await wire.resume(session_id, 3)
        assert (await wire.read())["op"] == 9


async def test_a_zombie_connection_gets_no_acknowledgements(sim: DiscordSimulator, guild: Guild) -> None:
    async with Wire(sim) as wire:
        await wire.identify()
        sim.withhold_acks()
        await wire.send(1, wire.seq)
        await sim.wait_gateway("heartbeat")
        sim.ask_reconnect()
        assert (await wire.read())["op"] == 7  # and no acknowledgement before it


async def test_the_gateway_can_be_cut_for_a_while(sim: DiscordSimulator, guild: Guild) -> None:
    async with Wire(sim) as wire:
        await wire.identify()
        sim.cut_gateway()
        assert await wire.ended() == 1006
        with pytest.raises(aiohttp.ClientError):
            await Wire(sim).__aenter__()
        sim.mend_gateway()
        sim.cut_gateway(duration_s=0)
        async with Wire(sim) as again:
            assert again.hello["op"] == 10


async def test_intents_decide_which_events_come_and_whether_content_is_in_them(
    sim: DiscordSimulator, hall: Channel
) -> None:
    async with Wire(sim) as wire:
        await wire.identify(GUILD_MESSAGES | DIRECT_MESSAGES)
        sim.user_reacts(BOB, sim.user_sends_text(ANN, "secret", hall.id, files=[{"name": "a.txt"}]).id, "👍")
        sim.user_mentions_bot(ANN, "hello", hall.id)
        sim.user_sends_text(ANN, "private")
        found = [(await wire.read())["d"] for _ in range(3)]
    assert [(m["content"], m["attachments"]) for m in found] == [
        ("", []),
        (f"<@{BOT_ID}> hello", []),
        ("private", []),
    ]
    async with Wire(sim) as wire:
        await wire.identify(GUILDS | DIRECT_MESSAGES | MESSAGE_CONTENT)
        sim.user_sends_text(ANN, "in the hall", hall.id)
        sim.user_sends_text(ANN, "private")
        assert (await wire.read())["d"]["content"] == "private"


async def test_the_same_message_may_be_delivered_again(sim: DiscordSimulator, hall: Channel) -> None:
    async with Wire(sim) as wire:
        await wire.identify()
        message = sim.user_sends_text(ANN, "hello", hall.id)
        sim.redeliver(message.id)
        first, second = await wire.read(), await wire.read()
    assert (first["d"], first["s"] + 1) == (second["d"], second["s"])


async def test_a_bot_sees_only_the_channels_it_may(sim: DiscordSimulator, guild: Guild) -> None:
    hidden = sim.create_channel(
        guild.id, "hidden", overwrites=[{"id": guild.id, "type": 0, "deny": VIEW_CHANNEL}]
    )
    async with Wire(sim) as wire:
        await wire.identify()
        sim.set_overwrite(hidden.id, ANN, 1, allow=VIEW_CHANNEL)
        with pytest.raises(ValueError, match="does not see"):
            sim.user_sends_text(BOB, "?", hidden.id)
        sim.user_sends_text(ANN, "not for the bot", hidden.id)
        sim.user_sends_text(ANN, "private")
        assert (await wire.read())["d"]["content"] == "private"


async def test_a_bot_hears_of_joining_and_leaving_a_guild(sim: DiscordSimulator) -> None:
    async with gateway_bot(sim) as bot:
        joined: asyncio.Queue[hikari.Event] = asyncio.Queue()
        for kind in (hikari.GuildJoinEvent, hikari.GuildLeaveEvent):
            bot.subscribe(kind, joined.put)
        guild = sim.create_guild("new", [ANN])
        sim.leave_guild(guild.id, BOT_ID)
        async with asyncio.timeout(LIMIT_S):
            first, second = await joined.get(), await joined.get()
    assert (type(first), type(second)) == (hikari.GuildJoinEvent, hikari.GuildLeaveEvent)
