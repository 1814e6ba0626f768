"""The story "something fires a routine → model → notice", killed and judged: by a webhook, an event that a
program tells the API, or the clock. The work is one question to the model, a job, or a job in a container.

Whoever brings something brings it until it is taken, as platforms do: what was taken is not brought again.
"""

import asyncio
import contextlib
import json
import signal
import sqlite3
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aiohttp

from bot.config.keys import VaultKeyRing
from core.clock import SystemClock
from core.ids import RandomIds
from core.store.sqlite.store import open_store
from core.vault import Vault
from tests.crash.entry import SPEED
from tests.crash.mortal import LIMIT_S, OWNER, MortalHub, Setup, open_mortal_hub
from tests.crash.points import AtCommit, InModel, InTelegram, Point, parse_commit_point
from tests.simulators.model import Hold
from tests.webhook_senders import SECRET, Sender

Kind = Literal["webhook", "event", "cron"]
Work = Literal["prompt", "job", "container"]
UNSETTLED = (
    "SELECT 1 FROM routine_runs WHERE state IN ('waiting', 'running') OR notice_state = 'due'",
    "SELECT 1 FROM notices n JOIN outbox o ON o.id = n.outbox_id WHERE NOT o.settled",
)
BY_THE_CLOCK = ("link_audit", "expire_gates", "remind_gates", "renew_lease")
"""Units that come when their time comes: how many of them a story passes is not fixed."""
LINE = "line"
DOES: dict[Work, tuple[str, ...]] = {
    "prompt": ("--prompt", "Look."),
    "job": ("--full-job", "Watch", "--prompt", "Look."),
    "container": (
        "--full-job",
        "Watch",
        "--sandbox",
        ".",
        "--prompt",
        f"please run: echo {LINE} >> out.txt",
    ),
}
NAME = "watch"
TOLD = f"Routine “{NAME}”"
DELIVERY = "d-1"
SLOTS = 2
TIMES = 30
"""How much faster the hub's time passes where the clock fires."""
TRIGGERS: dict[Kind, dict[str, str]] = {
    "webhook": {"type": "webhook", "path": "ci", "secret_name": "hook"},
    "event": {"type": "system_event", "source": "ci", "event_type": "done"},
    "cron": {"type": "cron", "schedule": "every 1 m"},
}


@dataclass(frozen=True, slots=True)
class Told:
    """The knowledge of the story's people: `taken`, how often they heard that it was taken."""

    taken: int = 0


@contextlib.asynccontextmanager
async def open_fired_hub(
    directory: Path, kind: Kind, *, reruns: bool, work: Work = "prompt", setup: Setup | None = None
) -> AsyncIterator[MortalHub]:
    """A town whose owner has made the routine."""
    directory.mkdir(exist_ok=True)
    async with open_mortal_hub(directory, setup) as town:
        await set_secret(town)
        page = {
            "trigger": TRIGGERS[kind],
            "guardrails": {"cooldown_s": 0, "rerun_interrupted": reruns},
        }
        (directory / "watch.json").write_text(json.dumps(page))
        if kind == "cron":
            await town.start()
            await greeted(town)
            await town.stop()
            (directory / SPEED).write_text(str(TIMES))
        page_file = str(directory / "watch.json")
        await town.command("routines", "add", NAME, *DOES[work], "--file", page_file)
        yield town


async def greeted(town: MortalHub) -> None:
    """A bot may write to people only once they wrote to it."""
    town.owner_says("hello")
    await town.telegram.wait_text(OWNER, "You said: hello", timeout_s=LIMIT_S)
    await town.account()


async def set_secret(town: MortalHub) -> None:
    """Return what the town's webhooks are signed with is in its vault."""
    data_dir = town.directory / "data"
    data_dir.mkdir(exist_ok=True)
    store = await open_store(data_dir / "hub.db", SystemClock(), RandomIds())
    await Vault(store.secrets, VaultKeyRing(data_dir, {}).keys_to_seal(), SystemClock()).keep("hook", SECRET)
    await store.close()


# --- playing --------------------------------------------------------------------------------------------


async def play(town: MortalHub, kind: Kind, point: Point | None) -> Told:
    """The whole story; with a point, the hub is killed there and started again."""
    hub = await town.start(point if isinstance(point, AtCommit) else None)
    if kind != "cron":
        await greeted(town)
    match point:
        case InTelegram(method, nth):
            town.telegram.fail("hold", method=method, skip=nth - 1, count=1)
        case InModel():
            town.model.fault(Hold(at="before_headers"))
        case _:
            pass
    async with asyncio.TaskGroup() as group:
        telling = group.create_task(_bring(town, kind))
        if point is not None:
            await _until_struck(town, point)
            hub.send_signal(signal.SIGKILL)
            await hub.wait(LIMIT_S)
            town.telegram.clear_faults()
            town.model.clear_faults()
            await town.start()
        taken = await telling
    wanted = SLOTS if kind == "cron" else 1
    await town.telegram.wait_for(lambda: len(notices(town)) >= wanted, LIMIT_S)
    await _settled(town, kind)
    # All may have been over before the kill: a hub is only stopped once it has started.
    await town.telegram.wait_for(town.listens, LIMIT_S)
    return Told(taken)


async def _until_struck(town: MortalHub, point: Point) -> None:
    match point:
        case InTelegram():
            await town.telegram.wait_held(timeout_s=LIMIT_S)
        case InModel():
            await town.model.wait_requests(state="held", timeout_s=LIMIT_S)
        case _:
            assert town.hub is not None
            await town.hub.wait(LIMIT_S)


async def _bring(town: MortalHub, kind: Kind) -> int:
    """Until it is taken; how often that was said."""
    if kind == "cron":
        return 0
    async with asyncio.timeout(LIMIT_S), aiohttp.ClientSession() as http:
        while True:
            with contextlib.suppress(aiohttp.ClientError, OSError, IndexError, ValueError):
                if await _brought(town, kind, http):
                    return 1
            await asyncio.sleep(0.02)


async def _brought(town: MortalHub, kind: Kind, http: aiohttp.ClientSession) -> bool:
    if kind == "webhook":
        body = b'{"type": "build.done"}'
        headers = {"Content-Type": "application/json", **Sender(time.time()).standard(body, DELIVERY)}
        async with http.post(f"{town.url()}/api/webhooks/ci", data=body, headers=headers) as answer:
            return answer.status in {200, 202}
    access = json.loads((town.directory / "data" / "api.json").read_text())
    event = {"source": "ci", "event_type": "done", "event_id": DELIVERY}
    key = {"Authorization": f"Bearer {access['token']}"}
    async with http.post(f"{access['url']}/api/events/emit", json=event, headers=key) as answer:
        return answer.status == 200


async def _settled(town: MortalHub, kind: Kind) -> None:
    """Nothing fires any more, and all that was fired is over and told."""
    if kind == "cron":
        async with asyncio.timeout(LIMIT_S):
            while runs_told(town) < SLOTS:  # noqa: ASYNC110 - as below; a notice told again is no second slot's
                await asyncio.sleep(0.05)
        await town.command("routines", "disable", NAME)
    async with asyncio.timeout(LIMIT_S):
        while any(_asked(town, sql) for sql in UNSETTLED):  # noqa: ASYNC110 - the store tells nobody
            await asyncio.sleep(0.05)


# --- looking --------------------------------------------------------------------------------------------


async def runs(town: MortalHub) -> list[dict[str, Any]]:
    """All runs, the newest first."""
    return json.loads(await town.command("routines", "history", NAME, "--limit", "200", "--json"))


def notices(town: MortalHub) -> list[str]:
    """Return what the owner was told of them."""
    return [message.text for message in town.shown_to(OWNER) if TOLD in message.text]


def runs_told(town: MortalHub) -> int:
    """Of how many runs the owner was told, as the hub has it; what was shown is judged apart."""
    (count,) = _asked(town, "SELECT count(*) FROM routine_runs WHERE notice_state = 'sent'")
    return count


def repeats(town: MortalHub) -> int:
    """How often a notice was sent once more, because nobody knew whether it had been."""
    return sum(_asked(town, "SELECT o.repeats FROM notices n JOIN outbox o ON o.id = n.outbox_id"))


def _asked(town: MortalHub, sql: str) -> list[Any]:
    path = f"file:{town.directory}/data/hub.db?mode=ro"
    with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
        return [value for (value,) in database.execute(sql)]


async def points_of(directory: Path, kind: Kind, work: Work = "prompt") -> list[Point]:
    """The points the story passes when nothing goes wrong; with the clock, up to the first notice."""
    async with open_fired_hub(directory, kind, reruns=True, work=work) as town:
        asked = len(town.model.log)
        told = await play(town, kind, None)
        await town.stop()
        await judge(town, kind, told, work)
        trace = town.trace()
        assert len(town.model.log) > asked
    first = next(at for at, line in enumerate(trace) if line.startswith(("claim_run", "claim_slots")))
    last = next(at for at, line in enumerate(trace) if line.startswith("settle_notice:1:after"))
    # Where the notice is told runs beside what the sender of it does: its own commits come a little later.
    passed = [line for line in trace[first : last + 4] if line.split(":")[0] not in BY_THE_CLOCK]
    commits: list[Point] = [parse_commit_point(line) for line in passed]
    return [*commits, InModel(1), InTelegram("sendMessage", 1)]


# --- judging --------------------------------------------------------------------------------------------


async def judge(town: MortalHub, kind: Kind, told: Told, work: Work = "prompt") -> None:
    """One run for what was brought, an end for each run, each told, twice only where that is marked. A job
    for each run, whose result is told, and none that nobody waits for."""
    ended = await runs(town)
    keys = [run["key"] for run in ended]
    assert len(set(keys)) == len(keys), f"fired twice: {keys}"
    if kind == "cron":
        assert len(ended) >= SLOTS
    else:
        assert told.taken == 1
        assert keys == [f"{'delivery' if kind == 'webhook' else 'event'}:{DELIVERY}"], "not fired once"
    wanted = [run for run in ended if run["status"] != "skipped"]
    ends = {"attention", "interrupted"} if work == "prompt" else {"attention"}
    assert {run["status"] for run in wanted} <= ends, wanted
    jobs = json.loads(await town.command("jobs", "list", "--json"))
    dispatched = [] if work == "prompt" else [run["job_id"] for run in wanted]
    assert sorted(job["id"] for job in jobs) == sorted(dispatched)
    assert {job["state"] for job in jobs} <= {"submitted" if work == "container" else "completed"}
    assert {run["notice"] for run in wanted} == {"sent"}, "an end was not told"
    marked = repeats(town)
    copies = len(notices(town)) - len(wanted)
    assert 0 <= copies <= marked <= 1, f"{copies} told twice, {marked} marked"
