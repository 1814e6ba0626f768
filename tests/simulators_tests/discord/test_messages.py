"""Messages as an independent client sees them: create, edit, list, delete, reply, files, reactions."""

import aiohttp
import hikari
import pytest
from hikari.api import RESTClient

from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.permissions import SEND_MESSAGES, VIEW_CHANNEL
from tests.simulators.discord.world import Channel, Guild
from tests.simulators_tests.discord.asking import ask
from tests.simulators_tests.discord.conftest import ANN, BOB, BOT_ID, rest_client


async def test_a_bot_knows_its_name_and_a_wrong_token_is_unauthorized(
    rest: RESTClient, sim: DiscordSimulator
) -> None:
    me = await rest.fetch_my_user()
    assert (me.id, me.username, me.is_bot) == (BOT_ID, "hub_bot", True)
    async with rest_client(sim, "wrong") as stranger:
        with pytest.raises(hikari.UnauthorizedError) as refusal:
            await stranger.fetch_my_user()
    assert (refusal.value.message, refusal.value.code) == ("401: Unauthorized", 0)
    sim.revoke_token()
    with pytest.raises(hikari.UnauthorizedError):
        await rest.fetch_my_user()


async def test_a_message_is_sent_in_a_direct_conversation(
    rest: RESTClient, sim: DiscordSimulator, guild: Guild
) -> None:
    dm = await rest.create_dm_channel(ANN)
    assert dm.recipient.id == ANN
    sent = await rest.create_message(dm.id, "  hello **Ann**\n")
    assert (sent.content, sent.author.id, sent.guild_id) == ("hello **Ann**", BOT_ID, None)
    (message,) = sim.bot_messages(dm.id)
    assert (message.text, message.request) == ("hello Ann", sim.requests("createMessage")[0].number)
    assert (await rest.fetch_message(dm.id, sent.id)).content == "hello **Ann**"
    assert (await rest.create_dm_channel(ANN)).id == dm.id


async def test_unreachable_people_are_refused(rest: RESTClient, sim: DiscordSimulator, guild: Guild) -> None:
    stranger = sim.add_user()
    dm = await rest.create_dm_channel(stranger.id)
    with pytest.raises(hikari.ForbiddenError) as refusal:
        await rest.create_message(dm.id, "hello?")
    assert refusal.value.code == 50278
    sim.user_blocks_bot(ANN)
    with pytest.raises(hikari.ForbiddenError, match="Cannot send messages to this user") as refusal:
        await rest.create_message(await rest.create_dm_channel(ANN), "hello?")
    assert refusal.value.code == 50007
    with pytest.raises(hikari.BadRequestError, match="Invalid Recipient"):
        await rest.create_dm_channel(404)


async def test_unknown_invisible_and_read_only_channels_are_refused(
    rest: RESTClient, sim: DiscordSimulator, guild: Guild, hall: Channel
) -> None:
    with pytest.raises(hikari.NotFoundError, match="Unknown Channel") as unknown:
        await rest.create_message(404, "?")
    assert unknown.value.code == 10003
    sim.set_overwrite(hall.id, guild.id, 0, deny=SEND_MESSAGES)
    with pytest.raises(hikari.ForbiddenError, match="Missing Permissions") as forbidden:
        await rest.create_message(hall.id, "?")
    assert forbidden.value.code == 50013
    sim.set_overwrite(hall.id, guild.id, 0, deny=VIEW_CHANNEL)
    with pytest.raises(hikari.ForbiddenError, match="Missing Access") as hidden:
        await rest.fetch_channel(hall.id)
    assert hidden.value.code == 50001
    sim.set_overwrite(hall.id, BOT_ID, 1, allow=VIEW_CHANNEL | SEND_MESSAGES)
    await rest.create_message(hall.id, "allowed for the bot alone")


async def test_messages_can_be_edited_and_deleted(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    sent = await rest.create_message(hall.id, "draft")
    edited = await rest.edit_message(hall.id, sent.id, "final")
    assert edited.content == "final"
    assert edited.edited_timestamp is not None
    assert [old["content"] for old in sim.message(sent.id).history] == ["draft"]
    theirs = sim.user_sends_text(ANN, "mine", hall.id)
    with pytest.raises(hikari.ForbiddenError, match="authored by another user") as refusal:
        await rest.edit_message(hall.id, theirs.id, "yours")
    assert refusal.value.code == 50005
    with pytest.raises(hikari.ForbiddenError, match="Missing Permissions"):
        await rest.delete_message(hall.id, theirs.id)
    await rest.delete_message(hall.id, sent.id)
    assert sim.bot_messages(hall.id) == []
    with pytest.raises(hikari.NotFoundError, match="Unknown Message") as gone:
        await rest.edit_message(hall.id, sent.id, "too late")
    assert gone.value.code == 10008
    with pytest.raises(hikari.BadRequestError, match="Cannot send an empty message") as empty:
        await rest.create_message(hall.id, "   ")
    assert empty.value.code == 50006


async def test_history_is_listed_newest_first_around_before_and_after(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    said = [sim.user_sends_text(ANN, str(n), hall.id) for n in range(7)]

    async def listed(**query: str) -> list[str]:
        asked = "&".join(f"{name}={value}" for name, value in query.items())
        _, found, _ = await ask(sim, "GET", f"/channels/{hall.id}/messages?{asked}")
        return [message["content"] for message in found]

    assert await listed() == ["6", "5", "4", "3", "2", "1", "0"]
    assert await listed(limit="2") == ["6", "5"]
    assert await listed(before=str(said[3].id), limit="2") == ["2", "1"]
    assert await listed(after=str(said[3].id), limit="2") == ["5", "4"]
    assert await listed(around=str(said[3].id), limit="3") == ["4", "3", "2"]
    later = [message.content async for message in rest.fetch_messages(hall.id, after=said[4].id)]
    assert later == ["5", "6"]


async def test_the_same_nonce_brings_the_same_message(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    first = await rest.create_message(hall.id, "once", nonce="abc")
    again = await rest.create_message(hall.id, "once", nonce="abc")
    other = await rest.create_message(hall.id, "twice", nonce="abd")
    assert first.id == again.id != other.id
    assert len(sim.bot_messages(hall.id)) == 2
    sim.configure(nonce_window_s=0.0)
    assert (await rest.create_message(hall.id, "once", nonce="abc")).id != first.id


async def test_a_reply_names_its_message_and_pings_only_if_allowed(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    question = sim.user_sends_text(ANN, "six by nine?", hall.id)
    sent = await rest.create_message(hall.id, "42", reply=question.id, mentions_reply=True)
    assert sent.referenced_message is not None
    assert (sent.type, sent.referenced_message.id) == (hikari.MessageType.REPLY, question.id)
    silent = await rest.create_message(hall.id, "42", reply=question.id, mentions_reply=False)
    assert [sim.message(m.id).pings["users"] for m in (sent, silent)] == [[ANN], []]
    with pytest.raises(hikari.BadRequestError) as refusal:
        await rest.create_message(hall.id, "42", reply=404)
    assert refusal.value.errors is not None
    assert refusal.value.errors["message_reference"] == {
        "_errors": [{"code": "REPLIES_UNKNOWN_MESSAGE", "message": "Unknown message"}]
    }
    kept = await rest.create_message(hall.id, "42", reply=404, reply_must_exist=False)
    assert kept.type == hikari.MessageType.DEFAULT


async def test_mentions_notify_only_whom_the_sender_allows(
    rest: RESTClient, sim: DiscordSimulator, guild: Guild, hall: Channel
) -> None:
    role = sim.create_role(guild.id, "crew", mentionable=True)
    text = f"<@{ANN}> <@!{BOB}> <@&{role.id}> @everyone `<@{ANN}>`"
    nobody = await rest.create_message(
        hall.id, text, user_mentions=False, role_mentions=False, mentions_everyone=False
    )
    ann = await rest.create_message(hall.id, text, user_mentions=[ANN], role_mentions=False)
    everybody = await rest.create_message(hall.id, text, user_mentions=True, role_mentions=True)
    assert [sim.message(m.id).pings for m in (nobody, ann, everybody)] == [
        {"users": [], "roles": [], "everyone": False},
        {"users": [ANN], "roles": [], "everyone": False},
        {"users": [ANN, BOB], "roles": [role.id], "everyone": False},
    ]
    assert sim.message(nobody.id).text == f"@Ann @Bob @crew @everyone <@{ANN}>"
    assert list(ann.user_mentions_ids or ()) == [ANN]


async def test_only_those_who_may_can_notify_everyone(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    sim.set_overwrite(hall.id, BOT_ID, 1, allow=1 << 17)
    loud = await rest.create_message(hall.id, "@everyone", mentions_everyone=True)
    code = await rest.create_message(hall.id, "```\n@everyone\n```", mentions_everyone=True)
    assert [sim.message(m.id).pings["everyone"] for m in (loud, code)] == [True, False]
    assert (loud.mentions_everyone, code.mentions_everyone) == (True, False)


async def test_files_go_up_and_come_down_by_signed_links(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    picture = hikari.Bytes(b"\x89PNG", "a.png", mimetype="image/png")
    sent = await rest.create_message(hall.id, "see", attachments=[picture, hikari.Bytes(b"two", "2.txt")])
    assert [(a.filename, a.size) for a in sent.attachments] == [("a.png", 4), ("2.txt", 3)]
    url = sent.attachments[0].url
    async with aiohttp.ClientSession() as client:
        async with client.get(url) as response:
            assert (await response.read(), response.content_type) == (b"\x89PNG", "image/png")
        async with client.get(url.partition("?")[0]) as unsigned:
            assert unsigned.status == 404
        sim.configure(attachment_url_ttl_s=-1)
        old = (await rest.fetch_message(hall.id, sent.id)).attachments[0].url
        async with client.get(old) as expired:
            assert expired.status == 404
    kept = await rest.edit_message(hall.id, sent.id, attachment=sent.attachments[1])
    assert [a.filename for a in kept.attachments] == ["2.txt"]


async def test_reactions_and_typing_are_seen_and_unknown_emoji_are_refused(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    message = sim.user_sends_text(ANN, "done?", hall.id)
    await rest.add_reaction(hall.id, message.id, "👀")
    assert message.reactions == {"👀": [BOT_ID]}
    assert [user.id async for user in rest.fetch_reactions_for_emoji(hall.id, message.id, "👀")] == [BOT_ID]
    await rest.delete_my_reaction(hall.id, message.id, "👀")
    assert message.reactions == {}
    with pytest.raises(hikari.BadRequestError, match="Unknown Emoji") as refusal:
        await rest.add_reaction(hall.id, message.id, "no emoji")
    assert refusal.value.code == 10014
    await rest.trigger_typing(hall.id)
    assert [who for _, who in hall.typing] == [BOT_ID]


async def test_without_the_content_intent_rest_shows_what_the_bot_may_read(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    """https://docs.discord.com/developers/events/gateway#message-content-intent."""
    sim.set_message_content(False)
    plain = sim.user_sends_text(ANN, "secret", hall.id)
    named = sim.user_mentions_bot(ANN, "hello", hall.id)
    own = await rest.create_message(hall.id, "mine")
    private = sim.user_sends_text(ANN, "private")
    read = [(await rest.fetch_message(m.channel.id, m.id)).content for m in (plain, named, private)]
    assert read == [None, f"<@{BOT_ID}> hello", "private"]
    assert (await rest.fetch_message(hall.id, own.id)).content == "mine"
