"""Webhooks as their senders meet them: who is let in, what a delivery fires, and what it never does twice."""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from bot.config.keys import VaultKeyRing
from bot.web.webhooks import AT_ONCE, BODY_LIMIT_BYTES, MAX_READ
from core.clock import SystemClock
from core.routine import RunStatus
from core.routine_json import RoutineRefused
from core.store.routine_rows import RoutineRow, RoutineRunRow
from core.users import Principal, Role
from core.vault import Vault
from tests.harness.bodies import LongBody
from tests.harness.telegram_hub import LIMIT_S, OWNER, Hub, open_hub
from tests.hostile.watched import parsed_here
from tests.scenarios.test_routines import OLIVIA, desk_of, ended, greeted
from tests.webhook_senders import SECRET, Sender

pytestmark = pytest.mark.asyncio(loop_scope="module")
BODY = json.dumps({"ref": "refs/heads/main", "repository": {"full_name": "o/r"}, "private": False}).encode()


def push(name: str, cooldown_s: int = 0, **trigger: Any) -> Mapping[str, Any]:
    """A routine that listens to GitHub at the path of its name."""
    hook = {"type": "webhook", "path": name, "secret_name": "hook", "signature": "github"}
    return {
        "name": name,
        "trigger": hook | trigger,
        "action": {"type": "lightweight", "prompt": "Say what was pushed."},
        "guardrails": {"cooldown_s": cooldown_s},
    }


@dataclass(frozen=True, slots=True)
class Gate:
    """A house with a webhook, and the way to it."""

    house: Hub
    http: aiohttp.ClientSession

    async def bring(
        self, path: str, body: bytes, headers: Mapping[str, str], method: str = "POST"
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Status, JSON and headers of the answer."""
        url = f"{self.house.app.url}/api/webhooks/{path}"
        sent = {"Content-Type": "application/json", **headers}
        async with self.http.request(method, url, data=body, headers=sent) as answer:
            return answer.status, await answer.json(), dict(answer.headers)

    async def status(self, path: str, body: bytes, headers: Mapping[str, str]) -> int:
        return (await self.bring(path, body, headers))[0]

    async def runs(self, row: RoutineRow) -> list[RoutineRunRow]:
        return list(await self.house.app.store.run_views.routine_runs(row.id, 100))


def sender() -> Sender:
    return Sender(time.time())


async def set_secret(house: Hub, name: str, value: str) -> None:
    keys = VaultKeyRing(house.directory / "data", {}).keys_to_seal()
    await Vault(house.app.store.secrets, keys, SystemClock()).keep(name, value)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gate(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gate]:
    """One for the whole module: each test has a path of its own."""
    async with open_hub(tmp_path_factory.mktemp("hub")) as house, aiohttp.ClientSession() as http:
        await set_secret(house, "hook", SECRET)
        await greeted(house)
        yield Gate(house, http)


async def test_a_delivery_fires_its_routine_and_its_owner_is_notified(gate: Gate) -> None:
    house = gate.house
    row = await desk_of(house).create(OLIVIA, push("told"))
    status, told, _ = await gate.bring("told", BODY, sender().github(BODY, "d-1"))
    assert (status, told["status"]) == (202, "accepted")
    (run,) = await gate.runs(row)  # it is kept when the sender hears of it
    assert (run.id, run.kind) == (told["run_id"], "webhook")
    notice = await house.telegram.wait_text(OWNER, "Routine “told”")
    assert "Say what was pushed." in notice.text
    asked = house.model.log[-1].body["messages"][-1]["content"]
    assert "event: push" in asked
    assert '"full_name": "o/r"' in asked
    assert asked.index("<tool_output") < asked.index("full_name") < asked.index("</tool_output id=")


async def test_a_webhook_without_a_path_is_at_the_routines_id(gate: Gate) -> None:
    row = await desk_of(gate.house).create(OLIVIA, push("pathless", path=""))
    status, told, _ = await gate.bring(row.id, BODY, sender().github(BODY, "d-9"))
    assert status == 202
    (run,) = await gate.runs(row)
    assert run.id == told["run_id"]


async def test_a_delivery_that_comes_again_fires_nothing_again(gate: Gate) -> None:
    row = await desk_of(gate.house).create(OLIVIA, push("again"))
    signed = sender().github(BODY, "d-1")
    _, first, _ = await gate.bring("again", BODY, signed)
    status, again, _ = await gate.bring("again", BODY, signed)
    assert (status, again) == (200, {"status": "repeated", "run_id": first["run_id"]})
    # Whoever recorded it and brings it under another id gets no further.
    replayed = signed | {"X-GitHub-Delivery": "d-2"}
    assert await gate.status("again", BODY, replayed) == 200
    await ended(gate.house, row)
    await gate.house.stop()
    await gate.house.start()
    assert await gate.status("again", BODY, signed) == 200
    assert len(await gate.runs(row)) == 1


async def test_each_signature_admits_only_its_own_sender(gate: Gate) -> None:
    desk = desk_of(gate.house)
    kinds = ("standard", "github", "gitlab", "stripe")
    for kind in kinds:
        await desk.create(OLIVIA, push(kind, signature=kind))
    body = b'{"id": "evt_1", "type": "charge.failed"}'
    for kind in kinds:
        for other in kinds:
            signed = getattr(sender(), other)(body, f"from {other}")
            # GitLab signs as Standard Webhooks says where it has a signing token.
            wanted = 202 if other == kind or (kind, other) == ("gitlab", "standard") else 401
            assert await gate.status(kind, body, signed) == wanted, (kind, other)
    stale = Sender(time.time() - 301)
    for kind in ("standard", "stripe"):
        later = b'{"id": "evt_2"}'
        signed = getattr(stale, kind)(later, "d-2")
        status, told, headers = await gate.bring(kind, later, signed)
        assert (status, told["error"]["code"]) == (401, "unauthorized")
        assert "clock" in told["error"]["message"]
        assert headers["WWW-Authenticate"]


async def test_an_invalid_webhook_call_has_its_status_and_fires_nothing(gate: Gate) -> None:
    desk = desk_of(gate.house)
    row = await desk.create(OLIVIA, push("strict"))

    async def code(
        body: bytes, headers: Mapping[str, str], path: str = "strict", method: str = "POST"
    ) -> tuple[int, str]:
        status, told, _ = await gate.bring(path, body, headers, method)
        assert SECRET not in json.dumps(told)
        return status, told["error"]["code"]

    signed = sender().github(BODY, "d-1")
    unsigned = {"X-GitHub-Event": "push"}
    wrong = Sender(0, "wrong").github(BODY, "d-1")
    too_large = b" " * (BODY_LIMIT_BYTES + 1)
    form = {**signed, "Content-Type": "application/x-www-form-urlencoded"}
    assert await code(BODY, signed, path="nowhere") == (404, "not_found")
    assert await code(BODY, signed, path="strict/more") == (404, "not_found")
    assert await code(BODY, signed, method="GET") == (405, "method_not_allowed")
    assert await code(BODY, form) == (415, "unsupported")
    assert await code(too_large, sender().github(too_large, "d")) == (413, "too_large")
    strict = f"{gate.house.app.url}/api/webhooks/strict"
    assert await LongBody().refused_by(strict, {"Content-Type": "application/json", **signed})
    assert await code(BODY, unsigned) == (401, "unauthorized")
    assert await code(BODY, wrong) == (401, "unauthorized")
    with parsed_here() as lengths:
        for malformed in (b"", b"{", b"\xff", b"[" * 100_000):
            assert await code(malformed, sender().github(malformed, "d")) == (400, "invalid")
    assert max(lengths, default=0) <= 4_096, "a long one is parsed in a thread"
    assert await gate.runs(row) == []
    await desk.switch(OLIVIA, "strict", enabled=False)
    assert await code(BODY, wrong) == (401, "unauthorized")
    assert await code(BODY, signed) == (409, "paused")
    await desk.switch(OLIVIA, "strict", enabled=True)
    await desk.delete(OLIVIA, "strict")
    assert await code(BODY, signed) == (404, "not_found")


async def test_a_routine_that_cools_down_says_until_when(gate: Gate) -> None:
    await desk_of(gate.house).create(OLIVIA, push("rests", cooldown_s=300))
    assert await gate.status("rests", BODY, sender().github(BODY, "d-1")) == 202
    other = BODY + b" "
    status, told, headers = await gate.bring("rests", other, sender().github(other, "d-2"))
    assert (status, told["error"]["code"]) == (429, "too_many")
    assert 200 < int(headers["Retry-After"]) <= 300
    assert await gate.status("rests", BODY, sender().github(BODY, "d-1")) == 200  # it had come before


async def test_filters_and_fields_choose_what_fires_and_what_is_shown(gate: Gate) -> None:
    filters = {"@event": "PUSH", "repository.full_name": "o/r", "private": False}
    fields = ["ref", "repository.full_name", "none"]
    row = await desk_of(gate.house).create(OLIVIA, push("choosy", filters=filters, fields=fields))
    _, ignored, _ = await gate.bring("choosy", BODY, sender().github(BODY, "d-0", event="ping"))
    assert ignored["status"] == "ignored"
    other = BODY.replace(b"o/r", b"o/x")
    status, ignored, _ = await gate.bring("choosy", other, sender().github(other, "d-1"))
    assert (status, ignored["status"]) == (200, "ignored")
    assert await gate.runs(row) == []
    assert await gate.status("choosy", BODY, sender().github(BODY, "d-2")) == 202
    (run,) = await ended(gate.house, row)
    assert run.state is RunStatus.ATTENTION
    shown = json.loads(json.loads(run.input)["payload"])
    assert shown == {"ref": "refs/heads/main", "repository.full_name": "o/r", "none": None}


async def test_a_burst_is_cut_off_before_it_is_read(gate: Gate) -> None:
    row = await desk_of(gate.house).create(OLIVIA, push("burst"))
    answers = await asyncio.gather(*(gate.bring("burst", b"{", {}) for _ in range(5 * AT_ONCE)))
    refused = Counter(status for status, _, _ in answers)
    assert refused.keys() == {401, 429}
    assert refused[401] >= AT_ONCE
    assert all(headers["Retry-After"] for status, _, headers in answers if status == 429)
    assert await gate.runs(row) == []


@pytest.mark.parametrize("forged", [{}, {"X-Hub-Signature-256": f"sha256={'0' * 64}"}], ids=["none", "wrong"])
async def test_signed_calls_are_accepted_during_an_unsigned_flood(
    gate: Gate, forged: Mapping[str, str]
) -> None:
    name = f"flooded-{len(forged)}"
    await desk_of(gate.house).create(OLIVIA, push(name))
    refused = asyncio.Event()

    async def flood() -> None:
        while True:
            if await gate.status(name, BODY, forged) == 429:
                refused.set()

    async with asyncio.timeout(LIMIT_S), asyncio.TaskGroup() as group:
        flooding = [group.create_task(flood()) for _ in range(AT_ONCE)]
        await refused.wait()
        # Several, as the limit lets one through now and then.
        signed = [await gate.status(name, BODY, sender().github(BODY, f"d-{n}")) for n in range(10)]
        for one in flooding:
            one.cancel()
    assert 202 in signed
    assert 429 not in signed


async def test_signed_calls_have_their_own_rate_limit(gate: Gate) -> None:
    await desk_of(gate.house).create(OLIVIA, push("busy"))
    signed = sender().github(BODY, "d-1")
    answers = await asyncio.gather(*(gate.status("busy", BODY, signed) for _ in range(3 * AT_ONCE)))
    assert 429 in answers


async def test_a_body_that_does_not_arrive_holds_no_slot(gate: Gate) -> None:
    await desk_of(gate.house).create(OLIVIA, push("held"))
    host, port = gate.house.app.url.removeprefix("http://").split(":")
    head = f"POST /api/webhooks/held HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    held = f"{head}X-Hub-Signature-256: sha256=0\r\nContent-Length: 9\r\n\r\n".encode()
    async with contextlib.AsyncExitStack() as opened:
        answers: list[asyncio.Task[bytes]] = []
        for _ in range(2 * MAX_READ):
            reader, writer = await asyncio.open_connection(host, int(port))
            opened.callback(writer.close)
            writer.write(held)
            await writer.drain()
            answers.append(asyncio.create_task(reader.read(1)))
            opened.callback(answers[-1].cancel)
        async with asyncio.timeout(LIMIT_S):  # all have come: half of them were given up, the others are held
            while sum(answer.done() for answer in answers) < MAX_READ:
                await asyncio.wait(
                    [one for one in answers if not one.done()], return_when=asyncio.FIRST_COMPLETED
                )
        assert await gate.status("held", BODY, sender().github(BODY, "d-1")) == 202


async def test_secrets_are_listed_by_name_and_never_shown(gate: Gate) -> None:
    desk = desk_of(gate.house)
    with pytest.raises(RoutineRefused, match=r"trigger\.secret_name names a secret that is not in the vault"):
        await desk.create(OLIVIA, push("secret", secret_name="other"))
    with pytest.raises(RoutineRefused, match=r"trigger\.type webhook is for the owner"):
        await desk.create(Principal("mia", Role.MEMBER, "Mia"), push("secret"))
    await desk.create(OLIVIA, push("secret"))
    page = json.loads((gate.house.directory / "data" / "api.json").read_text())
    key = {"Authorization": f"Bearer {page['token']}"}
    async with gate.http.get(f"{page['url']}/api/routines/secret", headers=key) as answer:
        shown = await answer.text()
    assert '"secret_name":"hook"' in shown
    assert SECRET not in shown
    # A secret that is gone lets nobody in, and the sender may come again once it is back.
    await gate.house.app.store.secrets.drop_secret("hook")
    assert await gate.status("secret", BODY, sender().github(BODY, "d-1")) == 503
    await set_secret(gate.house, "hook", SECRET)
    assert await gate.status("secret", BODY, sender().github(BODY, "d-1")) == 202


async def test_credentials_in_deliveries_reach_no_store_and_no_model(gate: Gate) -> None:
    planted = "ghp_" + "q7Rm2XvK9bTz4NcW8dLs6HfJ3gPy5aUe1oQi"
    house = gate.house
    (house.workspace / "notes.md").write_text(f"the deploy key is {planted}")
    action = {"type": "lightweight", "prompt": "Look at what leaks.", "context_paths": ["notes.md"]}
    row = await desk_of(house).create(OLIVIA, {**push("leaky"), "action": action})
    body = json.dumps({"config": {planted: f"https://x:{planted}@example.com/"}}).encode()
    assert await gate.status("leaky", body, sender().github(body, "d-leak")) == 202
    (run,) = await ended(house, row)
    # Runs of other tests may still ask the same model.
    (asked,) = [said for one in house.model.log if "Look at what leaks." in (said := json.dumps(one.body))]
    assert "the deploy key is [REDACTED]" in asked
    assert "[REDACTED]" in run.input
    assert planted not in asked + run.input
    emitted = {"type": "system_event", "source": "leaky", "event_type": "t"}
    told = await desk_of(house).create(OLIVIA, {**push("leaky too"), "trigger": emitted})
    await desk_of(house).emit(OLIVIA, "leaky", "t", {"token": planted}, "1")
    (run,) = await ended(house, told)
    assert planted not in run.input
    assert planted not in json.dumps([one.body for one in house.model.log])
