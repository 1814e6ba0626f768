"""Limits of commands and modals: taken at the limit, refused one step beyond.

Each case names the page of https://docs.discord.com/developers/ that states its limit.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.world import Channel
from tests.simulators_tests.discord.asking import ask, mistakes
from tests.simulators_tests.discord.conftest import ANN, BOT_ID
from tests.simulators_tests.discord.wire import Wire

Json = dict[str, Any]
Body = Callable[[int], Any]
FEWER, BETWEEN = "BASE_TYPE_MAX_LENGTH", "BASE_TYPE_BAD_LENGTH"
BUTTON_ROW = {"type": 1, "components": [{"type": 2, "style": 1, "label": "l", "custom_id": "c"}]}


def command(**fields: Any) -> Json:
    return {"name": "n", "description": "d"} | fields


def option(**fields: Any) -> Json:
    return {"type": 3, "name": "o", "description": "d"} | fields


COMMAND_LIMITS: list[tuple[str, Body, int, str, str]] = [
    ("interactions/application-commands name", lambda n: [command(name="x" * n)], 32, "0.name", BETWEEN),
    (
        "interactions/application-commands description",
        lambda n: [command(description="x" * n)],
        100,
        "0.description",
        BETWEEN,
    ),
    (
        "interactions/application-commands options",
        lambda n: [command(options=[option(name=f"o{one}") for one in range(n)])],
        25,
        "0.options",
        FEWER,
    ),
    (
        "interactions/application-commands option name",
        lambda n: [command(options=[option(name="x" * n)])],
        32,
        "0.options.0.name",
        BETWEEN,
    ),
    (
        "interactions/application-commands option description",
        lambda n: [command(options=[option(description="x" * n)])],
        100,
        "0.options.0.description",
        BETWEEN,
    ),
    (
        "interactions/application-commands choices",
        lambda n: [command(options=[option(choices=[{"name": str(one), "value": "v"} for one in range(n)])])],
        25,
        "0.options.0.choices",
        FEWER,
    ),
    (
        "interactions/application-commands choice",
        lambda n: [command(options=[option(choices=[{"name": "x" * n, "value": "v"}])])],
        100,
        "0.options.0.choices.0.name",
        BETWEEN,
    ),
]


@pytest.mark.parametrize("page,body,limit,path,code", COMMAND_LIMITS, ids=[c[0] for c in COMMAND_LIMITS])
async def test_a_command_is_accepted_at_its_limit_and_refused_beyond(
    sim: DiscordSimulator, page: str, body: Body, limit: int, path: str, code: str
) -> None:
    where = f"/applications/{BOT_ID}/commands"
    status, kept, _ = await ask(sim, "PUT", where, body(limit))
    assert (status, page) == (200, page)
    status, refusal, _ = await ask(sim, "PUT", where, body(limit + 1))
    assert (status, code in mistakes(refusal, path)) == (400, True)
    assert sim.commands() == kept


async def test_a_bot_has_at_most_a_hundred_commands_of_eight_thousand_characters(
    sim: DiscordSimulator,
) -> None:
    """interactions/application-commands#registering-a-command and #application-command-object."""
    where = f"/applications/{BOT_ID}/commands"
    hundred = [command(name=f"c{n}") for n in range(100)]
    assert (await ask(sim, "PUT", where, hundred))[0] == 200
    status, refusal, _ = await ask(sim, "PUT", where, [*hundred, command(name="one-more")])
    assert (status, refusal["code"]) == (400, 30032)
    choices = [{"name": "x" * 100, "value": "v" * 100} for _ in range(20)]
    full = command(options=[option(name="a", choices=choices), option(name="b", choices=choices[:-1])])
    size = 2 + 2 * 2 + 39 * 200
    full["options"][1]["choices"] = [*choices[:-1], {"name": "x" * 100, "value": "v" * (8000 - size - 100)}]
    assert (await ask(sim, "PUT", where, [full]))[0] == 200
    status, refusal, _ = await ask(sim, "PUT", where, [full | {"description": "dd"}])
    assert (status, mistakes(refusal, "0")) == (400, ["APPLICATION_COMMAND_TOO_LARGE"])


@pytest.mark.parametrize("name", ["Upper", "two words", "dot.ted", ""])
async def test_names_a_command_cannot_have_are_refused(sim: DiscordSimulator, name: str) -> None:
    status, refusal, _ = await ask(sim, "PUT", f"/applications/{BOT_ID}/commands", [command(name=name)])
    assert (status, bool(mistakes(refusal, "0.name"))) == (400, True)


MODAL_LIMITS: list[tuple[str, Body, int, str, str]] = [
    (
        "interactions/receiving-and-responding#interaction-response-object-modal title",
        lambda n: {"title": "x" * n},
        45,
        "data.title",
        BETWEEN,
    ),
    (
        "…#interaction-response-object-modal custom_id",
        lambda n: {"custom_id": "x" * n},
        100,
        "data.custom_id",
        BETWEEN,
    ),
    (
        "…#interaction-response-object-modal components",
        lambda n: {"components": [text_input(custom_id=str(one)) for one in range(n)]},
        5,
        "data.components",
        BETWEEN,
    ),
    (
        "components/reference#text-input label",
        lambda n: {"components": [text_input(label="x" * n)]},
        45,
        "data.components.0.components.0.label",
        BETWEEN,
    ),
    (
        "components/reference#text-input placeholder",
        lambda n: {"components": [text_input(placeholder="x" * n)]},
        100,
        "data.components.0.components.0.placeholder",
        FEWER,
    ),
    (
        "components/reference#text-input value",
        lambda n: {"components": [text_input(value="x" * n)]},
        4000,
        "data.components.0.components.0.value",
        FEWER,
    ),
]


def text_input(**fields: Any) -> Json:
    return {"type": 1, "components": [{"type": 4, "style": 1, "custom_id": "c", "label": "l"} | fields]}


@pytest.mark.parametrize("page,body,limit,path,code", MODAL_LIMITS, ids=[c[0] for c in MODAL_LIMITS])
async def test_a_modal_is_accepted_at_its_limit_and_refused_beyond(
    sim: DiscordSimulator,
    hall: Channel,
    page: str,
    body: Body,
    limit: int,
    path: str,
    code: str,
) -> None:
    sent = (await ask(sim, "POST", f"/channels/{hall.id}/messages", {"components": [BUTTON_ROW]}))[1]
    modal = {"title": "t", "custom_id": "c", "components": [text_input()]}
    async with Wire(sim) as wire:
        await wire.identify()
        pressed = sim.user_presses_button(ANN, sent["id"], 0)
        where = f"/interactions/{pressed.id}/{pressed.token}/callback"
        status, refusal, _ = await ask(sim, "POST", where, {"type": 9, "data": modal | body(limit + 1)})
        assert (status, mistakes(refusal, path)) == (400, [code])
        status, _, _ = await ask(sim, "POST", where, {"type": 9, "data": modal | body(limit)})
        assert (status, pressed.modal is not None, page) == (204, True, page)
