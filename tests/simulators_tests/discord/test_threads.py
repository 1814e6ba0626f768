"""Threads and forum posts."""

import hikari
import pytest
from hikari.api import RESTClient

from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.permissions import CREATE_PUBLIC_THREADS, EVERYONE
from tests.simulators.discord.world import Channel, Guild
from tests.simulators_tests.discord.asking import ask
from tests.simulators_tests.discord.conftest import ANN, BOT_ID
from tests.simulators_tests.discord.wire import Wire


async def test_a_thread_on_a_message_has_its_id_and_is_opened_once(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    question = sim.user_sends_text(ANN, "what now?", hall.id)
    thread = await rest.create_message_thread(hall.id, question.id, "an answer")
    assert (thread.id, thread.parent_id, thread.owner_id) == (question.id, hall.id, BOT_ID)
    with pytest.raises(hikari.BadRequestError, match="already been created") as refusal:
        await rest.create_message_thread(hall.id, question.id, "again")
    assert refusal.value.code == 160004
    await rest.create_message(thread.id, "in the thread")
    assert [m.text for m in sim.bot_messages(thread.id)] == ["in the thread"]
    active = await rest.fetch_active_threads(hall.guild.id if hall.guild else 0)
    assert [t.id for t in active] == [thread.id]


async def test_a_thread_without_a_message_is_announced_in_its_channel(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    thread = await rest.create_thread(hall.id, hikari.ChannelType.GUILD_PUBLIC_THREAD, "aside")
    (told,) = sim.messages(hall.id)
    assert (told.type, told.content) == (18, "aside")
    fetched = await rest.fetch_channel(thread.id)
    assert (fetched.name, fetched.type) == ("aside", hikari.ChannelType.GUILD_PUBLIC_THREAD)


async def test_an_archived_thread_comes_back_unless_it_is_locked(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    thread = sim.user_starts_thread(ANN, hall.id, "aside", text="hello")
    sim.user_archives_thread(thread.id)
    await rest.create_message(thread.id, "it wakes")
    assert not thread.archived
    sim.user_archives_thread(thread.id, locked=True)
    with pytest.raises(hikari.BadRequestError, match="Thread is archived") as refusal:
        await rest.create_message(thread.id, "?")
    assert refusal.value.code == 50083


async def test_forum_posts_are_threads(rest: RESTClient, sim: DiscordSimulator, guild: Guild) -> None:
    forum = sim.create_channel(guild.id, "ideas", "forum")
    with pytest.raises(hikari.BadRequestError, match="Cannot send a message in a forum channel") as refusal:
        await rest.create_message(forum.id, "?")
    assert refusal.value.code == 40058
    post = await rest.create_forum_post(forum.id, "an idea", "what **if**")
    (first,) = sim.messages(post.id)
    assert (first.id, first.text, post.parent_id) == (post.id, "what if", forum.id)
    theirs = sim.user_posts_in_forum(ANN, forum.id, "another", "and what if")
    assert (await rest.fetch_message(theirs.id, theirs.id)).content == "and what if"
    status, body, _ = await ask(sim, "POST", f"/channels/{forum.id}/threads", {"name": "no message"})
    assert (status, list(body["errors"])) == (400, ["message"])


async def test_threads_need_permission(rest: RESTClient, sim: DiscordSimulator, hall: Channel) -> None:
    assert hall.guild is not None
    sim.set_everyone(hall.guild.id, EVERYONE & ~CREATE_PUBLIC_THREADS)
    with pytest.raises(hikari.ForbiddenError, match="Missing Permissions"):
        await rest.create_thread(hall.id, hikari.ChannelType.GUILD_PUBLIC_THREAD, "aside")


async def test_private_threads_are_for_their_members(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    thread = sim.open_thread(hall, sim.person(ANN), "secret", kind=12)
    with pytest.raises(hikari.ForbiddenError, match="Missing Access"):
        await rest.create_message(thread.id, "?")
    thread.thread_members[BOT_ID] = sim.clock()
    await rest.create_message(thread.id, "let in")


async def test_messages_in_threads_arrive_with_the_threads_id(sim: DiscordSimulator, hall: Channel) -> None:
    async with Wire(sim) as wire:
        await wire.identify()
        thread = sim.user_starts_thread(ANN, hall.id, "aside", text="hello")
        payloads = await wire.until("MESSAGE_CREATE")
        while payloads[-1]["d"]["channel_id"] != str(thread.id):
            payloads += await wire.until("MESSAGE_CREATE")
    created = next(p["d"] for p in payloads if p["t"] == "THREAD_CREATE")
    assert (created["id"], created["parent_id"], created["newly_created"]) == (
        str(thread.id),
        str(hall.id),
        True,
    )
    assert payloads[-1]["d"]["content"] == "hello"
