"""The switches, rate limits, and what the log says of each: was the request taken, and was it answered?"""

import asyncio

import aiohttp
import hikari
import pytest
from hikari.api import RESTClient

from tests.simulators.discord import DiscordSimulator
from tests.simulators.discord.log import RequestRecord
from tests.simulators.discord.world import Channel, Guild
from tests.simulators_tests.discord.asking import ask
from tests.simulators_tests.discord.conftest import ANN, BOT_ID


def last(sim: DiscordSimulator) -> RequestRecord:
    """The newest request."""
    return sim.requests()[-1]


async def test_a_library_waits_for_a_429(rest: RESTClient, sim: DiscordSimulator, hall: Channel) -> None:
    sim.fail("rate_limit", method="createMessage", retry_after_s=0.02, count=1)
    await rest.create_message(hall.id, "later")
    assert [(r.status, r.taken) for r in sim.requests("createMessage")] == [(429, False), (200, True)]
    assert [m.text for m in sim.bot_messages(hall.id)] == ["later"]


@pytest.mark.parametrize(
    "scope,message",
    [("user", "You are being"), ("shared", "The resource is being"), ("global", "You are being")],
)
async def test_a_429_names_its_wait(sim: DiscordSimulator, hall: Channel, scope: str, message: str) -> None:
    """https://docs.discord.com/developers/topics/rate-limits#exceeding-a-rate-limit."""
    sim.fail("rate_limit", retry_after_s=1.5, scope=scope)
    status, body, headers = await ask(sim, "POST", f"/channels/{hall.id}/messages", {"content": "x"})
    assert (status, body["retry_after"], body["global"]) == (429, 1.5, scope == "global")
    assert body["message"] == f"{message} rate limited."
    assert (headers["Retry-After"], headers["X-RateLimit-Scope"]) == ("2", scope)
    assert ("X-RateLimit-Global" in headers) == (scope == "global")
    assert ("X-RateLimit-Bucket" in headers) == (scope != "global")


async def test_every_answer_tells_its_bucket_and_a_full_one_refuses(
    sim: DiscordSimulator, guild: Guild, hall: Channel
) -> None:
    sim.configure(route_limits={"createMessage": [2, 60.0]})
    where = f"/channels/{hall.id}/messages"
    answers = [await ask(sim, "POST", where, {"content": str(n)}) for n in range(3)]
    assert [status for status, _, _ in answers] == [200, 200, 429]
    assert [headers["X-RateLimit-Remaining"] for _, _, headers in answers] == ["1", "0", "0"]
    assert {headers["X-RateLimit-Limit"] for _, _, headers in answers} == {"2"}
    assert {headers["Content-Type"] for _, _, headers in answers} == {"application/json"}  # and no charset
    assert len({headers["X-RateLimit-Bucket"] for _, _, headers in answers}) == 1
    assert 55 < float(answers[2][2]["X-RateLimit-Reset-After"]) <= 60
    assert 55 < answers[2][1]["retry_after"] <= 60
    other = sim.create_channel(guild.id, "other")
    assert (await ask(sim, "POST", f"/channels/{other.id}/messages", {"content": "x"}))[0] == 200
    assert len(sim.bot_messages(hall.id)) == 2


async def test_fifty_requests_a_second_are_allowed_over_all_routes(
    sim: DiscordSimulator, hall: Channel
) -> None:
    """https://docs.discord.com/developers/topics/rate-limits#global-rate-limit."""
    sim.configure(enforce_rate_limits=True)
    for _ in range(50):
        sim.rates.check(BOT_ID, "getChannel", "")
    status, body, headers = await ask(sim, "GET", f"/channels/{hall.id}")
    assert (status, body["global"], headers["X-RateLimit-Scope"]) == (429, True, "global")


@pytest.mark.parametrize("when,taken", [("before", False), ("after", True)])
async def test_a_connection_can_be_cut_before_or_after_the_request_was_taken(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel, when: str, taken: bool
) -> None:
    sim.fail("drop", method="createMessage", when=when, count=1)
    with pytest.raises(hikari.HTTPError):
        await rest.create_message(hall.id, "lost?", nonce="n")
    record = last(sim)
    assert (record.taken, record.outcome) == (taken, "dropped")
    assert record.messages == [m.id for m in sim.bot_messages(hall.id)]
    assert len(record.messages) == int(taken)
    await rest.create_message(hall.id, "lost?", nonce="n")
    assert len(sim.bot_messages(hall.id)) == 1


async def test_a_held_request_waits_for_its_release(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    sim.fail("hold", method="createMessage", count=1)
    sending = asyncio.create_task(rest.create_message(hall.id, "held"))
    (record,) = await sim.wait_held()
    assert (record.taken, len(sim.bot_messages(hall.id))) == (True, 1)
    assert (await rest.fetch_my_user()).id == BOT_ID
    assert not sending.done()
    sim.release()
    assert (await sending).id == sim.bot_messages(hall.id)[0].id
    assert record.outcome == "answered"


async def test_errors_garbage_and_delays_can_be_injected(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    sim.fail("server_error", count=1)
    with pytest.raises(hikari.InternalServerError):
        await rest.create_message(hall.id, "?")
    sim.fail("server_error", status=502, html=True, count=1)
    with pytest.raises(hikari.InternalServerError):
        await rest.create_message(hall.id, "?")
    sim.fail("error", status=403, code=50013, message="Missing Permissions", count=1)
    with pytest.raises(hikari.ForbiddenError) as refusal:
        await rest.create_message(hall.id, "?")
    assert refusal.value.code == 50013
    sim.fail("garbage", count=1)
    with pytest.raises(hikari.HTTPError):
        await rest.create_message(hall.id, "taken, but the answer is no JSON")
    sim.fail("slow", delay_s=0.01, count=1)
    await rest.create_message(hall.id, "slowly")
    assert [m.text for m in sim.bot_messages(hall.id)] == ["taken, but the answer is no JSON", "slowly"]
    with pytest.raises(ValueError, match="unknown fault 'explode'"):
        sim.fail("explode")


async def test_faults_can_be_narrowed_to_a_channel_skip_requests_and_run_out(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    dm = await rest.create_dm_channel(ANN)
    fault = sim.fail("server_error", method="createMessage", channel_id=hall.id, skip=1, count=1)
    await rest.create_message(dm.id, "other channel")
    await rest.create_message(hall.id, "skipped")
    with pytest.raises(hikari.InternalServerError):
        await rest.create_message(hall.id, "hit")
    await rest.create_message(hall.id, "spent")
    assert fault.hits == [4]
    assert [m.text for m in sim.bot_messages(hall.id)] == ["skipped", "spent"]


async def test_a_platform_that_is_down_refuses_connections(
    rest: RESTClient, sim: DiscordSimulator, hall: Channel
) -> None:
    await sim.go_down()
    with pytest.raises(hikari.HTTPError):
        await rest.create_message(hall.id, "?")
    await sim.come_up()
    await rest.create_message(hall.id, "back")
    assert [r.method for r in sim.requests()] == ["createMessage"]


async def test_downloads_can_fail_too(rest: RESTClient, sim: DiscordSimulator, hall: Channel) -> None:
    said = sim.user_sends_text(ANN, "see", hall.id, files=[{"name": "a.txt", "content": b"abc"}])
    url = sim.attachment_url(hall, said.attachments[0])
    sim.fail("server_error", method="downloadAttachment", status=503, count=1)
    async with aiohttp.ClientSession() as client:
        async with client.get(url) as first:
            assert first.status == 503
        async with client.get(url) as second:
            assert await second.read() == b"abc"


async def test_the_log_counts_every_request(rest: RESTClient, sim: DiscordSimulator, hall: Channel) -> None:
    await rest.fetch_my_user()
    await rest.create_message(hall.id, "one")
    with pytest.raises(hikari.NotFoundError):
        await rest.create_message(404, "two")
    records = sim.requests()
    assert [(r.number, r.method, r.code) for r in records] == [
        (1, "getCurrentUser", None),
        (2, "createMessage", None),
        (3, "createMessage", 10003),
    ]
    assert [r.number for r in sim.requests("createMessage", ok=True)] == [2]
    assert [r.number for r in sim.requests(channel_id=hall.id)] == [2]
    assert all(r.finished_at is not None and r.finished_at >= r.received_at for r in records)
    assert (await ask(sim, "GET", "/nowhere"))[:2] == (404, {"message": "404: Not Found", "code": 0})
    assert (await ask(sim, "DELETE", "/users/@me"))[:2] == (
        405,
        {"message": "405: Method Not Allowed", "code": 0},
    )
