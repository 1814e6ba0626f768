"""Buttons, commands and forms: answered once and in time, or visibly failed."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import aiohttp
import hikari
import pytest
from hikari.api import RESTClient
from hikari.impl import MessageActionRowBuilder, ModalActionRowBuilder

from tests.patience import PATIENCE_S
from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.interactions import FAILED, NO_RESPONSE, Interaction
from tests.simulators.discord.world import Channel
from tests.simulators_tests.discord.conftest import ANN, BOB, BOT_ID

LIMIT_S = PATIENCE_S
T = TypeVar("T", bound=hikari.PartialInteraction)


def buttons(*labels: str) -> MessageActionRowBuilder:
    """One row of buttons whose ids are ``p:<label>``."""
    row = MessageActionRowBuilder()
    for label in labels:
        row.add_interactive_button(hikari.ButtonStyle.PRIMARY, f"p:{label}", label=label)
    return row


async def next_interaction(bot: hikari.GatewayBot, act: Callable[[], Interaction], kind: type[T]) -> T:
    """Return what the bot hears of what a person does."""
    heard: asyncio.Queue[hikari.InteractionCreateEvent] = asyncio.Queue()
    bot.subscribe(hikari.InteractionCreateEvent, heard.put)
    act()
    async with asyncio.timeout(LIMIT_S):
        interaction = (await heard.get()).interaction
    bot.unsubscribe(hikari.InteractionCreateEvent, heard.put)
    assert isinstance(interaction, kind)
    return interaction


async def test_a_press_reaches_the_bot_and_updates_the_message(
    sim: DiscordSimulator, hall: Channel, live: hikari.GatewayBot
) -> None:
    sent = await live.rest.create_message(hall.id, "sure?", component=buttons("yes", "no"))
    pressed = await next_interaction(
        live, lambda: sim.user_presses_button(ANN, sent.id, 1), hikari.ComponentInteraction
    )
    assert (pressed.custom_id, pressed.user.id, pressed.message.id) == ("p:no", ANN, sent.id)
    assert (pressed.channel_id, pressed.application_id) == (hall.id, BOT_ID)
    await pressed.create_initial_response(hikari.ResponseType.MESSAGE_UPDATE, "refused", components=[])
    shown = sim.message(sent.id)
    assert (shown.text, shown.buttons()) == ("refused", [])
    (interaction,) = sim.all_interactions()
    assert (interaction.callback_type, interaction.failure) == (7, None)


async def test_an_interaction_is_answered_once(
    sim: DiscordSimulator, hall: Channel, live: hikari.GatewayBot
) -> None:
    sent = await live.rest.create_message(hall.id, "sure?", component=buttons("yes"))
    pressed = await next_interaction(
        live, lambda: sim.user_presses_button(ANN, sent.id, 0), hikari.ComponentInteraction
    )
    await pressed.create_initial_response(hikari.ResponseType.DEFERRED_MESSAGE_UPDATE)
    with pytest.raises(hikari.BadRequestError, match="already been acknowledged") as refusal:
        await pressed.create_initial_response(hikari.ResponseType.MESSAGE_CREATE, "again")
    assert refusal.value.code == 40060
    await pressed.edit_initial_response("done")
    assert sim.message(sent.id).text == "done"


async def test_ephemeral_answers_are_seen_by_one_person_and_by_no_bot(
    sim: DiscordSimulator, hall: Channel, live: hikari.GatewayBot
) -> None:
    sent = await live.rest.create_message(hall.id, "sure?", component=buttons("yes"))
    pressed = await next_interaction(
        live, lambda: sim.user_presses_button(BOB, sent.id, 0), hikari.ComponentInteraction
    )
    events = len(sim.events("MESSAGE_CREATE"))
    await pressed.create_initial_response(
        hikari.ResponseType.MESSAGE_CREATE, "not for you", flags=hikari.MessageFlag.EPHEMERAL
    )
    (told,) = sim.ephemeral_messages(BOB)
    assert (told.text, sim.ephemeral_messages(ANN)) == ("not for you", [])
    assert [m.id for m in sim.visible_messages(ANN, hall.id)] == [sent.id]
    assert len(sim.events("MESSAGE_CREATE")) == events
    assert [m.id async for m in live.rest.fetch_messages(hall.id)] == [sent.id]
    with pytest.raises(hikari.NotFoundError, match="Unknown Message"):
        await live.rest.fetch_message(hall.id, told.id)
    with pytest.raises(LookupError, match="sees no message"):
        sim.user_presses_button(ANN, told.id, custom_id="p:yes")


async def test_a_command_with_options_is_deferred_and_followed_up(
    sim: DiscordSimulator, hall: Channel, live: hikari.GatewayBot
) -> None:
    command = live.rest.slash_command_builder("hub", "speaks to the hub")
    option = hikari.CommandOption(
        type=hikari.OptionType.STRING, name="text", description="what to say", is_required=True
    )
    await live.rest.set_application_commands(BOT_ID, [command.add_option(option)])
    used = await next_interaction(
        live,
        lambda: sim.user_uses_command(ANN, "/hub", {"text": "hello"}, hall.id),
        hikari.CommandInteraction,
    )
    assert (used.command_name, [(o.name, o.value) for o in used.options or []]) == (
        "hub",
        [("text", "hello")],
    )
    await used.create_initial_response(hikari.ResponseType.DEFERRED_MESSAGE_CREATE)
    (loading,) = sim.bot_messages(hall.id)
    assert loading.flags & 128
    await used.execute("first")  # fills the loading message
    await used.execute("second")
    assert [(m.text, m.flags) for m in sim.bot_messages(hall.id)] == [("first", 0), ("second", 0)]
    (interaction,) = sim.all_interactions()
    assert [m.content for m in interaction.messages()] == ["first", "second"]
    await used.delete_initial_response()
    assert [m.text for m in sim.bot_messages(hall.id)] == ["second"]


async def test_commands_are_offered_as_declared(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    tool = rest.slash_command_builder("hub", "the hub")
    listing = hikari.CommandOption(type=hikari.OptionType.SUB_COMMAND, name="list", description="shows them")
    tool.add_option(listing)
    (first,) = await rest.set_application_commands(BOT_ID, [tool])
    (again,) = await rest.set_application_commands(BOT_ID, [tool])
    assert first.id == again.id
    assert [c.name for c in await rest.fetch_application_commands(BOT_ID)] == ["hub"]
    assert [option["name"] for option in sim.commands()[0]["options"]] == ["list"]
    assert sim.user_uses_command(ANN, "/hub list").data["options"][0]["name"] == "list"
    with pytest.raises(LookupError, match="no command /nub"):
        sim.user_uses_command(ANN, "nub")
    with pytest.raises(ValueError, match="choose one of list"):
        sim.user_uses_command(ANN, "hub")
    with pytest.raises(hikari.ForbiddenError, match="not authorized to perform this action"):
        await rest.fetch_application_commands(4)


async def test_a_modal_is_filled_in(sim: DiscordSimulator, hall: Channel, live: hikari.GatewayBot) -> None:
    sent = await live.rest.create_message(hall.id, "sure?", component=buttons("no"))
    pressed = await next_interaction(
        live, lambda: sim.user_presses_button(ANN, sent.id, 0), hikari.ComponentInteraction
    )
    row = ModalActionRowBuilder().add_text_input("why", "Why not?", required=True)
    await pressed.create_modal_response("A reason", "form", component=row)
    (interaction,) = sim.all_interactions()
    with pytest.raises(ValueError, match="'why' is required"):
        sim.user_submits_modal(interaction.id, {})
    submitted = await next_interaction(
        live,
        lambda: sim.user_submits_modal(interaction.id, {"why": "too dear"}),
        hikari.ModalInteraction,
    )
    assert submitted.custom_id == "form"
    field = submitted.components[0][0]
    assert isinstance(field, hikari.TextInputComponent)
    assert (field.custom_id, field.value) == ("why", "too dear")
    assert submitted.message is not None
    assert submitted.message.id == sent.id
    await submitted.create_initial_response(hikari.ResponseType.MESSAGE_UPDATE, "no: too dear", components=[])
    assert sim.message(sent.id).text == "no: too dear"


async def test_a_press_while_the_bot_is_offline_fails_visibly(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    await rest.set_application_commands(BOT_ID, [rest.slash_command_builder("hub", "the hub")])
    sent = await rest.create_message(hall.id, "sure?", component=buttons("yes"))
    assert sim.user_presses_button(ANN, sent.id, 0).failure == FAILED == "This interaction failed"
    assert sim.user_uses_command(ANN, "hub", channel_id=hall.id).failure == NO_RESPONSE
    assert sim.events("INTERACTION_CREATE") == []


async def test_an_answer_after_three_seconds_is_too_late(
    sim: DiscordSimulator, hall: Channel, live: hikari.GatewayBot
) -> None:
    """https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-callback."""
    assert sim.interaction_limit_s == 3.0
    sim.configure(interaction_limit_s=0.01)
    sent = await live.rest.create_message(hall.id, "sure?", component=buttons("yes"))
    pressed = await next_interaction(
        live, lambda: sim.user_presses_button(ANN, sent.id, 0), hikari.ComponentInteraction
    )
    assert (await sim.wait_interaction(pressed.id)).failure == FAILED
    with pytest.raises(hikari.NotFoundError, match="Unknown interaction") as refusal:
        await pressed.create_initial_response(hikari.ResponseType.MESSAGE_CREATE, "late")
    assert refusal.value.code == 10062
    assert len(sim.bot_messages(hall.id)) == 1


async def test_follow_ups_end_after_fifteen_minutes_and_need_an_answer_first(
    sim: DiscordSimulator, hall: Channel, live: hikari.GatewayBot
) -> None:
    assert sim.interaction_token_ttl_s == 900.0
    sent = await live.rest.create_message(hall.id, "sure?", component=buttons("yes"))
    pressed = await next_interaction(
        live, lambda: sim.user_presses_button(ANN, sent.id, 0), hikari.ComponentInteraction
    )
    with pytest.raises(hikari.NotFoundError, match="Unknown Webhook"):
        await pressed.execute("before the answer")
    await pressed.create_initial_response(hikari.ResponseType.MESSAGE_CREATE, "now")
    await pressed.execute("then")
    sim.configure(interaction_token_ttl_s=-1)
    with pytest.raises(hikari.UnauthorizedError) as refusal:
        await pressed.execute("too late")
    assert (refusal.value.code, refusal.value.message) == (50027, "Invalid Webhook Token")
    assert [m.text for m in sim.bot_messages(hall.id)] == ["sure?", "now", "then"]


async def test_a_callback_gives_back_its_message_when_asked(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel, live: hikari.GatewayBot
) -> None:
    sent = await live.rest.create_message(hall.id, "sure?", component=buttons("yes"))
    pressed = sim.user_presses_button(ANN, sent.id, 0)
    url = f"{sim.api_base_url}/interactions/{pressed.id}/{pressed.token}/callback"
    async with aiohttp.ClientSession() as client:
        async with client.post(url, json={"type": 8}) as wrong:
            assert (await wrong.json())["errors"]["type"]["_errors"][0]["code"] == "BASE_TYPE_CHOICES"
        told = {"type": 4, "data": {"content": "x" * 2001}}
        async with client.post(url, json=told) as long:
            assert list((await long.json())["errors"]["data"]) == ["content"]
        told = {"type": 4, "data": {"content": "yes"}}
        async with client.post(url, json=told, params={"with_response": "true"}) as response:
            body = await response.json()
    assert (response.status, body["resource"]["message"]["content"]) == (200, "yes")
    assert body["interaction"]["response_message_id"] == body["resource"]["message"]["id"]


async def test_an_old_client_may_press_a_button_that_is_gone(
    sim: DiscordSimulator, hall: Channel, live: hikari.GatewayBot
) -> None:
    sent = await live.rest.create_message(hall.id, "sure?", component=buttons("yes"))
    await live.rest.edit_message(hall.id, sent.id, "decided", components=[])
    with pytest.raises(LookupError, match="has 0 buttons"):
        sim.user_presses_button(ANN, sent.id, 0)
    pressed = await next_interaction(
        live,
        lambda: sim.user_presses_button(ANN, sent.id, custom_id="p:yes"),
        hikari.ComponentInteraction,
    )
    assert (pressed.custom_id, pressed.message.content) == ("p:yes", "decided")
