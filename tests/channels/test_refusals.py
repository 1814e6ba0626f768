"""What each platform's refusal means for a message: sent again, given up, or in doubt.

A word read wrong loses a message or shows it twice."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from channels.channel import wait_s
from channels.discord.client import DiscordClient
from channels.slack.client import SlackClient
from channels.telegram.addresses import Timeouts
from channels.telegram.client import BotClient
from core.errors import (
    AddressGone,
    AuthRejected,
    ChannelError,
    MessageRejected,
    RateLimited,
    Unanswered,
    Unavailable,
)

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")

SLACK: dict[type[ChannelError], str] = {
    AuthRejected: "account_inactive invalid_auth no_permission not_allowed_token_type not_authed"
    " org_login_required team_access_not_granted token_expired token_revoked",
    AddressGone: "cannot_dm_bot channel_not_found is_archived message_not_found_in_thread"
    " messages_tab_disabled not_in_channel restricted_action restricted_action_read_only_channel"
    " restricted_action_thread_locked thread_not_found user_disabled user_not_found",
    Unavailable: "service_unavailable team_added_to_org accesslimited",
    Unanswered: "fatal_error internal_error request_timeout",
    RateLimited: "ratelimited rate_limited",
    MessageRejected: "msg_too_long invalid_blocks a_word_of_next_year",
}
DISCORD: dict[type[ChannelError], str] = {
    AddressGone: "404/10003 403/50001 403/50007 403/50013 400/50083 403/50278 400/160005 403/0",
    AuthRejected: "401/0",
    MessageRejected: "400/50035 404/10008",
}
TELEGRAM: dict[type[ChannelError], tuple[str, ...]] = {
    AddressGone: (
        "400 Bad Request: chat not found",
        "400 Bad Request: CHAT_WRITE_FORBIDDEN",
        "400 Bad Request: have no rights to send a message",
        "400 Bad Request: message thread not found",
        "400 Bad Request: not enough rights to send text messages to the chat",
        "400 Bad Request: PEER_ID_INVALID",
        "400 Bad Request: TOPIC_CLOSED",
        "400 Bad Request: TOPIC_DELETED",
        "400 Bad Request: user not found",
        "403 Forbidden: bot was blocked by the user",
    ),
    AuthRejected: ("401 Unauthorized", "404 Not Found"),
    MessageRejected: ("400 Bad Request: message is too long", "413 Request Entity Too Large"),
    Unanswered: ("504 Gateway Timeout",),
    Unavailable: ("500 Internal Server Error", "502 Bad Gateway"),
    RateLimited: ("429 Too Many Requests: retry after 7",),
}


def page(said: dict[str, object], status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(said).encode(), status=status, content_type="application/json")


@asynccontextmanager
async def refusing(answers: Callable[[str], web.Response]) -> AsyncIterator[str]:
    """A platform that answers each request by its path."""

    async def answer(request: web.Request) -> web.Response:
        return answers(request.path)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        yield str(server.make_url("/"))


async def met(call: Callable[[], Awaitable[object]]) -> type[ChannelError]:
    with pytest.raises(ChannelError) as refusal:
        await call()
    return refusal.type


async def test_what_slack_refuses_is_read_as_it_means_it() -> None:
    word = ""
    async with refusing(lambda _: page({"ok": False, "error": word})) as url:
        client = SlackClient("xoxb-1", url, None)
        for expected, words in SLACK.items():
            for word in words.split():
                assert await met(lambda: client.call("chat.postMessage", channel="C1")) is expected, word
        await client.close()


async def test_what_discord_refuses_is_read_as_it_means_it() -> None:
    status = code = 0

    def answer(path: str) -> web.Response:
        if path.endswith("/typing"):
            return page({"code": code, "message": "no"}, status)
        return page({"id": "1", "username": "hub", "discriminator": "0", "avatar": None})

    async with refusing(answer) as url:
        client = DiscordClient("a.b.c", url.rstrip("/"), None)
        for expected, said in DISCORD.items():
            for one in said.split():
                status, code = map(int, one.split("/"))
                assert await met(lambda: client.typing("5")) is expected, one
        await client.close()


async def test_what_telegram_refuses_is_read_as_it_means_it() -> None:
    status, said = 0, ""

    def answer(_: str) -> web.Response:
        more = {"parameters": {"retry_after": 7}} if status == 429 else {}
        return page({"ok": False, "error_code": status, "description": said, **more}, status)

    async with refusing(answer) as url:
        client = BotClient("1:token", url, Timeouts())
        for expected, refusals in TELEGRAM.items():
            for one in refusals:
                number, _, said = one.partition(" ")
                status = int(number)
                assert await met(lambda: client.typing({"chat_id": 7})) is expected, one
        await client.close()


@pytest.mark.parametrize(
    "asked, expected_s",
    [("7", 7), ("0", 1), ("-5", 1), ("inf", 86_400), ("1e30", 86_400), ("nan", 30), ("soon", 30), ("", 30)],
)
def test_a_wait_is_between_a_second_and_a_day_whatever_is_asked_for(asked: str, expected_s: float) -> None:
    assert wait_s({"Retry-After": asked}) == expected_s
