"""Refusals of the platform, in its own words: https://docs.slack.dev/apis/web-api and each method's page."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from tests.simulators.slack import SlackSimulator
from tests.simulators_tests.slack.conftest import ANN, APP_TOKEN, BOB, BOT_TOKEN, Slack

Json = dict[str, Any]


async def error_of(call: Any) -> str:
    """The platform's word for why it refused."""
    with pytest.raises(SlackApiError) as refusal:
        await call
    assert refusal.value.response["ok"] is False
    assert refusal.value.response.status_code == 200
    return str(refusal.value.response["error"])


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def test_wrong_tokens_are_refused(
    sim: SlackSimulator, client: Slack, http: aiohttp.ClientSession
) -> None:
    wrong = AsyncWebClient("xoxb-wrong", base_url=sim.api_url, session=http)
    assert await error_of(wrong.auth_test()) == "invalid_auth"
    async with http.post(f"{sim.api_url}auth.test") as response:
        assert await response.json() == {"ok": False, "error": "not_authed"}
    assert await error_of(client.apps_connections_open(app_token=BOT_TOKEN)) == "not_allowed_token_type"
    assert await error_of(client.auth_test(token=APP_TOKEN)) == "not_allowed_token_type"
    sim.revoke_token(BOT_TOKEN)
    assert await error_of(client.auth_test()) == "token_revoked"
    sim.revoke_token(BOT_TOKEN, "account_inactive")
    assert await error_of(client.auth_test()) == "account_inactive"
    sim.renew_token(BOT_TOKEN, "xoxb-new")
    assert (await client.auth_test(token="xoxb-new"))["user_id"] == sim.app().user.id
    assert await error_of(client.auth_test()) == "invalid_auth"


async def test_missing_scopes_are_refused(sim: SlackSimulator, client: Slack, dm: str) -> None:
    sim.set_scopes(["im:history"])
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel=dm, text="x")
    assert refusal.value.response.data == {
        "ok": False,
        "error": "missing_scope",
        "needed": "chat:write",
        "provided": "im:history",
    }


async def test_apps_write_only_where_allowed(sim: SlackSimulator, client: Slack, general: str) -> None:
    foreign = sim.create_channel("foreign", [BOB], apps=[]).id
    hidden = sim.create_channel("hidden", [BOB], private=True, apps=[]).id
    assert await error_of(client.chat_postMessage(channel="C0NONE", text="x")) == "channel_not_found"
    assert await error_of(client.chat_postMessage(channel=foreign, text="x")) == "not_in_channel"
    assert await error_of(client.chat_postMessage(channel=hidden, text="x")) == "channel_not_found"
    assert await error_of(client.conversations_history(channel=foreign)) == "not_in_channel"
    assert await error_of(client.chat_postEphemeral(channel=general, user="U0X", text="x")) == (
        "user_not_in_channel"
    )
    sim.channel_is_archived(general)
    assert await error_of(client.chat_postMessage(channel=general, text="x")) == "is_archived"
    sim.user_invites_app(BOB, "hidden")
    await client.chat_postMessage(channel=hidden, text="x")
    sim.user_removes_app(BOB, "hidden")
    assert await error_of(client.chat_postMessage(channel=hidden, text="x")) == "channel_not_found"


async def test_apps_change_only_their_own_messages(sim: SlackSimulator, client: Slack, dm: str) -> None:
    theirs = sim.user_sends_text(ANN, "mine")
    update = client.chat_update(channel=dm, ts=theirs.ts, text="x")
    assert await error_of(update) == "cant_update_message"
    assert await error_of(client.chat_delete(channel=dm, ts=theirs.ts)) == "cant_delete_message"
    unknown = client.chat_update(channel=dm, ts="1.000001", text="x")
    assert await error_of(unknown) == "message_not_found"
    reply = client.chat_postMessage(channel=dm, text="x", thread_ts="1.000001")
    assert await error_of(reply) == "thread_not_found"
    assert await error_of(client.conversations_replies(channel=dm, ts="1.000001")) == "thread_not_found"


@pytest.mark.parametrize(
    "arguments,error",
    [
        ({}, "no_text"),
        ({"text": ""}, "no_text"),
        ({"markdown_text": "a", "text": "b"}, "markdown_text_conflict"),
        ({"text": "x", "blocks": "[{"}, "invalid_blocks_format"),
        ({"text": "x", "blocks": '{"type": "divider"}'}, "invalid_blocks_format"),
        ({"text": "x", "metadata": "{"}, "invalid_metadata_format"),
        ({"text": "x", "metadata": {"event_type": "t"}}, "invalid_metadata_schema"),
        ({"text": "x", "metadata": {"event_type": "t", "event_payload": 1}}, "invalid_metadata_schema"),
    ],
)
async def test_invalid_messages_are_refused(client: Slack, dm: str, arguments: Json, error: str) -> None:
    call = client.api_call("chat.postMessage", json={"channel": dm, **arguments})
    assert await error_of(call) == error


@pytest.mark.parametrize(
    "block,problem",
    [
        ({"type": "sectoin"}, "unsupported type: sectoin [json-pointer:/blocks/0/type]"),
        ({}, "missing required field: type [json-pointer:/blocks/0]"),
        ({"type": "section"}, "must define either `text` or `fields` [json-pointer:/blocks/0]"),
        ({"type": "actions"}, "missing required field: elements [json-pointer:/blocks/0]"),
        ({"type": "actions", "elements": "x"}, "must provide an array [json-pointer:/blocks/0/elements]"),
        ({"type": "header", "text": "x"}, "must provide an object [json-pointer:/blocks/0/text]"),
        (
            {"type": "header", "text": {"type": "mrkdwn", "text": "x"}},
            "unsupported type: mrkdwn [json-pointer:/blocks/0/text/type]",
        ),
        (
            {"type": "section", "text": {"type": "mrkdwn", "text": "x", "emoji": True}},
            "invalid additional property: emoji [json-pointer:/blocks/0/text]",
        ),
        (
            {"type": "section", "text": {"type": "mrkdwn", "text": ""}},
            "must be more than 0 characters [json-pointer:/blocks/0/text/text]",
        ),
        ({"type": "divider", "block_id": 1}, "must provide a string [json-pointer:/blocks/0/block_id]"),
        (
            {
                "type": "actions",
                "elements": [
                    {"type": "button", "text": {"type": "plain_text", "text": "b"}, "style": "loud"}
                ],
            },
            "must be a valid enum value [json-pointer:/blocks/0/elements/0/style]",
        ),
    ],
)
async def test_a_wrong_block_is_named_by_its_place(client: Slack, dm: str, block: Json, problem: str) -> None:
    with pytest.raises(SlackApiError) as refusal:
        await client.chat_postMessage(channel=dm, text="x", blocks=[block])
    answer = refusal.value.response
    assert answer["error"] == "invalid_blocks"
    assert problem in answer["errors"]
    assert answer["response_metadata"]["messages"] == [f"[ERROR] {text}" for text in answer["errors"]]


async def test_ids_of_blocks_and_actions_are_not_repeated(client: Slack, dm: str) -> None:
    twice = [{"type": "divider", "block_id": "a"}] * 2
    assert await error_of(client.chat_postMessage(channel=dm, text="x", blocks=twice)) == "invalid_blocks"
    pair = [{"type": "button", "text": {"type": "plain_text", "text": "b"}, "action_id": "a"}] * 2
    same = [{"type": "actions", "elements": pair}]
    assert await error_of(client.chat_postMessage(channel=dm, text="x", blocks=same)) == "invalid_blocks"


async def test_malformed_requests_are_refused(
    sim: SlackSimulator, http: aiohttp.ClientSession, dm: str
) -> None:
    url = f"{sim.api_url}chat.postMessage"
    bearer = {"Authorization": f"Bearer {BOT_TOKEN}"}

    async def answer(**request: Any) -> Json:
        async with http.post(url, headers=bearer | request.pop("headers", {}), **request) as response:
            body: Json = await response.json()
            return body

    json_type = {"Content-Type": "application/json"}
    assert (await answer(data=b"{", headers=json_type))["error"] == "invalid_json"
    assert (await answer(data=b"[]", headers=json_type))["error"] == "json_not_object"
    assert (await answer(data=b"x", headers={"Content-Type": "text/plain"}))["error"] == "invalid_post_type"
    assert (await answer(json={"text": "x"}))["error"] == "invalid_arguments"
    assert (await answer(json={"channel": dm, "text": "x"}))["warning"] == "missing_charset"
    assert (await answer(data={"channel": dm, "text": "x", "blocks": '[{"type":"divider"}]'}))["ok"]
    form = aiohttp.FormData({"channel": dm, "text": "multipart"}, default_to_multipart=True)
    assert (await answer(data=form))["ok"]
    async with http.post(f"{sim.api_url}chat.shout", headers=bearer) as response:
        body = await response.json()
    assert (body["error"], body["req_method"]) == ("unknown_method", "chat.shout")
