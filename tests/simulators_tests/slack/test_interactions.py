"""Buttons, commands, modals and response URLs:
https://docs.slack.dev/interactivity/handling-user-interaction."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.simulators.slack import SlackSimulator
from tests.simulators_tests.slack.conftest import ANN, BOB, Slack
from tests.simulators_tests.slack.test_sockets import Hearing, listening

Json = dict[str, Any]


def card(*labels: str) -> list[Json]:
    """A section and buttons; the value of each is its label in lower case."""
    buttons = [
        {"type": "button", "text": {"type": "plain_text", "text": label}, "value": label.lower()}
        for label in labels
    ]
    return [
        {"type": "section", "text": {"type": "mrkdwn", "text": "Allow *shell*?"}},
        {"type": "actions", "block_id": "choices", "elements": buttons},
    ]


@pytest.fixture
async def hearing(sim: SlackSimulator) -> AsyncIterator[Hearing]:
    sim.app().events = frozenset()
    async with listening(sim) as one:
        yield one


async def test_a_press_names_the_button_the_message_and_the_person(
    sim: SlackSimulator, client: Slack, hearing: Hearing, general: str
) -> None:
    head = sim.user_sends_text(ANN, "do it", general)
    sent = await client.chat_postMessage(
        channel=general, text="Allow?", blocks=card("Allow", "Deny"), thread_ts=head.ts
    )
    press = sim.user_presses_button(BOB, general, sent["ts"], "Deny")
    (request,) = await hearing.hear(1)
    payload = request.payload
    assert (request.type, payload["type"]) == ("interactive", "block_actions")
    assert (payload["user"]["id"], payload["channel"]["id"]) == (BOB, general)
    (action,) = payload["actions"]
    assert (action["value"], action["block_id"], action["text"]["text"]) == ("deny", "choices", "Deny")
    assert payload["container"] == {
        "type": "message",
        "message_ts": sent["ts"],
        "channel_id": general,
        "is_ephemeral": False,
        "thread_ts": head.ts,
    }
    assert payload["message"]["blocks"][1]["elements"][0]["value"] == "allow"
    assert (await sim.wait_settled(press.id)).state == "acked"
    assert sim.look(sim.message(general, sent["ts"])).buttons == [("Allow", "allow"), ("Deny", "deny")]


async def test_buttons_are_found_by_position_value_and_action(
    sim: SlackSimulator, client: Slack, hearing: Hearing, dm: str
) -> None:
    sent = await client.chat_postMessage(channel=dm, text="?", blocks=card("A", "B"))
    ts = sent["ts"]
    action_id = sim.message(dm, ts).blocks[1]["elements"][1]["action_id"]
    sim.user_presses_button(ANN, dm, ts)
    sim.user_presses_button(ANN, dm, ts, 1)
    sim.user_presses_button(ANN, dm, ts, value="b")
    sim.user_presses_button(ANN, dm, ts, action_id=action_id)
    heard = await hearing.hear(4)
    assert [request.payload["actions"][0]["value"] for request in heard] == ["a", "b", "b", "b"]
    with pytest.raises(LookupError):
        sim.user_presses_button(ANN, dm, ts, "C")
    with pytest.raises(LookupError):
        sim.user_presses_button(BOB, dm, ts, "A")


async def test_without_a_connection_a_press_fails_at_once_and_works_later(
    sim: SlackSimulator, client: Slack, dm: str
) -> None:
    sim.app().events = frozenset()
    sent = await client.chat_postMessage(channel=dm, text="?", blocks=card("Allow"))
    failed = await sim.wait_settled(sim.user_presses_button(ANN, dm, sent["ts"]).id)
    assert (failed.state, failed.deliveries[0]["result"]) == ("failed", "connection_failed")
    async with listening(sim):
        again = await sim.wait_settled(sim.user_presses_button(ANN, dm, sent["ts"]).id)
        assert again.state == "acked"


async def test_a_press_that_is_not_acknowledged_has_failed_and_is_not_repeated(
    sim: SlackSimulator, client: Slack, hearing: Hearing, dm: str
) -> None:
    sim.configure(ack_timeout_s=0.1)
    hearing.ignore_next = 1
    sent = await client.chat_postMessage(channel=dm, text="?", blocks=card("Allow"))
    press = await sim.wait_settled(sim.user_presses_button(ANN, dm, sent["ts"]).id)
    assert (press.state, [d["result"] for d in press.deliveries]) == ("failed", ["timeout"])


async def test_a_response_url_answers_replaces_and_deletes(
    sim: SlackSimulator, client: Slack, hearing: Hearing, general: str
) -> None:
    sent = await client.chat_postMessage(channel=general, text="?", blocks=card("Allow"))
    sim.user_presses_button(ANN, general, sent["ts"])
    (request,) = await hearing.hear(1)
    hook = AsyncWebhookClient(request.payload["response_url"])
    assert (await hook.send(text="not for you")).body == "ok"
    assert sim.look(sim.ephemerals(ANN)[0]).text == "not for you"
    await hook.send(text="for all", response_type="in_channel")
    assert sim.visible(general, sim.bot_messages(general)[-1].ts) == "for all"
    await hook.send(text="Allowed", replace_original=True)
    assert sim.visible(general, sent["ts"]) == "Allowed"
    await hook.send(delete_original=True)
    assert sim.message(general, sent["ts"]).deleted
    assert [record.method for record in sim.requests("response_url")] == ["response_url"] * 4


async def test_a_response_url_expires(sim: SlackSimulator, dm: str) -> None:
    """https://docs.slack.dev/interactivity/handling-user-interaction: within 30 minutes"""
    sim.configure(response_url_ttl_s=-1.0)
    hook = AsyncWebhookClient(sim.new_response_url(sim.app(), sim.channel(dm), sim.person(ANN)))
    answer = await hook.send(text="late")
    assert (answer.status_code, "expired_url" in answer.body) == (404, True)


async def test_an_ephemeral_can_be_pressed_replaced_and_removed(
    sim: SlackSimulator, client: Slack, hearing: Hearing, general: str
) -> None:
    sent = await client.chat_postEphemeral(channel=general, user=ANN, text="?", blocks=card("Sure"))
    sim.user_presses_button(ANN, general, sent["message_ts"], "Sure")
    (request,) = await hearing.hear(1)
    assert request.payload["container"]["is_ephemeral"]
    assert "message" not in request.payload
    hook = AsyncWebhookClient(request.payload["response_url"])
    await hook.send(text="Done", replace_original=True)
    (shown,) = sim.ephemerals(ANN)
    assert sim.look(shown).text == "Done"
    await hook.send(delete_original=True)
    assert sim.ephemerals(ANN) == []


async def test_a_command_is_answered_in_its_acknowledgement(
    sim: SlackSimulator, hearing: Hearing, general: str
) -> None:
    hearing.answer = {"text": "two threads", "response_type": "in_channel"}
    command = sim.user_runs_command(ANN, "/hubbub", " threads ", general)
    (request,) = await hearing.hear(1)
    assert (request.type, request.accepts_response_payload) == ("slash_commands", True)
    assert {name: request.payload[name] for name in ("command", "text", "channel_id", "user_id")} == {
        "command": "/hubbub",
        "text": "threads",
        "channel_id": general,
        "user_id": ANN,
    }
    await sim.wait_settled(command.id)
    assert sim.visible(general, sim.bot_messages(general)[0].ts) == "two threads"
    with pytest.raises(LookupError, match="not a valid command"):
        sim.user_runs_command(ANN, "/other")


MODAL: Json = {
    "type": "modal",
    "callback_id": "edit",
    "title": {"type": "plain_text", "text": "Edit"},
    "submit": {"type": "plain_text", "text": "Save"},
    "private_metadata": "p:1",
    "notify_on_close": True,
    "blocks": [
        {
            "type": "input",
            "block_id": "command",
            "label": {"type": "plain_text", "text": "Command"},
            "element": {"type": "plain_text_input", "action_id": "text"},
        }
    ],
}


async def test_a_modal_is_opened_filled_refused_and_submitted(
    sim: SlackSimulator, client: Slack, hearing: Hearing, dm: str
) -> None:
    sent = await client.chat_postMessage(channel=dm, text="?", blocks=card("Edit"))
    sim.user_presses_button(ANN, dm, sent["ts"])
    (request,) = await hearing.hear(1)
    opened = await client.views_open(trigger_id=request.payload["trigger_id"], view=MODAL)
    view = await sim.wait_view(ANN)
    assert (view.id, view.body["private_metadata"]) == (opened["view"]["id"], "p:1")
    with pytest.raises(LookupError, match="left empty"):
        sim.user_submits_view(ANN, view.id)
    hearing.answer = {"response_action": "errors", "errors": {"command": "no pipes"}}
    await sim.wait_settled(sim.user_submits_view(ANN, view.id, {"text": "ls | wc"}).id)
    assert (view.is_open, view.errors) == (True, {"command": "no pipes"})
    hearing.answer = None
    await sim.wait_settled(sim.user_submits_view(ANN, view.id, {"command": "ls"}).id)
    submitted = hearing.heard[-1].payload
    assert (submitted["type"], submitted["view"]["callback_id"]) == ("view_submission", "edit")
    assert submitted["view"]["state"]["values"]["command"]["text"]["value"] == "ls"
    assert sim.open_views(ANN) == []


async def test_a_closed_modal_is_reported_on_request(
    sim: SlackSimulator, client: Slack, hearing: Hearing
) -> None:
    trigger = sim.new_trigger(sim.app(), sim.person(ANN))
    opened = await client.views_open(trigger_id=trigger, view=MODAL)
    sim.user_closes_view(ANN, opened["view"]["id"])
    (request,) = await hearing.hear(1)
    assert request.payload["type"] == "view_closed"


async def test_a_trigger_is_good_once_for_three_seconds(sim: SlackSimulator, client: Slack) -> None:
    """https://docs.slack.dev/reference/methods/views.open"""
    trigger = sim.new_trigger(sim.app(), sim.person(ANN))
    await client.views_open(trigger_id=trigger, view=MODAL)
    with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
        await client.views_open(trigger_id=trigger, view=MODAL)
    with pytest.raises(SlackApiError, match="invalid_trigger_id"):
        await client.views_open(trigger_id="1.2.3", view=MODAL)
    sim.configure(trigger_ttl_s=-1.0)
    late = sim.new_trigger(sim.app(), sim.person(ANN))
    with pytest.raises(SlackApiError, match="expired_trigger_id"):
        await client.views_open(trigger_id=late, view=MODAL)


async def test_a_choice_from_a_menu_reaches_the_app(
    sim: SlackSimulator, client: Slack, hearing: Hearing, dm: str
) -> None:
    options = [
        {"text": {"type": "plain_text", "text": name}, "value": name.lower()} for name in ("One", "Two")
    ]
    menu = {"type": "static_select", "action_id": "pick", "options": options}
    sent = await client.chat_postMessage(
        channel=dm, text="?", blocks=[{"type": "actions", "elements": [menu]}]
    )
    sim.user_chooses(ANN, dm, sent["ts"], "Two")
    (request,) = await hearing.hear(1)
    assert request.payload["actions"][0]["selected_option"]["value"] == "two"
