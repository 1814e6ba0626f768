"""Talking to the hub over its API, and reading along: threads of all channels, approvals, edits, members."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from bot.web.answers import position_of_answer
from core.gates import Option
from tests.bot.web.api_client import Client, client
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.simulators.model import Hold

RUN = "please run: echo line >> out.txt"


@pytest_asyncio.fixture
async def house(tmp_path: Path) -> AsyncIterator[Hub]:
    async with open_hub(tmp_path, direct="open") as opened:
        yield opened


@pytest_asyncio.fixture
async def api(house: Hub) -> AsyncIterator[Client]:
    async with client(house.directory) as opened:
        yield opened


async def idle(api: Client, thread_id: str) -> Any:
    return await api.until(f"/api/threads/{thread_id}", lambda page: page["thread"]["turn"] is None)


async def asked(api: Client) -> Any:
    page = await api.until("/api/approvals", lambda page: bool(page["approvals"]))
    return page["approvals"][0]


# ---------------------------------------------------------------- saying something


async def test_a_message_is_answered_in_its_thread(api: Client) -> None:
    sent = await api.send("hello")
    assert (sent["outcome"], sent["duplicate"], sent["answer"]) == ("turn 1", False, None)
    page = await idle(api, sent["thread_id"])
    assert await api.lines(sent["thread_id"]) == [("user", "hello"), ("assistant", "You said: hello")]
    user, assistant = page["items"]
    assert user["sender"] == {"name": "owner", "role": "owner"}
    assert user["via"] == "web"
    assert assistant["model"] == "main"
    assert assistant["blocks"] == [
        {"type": "paragraph", "spans": [{"text": "You said: hello", "styles": [], "link": None}]}
    ]
    (thread,) = (await api.get("/api/threads"))["threads"]
    assert (thread["id"], thread["title"], thread["own"]) == (sent["thread_id"], "hello", True)
    assert (thread["preview"], thread["turn"], thread["last_seq"]) == ("You said: hello", None, 2)


async def test_the_same_message_counts_once(api: Client) -> None:
    first = await api.send("hello", client_key="k", new=True)
    again = await api.send("hello", client_key="k", new=True)
    assert again == first | {"duplicate": True}
    await idle(api, first["thread_id"])
    assert len((await api.get("/api/threads"))["threads"]) == 1


async def test_threads_are_continued_by_their_ids(api: Client) -> None:
    one = (await api.send("one"))["thread_id"]
    two = (await api.send("two", new=True))["thread_id"]
    assert one != two
    assert (await api.send("on", thread_id=one.replace("-", "").upper()))["thread_id"] == one
    renewed = await api.send("/new", thread_id=one)
    assert renewed["thread_id"] not in {one, two}
    assert renewed["answer"] == "Started a new conversation. Earlier messages stay in the previous one."
    assert (await api.send("back", thread_id=one))["thread_id"] == one
    there = await api.send("there")
    assert there["thread_id"] == renewed["thread_id"], "an id leads there, and moves nobody"
    for thread_id in (one, two, renewed["thread_id"]):
        await idle(api, thread_id)
    assert [text for kind, text in await api.lines(one) if kind == "user"] == ["one", "on", "back"]
    new = [("user", "/new"), ("notice", renewed["answer"])]
    assert (await api.lines(renewed["thread_id"]))[:3] == [*new, ("user", "there")]


async def test_commands_are_shown_with_their_answers(api: Client) -> None:
    nowhere = await api.send("/help")
    assert nowhere["thread_id"] is None
    assert "/new" in nowhere["answer"]
    thread_id = (await api.send("hello"))["thread_id"]
    await idle(api, thread_id)
    status = await api.send("/status", thread_id=thread_id)
    assert (await api.lines(thread_id))[2:] == [("user", "/status"), ("notice", status["answer"])]


async def test_an_edited_message_replaces_the_earlier_one(api: Client, house: Hub) -> None:
    thread_id = (await api.send("first"))["thread_id"]
    for text in ("second", "third"):
        await idle(api, thread_id)
        await api.send(text, thread_id=thread_id)
    page = await idle(api, thread_id)
    second = next(item["turn"] for item in page["items"] if item.get("text") == "second")
    again = {"thread_id": thread_id, "instead_of": second, "client_key": "again"}
    assert (await api.send("zweitens", **again))["outcome"] == "turn 4"
    page = await idle(api, thread_id)
    said = [str(message["content"]) for message in house.model.log[-1].body["messages"][1:]]
    assert [any(text in line for line in said) for text in ("first", "second", "third", "zweitens")] == [
        True, False, False, True,
    ]  # fmt: skip
    assert [(item["text"], item["undone"]) for item in page["items"]] == [
        ("first", False),
        ("You said: first", False),
        ("second", True),
        ("You said: second", True),
        ("third", True),
        ("You said: third", True),
        ("zweitens", False),
        ("You said: zweitens", False),
    ]
    assert (await api.send("zweitens", **again))["duplicate"]
    gone = await api.send("never", thread_id=thread_id, instead_of=second)
    assert gone["outcome"] == "refused: no such turn"
    assert gone["answer"] == "That turn is no longer part of the conversation."
    asked = house.model.log.taken
    assert [item for item in (await idle(api, thread_id))["items"] if item["undone"]] == page["items"][2:6]
    assert house.model.log.taken == asked == 4


async def test_a_thread_is_named_tagged_archived_closed_and_opened_again(api: Client, house: Hub) -> None:
    thread_id = (await api.send("hello"))["thread_id"]
    await idle(api, thread_id)
    where = f"/api/threads/{thread_id}"
    status, page = await api.ask("PATCH", where, {"title": "Greetings", "tags": ["a", "b", "a"]})
    assert (status, page["title"], page["tags"], page["state"]) == (200, "Greetings", ["a", "b"], "idle")
    _, page = await api.ask("PATCH", where, {"archived": True, "closed": True})
    assert (page["archived"], page["state"], page["title"]) == (True, "completed", "Greetings")
    assert (await api.get("/api/threads"))["threads"] == []
    for query in ("?archived=true", "?query=greet"):
        (listed,) = (await api.get(f"/api/threads{query}"))["threads"]
        assert (listed["state"], listed["tags"], listed["archived"]) == ("completed", ["a", "b"], True)
    _, page = await api.ask("PATCH", where, {"archived": False, "closed": False, "tags": []})
    assert (page["archived"], page["state"], page["tags"]) == (False, "idle", [])
    house.model.fault(Hold(at="before_headers"))
    await api.send("think", thread_id=thread_id)
    await house.model.wait_requests(state="held")
    assert await api.refusal("PATCH", where, {"closed": True}) == (409, "refused", "closed")
    assert await api.refusal("PATCH", where, {"tags": ["two words"]}) == (400, "invalid", "tags.0")
    member = await api.member("Bob")
    assert (await member.refusal("PATCH", where, {"title": "mine"}))[0] == 404
    house.model.release()


REFUSED_SENDS: dict[str, tuple[dict[str, object], int, str, str | None]] = {
    "nothing": ({}, 400, "invalid", "text"),
    "too much": ({"text": "x" * 30_001}, 400, "invalid", "text"),
    "no thread": (
        {"text": "x", "thread_id": "01900000-0000-7000-8000-000000000000"},
        404,
        "not_found",
        None,
    ),
    "no id": ({"text": "x", "thread_id": "x"}, 400, "invalid", "thread_id"),
    "new and old": (
        {"text": "x", "new": True, "thread_id": "01900000-0000-7000-8000-000000000000"},
        400,
        "invalid",
        "new",
    ),
    "a model of an old thread": ({"text": "x", "model": "main"}, 400, "invalid", "model"),
    "no such model": ({"text": "x", "new": True, "model": "mian"}, 400, "invalid", "model"),
    "a bad key": ({"text": "x", "client_key": "a b"}, 400, "invalid", "client_key"),
    "no file": (
        {"text": "x", "attachments": ["01900000-0000-7000-8000-000000000000"]},
        404,
        "not_found",
        "attachments",
    ),
}


async def test_an_invalid_message_is_refused(api: Client) -> None:
    for why, (body, status, code, field) in REFUSED_SENDS.items():
        assert await api.refusal("POST", "/api/chat/send", body) == (status, code, field), why
    assert (await api.get("/api/threads"))["threads"] == []


async def test_files_are_attached(api: Client) -> None:
    name = "../../etc/pass\x00wd ‮.txt"
    url = f"{api.url}/api/uploads"
    headers = {"Authorization": f"Bearer {api.token}", "Content-Type": "text/plain; charset=utf-8"}
    async with api.http.post(url, params={"name": name}, data=b"content", headers=headers) as answer:
        assert answer.status == 201
        upload = await answer.json()
    assert upload == {
        "id": upload["id"],
        "name": "passwd .txt",
        "media_type": "text/plain",
        "size_bytes": 7,
    }
    sent = await api.send("look", attachments=[upload["id"]])
    page = await idle(api, sent["thread_id"])
    file = {"name": "passwd .txt", "media_type": "text/plain", "size_bytes": 7}
    assert (page["items"][0]["text"], page["items"][0]["attachments"]) == ("look", [file])
    member = await api.member("Mia")
    body = {"text": "x", "attachments": [upload["id"]]}
    assert (await member.refusal("POST", "/api/chat/send", body))[0] == 404


async def test_a_stop_reaches_any_thread(house: Hub, api: Client) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    await house.card(OWNER)
    (thread,) = (await api.get("/api/threads"))["threads"]
    assert thread["turn"]["state"] == "waiting"
    status, page = await api.ask("POST", f"/api/threads/{thread['id']}/stop")
    assert (status, page["stopped"]) == (202, True)
    await house.telegram.wait_text(OWNER, "Stopped.", timeout_s=LIMIT_S)
    _, page = await api.ask("POST", f"/api/threads/{thread['id']}/stop")
    assert page["stopped"] is False


# ---------------------------------------------------------------- other channels


async def test_the_owner_answers_in_place_of_the_assistant(house: Hub, api: Client) -> None:
    house.telegram.user_sends_text(OWNER, "hello")
    await house.telegram.wait_text(OWNER, "You said: hello")
    (thread,) = (await api.get("/api/threads"))["threads"]
    body = {"text": "It is *me*.", "client_key": "once"}
    path = f"/api/threads/{thread['id']}/answer"
    assert (await api.ask("POST", path, body))[1]["duplicate"] is False
    assert (await api.ask("POST", path, body))[1]["duplicate"] is True
    await house.telegram.wait_text(OWNER, "It is me.", timeout_s=LIMIT_S)
    assert house.says(OWNER) == ["You said: hello", "It is me."]
    assert (await api.lines(thread["id"]))[-1] == ("operator", "It is *me*.")
    house.telegram.user_sends_text(OWNER, "and now?")
    await house.telegram.wait_text(OWNER, "and now?", timeout_s=LIMIT_S)
    assert '"owner" answered here instead of you: It is *me*.' in str(house.model.log[-1].body["messages"])
    refused = await api.refusal("POST", "/api/chat/send", {"text": "x", "thread_id": thread["id"]})
    assert refused == (409, "refused", "thread_id")
    await house.stop()
    config = house.directory / "hubbub.toml"
    renamed = config.read_text().replace("[channels.telegram]", '[channels.other]\nplatform = "telegram"')
    config.write_text(renamed.replace(f"telegram:{OWNER}", f"other:{OWNER}"))
    await house.start()
    async with client(house.directory) as after:
        assert (await after.refusal("POST", path, body))[:2] == (409, "refused"), "no channel takes it there"


async def test_a_gate_from_another_channel_is_decided_with_edits(house: Hub, api: Client) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    await house.card(OWNER)
    approval = await asked(api)
    assert (approval["arguments"]["command"], approval["editable"]) == ("echo line >> out.txt", True)
    gate_id = approval["gate_id"]
    for arguments, field in (({"command": 1}, "arguments.command"), ({"x": "y"}, None), ({}, None)):
        status, page = await api.resolve(gate_id, "approve", arguments=arguments)
        assert (status, page["error"]["code"]) == (400, "invalid")
        assert page["error"]["field"].startswith(field or "arguments")
    assert (await api.resolve(gate_id, "deny", arguments={"command": "true"}))[0] == 409
    assert (await asked(api))["arguments"] == approval["arguments"]
    status, page = await api.resolve(gate_id, "approve", arguments={"command": "echo other >> out.txt"})
    assert (status, page["outcome"]) == (200, "Approved by owner, edited")
    await house.telegram.wait_text(OWNER, "Done:", timeout_s=LIMIT_S)
    assert (house.workspace / "out.txt").read_text() == "other\n"
    card = house.telegram.bot_messages(OWNER)[0]
    assert card.keyboard is None
    assert card.text.index("echo other") < card.text.index("Before the change it was:")
    assert card.text.index("Before the change it was:") < card.text.index("echo line")
    assert card.text.endswith("Approved by owner, edited")
    told = str(house.model.log[-1].body["messages"])
    assert '"owner" changed the arguments before approving; the call ran with: ' in told
    before, _, after = told.partition("the call ran with: ")
    assert ("echo line" in before, after.index("echo other") < 40) == (True, True)
    thread = (await api.get("/api/threads"))["threads"][0]["id"]
    items = (await api.get(f"/api/threads/{thread}"))["items"]
    (call,) = [item for item in items if item["kind"] == "call"]
    assert call["asked"]["command"] == "echo line >> out.txt"
    assert call["arguments"]["command"] == "echo other >> out.txt"
    (decided,) = (await api.get("/api/approvals?state=decided"))["approvals"]
    assert decided["outcome"]["text"] == "Approved by owner, edited"
    assert decided["arguments"]["command"] == "echo other >> out.txt"


@pytest.mark.parametrize("action, position", [("approve", 2), ("deny", 3), ("2", 2), ("1", 1), ("0", 0)])
def test_an_index_is_resolved_to_the_position_of_its_button(action: str, position: int) -> None:
    """After an edit the buttons count on from 2; the store refuses an answer to what was shown before."""
    assert position_of_answer(action, (Option.APPROVE, Option.DENY), first=2) == position


async def test_decided_gates_are_paged_by_decision_time(house: Hub, api: Client) -> None:
    """The first one asked about is decided last."""
    gates: list[str] = []
    for _ in range(2):
        await api.send(RUN, new=True)
        found = await api.until("/api/approvals", lambda page: len(page["approvals"]) > len(gates))
        gates.append(found["approvals"][-1]["gate_id"])
    for gate_id in reversed(gates):
        assert (await api.resolve(gate_id, "deny"))[0] == 200
    first = await api.get("/api/approvals?state=decided&limit=1")
    assert [one["gate_id"] for one in first["approvals"]] == [gates[0]]
    second = await api.get(f"/api/approvals?state=decided&limit=1&before={first['next']}")
    assert [one["gate_id"] for one in second["approvals"]] == [gates[1]]


async def test_decided_gates_are_searched_and_shown_in_their_conversation(house: Hub, api: Client) -> None:
    gates: dict[str, str] = {}
    for action, command in (("approve", "echo heron"), ("deny", "echo stork")):
        thread_id = (await api.send(f"please run: {command}", new=True))["thread_id"]
        waiting = await api.until("/api/threads?waiting=true", lambda page: len(page["threads"]) == 1)
        assert waiting["threads"][0]["id"] == thread_id
        (asked_now,) = (await api.get("/api/approvals"))["approvals"]
        gates[action] = asked_now["gate_id"]
        assert (await api.resolve(asked_now["gate_id"], action))[0] == 200
        (shown,) = (await idle(api, thread_id))["approvals"]
        assert (shown["gate_id"], shown["state"]) == (asked_now["gate_id"], "closed")
        assert (shown["outcome"]["by"], shown["outcome"]["you"]) == ("owner", True)
    for sought, found in {
        "outcome=approved": ["approve"],
        "outcome=refused": ["deny"],
        "query=HERON": ["approve"],
        "query=denied+by": ["deny"],
        "query=owner": ["deny", "approve"],
        "query=heron&outcome=refused": [],
    }.items():
        page = await api.get(f"/api/approvals?state=decided&{sought}")
        assert [one["gate_id"] for one in page["approvals"]] == [gates[action] for action in found], sought
    assert not (await api.get("/api/threads?waiting=true"))["threads"]


async def test_an_edit_is_rated_like_any_call(house: Hub, api: Client) -> None:
    house.telegram.user_sends_text(OWNER, RUN)
    await house.card(OWNER)
    gate_id = (await asked(api))["gate_id"]
    status, page = await api.resolve(gate_id, "approve", arguments={"command": "rm -rf /"})
    assert status == 400
    assert "blocked" in page["error"]["message"]
    assert (await api.resolve(gate_id, "approve"))[0] == 200


# ---------------------------------------------------------------- members


OWNERS_ONLY = [
    ("GET", "/api/status"),
    ("GET", "/api/channels"),
    ("GET", "/api/pairing"),
    ("GET", "/api/users"),
    ("GET", "/api/why"),
    ("POST", "/api/users"),
    ("POST", "/api/users/link"),
    ("POST", "/api/users/timezone"),
    ("POST", "/api/users/model"),
    ("POST", "/api/pairing/approve"),
    ("POST", "/api/pairing/reject"),
    ("POST", "/api/pairing/revoke"),
    ("POST", "/api/tokens"),
    ("POST", "/api/tokens/revoke"),
    ("POST", "/api/login-links"),
]


async def test_a_member_sees_only_their_own_threads(house: Hub, api: Client) -> None:
    mia = await api.member("Mia")
    house.telegram.user_sends_text(OWNER, RUN)
    await house.card(OWNER)
    gate_id = (await asked(api))["gate_id"]
    (thread,) = (await api.get("/api/threads"))["threads"]
    assert (await mia.get("/api/me"))["role"] == "member"
    for method, path in OWNERS_ONLY:
        assert (await mia.refusal(method, path, {} if method == "POST" else None))[:2] == (403, "forbidden")
    for method, path in (
        ("GET", f"/api/threads/{thread['id']}"),
        ("POST", f"/api/threads/{thread['id']}/stop"),
        ("GET", f"/api/events?thread={thread['id']}"),
    ):
        assert (await mia.refusal(method, path))[0] == 404
    answer = {"text": "x"}
    assert (await mia.refusal("POST", f"/api/threads/{thread['id']}/answer", answer))[0] == 403
    assert (await mia.refusal("POST", "/api/chat/send", {"text": "x", "thread_id": thread["id"]}))[0] == 404
    assert (await mia.get("/api/approvals"))["approvals"] == []
    assert (await mia.resolve(gate_id, "approve"))[0] == 404
    own = (await mia.send("hello"))["thread_id"]
    await idle(mia, own)
    assert [one["id"] for one in (await mia.get("/api/threads"))["threads"]] == [own]
    assert len((await api.get("/api/threads"))["threads"]) == 2
    _, page = await api.ask("GET", f"/api/threads/{own}")
    assert (page["thread"]["user"]["name"], page["thread"]["own"]) == ("Mia", False)


async def test_a_revoked_token_identifies_no_one(api: Client) -> None:
    mia = await api.member("Mia")
    user_id = (await mia.get("/api/me"))["user_id"]
    assert await api.ask("POST", "/api/tokens/revoke", {"user_id": user_id}) == (200, {"revoked": 1})
    assert (await mia.refusal("GET", "/api/me"))[:2] == (401, "unauthorized")


async def test_tokens_are_for_members(api: Client) -> None:
    for user_id, status in (("owner", 409), ("nobody", 404)):
        assert (await api.refusal("POST", "/api/tokens", {"user_id": user_id}))[0] == status


# ---------------------------------------------------------------- lists


async def test_threads_are_found_and_paged(api: Client) -> None:
    ids = [(await api.send(f"number {number} 100%", new=True))["thread_id"] for number in range(5)]
    for thread_id in ids:
        await idle(api, thread_id)
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = await api.get(f"/api/threads?limit=2{cursor and f'&before={cursor}'}")
        seen += [thread["id"] for thread in page["threads"]]
        cursor = page["next"]
    assert sorted(seen) == sorted(ids)
    for query, count in (("number 3", 1), ("100%", 5), ("7_%", 0), ("owner", 5), ("You said", 5)):
        page = await api.get(f"/api/threads?query={query.replace('%', '%25')}")
        assert len(page["threads"]) == count, query
    assert (await api.get("/api/threads?channel=telegram"))["threads"] == []


async def test_lines_are_paged_backwards(api: Client) -> None:
    thread_id = (await api.send("one"))["thread_id"]
    await idle(api, thread_id)
    await api.send("/status", thread_id=thread_id)
    await api.send("two", thread_id=thread_id)
    whole = (await idle(api, thread_id))["items"]
    seen: list[Any] = []
    before = ""
    while True:
        page = await api.get(f"/api/threads/{thread_id}?limit=2{before}")
        seen = page["items"] + seen
        if not page["more"]:
            break
        before = f"&before={page['first_seq']}"
    assert seen == whole
    assert [item["seq"] for item in whole] == sorted({item["seq"] for item in whole})


async def test_why_finds_messages_by_text(house: Hub, api: Client) -> None:
    house.telegram.user_sends_text(OWNER, "a needle in the hay")
    await house.telegram.wait_text(OWNER, "You said: a needle in the hay")
    (event,) = (await api.get("/api/why?query=needle"))["events"]
    assert (event["outcome"], event["turn"]["state"], event["sender"]) == ("turn 1", "done", "Olivia")
    thread_id = (await api.send(RUN))["thread_id"]
    await asked(api)
    (event,) = (await api.get(f"/api/why?query={RUN[-6:]}"))["events"]
    assert [one["title"] for one in event["turn"]["approvals"]] == ["Run `echo line >> out.txt`?"]
    await api.send("/stop", thread_id=thread_id)
    assert (await api.get("/api/why?query=nothing"))["events"] == []
    group = house.telegram.create_group("all", [OWNER])
    house.telegram.user_sends_text(OWNER, f"@{house.telegram.bot().user.username} hi", chat_id=group.id)
    await house.telegram.wait_confirmed()
    for query, counted in (("", 1), ("telegram", 1), (OWNER, 1), ("nothing", 0)):
        noise = (await api.get(f"/api/why?query={query}"))["noise"]
        assert sum(one["count"] for one in noise) == counted, query


async def test_concurrent_messages_with_one_key_create_one_thread(api: Client) -> None:
    sent = await asyncio.gather(*(api.send("hello", client_key="same") for _ in range(8)))
    assert len({one["thread_id"] for one in sent}) == 1
    assert sum(not one["duplicate"] for one in sent) == 1


async def test_a_browser_that_leaves_ends_its_stream(house: Hub, api: Client) -> None:
    thread_id = (await api.send("hello"))["thread_id"]
    async with api.stream(f"/api/events?thread={thread_id}") as stream:
        await stream.until("item")
    with pytest.raises((aiohttp.ClientError, EOFError)):
        async with api.stream() as stream:
            await stream.until("hello")
            await house.stop()
            while True:  # hints may be on their way still
                await stream.next()
