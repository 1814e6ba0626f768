"""A conversation is recorded between simulators, and replayed where there is nothing but its recording."""

import asyncio
import contextlib
import gc
import hashlib
import json
import signal
import sqlite3
import ssl
import stat
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from bot.app import Seams
from bot.config.load import Loaded, load
from bot.mcp.http import HttpConnector
from bot.recordings.log import FILE_NAME, MARK, read_recording
from bot.recordings.recorder import recording
from bot.recordings.replayer import ReplayWeb, replay
from bot.recordings.script import Script
from bot.runtime import StartError
from core.clock import SECOND_US, SystemClock
from core.errors import SignInFailed, ToolDenied
from core.safety.fencing import ResultLimits, unfence
from core.safety.network import Exemption, NetworkGuard, SystemLookup
from core.tools.builtin.web_tools import http_tool, web_client
from core.tools.execution import run_call
from core.tools.mcp.connection import ServerFailed
from core.tools.oauth import OAuthClient
from core.web import Challenge, WebAnswer, WebRequest
from tests.bot.cli.in_process import command
from tests.bot.web.api_client import Client, client
from tests.core.tools.support import Call
from tests.core.tools.website import Website
from tests.crash.mortal import open_mortal_hub
from tests.crash.points import AtCommit, Side
from tests.harness.process import hubbub
from tests.harness.telegram_hub import LIMIT_S, OWNER, TOKEN, Card, Hub, open_hub
from tests.scenarios.test_mcp import becomes, section
from tests.simulators.mcp.web import open_web_server
from tests.simulators.model import Hold, HttpError
from tests.simulators.model.replies import ToolCall, text, tools
from tests.webhook_senders import SECRET, Sender

pytestmark = pytest.mark.asyncio(loop_scope="module")

VAULT_SECRET, SHORT_SECRET = "violet-harbour-17-kites", "zk7q4"
TYPED_SECRET = "sk-proj-abcdEFGH0123456789abcdEFGH"
LATE_SECRET = "amber-lantern-44-geese"
COOKIE = "copper-thimble-71-wrens"
ROUTINE = {
    **{"name": "watch", "kind": "event", "pattern": "deploy", "cooldown_s": 0},
    **{"prompt": "Look after it", "tools": ["shell"]},
}
HOOK = """
[[hooks]]
name = "watch"
on = ["before_inbound", "before_tool_call", "transform_response", "before_outbound"]
ask = "http://127.0.0.1:9/hook"
secret = "env:HOOK_SECRET"
waits = true
"""
FILES = ("notes.txt", "more.txt")
OUTSIDE = {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.posix_spawn", "os.exec", "os.fork"}

_reached: list[str] | None = None


def _notice(event: str, arguments: tuple[Any, ...]) -> None:
    if _reached is not None and event in OUTSIDE:
        _reached.append(f"{event} {arguments}")


sys.addaudithook(_notice)


@dataclass(slots=True)
class Place:
    """What was recorded, and the surroundings it was recorded in."""

    hub: Hub
    site: Website
    recording: Path
    said: list[str]
    asked: int

    def loaded(self) -> Loaded:
        """The configuration as a replay reads it."""
        return load(self.hub.directory / "hubbub.toml", environ={}, secrets=False)

    @property
    def text(self) -> str:
        """All of the recording."""
        return (self.recording / FILE_NAME).read_text()

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Its records of one kind."""
        return [record for record in map(json.loads, self.text.splitlines()) if record["k"] == kind]


async def greeted(request: web.Request) -> web.StreamResponse:
    return web.Response(text=f"hello from {request.path}", headers={"Set-Cookie": f"session={COOKIE}"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """A conversation of twenty turns, recorded once for all tests."""
    home = tmp_path_factory.mktemp("recorded")
    (home / "hub").mkdir()
    async with Website(greeted) as site, open_hub(home / "hub", start=False) as hub:
        with (hub.directory / "hubbub.toml").open("a") as config:
            config.write(f'[network]\nallow_private = ["127.0.0.1:{site.port}"]\n')
        for name in (*FILES, "victim.txt"):
            (hub.workspace / name).write_text(f"{name} {VAULT_SECRET} {SHORT_SECRET}\n")
        (hub.workspace / "AGENTS.md").write_text("Be brief.")
        await asyncio.to_thread(keep_secret, hub, "harbour", VAULT_SECRET)
        with recording(home / "rec", Seams(clock=hub.clock)) as seams:
            await hub.serve(seams)
            await hub.telegram.wait_polling(TOKEN, LIMIT_S)
            await _converse(hub, site)
            await hub.settled_sends()
            said, asked = hub.says(OWNER), len(hub.model.log)
            await hub.stop()
        yield Place(hub, site, home / "rec", said, asked)


async def _converse(hub: Hub, site: Website) -> None:
    for number in range(9):
        await _says(hub, f"hello {number}")
    hub.telegram.redeliver()
    await _says(hub, "say: ok", "ok")
    await asyncio.to_thread(keep_secret, hub, "short", SHORT_SECRET)
    await _says(hub, "\n".join(f'please call: read_file {{"path": "{name}"}}' for name in FILES), "Done:")
    await _says(hub, "please run: rm victim.txt", "Done:", press=0)
    await _says(hub, 'please call: write_file {"path": "new.txt", "content": "new"}', "Done:", press=0)
    post = {"method": "POST", "url": site.url("/order", "127.0.0.1"), "body": "one"}
    await _says(hub, f"please call: http {json.dumps(post)}", "Done:", press=0)
    await _says(hub, "please run: touch denied.txt", "Done:", press=1)
    await _says(hub, "please run: touch always.txt", "Done:", press=2)
    hub.telegram.user_sends_text(OWNER, "please run: mkdir worded")
    await hub.card(OWNER)
    await _says(hub, "yes", "Done:")
    await _says(hub, 'please call: delegate {"task": "a part of it"}', "a part of it")
    for reply in (tools(ToolCall("shell", {"command": "touch worked.txt"})), text("Worked.")):
        hub.model.enqueue(reply)
    await _says(hub, "/job --tools shell Work on it", "Work on it")
    await hub.telegram.wait_text(OWNER, "Work on it” completed")
    await _says(hub, "thank you", "thank you")
    await _says(hub, f"my key is {TYPED_SECRET}", "You said: my key is")
    hub.telegram.user_sends_text(OWNER, 'please call: tool_auth {"name": "gate", "purpose": "to open it"}')
    await hub.telegram.wait_text(OWNER, "Please send me the credential “gate”")
    await _says(hub, "/stop", "I am no longer waiting for the credential")
    await _says(hub, LATE_SECRET, "am no longer waiting for it")
    await _says(hub, f"please call: routine_create {json.dumps(ROUTINE)}", "Done:", press=0)
    hub.model.rule("Look after it", tools(ToolCall("shell", {"command": "touch fired.txt"})))
    hub.model.rule("Look after it", text("Looked."), on="tool")
    await _says(hub, "deploy now", "You said: deploy now")
    await hub.telegram.wait_text(OWNER, "Routine “watch”", timeout_s=LIMIT_S)
    assert (hub.workspace / "fired.txt").exists()


async def _says_oddly(hub: Hub) -> None:
    """What fails and is tried again, is stopped while it is written or run, or comes from the console."""
    hub.model.fault(HttpError(500))
    await _says(hub, "hello again")
    hub.telegram.user_sends_text(OWNER, "slow 30: never")
    await hub.model.wait_requests(3, timeout_s=LIMIT_S)
    await _says(hub, "/stop", "Stopped")
    hub.telegram.user_sends_text(OWNER, "please run: touch begun; sleep 30")
    await hub.pressed(OWNER, await hub.card(OWNER), 0)
    await hub.until(lambda: asyncio.to_thread((hub.workspace / "begun").exists))
    await _says(hub, "/stop", "Stopped")
    async with client(hub.directory) as api:
        begun = await api.send("from the console")
        thread = begun["thread_id"]
        for text in ("say: one", "say: two"):
            await api.send(text, thread_id=thread)
            wanted = text.removeprefix("say: ")
            await api.until(f"/api/threads/{thread}", lambda page, wanted=wanted: wanted in str(page))


@pytest.mark.slow
async def test_stops_failures_servers_and_the_console_are_replayed(tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    extra = section(tmp_path)
    async with Website() as site, open_hub(tmp_path / "hub", extra=extra, start=False) as hub:
        with recording(tmp_path / "rec", Seams(clock=hub.clock)) as seams:
            await hub.serve(seams)
            await hub.telegram.wait_polling(TOKEN, LIMIT_S)
            await _says_oddly(hub)
            await becomes(hub, "ready")
            await _says(hub, 'please call: raw__note {"text": "milk"}', "noted milk")
            await hub.stop()
        place = Place(hub, site, tmp_path / "rec", [], 0)
        assert [
            record["cut"]
            for kind in ("reply", "outcome")
            for record in place.records(kind)
            if "cut" in record
        ]
        script = await replayed(place, tmp_path / "own")
        assert script.difference is None
        assert (tmp_path / "notes").read_text() == "milk\n"
        assert len((tmp_path / "starts").read_text().split()) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_job_in_a_container_ends_in_a_replay_as_it_did_and_no_docker_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    (tmp_path / "hub").mkdir()
    async with (
        Website() as site,
        open_hub(tmp_path / "hub", extra="[sandbox]\nenabled = true\n", start=False) as hub,
    ):
        with recording(tmp_path / "rec", Seams(clock=hub.clock)) as seams:
            await hub.serve(seams)
            await hub.telegram.wait_polling(TOKEN, LIMIT_S)
            await _says(hub, "/job --sandbox touch here", "no Docker daemon answers")
            await _says(hub, "say: I see", "I see")
            await hub.stop()
        gc.collect()  # the SDK leaves sockets that could not connect
        place = Place(hub, site, tmp_path / "rec", [], 0)
        script = await replayed(place, tmp_path / "own")
        assert script.difference is None
        ends = "SELECT state, reason FROM jobs"
        (ended,) = rows(tmp_path / "own", ends)
        assert [ended] == rows(hub.directory, ends)
        assert ended[0] == "failed"
        for kind, difference in (("job", "a job in a container that"), ("ended", "expected")):
            copy = tmp_path / f"without-{kind}"
            copy.mkdir()
            left = [line for line in place.text.splitlines() if json.loads(line)["k"] != kind]
            (copy / FILE_NAME).write_text("".join(f"{line}\n" for line in left))
            script = await replayed(replace(place, recording=copy), tmp_path / kind, stalled_s=3)
            assert difference in (script.difference or ""), kind


ROUTINES = [
    {
        **{"name": "context", "trigger": {"type": "manual"}, "guardrails": {"cooldown_s": 0}},
        "action": {
            **{"type": "lightweight", "prompt": "Sum it up", "context_paths": ["notes.txt"]},
            **{"use_tools": True, "allowed_tools": ["shell"], "grants": ["shell *"]},
        },
    },
    {
        **{"name": "job", "trigger": {"type": "manual"}, "guardrails": {"cooldown_s": 0}},
        "action": {
            **{"type": "full_job", "title": "Stars", "description": "Count the stars"},
            **{"allowed_tools": ["shell"], "grants": ["shell *"]},
        },
    },
    {
        **{"name": "alarm", "guardrails": {"cooldown_s": 0}},
        "trigger": {"type": "event", "pattern": "fire", "on_match": "consume"},
        "action": {"type": "reminder", "text": "There is a fire"},
    },
    {
        **{"name": "clock", "trigger": {"type": "cron", "schedule": "every 50 m"}},
        **{"action": {"type": "lightweight", "prompt": "Which hour"}, "guardrails": {"cooldown_s": 0}},
    },
    {
        "name": "push",
        "trigger": {"type": "webhook", "path": "push", "secret_name": "hook", "signature": "github"},
        "action": {"type": "lightweight", "prompt": "Say what was pushed"},
    },
    {
        "name": "done",
        "trigger": {"type": "system_event", "source": "ci", "event_type": "done"},
        "action": {"type": "lightweight", "prompt": "Say what is done"},
    },
]
BEATS = '[heartbeat]\nenabled = true\nevery_s = 3600\nactive_hours = ""\n'
BODY = b'{"ref": "refs/heads/main"}'
FIRED = {
    **{"context": "Wet.", "job": "Seven.", "alarm": "There is a fire", "clock": "Noon.", "push": "Main."},
    **{"done": "All.", "heartbeat": "Call Ada."},
}
"""What each tells. Its run begins by a person, a message, a slot, a delivery, an event, or a beat."""


async def _fire(hub: Hub, api: Client) -> None:
    """Fire each, and wait for what it tells."""
    for name in ("context", "job"):
        await api.ask("POST", f"/api/routines/{name}/fire", {})
    await hub.telegram.wait_text(OWNER, FIRED["context"])
    await hub.telegram.wait_text(OWNER, FIRED["job"])
    await _says(hub, "there is a fire", FIRED["alarm"])
    headers = {"Content-Type": "application/json", **Sender(time.time()).github(BODY, "d-1")}
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{hub.app.url}/api/webhooks/push", data=BODY, headers=headers) as answer,
    ):
        assert answer.status == 202
    await hub.telegram.wait_text(OWNER, FIRED["push"])
    await api.ask("POST", "/api/events/emit", {"source": "ci", "event_type": "done", "payload": {"n": 1}})
    await hub.telegram.wait_text(OWNER, FIRED["done"])
    await _beat(hub)


async def _beat(hub: Hub) -> None:
    """Let the time pass to the next heartbeat, with one slot before it."""
    before = len(hub.says(OWNER))
    beats = await hub.store.routines.routine("heartbeat")
    assert beats is not None
    hub.clock.pass_by(((beats.text.next_slot_at or 0) - hub.clock.now()) / SECOND_US)
    await hub.telegram.wait_for(
        lambda: all(FIRED[name] in "".join(hub.says(OWNER)[before:]) for name in ("clock", "heartbeat")),
        LIMIT_S,
    )


async def test_runs_of_routines_are_replayed_without_their_effects(tmp_path: Path) -> None:
    (tmp_path / "hub").mkdir()
    async with Website() as site, open_hub(tmp_path / "hub", extra=BEATS, start=False) as hub:
        await asyncio.to_thread(keep_secret, hub, "hook", SECRET)
        (hub.workspace / "HEARTBEAT.md").write_text("- call Ada\n")
        for asked, told in {
            **{"Which hour": FIRED["clock"], "call Ada": FIRED["heartbeat"]},
            **{"what was pushed": FIRED["push"], "what is done": FIRED["done"]},
        }.items():
            hub.model.rule(asked, told)
        (hub.workspace / "notes.txt").write_text("It rained.")
        hub.model.rule("Sum it up", tools(ToolCall("shell", {"command": "touch summed"})))
        hub.model.rule("Sum it up", text("Wet."), on="tool")
        hub.model.rule("Count the stars", tools(ToolCall("shell", {"command": "touch counted"})))
        hub.model.rule("Count the stars", text("Seven."), on="tool")
        with recording(tmp_path / "rec", Seams(clock=hub.clock)) as seams:
            await hub.serve(seams)
            await hub.telegram.wait_polling(TOKEN, LIMIT_S)
            await _says(hub, "hello")
            async with client(hub.directory) as api:
                for routine in ROUTINES:
                    status, page = await api.ask("POST", "/api/routines", routine)
                    assert status < 300, page
                await _fire(hub, api)
            await _says(hub, "all quiet")
            await hub.settled_sends()
            await hub.stop()
        with recording(tmp_path / "rec", Seams(clock=hub.clock)) as seams:
            await hub.serve(seams)
            await hub.telegram.wait_polling(TOKEN, LIMIT_S)
            await _beat(hub)
            await _says(hub, "all quiet again")
            await hub.settled_sends()
            await hub.stop()
        place = Place(hub, site, tmp_path / "rec", [], 0)
        names = sorted([*FIRED, "clock", "heartbeat"])
        assert sorted(record["name"] for record in place.records("ran")) == names
        assert {record["state"] for record in place.records("ran")} == {"attention"}
        assert SECRET not in place.text
        for file in ("summed", "counted", "notes.txt", "HEARTBEAT.md"):
            (hub.workspace / file).unlink()
        asked, before = len(hub.model.log), everything(hub.directory)
        script = await replayed(place, tmp_path / "own")
        assert script.difference is None
        assert (len(hub.model.log), everything(hub.directory)) == (asked, before)
        runs = "SELECT o.name, r.state, r.result FROM routine_runs r JOIN routines o ON o.id = r.routine_id"
        assert sorted(rows(tmp_path / "own", runs)) == sorted(rows(hub.directory, runs))
        assert rows(tmp_path / "own", "SELECT count(*) FROM grants") == [(0,)]
        copy = tmp_path / "otherwise"
        copy.mkdir()
        lines = place.text.splitlines(keepends=True)
        changed = [line.replace("Wet.", "Dry.") if '"k":"ran"' in line else line for line in lines]
        (copy / FILE_NAME).write_text("".join(changed))
        script = await replayed(replace(place, recording=copy), tmp_path / "other")
        assert "a run of the routine 'context' ended otherwise" in (script.difference or "")


async def test_restarts_in_the_middle_of_turns_are_replayed(tmp_path: Path) -> None:
    (tmp_path / "town").mkdir()
    async with open_mortal_hub(tmp_path / "town") as town, Website() as site:

        async def starts() -> None:
            await town.run("--record", str(tmp_path / "rec"))
            await town.served_at_last()

        async def says(words: str, answer: str) -> None:
            town.owner_says(words)
            await town.telegram.wait_text(OWNER, answer)

        def recorded(kind: str) -> list[str]:
            lines = (tmp_path / "rec" / FILE_NAME).read_text().splitlines()
            return [line for line in lines if f'"k":"{kind}"' in line]

        async def cut_off(words: str, sent: signal.Signals) -> None:
            town.model.fault(Hold())
            town.owner_says(words)
            await town.model.wait_requests(state="held")
            async with asyncio.timeout(LIMIT_S):
                while not any(words in line for line in recorded("in")):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.01)
            await town.end(sent)
            town.model.release()

        await starts()
        await says("hello", "You said: hello")
        await cut_off("killed here", signal.SIGKILL)
        await starts()
        await town.telegram.wait_text(OWNER, "You said: killed here")
        await cut_off("stopped here", signal.SIGINT)
        await starts()
        await town.telegram.wait_text(OWNER, "You said: stopped here")
        town.owner_says("please run: touch begun; sleep 30")
        await town.answer_cards_until([OWNER], (town.workspace / "begun").exists)
        await town.kill()
        await starts()
        await town.answer_cards_until([OWNER], lambda: bool(town.answers(OWNER, "Done:")))
        await says("thank you", "You said: thank you")
        await town.stop()
        (town.workspace / "begun").unlink()
        asked = len(town.model.log)
        loaded = load(town.directory / "hubbub.toml", environ={}, secrets=False)
        assert len(recorded("session")) == 4
        place = Place(cast("Hub", town), site, tmp_path / "rec", [], 0)
        script = await replayed(place, tmp_path / "own", loaded)
        assert script.difference is None
        assert len(town.model.log) == asked
        assert not (town.workspace / "begun").exists()
        said = "SELECT kind, text FROM entries ORDER BY seq"
        assert rows(tmp_path / "own", said) == rows(town.directory, said)


async def test_events_committed_right_before_a_kill_are_replayed(tmp_path: Path) -> None:
    (tmp_path / "town").mkdir()
    own, recorded = tmp_path / "rec", tmp_path / "rec" / FILE_NAME
    async with open_mortal_hub(tmp_path / "town") as town, Website() as site:

        async def killed_after(number: int) -> None:
            """Start a hub that dies once it committed its so manieth event, before it hears of that."""
            await town.start(AtCommit("accept_event", number, "after"), record=own)

        async def says(words: str) -> None:
            town.owner_says(words)
            await town.telegram.wait_text(OWNER, f"You said: {words}")

        await killed_after(2)
        await says("hello")
        town.owner_says("killed here")
        assert await town.exit_code() == -signal.SIGKILL
        lines = recorded.read_text().splitlines()
        (newest,) = [line for line in lines[-1:] if "killed here" in line]
        fields = json.loads(newest)
        never = {
            **fields,
            "n": fields["n"] + 1,
            "event": {**fields["event"], "key": "never", "text": "never"},
        }
        with recorded.open("a") as file:
            file.write(f"{json.dumps(never)}\n")  # killed before the commit
        await killed_after(3)  # the first is delivered again
        await town.telegram.wait_text(OWNER, "You said: killed here")
        town.owner_says("please run: touch once")
        await town.answer_cards_until([OWNER], lambda: bool(town.pressed))
        assert await town.exit_code() == -signal.SIGKILL
        await town.start(AtCommit("finish_turn_and_enqueue", 2, "before"), record=own)
        await town.telegram.wait_text(OWNER, "Done:")
        town.owner_says("thank you")  # its reply is recorded and not stored
        assert await town.exit_code() == -signal.SIGKILL
        await town.start(record=own)
        await town.telegram.wait_text(OWNER, "You said: thank you")
        await town.stop()
        place = Place(cast("Hub", town), site, own, [], 0)
        assert [record["killed"] for record in place.records("accepted")].count(True) == 2
        loaded = load(town.directory / "hubbub.toml", environ={}, secrets=False)
        script = await replayed(place, tmp_path / "own", loaded)
        assert script.difference is None
        said = "SELECT kind, text FROM entries ORDER BY seq"
        assert rows(tmp_path / "own", said) == rows(town.directory, said)


@pytest.mark.slow
async def test_what_was_stored_right_before_a_kill_is_replayed(tmp_path: Path) -> None:
    """Outcomes of calls, and beginnings and ends of runs and turns, that the hub did not live to record; and
    nothing that it did not live to store."""
    (tmp_path / "town").mkdir()
    own, recorded = tmp_path / "rec", tmp_path / "rec" / FILE_NAME
    async with open_mortal_hub(tmp_path / "town") as town, Website() as site:
        await asyncio.to_thread(keep_secret, cast("Hub", town), "harbour", VAULT_SECRET)
        for name, reruns in (("again", True), ("once", False)):
            page = tmp_path / "guardrails.json"
            page.write_text(json.dumps({"guardrails": {"rerun_interrupted": reruns, "cooldown_s": 0}}))
            given = ("--match", "deploy", "--prompt", f"Look at {VAULT_SECRET}", "--file", str(page))
            await town.command("routines", "add", name, *given)

        async def killed_at(unit: str, side: Side = "after") -> None:
            """Start a hub that dies around its first commit of that unit."""
            await town.start(AtCommit(unit, 1, side), record=own)

        async def dies() -> None:
            assert await town.exit_code() == -signal.SIGKILL

        await killed_at("finish_calls")
        town.owner_says("please run: echo one >> once.txt")
        await town.answer_cards_until([OWNER], lambda: bool(town.pressed))
        await dies()
        await killed_at("recover", "before")
        await dies()
        kept = recorded.read_bytes().index(b',"k":"kept"')
        with recorded.open("r+b") as file:
            file.truncate(kept)  # killed while it completed the recording
        await killed_at("finish_turn_and_enqueue")
        await dies()
        await killed_at("ask_person", "before")
        town.owner_says("please run: echo two >> once.txt")
        await dies()
        await killed_at("mark_running", "before")
        await town.answer_cards_until([OWNER], lambda: len(town.pressed) > 1)
        await dies()
        await killed_at("finish_calls", "before")
        await dies()
        await town.start(record=own)
        await town.answer_cards_until([OWNER], lambda: len(town.answers(OWNER, "Done:")) > 1)
        await town.account()
        await town.stop()
        for name in ("again", "once"):
            await town.command("routines", "fire", name)
        for unit in ("begin_runs", "finish_run", "finish_run"):
            await killed_at(unit)
            await dies()
        await town.command("routines", "fire", "once")
        await killed_at("finish_run", "before")  # with the run's reply
        await dies()
        await town.start(record=own)
        town.owner_says("thank you")
        await town.telegram.wait_text(OWNER, "You said: thank you")
        await town.account()
        await town.stop()
        place = Place(cast("Hub", town), site, own, [], 0)
        assert stat.S_IMODE(recorded.stat().st_mode) == 0o600
        assert VAULT_SECRET not in place.text
        fired = [one["run"]["key"] for one in place.records("fired")]
        assert len(fired) == 3
        assert sorted(fired) == sorted(one["run"]["key"] for one in place.records("ran"))
        assert len(place.records("outcome")) == 2
        assert len(place.records("kept")) == 1
        (town.workspace / "once.txt").unlink()
        asked = len(town.model.log)
        loaded = load(town.directory / "hubbub.toml", environ={}, secrets=False)
        script = await replayed(place, tmp_path / "own", loaded)
        assert script.difference is None
        assert (len(town.model.log), (town.workspace / "once.txt").exists()) == (asked, False)
        for said in (
            "SELECT e.kind, e.text FROM entries e JOIN runs r ON r.id = e.turn_id AND r.kind = 'chat'"
            " ORDER BY e.seq",
            "SELECT o.name, r.state FROM routine_runs r JOIN routines o ON o.id = r.routine_id ORDER BY 1",
        ):
            assert rows(tmp_path / "own", said) == rows(town.directory, said)


def rows(directory: Path, sql: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(directory / "data" / "hub.db")) as database:
        return database.execute(sql).fetchall()


def keep_secret(hub: Hub, name: str, value: str) -> None:
    done = command(hub.directory, "secrets", "set", name, stdin=value.encode())
    assert done.code == 0, done.err


def _asked(hub: Hub) -> list[Card]:
    """Return the open cards, without the buttons of jobs."""
    return [card for card in hub.open_cards(OWNER) if card.text.partition("\n")[0].endswith("?")]


async def _says(hub: Hub, text: str, answer: str = "", *, press: int | None = None) -> None:
    """Say it, press the card if there is one, and wait for the answer."""
    before = len(hub.says(OWNER))
    hub.telegram.user_sends_text(OWNER, text)
    if press is not None:
        card, *_ = await hub.telegram.wait_for(lambda: _asked(hub), LIMIT_S)
        await hub.pressed(OWNER, card, press)
    wanted = answer or f"You said: {text}"
    await hub.telegram.wait_for(lambda: any(wanted in one for one in hub.says(OWNER)[before:]), LIMIT_S)


async def replayed(place: Place, own: Path, loaded: Loaded | None = None, stalled_s: float = 15.0) -> Script:
    """Replay the conversation, and fail if the outside was reached for."""
    global _reached
    _reached = []
    try:
        async with asyncio.timeout(LIMIT_S):
            script = await replay(
                loaded or place.loaded(), place.recording, own, stays=False, stalled_s=stalled_s
            )
        assert _reached == []
    finally:
        _reached = None
    return script


def everything(directory: Path) -> dict[str, str]:
    """The files below a directory, with their contents' digests."""
    files = [file for file in sorted(directory.rglob("*")) if file.is_file()]
    return {str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


async def test_a_replay_asks_and_answers_the_same_and_touches_nothing(place: Place, tmp_path: Path) -> None:
    before, posts = everything(place.hub.directory), len(place.site.seen)
    with_hook = place.hub.directory / "with-hook.toml"
    with_hook.write_text(f"{(place.hub.directory / 'hubbub.toml').read_text()}\n{HOOK}")
    loaded = load(with_hook, environ={}, secrets=False)
    with_hook.unlink()
    script = await replayed(place, tmp_path, loaded)
    assert script.difference is None
    assert len(script.inputs) == 33, "what was delivered twice was said once"
    assert everything(place.hub.directory) == before
    assert (len(place.site.seen), posts) == (1, 1)
    assert (place.hub.says(OWNER), len(place.hub.model.log)) == (place.said, place.asked)
    assert [file.name for file in (tmp_path / "workspace").iterdir()] == ["AGENTS.md"]
    with sqlite3.connect(tmp_path / "data" / "hub.db") as database:
        answers = database.execute(
            "SELECT e.text FROM entries e JOIN threads t ON t.id = e.thread_id"
            " WHERE e.kind = 'assistant' AND t.kind = 'chat' ORDER BY e.seq"
        ).fetchall()
        routines = database.execute("SELECT count(*) FROM routines").fetchone()
    ends = [record["text"] for record in place.records("turn")]
    assert [text for (text,) in answers if text] == ends
    assert len(ends) >= 20
    runs = rows(tmp_path, "SELECT state, result FROM routine_runs")
    assert (routines, runs) == ((1,), [("attention", "Looked.")])


async def test_a_tool_gets_the_recorded_answer_without_a_connection(place: Place) -> None:
    posted = next(one for one in place.records("call") if one["tool"] == "http")
    (outcome,) = (one["text"] for one in place.records("outcome") if one["call"] == posted["n"])
    script = Script(read_recording(place.recording), 15)
    guard = NetworkGuard(SystemLookup(), [Exemption.parse(f"127.0.0.1:{place.site.port}")])
    http = http_tool(guard, ssl.create_default_context)
    call = Call(interceptor=ReplayWeb(script))
    for arguments, told in (
        (posted["arguments"], unfence(outcome)),
        (posted["arguments"], "the recording has no answer of"),
    ):
        limits = ResultLimits()
        result = await run_call("c1", http, arguments, call, SystemClock(), limits)
        assert told in unfence(result.text)
    assert (script.difference or "").startswith(
        "a web request that the recording doesn't have: POST http://127"
    )
    assert len(place.site.seen) == 1


@dataclass(slots=True)
class Remembers:
    """Hears exchanges; `offline`: answers from them in their order, and lets nothing be sent."""

    heard: list[tuple[str, WebAnswer | None]] = field(default_factory=list)
    offline: bool = False

    def answer(self, request: WebRequest) -> WebAnswer | None:
        if not self.offline:
            return None
        known = [place for place, (method, _) in enumerate(self.heard) if method == request.method]
        answer = self.heard.pop(known[0])[1] if known else None
        if answer is None:
            raise ToolDenied("nothing is sent")
        return answer

    def answered(self, request: WebRequest, answer: WebAnswer | None) -> None:
        assert not self.offline
        self.heard.append((request.method, answer))


async def test_servers_of_tools_are_reached_by_the_interceptor_alone() -> None:
    async def used(url: str) -> str:
        async with HttpConnector(url, {}, 10, interceptor).open() as server:
            listed = await server.tools()
            return str([tool.name for tool in listed])

    interceptor = Remembers()
    async with open_web_server() as server:
        listed = await used(server.url)
    interceptor.offline = True
    assert "note" in listed
    assert await used(server.url) == listed
    with pytest.raises(ServerFailed):
        await used(server.url)
    web, clock = partial(web_client, tls=ssl.create_default_context), SystemClock()
    oauth = OAuthClient(SystemLookup(), [], web, interceptor, clock)
    with pytest.raises(SignInFailed, match="nothing is sent"):
        await oauth.discover("https://tools.example/mcp", Challenge(), ())


async def test_nothing_secret_is_recorded(place: Place) -> None:
    for secret in (VAULT_SECRET, SHORT_SECRET, TYPED_SECRET, LATE_SECRET, TOKEN, "model-key", COOKIE):
        assert secret not in place.text, secret
    read = [record["text"] for record in place.records("outcome") if "read_file" in record["text"]]
    words = [word for text in read for word in text.split() if word.startswith(MARK)]
    assert len(words) == 4
    assert len(set(words)) == 2
    assert stat.S_IMODE(place.recording.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in place.recording.iterdir()] == [0o600]


def verbose(config: str) -> str:
    return f'{config}\n[agent]\nsystem_prompt = "Be verbose."\n'


def in_tokyo(config: str) -> str:
    return config.replace('timezone = "UTC"', 'timezone = "Asia/Tokyo"', 1)


def without_asking(config: str) -> str:
    return f'{config}\n[approvals]\npreset = "auto"\ndangerous_tools = []\n'


REQUEST = "record 5: the request to the model main differs in "


@pytest.mark.parametrize(
    "change, difference",
    [
        (verbose, f"{REQUEST}system: expected"),
        (in_tokyo, f"{REQUEST}conversation[1].text: expected"),
        (without_asking, "expected"),
    ],
)
async def test_a_changed_configuration_stops_at_the_first_difference(
    place: Place,
    tmp_path: Path,
    change: Callable[[str], str],
    difference: str,
) -> None:
    changed = place.hub.directory / "changed.toml"
    changed.write_text(change((place.hub.directory / "hubbub.toml").read_text()))
    script = await replayed(place, tmp_path, load(changed, environ={}, secrets=False), 1.5)
    changed.unlink()
    assert difference in (script.difference or "")


async def test_a_changed_identity_document_stops_it(place: Place, tmp_path: Path) -> None:
    document = place.hub.workspace / "AGENTS.md"
    document.write_text("Be kind.")
    script = await replayed(place, tmp_path)
    document.write_text("Be brief.")
    expected, came = (f'"# AGENTS.md\\n\\nBe {how}.' for how in ("brief", "kind"))
    assert (script.difference or "").startswith(f"{REQUEST}system: expected {expected}")
    assert f", came {came}" in (script.difference or "")


def without(kind: str, place: int = -1) -> Callable[[list[dict[str, Any]]], None]:
    """Leave out one record of a kind, by default the last."""

    def change(records: list[dict[str, Any]]) -> None:
        of_chats = [one for one in records if one["k"] == kind and one.get("run") != "routine"]
        records.remove(of_chats[place])

    return change


def other_command(records: list[dict[str, Any]]) -> None:
    reply = next(record for record in records if record["k"] == "reply" and "rm victim" in str(record))
    (call,) = reply["reply"]["calls"]
    call["arguments"] = call["arguments"].replace("victim", "all")


@pytest.mark.parametrize(
    "change, difference",
    [
        pytest.param(
            without("ask"),
            "a request to the model main that the recording doesn't have",
            marks=pytest.mark.slow,
        ),
        (without("call"), "a call that the recording doesn't have: routine_create"),
        (other_command, 'a call that the recording doesn\'t have: shell {"command": "rm all.txt"'),
        (without("turn", 3), 'a turn ended otherwise: [1]: expected "You said: hello 4", came "You'),
    ],
)
async def test_a_request_missing_from_the_recording_stops_the_replay(
    place: Place, tmp_path: Path, change: Callable[[list[dict[str, Any]]], None], difference: str
) -> None:
    records = list(map(json.loads, place.text.splitlines()))
    change(records)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / FILE_NAME).write_text("".join(f"{json.dumps(record)}\n" for record in records))
    script = await replayed(replace(place, recording=copy), tmp_path / "own")
    assert difference in (script.difference or "")


async def test_a_directory_with_a_database_is_refused(place: Place) -> None:
    with pytest.raises(StartError, match="holds a hub's database"):
        await replayed(place, place.hub.directory)


async def test_the_replay_command_reports_whether_everything_matches(place: Place) -> None:
    directory, words = place.hub.directory, ("replay", "check", str(place.recording), "--config")
    same = await hubbub(directory, *words, "hubbub.toml")
    assert (same.code, same.out, same.err.count("difference")) == (
        0,
        f"{place.recording}: as recorded (33 messages and presses)\n",
        0,
    )
    (directory / "changed.toml").write_text(verbose((directory / "hubbub.toml").read_text()))
    other = await hubbub(directory, *words, "changed.toml")
    assert other.code == 1
    assert f"{place.recording}: {REQUEST}system" in other.err
    both = await hubbub(directory, "run", "--record", "one", "--replay", "two")
    assert both.code == 2
