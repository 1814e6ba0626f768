"""The API of a running hub, as a program on the same machine meets it."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from bot.web.auth import AccessRules, ApiGuard
from bot.web.files import FileLinks
from bot.web.responses import BODY_LIMIT_BYTES
from core.clock import SystemClock
from core.store.port import KeyKind
from core.users import Principal, Role
from tests.bot.web.api_client import Client, client
from tests.harness.discord_hub import TOKEN as DISCORD_TOKEN
from tests.harness.process import HubProcess
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Hub, open_hub

ECHO = "please run: echo line >> out.txt"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, direct="pairing") as opened:
        yield opened


@pytest_asyncio.fixture
async def api(house: Hub) -> AsyncIterator[Client]:
    async with client(house.directory) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def standing(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """Of one hub for all tests that change nothing."""
    directory = tmp_path_factory.mktemp("standing")
    async with HubProcess(directory, env={"HUBBUB__HTTP__PORT": "0"}), client(directory) as opened:
        yield opened


def lines(house: Hub) -> list[str]:
    out = house.workspace / "out.txt"
    return out.read_text().split() if out.exists() else []


# ---------------------------------------------------------------- who may


async def test_the_token_is_for_this_user_only_and_goes_with_the_hub(tmp_path: Path) -> None:
    file = tmp_path / "data" / "api.json"
    async with HubProcess(tmp_path, env={"HUBBUB__HTTP__PORT": "0"}) as hub:
        page = json.loads(file.read_text())
        assert page["url"] == hub.url
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert await hub.stop() == 0
        assert page["token"] not in hub.out + hub.err
    assert not file.exists()


@pytest.mark.parametrize(
    "given_token", ["", "Bearer ", "Bearer wrong", "Basic {}", "{}", "Bearer {}x", "Bearer ü"]
)
@pytest.mark.parametrize("path", ["/api/status", "/api/nowhere", "/api/chat/gate/resolve"])
@pytest.mark.asyncio(loop_scope="module")
async def test_without_the_token_every_request_is_refused(
    standing: Client, path: str, given_token: str
) -> None:
    headers = {"Authorization": given_token.format(standing.token)}
    status, page = await standing.ask("GET", path, headers=headers)
    assert status == 401
    assert page["error"]["code"] == "unauthorized"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "[::2]", "", "localhost.", "0.0.0.0"]
)
@pytest.mark.asyncio(loop_scope="module")
async def test_other_names_for_this_machine_are_refused(standing: Client, host: str) -> None:
    status, page = await standing.ask("GET", "/api/status", headers={"Host": host})
    assert (status, page["error"]["code"]) == (403, "forbidden_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8765", "[::1]"])
@pytest.mark.asyncio(loop_scope="module")
async def test_loopback_names_are_fine(standing: Client, host: str) -> None:
    status, _ = await standing.ask("GET", "/api/status", headers={"Host": host})
    assert status == 200


class NobodysKeys:
    """No key is anybody's."""

    async def key_holder(self, hash_: str, kind: KeyKind) -> Principal | None:
        return None

    async def user(self, user_id: str) -> Principal | None:
        return None


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_headers_pass_the_guard_without_an_error(host: bytes, authorization: bytes, other: bytes) -> None:
    passed: list[str] = []
    answered: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        passed.append("in")

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answered.append(message["status"])

    async def receive() -> Any:
        raise AssertionError("the guard reads no body")

    headers = [(b"host", host), (b"authorization", authorization), (b"x-hubbub-session", other)]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": other, "headers": headers}
    nobody = NobodysKeys()
    gate = AccessRules(
        "the token",
        Principal("owner", Role.OWNER, "owner"),
        cast(Any, nobody),
        FileLinks(SystemClock()),
    )
    asyncio.run(ApiGuard(app, gate)(scope, receive, send))
    assert not passed
    assert answered[0] in {401, 403}


# ---------------------------------------------------------------- looking


async def test_status_reports_running_turns_and_open_gates(house: Hub, api: Client) -> None:
    house.telegram.user_sends_text(OWNER, ECHO)
    await house.card(OWNER)
    status, page = await api.ask("GET", "/api/status")
    assert status == 200
    assert (page["ready"], page["hub"], page["store"]) == (True, "open", "ok")
    assert page["channels"]["telegram"]["state"] == "running"
    assert (page["approvals"], page["pairing_requests"], page["at_work"]) == (1, 0, 0)
    assert page["version"]


async def test_threads_and_their_messages_are_listed(house: Hub, api: Client) -> None:
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    _, found = await api.ask("GET", "/api/threads")
    (thread,) = found["threads"]
    status, page = await api.ask("GET", f"/api/threads/{thread['id']}")
    assert (status, page["thread"], page["more"]) == (200, thread, False)
    assert [(e["kind"], e["text"]) for e in page["items"]] == [
        ("user", "hello"),
        ("assistant", "You said: hello"),
    ]
    _, cut = await api.ask("GET", f"/api/threads/{thread['id']}?limit=1")
    assert ([e["kind"] for e in cut["items"]], cut["more"]) == (["assistant"], True)


@pytest.mark.parametrize("limit", ["0", "1001", "x", "", "-1", "1e3", "٣", "9" * 5000])
@pytest.mark.asyncio(loop_scope="module")
async def test_a_bad_limit_is_refused(standing: Client, limit: str) -> None:
    status, page = await standing.ask("GET", f"/api/threads?limit={limit}")
    assert (status, page["error"]["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    "path", ["/api/threads/x", "/api/threads/01900000-0000-7000-8000-000000000000", "/api", "/api/x"]
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_missing_resource_is_not_found(standing: Client, path: str) -> None:
    status, page = await standing.ask("GET", path)
    assert (status, page["error"]["code"]) == (404, "not_found")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_wrong_method_is_refused(standing: Client) -> None:
    status, page = await standing.ask("POST", "/api/threads", {})
    assert (status, page["error"]["code"]) == (405, "method_not_allowed")


# ---------------------------------------------------------------- deciding


async def waiting(house: Hub, api: Client) -> str:
    house.telegram.user_sends_text(OWNER, ECHO)
    await house.card(OWNER)
    _, found = await api.ask("GET", "/api/approvals")
    (approval,) = found["approvals"]
    return approval["gate_id"]


@pytest.mark.parametrize("action, runs", [("approve", True), ("deny", False)])
async def test_an_open_gate_is_decided_and_its_card_shows_it(
    house: Hub, api: Client, action: str, *, runs: bool
) -> None:
    request_id = await waiting(house, api)
    body = {"request_id": request_id, "action": action}
    status, page = await api.ask("POST", "/api/chat/gate/resolve", body)
    outcome = "Approved by owner" if runs else "Denied by owner"
    assert (status, page) == (200, {"id": request_id, "outcome": outcome})
    await house.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
    card = house.telegram.bot_messages(OWNER)[0]
    assert card.keyboard is None
    assert card.text.endswith(outcome)
    assert lines(house) == (["line"] if runs else [])
    status, page = await api.ask("POST", "/api/chat/gate/resolve", body)
    assert (status, page["error"]["code"]) == (409, "refused")
    assert outcome in page["error"]["message"]


async def test_one_of_many_concurrent_decisions_counts(house: Hub, api: Client) -> None:
    request_id = await waiting(house, api)
    body = {"request_id": request_id, "action": "approve"}
    answers = await asyncio.gather(*(api.ask("POST", "/api/chat/gate/resolve", body) for _ in range(8)))
    statuses = sorted(status for status, _ in answers)
    assert statuses[0] == 200
    assert set(statuses[1:]) == {409}
    await house.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
    assert lines(house) == ["line"]


async def test_an_answer_that_is_not_offered_is_refused(house: Hub, api: Client) -> None:
    body = {"request_id": await waiting(house, api), "action": "retry"}
    status, page = await api.ask("POST", "/api/chat/gate/resolve", body)
    assert (status, page["error"]["code"]) == (409, "refused")
    assert page["error"]["message"].startswith(
        "retry is not an answer to this request; use one of approve, deny"
    )


BAD_BODIES = {
    "no JSON": (b"{", None),
    "no body": (b"", None),
    "not UTF-8": (b'{"request_id": "\xff", "action": "deny"}', None),
    "no object": (b"[]", None),
    "a key too many": ({"request_id": "x", "action": "deny", "x": 1}, "x"),
    "a key too few": ({"action": "deny"}, "request_id"),
    "a wrong type": ({"request_id": 1, "action": "deny"}, "request_id"),
    "an id too long": ({"request_id": "x" * 201, "action": "deny"}, "request_id"),
}


@pytest.mark.parametrize("body, field", BAD_BODIES.values(), ids=BAD_BODIES)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_bad_body_is_refused_by_the_name_of_its_field(
    standing: Client, body: object, field: str | None
) -> None:
    status, page = await standing.ask("POST", "/api/chat/gate/resolve", body)
    assert (status, page["error"]["code"], page["error"].get("field")) == (400, "invalid", field)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_body_over_the_limit_is_refused(standing: Client) -> None:
    status, page = await standing.ask("POST", "/api/chat/gate/resolve", b" " * (BODY_LIMIT_BYTES + 1))
    assert (status, page["error"]["code"]) == (413, "too_large")
    event = {"source": "s", "event_type": "t", "payload": {"rows": [[]] * 21_000}}
    status, page = await standing.ask("POST", "/api/events/emit", event)
    assert (status, page["error"]["code"]) == (413, "too_large")
    text = {"source": "s", "event_type": "t", "payload": {"text": '[{,\\"' * 21_000}}
    assert (await standing.ask("POST", "/api/events/emit", text))[0] == 200


@pytest.mark.asyncio(loop_scope="module")
async def test_a_parameter_given_twice_is_refused(standing: Client) -> None:
    assert await standing.refusal("GET", "/api/threads?limit=1&limit=2") == (400, "invalid", "limit")


ACTION = {"type": "lightweight", "prompt": "Say so."}
BAD_ROUTINES = {
    "no name": ({"trigger": {"type": "manual"}, "action": ACTION}, 400, "name"),
    "a word for a number": (
        {"name": "x", "trigger": {"type": "manual"}, "action": ACTION, "guardrails": {"cooldown_s": "5"}},
        400,
        "guardrails.cooldown_s",
    ),
    "a pattern nobody could match": (
        {"name": "x", "trigger": {"type": "event", "pattern": "("}, "action": ACTION},
        422,
        "trigger.pattern",
    ),
    "no such zone": (
        {
            "name": "x",
            "trigger": {"type": "cron", "schedule": "0 9 * * *", "timezone": "Mars"},
            "action": ACTION,
        },
        422,
        "trigger.timezone",
    ),
}


@pytest.mark.parametrize("body, status, field", BAD_ROUTINES.values(), ids=BAD_ROUTINES)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_bad_routine_is_refused_by_the_name_of_its_field(
    standing: Client, body: object, status: int, field: str
) -> None:
    """By its form, which the document tells, or by what its values mean, which no schema says."""
    answered, page = await standing.ask("POST", "/api/routines", body)
    code = "invalid" if status == 400 else "unusable"
    assert (answered, page["error"]["code"], page["error"]["field"]) == (status, code, field)


# ---------------------------------------------------------------- letting in


async def knock(house: Hub, person: int = 8) -> None:
    house.telegram.add_user(person, first_name="Bo")
    house.telegram.user_sends_text(person, "hello")
    await house.telegram.wait_for(lambda: house.says(person), LIMIT_S)


async def test_a_person_is_paired_and_removed(house: Hub, api: Client) -> None:
    await knock(house)
    _, found = await api.ask("GET", "/api/pairing")
    (request,) = found["requests"]
    assert (request["platform_user_id"], request["name"]) == ("8", "Bo")
    status, page = await api.ask("POST", "/api/pairing/approve", {"code": request["code"], "as": "member"})
    assert (status, page) == (200, {"id": "telegram:8", "outcome": "allowed as Bo (member)"})
    house.telegram.user_sends_text(8, "hello")
    await house.telegram.wait_text(8, "You said: hello", timeout_s=LIMIT_S)
    again, _ = await api.ask("POST", "/api/pairing/approve", {"code": request["code"]})
    assert again == 409
    account = {"channel": "telegram", "platform_user_id": "8"}
    assert (await api.ask("POST", "/api/pairing/revoke", account))[0] == 200
    assert (await api.ask("POST", "/api/pairing/revoke", account))[0] == 404
    _, users = await api.ask("GET", "/api/users")
    assert {"channel": "telegram", "platform_user_id": "8", "via": "revoked", "name": "Bo"} in [
        account for user in users for account in user["accounts"]
    ]


async def test_there_is_one_first_owner_only(house: Hub, api: Client) -> None:
    await knock(house)
    _, found = await api.ask("GET", "/api/pairing")
    (request,) = found["requests"]
    status, page = await api.ask("POST", "/api/pairing/approve", {"code": request["code"], "as": "owner"})
    assert (status, page["error"]["code"]) == (409, "refused")


async def test_a_platform_cannot_speak_as_the_console(house: Hub) -> None:
    """The name the API decides under is none a channel can be given."""
    config = house.directory / "hubbub.toml"
    config.write_text(
        config.read_text().replace("[channels.telegram]", '[channels."(console)"]\nplatform = "telegram"')
    )
    await house.stop()
    with pytest.raises(Exception, match="is not a valid name"):
        await house.start()
    assert TOKEN in config.read_text()


async def test_a_channel_is_not_added_without_its_tokens_twice_or_unreached(house: Hub, api: Client) -> None:
    before = (house.directory / "hubbub.toml").read_text()
    offered = {one["name"]: one for one in await api.get("/api/channels/platforms")}
    assert sorted(offered) == ["discord", "slack"]
    assert [one["key"] for one in offered["slack"]["tokens"]] == ["bot_token", "app_token"]
    token = {"token": "a-token"}
    for body, status in (
        ({"platform": "telegram", "tokens": token}, 409),
        ({"platform": "irc", "tokens": token}, 422),
        ({"platform": "slack", "tokens": token}, 422),
        ({"platform": "discord", "tokens": token}, 422),
    ):
        assert (await api.refusal("POST", "/api/channels", body))[0] == status, body
    token["token"] = DISCORD_TOKEN
    unreached = {"platform": "discord", "tokens": token, "api_base_url": "http://127.0.0.1:9"}
    status, page = await api.ask("POST", "/api/channels", unreached)
    assert (status, page["added"]) == (200, False), page
    assert (await api.resolve(page["gate_id"], "approve"))[0] == 200
    (tried,) = (await api.until("/api/audit?kind=settings", lambda page: bool(page["records"])))["records"]
    assert "channel discord: " in tried["detail"]["refused"]
    assert (house.directory / "hubbub.toml").read_text() == before
    assert await house.app.store.secrets.secrets() == []


async def test_decisions_are_counted_by_the_hour_and_for_whom_they_concern(house: Hub, api: Client) -> None:
    for action in ("deny", "approve"):
        house.telegram.user_sends_text(OWNER, ECHO)
        page = await api.until("/api/approvals", lambda page: len(page["approvals"]) == 1)
        assert (await api.resolve(page["approvals"][0]["gate_id"], action))[0] == 200
    found = await api.get("/api/approvals/decisions?days=1")
    assert [sum(one[name] for one in found) for name in ("approved", "refused")] == [1, 1]
    assert all(0 <= house.clock.now() - one["at"] < 2 * 3600 * 1_000_000 for one in found)
    assert await (await api.member("Mia")).get("/api/approvals/decisions") == []
    house.clock.skip(2 * 24 * 3600)
    assert await api.get("/api/approvals/decisions?days=1") == []
    assert await api.get("/api/approvals/decisions?days=3") == found


async def test_downloads_of_everything_are_audited(api: Client) -> None:
    for path in ("/api/backup", "/api/audit/export"):
        assert await api.download(path)
    records = (await api.get("/api/audit?kind=downloaded"))["records"]
    assert [(one["actor"], one["subject"]) for one in records] == [("owner", "audit"), ("owner", "database")]


async def test_the_owner_lists_everybodys_threads_or_their_own(api: Client) -> None:
    mia = await api.member("Mia")
    own, hers = [(await one.send("hello"))["thread_id"] for one in (api, mia)]
    for query, seen in (("", {own, hers}), ("?mine=true", {own})):
        found = (await api.get(f"/api/threads{query}"))["threads"]
        assert {one["id"] for one in found} == seen


@pytest.mark.parametrize("days", [1, 30])
async def test_usage_of_so_many_days_ends_today(api: Client, days: int) -> None:
    page, day_us = await api.get(f"/api/usage?by=day&days={days}"), 24 * 3600 * 1_000_000
    assert (days - 1) * day_us < page["until"] - page["since"] <= days * day_us


async def test_what_is_asked_for_beside_a_page_narrows_it(api: Client) -> None:
    thread_id = (await api.send('please call: time {"timezone": "UTC"}'))["thread_id"]
    await api.until(f"/api/threads/{thread_id}", lambda page: "Done:" in str(page["items"]))
    job = (await api.ask("POST", "/api/jobs", {"task": "work", "tools": []}))[1]
    await api.until(f"/api/jobs/{job['id']}", lambda page: page["state"] == "completed")
    assert [len(await api.get(f"/api/jobs?working={one}")) for one in ("false", "true")] == [1, 0]
    presets = [await api.get(f"/api/policy/test?preset={one}") for one in ("auto_loop", "manual")]
    assert [len(one["otherwise"]) for one in presets] == [0, 1]
    state = await api.until("/api/audit/state", lambda page: page["head"] is not None)
    assert (await api.get(f"/api/audit/state?head={quote(state['head'])}"))["ok"]
    other = state["head"][:-1] + ("0" if state["head"][-1] != "0" else "1")
    assert not (await api.get(f"/api/audit/state?head={quote(other)}"))["ok"]


async def test_audit_records_are_found_by_the_name_of_who_acted(api: Client) -> None:
    mia = await api.member("Mia")
    thread_id = (await mia.send("hello"))["thread_id"]
    assert (await mia.ask("PUT", f"/api/threads/{thread_id}/approval-policy", {"preset": "manual"}))[0] == 200
    found = (await api.get("/api/audit?query=mia&kind=approvals"))["records"]
    assert [one["actor_name"] for one in found] == ["Mia"]
    assert (await api.get("/api/audit?query=nobody&kind=approvals"))["records"] == []
