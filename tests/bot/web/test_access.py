"""Who may do what: every route of the running application, as the owner, as an invited member, as nobody."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest_asyncio
from starlette.routing import BaseRoute, Mount, Route

from core.clock import SECOND_US
from core.store.accounts import INVITATION_LIFE_US
from core.store.sql.people import UNDO_US
from tests.bot.web.api_client import Client, client
from tests.bot.web.test_login import Page, handed_in
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub

ASK_SHELL = '[roles.member]\ntools = ["shell"]\n'
WATCH = {
    "name": "watch",
    "trigger": {"type": "event", "pattern": "x"},
    "action": {"type": "lightweight", "prompt": "p"},
}


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, extra=ASK_SHELL) as opened:
        yield opened


@pytest_asyncio.fixture
async def api(house: Hub) -> AsyncIterator[Client]:
    async with client(house.directory) as opened:
        yield opened


async def invited(api: Client, **whom: str) -> dict[str, Any]:
    """An invitation."""
    status, page = await api.ask("POST", "/api/invitations", whom)
    assert status == 201, page
    return page


async def let_in(api: Client, **whom: str) -> Page:
    """A member's browser, by an invitation."""
    status, page = await handed_in(api, (await invited(api, **whom))["url"])
    assert status == 201
    return Page(api.http, api.url, page["secret"])


async def test_an_invitation_lets_one_member_in_once(house: Hub, api: Client) -> None:
    page = await invited(api, name="Mia")
    assert (page["name"], page["here_only"]) == ("Mia", True)
    assert {len(row) for row in page["qr"]} == {len(page["qr"])}, "a square"
    assert page["url"].startswith(f"{api.url}/login#code=")
    code = page["url"].partition("#code=")[2]
    assert await Page(api.http, api.url, code).status() == 401, "an invitation is no session"
    assert (await api.ask("GET", "/api/me", headers={"Authorization": f"Bearer {code}"}))[0] == 401
    await house.stop()
    await house.start()
    async with client(house.directory) as after:
        url = page["url"].replace(api.url, after.url)
        status, secret = await handed_in(after, url)
        assert status == 201, "it outlives the hub"
        mia = Page(after.http, after.url, secret["secret"])
        _, me = await mia.ask("GET", "/api/me")
        assert (me["user_id"], me["name"], me["role"]) == (page["user_id"], "Mia", "member")
        assert (await handed_in(after, url))[0] == 403
        again = await let_in(after, user_id=page["user_id"])
        assert (await again.ask("GET", "/api/me"))[1]["user_id"] == page["user_id"]


async def test_invitations_expire_and_invalid_ones_are_refused(house: Hub, api: Client) -> None:
    page = await invited(api, name="Mia")
    house.clock.skip(INVITATION_LIFE_US // SECOND_US)
    assert (await handed_in(api, page["url"]))[0] == 403
    owner = (await api.get("/api/me"))["user_id"]
    for body, status in (
        ({}, 422),
        ({"name": " "}, 422),
        ({"name": "Mia", "user_id": page["user_id"]}, 422),
        ({"user_id": owner}, 409),
        ({"user_id": "nobody"}, 404),
    ):
        assert (await api.refusal("POST", "/api/invitations", body))[0] == status, body


async def test_the_owner_invites_in_a_chat(tmp_path: Path) -> None:
    public = 'port = 0\npublic_url = "https://hub.example"'
    async with open_hub(tmp_path, http=public) as house, client(house.directory) as api:
        house.telegram.user_sends_text(OWNER, "/invite Mia  Li")
        said = await house.telegram.wait_text(
            OWNER, "This link lets Mia Li into the console.", timeout_s=LIMIT_S
        )
        url = said.text.rpartition("\n")[2]
        assert url.startswith("https://hub.example/login#code=")
        status, page = await handed_in(api, url.replace("https://hub.example", api.url))
        assert status == 201
        mia = Page(api.http, api.url, page["secret"])
        _, me = await mia.ask("GET", "/api/me")
        assert (me["name"], me["role"]) == ("Mia Li", "member")
        status, refused = await mia.ask("POST", "/api/chat/send", {"text": "/invite Bo"})
        assert (status, refused["answer"]) == (202, "Only the owner of this assistant can invite people.")
        assert len(await api.get("/api/users")) == 2
        house.telegram.user_sends_text(OWNER, "/invite")
        await house.telegram.wait_text(OWNER, "Type /invite and the name", timeout_s=LIMIT_S)


async def test_without_a_public_address_a_chat_gets_no_link(house: Hub, api: Client) -> None:
    sent = await api.send("/invite Mia")
    assert "hubbub users invite NAME" in sent["answer"]
    assert len(await api.get("/api/users")) == 1


async def test_removed_access_ends_sessions_and_invitations_for_good(api: Client) -> None:
    page = await invited(api, name="Mia")
    user_id = page["user_id"]
    mia = await let_in(api, user_id=user_id)
    assert await mia.status() == 200
    account = {"channel": "web", "platform_user_id": user_id}
    assert (await api.ask("POST", "/api/pairing/revoke", account))[0] == 200
    assert await mia.status() == 401
    assert (await handed_in(api, page["url"]))[0] == 403
    back = await let_in(api, user_id=user_id)
    assert (await back.status(), await mia.status()) == (200, 401), "what was removed stays removed"
    assert (await api.ask("POST", "/api/tokens/revoke", {"user_id": user_id}))[0] == 200
    assert await back.status() == 401


async def test_removed_access_is_restored_with_its_sessions_within_the_undo_time(
    house: Hub, api: Client
) -> None:
    page = await invited(api, name="Mia")
    mia = await let_in(api, user_id=page["user_id"])
    account = {"channel": "web", "platform_user_id": page["user_id"]}
    for waits_s, status in ((UNDO_US // SECOND_US - 1, 200), (UNDO_US // SECOND_US, 409)):
        _, removed = await api.ask("POST", "/api/pairing/revoke", account)
        assert await mia.status() == 401
        house.clock.skip(waits_s)
        assert (await api.ask("POST", "/api/pairing/restore", {"undo": removed["undo"]}))[0] == status
        assert (await api.ask("POST", "/api/pairing/restore", {"undo": removed["undo"]}))[0] == 409, "once"
        assert await mia.status() == (200 if status == 200 else 401)
    kinds = [one["kind"] for one in (await api.get("/api/audit"))["records"]]
    assert [one for one in kinds if one in ("account_revoked", "linked")][:3] == [
        "account_revoked",
        "linked",
        "account_revoked",
    ]


async def test_a_link_to_a_file_is_good_while_the_session_that_asked_for_it_is(api: Client) -> None:
    user_id = (await invited(api, name="Mia"))["user_id"]
    mia, elsewhere = await let_in(api, user_id=user_id), await let_in(api, user_id=user_id)
    _, sent = await mia.ask("POST", "/api/chat/send", {"text": "hello"})
    thread = f"/api/threads/{sent['thread_id']}"
    await api.until(thread, lambda page: page["thread"]["turn"] is None)
    await mia.ask("POST", "/api/chat/send", {"text": "/export", "thread_id": sent["thread_id"]})
    page = await api.until(thread, lambda page: bool(page["items"][-1].get("files")))
    (target,) = (file["url"] for file in page["items"][-1]["files"])

    async def linked(by: Page) -> str:
        status, made = await by.ask("POST", target)
        assert status == 201, made
        return str(made["url"])

    async def opens(url: str) -> int:
        async with api.http.get(api.url + url) as answer:
            return answer.status

    first, second = await linked(mia), await linked(elsewhere)
    for role, status in (("guest", 401), ("member", 200)):
        assert (await api.ask("POST", "/api/users/role", {"user_id": user_id, "role": role}))[0] == 200
        assert (await opens(first), await opens(second)) == (status, status), role
    assert (await mia.ask("POST", "/api/logout"))[0] == 200
    assert (await opens(first), await opens(second)) == (401, 200)
    account = {"channel": "web", "platform_user_id": user_id}
    assert (await api.ask("POST", "/api/pairing/revoke", account))[0] == 200
    assert await opens(second) == 401


async def test_a_role_changes_at_once_is_audited_and_leaves_the_owner(api: Client) -> None:
    page = await invited(api, name="Mia")
    mia = await let_in(api, user_id=page["user_id"])
    for role, status in (("guest", 401), ("member", 200)):
        body = {"user_id": page["user_id"], "role": role}
        assert await api.ask("POST", "/api/users/role", body) == (
            200,
            {"id": page["user_id"], "outcome": role},
        )
        assert await mia.status() == status, "keys of a guest rest"
    records = (await api.get("/api/audit?kind=role"))["records"]
    changed = [(one["actor"], one["detail"]) for one in records if one["actor"]]
    assert changed == [
        ("owner", {"role": "member", "before": "guest"}),
        ("owner", {"role": "guest", "before": "member"}),
    ]
    for user_id, role, status in (
        ("owner", "guest", 409),
        ("nobody", "member", 404),
        ("owner", "owner", 400),
    ):
        body = {"user_id": user_id, "role": role}
        assert (await api.refusal("POST", "/api/users/role", body))[0] == status, body


async def test_a_members_request_is_found_by_the_owner_and_by_no_other_member(api: Client) -> None:
    mia, ben = await api.member("Mia"), await api.member("Ben")
    await mia.send("please run: echo hers")
    page = await api.until("/api/approvals", lambda page: bool(page["approvals"]))
    gate_id = page["approvals"][0]["gate_id"]
    assert (await ben.resolve(gate_id, "deny"))[0] == 404
    assert (await api.resolve(gate_id, "deny"))[0] == 200


ACCESS = """
served gone   who    DELETE /api/routines/{id}
served gone   who    DELETE /api/threads/{id}
served served served GET /
served served who    GET /api/approvals
served served who    GET /api/approvals/decisions
served no     who    GET /api/audit
served no     who    GET /api/audit/export
served no     who    GET /api/audit/state
served no     who    GET /api/backup
served no     who    GET /api/backup/parts
served no     who    GET /api/channels
served no     who    GET /api/channels/platforms
served gone   who    GET /api/events
served served who    GET /api/extensions
served served who    GET /api/grants
served served who    GET /api/jobs
served gone   who    GET /api/jobs/{id}
served gone   who    GET /api/jobs/{id}/changes
served gone   who    GET /api/jobs/{id}/container
served gone   who    GET /api/jobs/{id}/events
served gone   who    GET /api/jobs/{id}/parts
served gone   who    GET /api/jobs/{id}/stream
served no     who    GET /api/log
served no     who    GET /api/log/stream
served served who    GET /api/me
served served who    GET /api/memory
served served who    GET /api/openapi.json
served no     who    GET /api/pairing
served no     who    GET /api/permissions
served no     who    GET /api/policy/test
served served who    GET /api/routine-calendar
served served who    GET /api/routines
served gone   who    GET /api/routines/{id}
served gone   who    GET /api/routines/{id}/runs
served served who    GET /api/search
served no     who    GET /api/secrets
served no     who    GET /api/settings
served no     who    GET /api/status
served served who    GET /api/threads
served gone   who    GET /api/threads/{id}
served gone   who    GET /api/threads/{id}/approval-policy
served gone   who    GET /api/threads/{id}/executions
served gone   who    GET /api/threads/{id}/file
served no     who    GET /api/threads/{id}/prompt
served served who    GET /api/tools
served no     who    GET /api/tools/catalog
served no     who    GET /api/tools/failing
served no     who    GET /api/usage
served no     who    GET /api/users
served no     who    GET /api/why
served served served GET /healthz
served served served GET /login
served served served GET /metrics
served served served GET /oauth/callback
served served served GET /readyz
served served served GET /static/{path:path}
served served served GET /worker.js
served gone   who    PATCH /api/routines/{id}
served gone   who    PATCH /api/threads/{id}
served no     who    POST /api/audit/export
served no     who    POST /api/backup
served no     who    POST /api/channels
served gone   who    POST /api/chat/approval
served gone   who    POST /api/chat/exec-approval
served gone   who    POST /api/chat/gate/resolve
served served who    POST /api/chat/press
served gone   who    POST /api/chat/send
served no     who    POST /api/config/reload
served no     who    POST /api/doctor
served served who    POST /api/events/emit
served no     who    POST /api/extensions
served served who    POST /api/extensions/auth
served gone   who    POST /api/extensions/change
served gone   who    POST /api/grants/revoke
served no     who    POST /api/invitations
served served who    POST /api/jobs
served gone   who    POST /api/jobs/{id}/accept
served gone   who    POST /api/jobs/{id}/cancel
served gone   who    POST /api/jobs/{id}/prompt
served gone   who    POST /api/jobs/{id}/reject
served gone   who    POST /api/jobs/{id}/restart
served no     who    POST /api/login-links
served served who    POST /api/logout
served gone   who    POST /api/memory/forget
served served who    POST /api/memory/restore
served no     who    POST /api/models/test
served no     who    POST /api/pairing/approve
served no     who    POST /api/pairing/reject
served no     who    POST /api/pairing/restore
served no     who    POST /api/pairing/revoke
served no     who    POST /api/permissions
served served who    POST /api/routine-drafts
served served who    POST /api/routines
served gone   who    POST /api/routines/{id}/disable
served gone   who    POST /api/routines/{id}/enable
served gone   who    POST /api/routines/{id}/fire
served gone   who    POST /api/routines/{id}/test
served no     who    POST /api/secrets
served no     who    POST /api/secrets/delete
served no     who    POST /api/secrets/rotate
served no     who    POST /api/settings
served no     who    POST /api/settings/try
served no     who    POST /api/settings/undo
served no     who    POST /api/threads/{id}/answer
served gone   who    POST /api/threads/{id}/file
served gone   who    POST /api/threads/{id}/stop
served no     who    POST /api/tokens
served no     who    POST /api/tokens/revoke
served no     who    POST /api/tools/pause
served no     who    POST /api/tools/reset
served no     who    POST /api/tools/resume
served no     who    POST /api/tools/unpause
served served who    POST /api/uploads
served no     who    POST /api/users
served no     who    POST /api/users/link
served no     who    POST /api/users/model
served no     who    POST /api/users/role
served no     who    POST /api/users/timezone
gone   gone   gone   POST /api/webhooks/none
served served served POST /login
served gone   who    PUT /api/threads/{id}/approval-policy
"""
"""For each route and something of the owner's: what the owner gets, a member, and nobody. `served`: also
a refusal of what was asked; `gone`: as if there were no such thing; `no`: 403; `who`: 401."""

BODIES: dict[str, dict[str, Any]] = {
    "POST /api/chat/gate/resolve": {"request_id": "{gate}", "action": "deny"},
    "POST /api/chat/approval": {"request_id": "{gate}", "action": "deny"},
    "POST /api/chat/exec-approval": {"request_id": "{gate}", "action": "deny"},
    "POST /api/chat/send": {"text": "hello", "thread_id": "{thread}"},
    "POST /api/grants/revoke": {"id": "{grant}"},
    "POST /api/extensions/auth": {"name": "notes"},
    "POST /api/extensions/change": {"name": "notes", "change": "disable"},
    "PUT /api/threads/{id}/approval-policy": {"preset": "manual"},
    "PATCH /api/threads/{id}": {"title": "mine"},
    "PATCH /api/routines/{id}": {"name": "mine"},
    "POST /api/routines/{id}/test": {"text": "x"},
    "POST /api/threads/{id}/answer": {"text": "hello"},
    "POST /api/memory/forget": {"id": "1"},
    "POST /api/jobs/{id}/prompt": {"text": "hello"},
}
QUERIES = {
    "GET /api/events": "?thread={thread}",
    "GET /api/search": "?query=echo",
    "GET /api/threads/{id}/file": "?seq={seq}",
    "POST /api/threads/{id}/file": "?seq={seq}",
}


@dataclass(frozen=True, slots=True)
class Held:
    """Ids of what the owner has. `seq`: of the line with a file."""

    ids: dict[str, str]
    seq: str

    def filled(self, text: str, route: str) -> str:
        """The text with the owner's ids in it."""
        kind = (re.match(r"/api/(\w+?)s/{id}", route) or re.match(r"()", route))[1]  # type: ignore[index]
        for name, value in {**self.ids, "id": self.ids.get(kind, ""), "seq": self.seq}.items():
            text = text.replace(f"{{{name}}}", value)
        return text.replace("{path:path}", "main.js").replace("{path}", "none")


async def possessions(api: Client) -> Held:
    """Something of every kind that is the owner's."""
    first = await api.send("please run: echo 1")
    (gate,) = (await api.until("/api/approvals", lambda page: bool(page["approvals"])))["approvals"]
    answered = await api.resolve(gate["gate_id"], "always")
    assert answered[0] == 200, (answered, gate["choices"])
    (grant,) = await api.until("/api/grants", bool)
    thread = first["thread_id"]
    await api.until(f"/api/threads/{thread}", lambda page: page["thread"]["turn"] is None)
    await api.send("/export", thread_id=thread)
    page = await api.until(f"/api/threads/{thread}", lambda page: bool(page["items"][-1].get("files")))
    seq = page["last_seq"]
    await api.send("please run: touch x", thread_id=thread)
    (gate,) = (await api.until("/api/approvals", lambda page: bool(page["approvals"])))["approvals"]
    _, routine = await api.ask("POST", "/api/routines", WATCH)
    _, job = await api.ask("POST", "/api/jobs", {"task": "count the stars"})
    server = {"name": "notes", "url": "http://127.0.0.1:9/"}
    status, page = await api.ask("POST", "/api/extensions", server)
    assert status == 200, page
    found = {"thread": thread, "gate": gate["gate_id"], "grant": grant["id"]}
    return Held({**found, "routine": routine["id"], "job": job["id"]}, str(seq))


def walked(routes: tuple[BaseRoute, ...], above: str = "") -> Iterator[tuple[str, str]]:
    """Method and path of every route, those of mounted applications included."""
    for route in routes:
        if isinstance(route, Mount):
            inner = tuple(route.routes or ())
            yield from walked(inner, above + route.path) if inner else [("POST", f"{above}{route.path}/none")]
        elif isinstance(route, Route):
            for method in sorted((route.methods or {"GET"}) - {"HEAD"}):
                yield method, above + route.path


WORDS = {401: "who", 403: "no", 404: "gone"}


async def test_every_route_serves_only_its_roles(house: Hub, api: Client) -> None:
    """A route without a line fails, and so does a line without a route."""
    held = await possessions(api)
    await house.app.store.memory.write_memory("owner", "note", "this is mine")
    mia = await let_in(api, name="Mia")
    web: Any = house.app.runs["web"]
    routes = [f"{method} {path}" for method, path in walked(web.__self__.routes)]
    routes.sort(key=lambda route: (route == "POST /api/logout", route.startswith("DELETE")))
    as_member = {"X-Hubbub-Session": mia.secret}
    found: dict[str, list[str]] = {route: [] for route in routes}
    for proof in ({}, as_member, {"Authorization": f"Bearer {api.token}"}):
        for route in routes:
            method, path = route.split(" ", 1)
            body = {name: held.filled(value, path) for name, value in BODIES.get(route, {}).items()}
            url = api.url + held.filled(path + QUERIES.get(route, ""), path)
            async with api.http.request(method, url, json=body, headers=proof) as answer:
                found[route].append(WORDS.get(answer.status, "served"))
                if proof == as_member and answer.status < 300 and answer.content_type == "application/json":
                    page = await answer.text()
                    assert not [name for name, value in held.ids.items() if value in page], route
    lines = [f"{owner:7}{member:7}{nobody:7}{route}" for route, (nobody, member, owner) in found.items()]
    lines.sort(key=lambda line: line[21:])
    assert lines == ACCESS.split("\n")[1:-1]
