"""How long one text can hold the event loop: hostile texts of 4 kB to 10 MB through every door of a hub.

`python -m benchmarks.hostile_text [--door NAME] [--attack NAME] [--largest BYTES] [--json FILE]`

This process holds the simulators of the platforms and a model, a web site and an MCP server; the hub is a
process of its own, which writes down each step of its loop that takes over 5 ms of CPU time, and how late its
loop was because of its threads (benchmarks.bots.watched_hub). Each text comes from an account of its own, so
that no limit of the platform is in the way of the next. A text that a door refuses counts as well. Exits 1 if
a text held the loop for longer than 100 ms, or was not answered.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import aiohttp
from aiohttp import web

from benchmarks.platforms import OnDiscord, OnSlack
from tests.simulators.mcp.web import WebServer, open_web_server
from tests.simulators.model import ModelSimulator
from tests.simulators.model.replies import Reply
from tests.simulators.telegram import TelegramSimulator
from tests.tree import ROOT
from tests.webhook_senders import SECRET, Sender

TOKEN, KEY = "123456:AAA", "benchmark-key"
OWNER = 1
PEOPLE = 240
"""Of each platform: twice as many as a door has attacks in all sizes."""
MCP_SERVER = "benchmarks.bots.mcp_file"
MAX_MS = 100.0
NOTED_MS = 20.0
SIZES = (4_000, 64_000, 250_000, 1_000_000, 10_000_000)
ANSWERED_CHARS = 80_000
"""Longer ones may make an update of more than 512 kB, at six bytes a character."""
START_LIMIT_S, LIMIT_S, QUIET_S = 120.0, 30.0, 0.5
ATTACKS: Mapping[str, str] = {
    "plain": "word ",
    "one word": "x",
    "keys": "sk-",
    "jwt": "eyJ",
    "private keys": "-----BEGIN PRIVATE KEY-----\n",
    "logins": "://a:",
    "pictures": "![",
    "brackets": "[",
    "links": "[a](b ",
    "emphasis": "a**b_",
    "quotes": "> ",
    "lists": "- a\n",
    "headings": "# a\n",
    "tables": "|a|-|\n|-|-|\n",
    "code": "`a``b",
    "marks": "e\u0301",
    "fences": "<tool_output ",
    "escapes": "\x1b[",
    "tags": "<a <!-- ",
    "blanks": " \n",
    "nested": "[[[[]]]],",
}


@dataclass(slots=True)
class Site:
    """A page, a file and an MCP server's answer, all of them one text."""

    directory: Path
    text: str = ""
    port: int = 0

    async def page(self, request: web.Request) -> web.Response:
        """Answer with the text as a page."""
        kind = "text/html" if "html" in request.path else "text/plain"
        return web.Response(body=self.text.encode(), content_type=kind)

    def put(self, text: str) -> None:
        """Make it what is to be had."""
        self.text = text
        (self.directory / "said.txt").write_text(text, encoding="utf-8")
        (self.directory / "workspace" / "said.txt").write_text(text, encoding="utf-8")


@dataclass(slots=True)
class Stage:
    """The hub and what is around it."""

    telegram: TelegramSimulator
    slack: OnSlack
    discord: OnDiscord
    model: ModelSimulator
    web: WebServer
    site: Site
    http: aiohttp.ClientSession
    directory: Path
    person: int = OWNER
    api: dict[str, str] = field(default_factory=dict[str, str])

    async def asks(self, said: str, name: str = "Ada") -> None:
        """Somebody new writes, until they are answered."""
        self.person += 1
        self.telegram.add_user(self.person, first_name=name)
        self.telegram.user_sends_text(self.person, said)
        await self.telegram.wait_for(lambda: self._is_done(len(said) + len(name)), LIMIT_S)

    def _is_done(self, asked_chars: int) -> bool:
        """Whether they have their answer; what is over the size of an update is passed over without one."""
        if asked_chars > ANSWERED_CHARS and self.telegram.all_confirmed():
            return True
        return bool(self.telegram.bot_messages(self.person))

    async def says_on(self, platform: OnSlack | OnDiscord, text: str) -> None:
        """Somebody new writes there, and once more, until that is answered: the text has been dealt with."""
        self.person += 1
        account = platform.account(self.person).partition(":")[2]
        platform.simulator.user_sends_text(account, text)
        await platform.ask(self.person, "that was all", "that was all")

    async def brings(self, path: str, body: bytes, headers: Mapping[str, str]) -> None:
        """A request, until it is answered; one that is refused before it is read may be cut off."""
        sent = {"Content-Type": "application/json", **headers}
        try:
            async with self.http.post(f"{self.api['url']}{path}", data=body, headers=sent) as answer:
                await answer.read()
        except aiohttp.ClientError:
            pass

    def holds(self) -> "Holds":
        """What held the loop since the last look."""
        path = self.directory / "holds"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        found = [(one["ms"], one["kind"], one["what"]) for one in map(json.loads, lines)]
        step_ms, late_ms = (max((ms for ms, kind, _ in found if kind == of), default=0.0) for of in KINDS)
        return Holds(step_ms, late_ms, max(found, default=(0.0, "", ""))[2])


KINDS = ("step", "beat")


@dataclass(frozen=True, slots=True)
class Holds:
    """How long one text held the loop: its longest step in CPU time, and the longest time in which threads
    kept it from its next one. `what`: what held it longest. `answered`: in time."""

    step_ms: float
    late_ms: float
    what: str
    answered: bool = True

    @property
    def longest_ms(self) -> float:
        """The longer of both."""
        return max(self.step_ms, self.late_ms)


async def by_message(stage: Stage, text: str) -> None:
    await stage.asks(text)


async def by_slack(stage: Stage, text: str) -> None:
    await stage.says_on(stage.slack, text)


async def by_discord(stage: Stage, text: str) -> None:
    await stage.says_on(stage.discord, text)


async def by_name(stage: Stage, text: str) -> None:
    await stage.asks("hi", name=text)


async def by_reply(stage: Stage, text: str) -> None:
    stage.model.enqueue(text)
    await stage.asks("say it")


async def by_page(stage: Stage, text: str) -> None:
    stage.site.put(text)
    await stage.asks(f'please call: http {{"url": "http://127.0.0.1:{stage.site.port}/text"}}')


async def by_html(stage: Stage, text: str) -> None:
    stage.site.put(text)
    await stage.asks(f'please call: http {{"url": "http://127.0.0.1:{stage.site.port}/html"}}')


async def by_file(stage: Stage, text: str) -> None:
    stage.site.put(text)
    await stage.asks('please call: read_file {"path": "said.txt"}')


async def by_mcp(stage: Stage, text: str) -> None:
    stage.site.put(text)
    await stage.asks('please call: raw__say {"text": ""}')


async def by_mcp_web(stage: Stage, text: str) -> None:
    """A result that is the text, and of a text that makes values, those and as many parts."""
    values = _values(text)
    content = [{"type": "text", "text": text if values is text else ""}]
    content *= 1 if values is text else len(text) // 40
    stage.web.given = {"result": {"content": content, "structuredContent": {"said": values}}}
    await stage.asks('please call: web__note {"text": ""}')


async def by_stream_event(stage: Stage, text: str) -> None:
    """The text in one event of the model's stream."""
    stage.model.enqueue(Reply(text, chunk_chars=max(len(text), 1)))
    await stage.asks("say it")


async def by_history(stage: Stage, text: str) -> None:
    """A page of Discord's history, read after an interruption; a message there has 2,000 characters."""
    stage.person += 1
    account = stage.discord.account(stage.person).partition(":")[2]
    stage.discord.simulator.cut_gateway()
    for at in range(0, min(len(text), 200_000), 2_000):
        stage.discord.simulator.user_sends_text(account, f"say {text[at : at + 1_990]}")
    stage.discord.simulator.mend_gateway()
    await stage.discord.connected()
    await stage.says_on(stage.discord, "and that")


def _values(text: str) -> object:
    """The values that a text makes, or the text."""
    try:
        return json.loads(f"[{text.removesuffix(',')}]")
    except (ValueError, RecursionError):
        return text


async def by_webhook(stage: Stage, text: str) -> None:
    body = json.dumps({"ref": text}).encode()
    stage.person += 1
    headers = Sender(time.time()).github(body, str(stage.person))
    await stage.brings("/api/webhooks/pushed", body, headers)


async def by_webhook_body(stage: Stage, text: str) -> None:
    body = f'{{"ref": [{text.removesuffix(",")}]}}'.encode()
    stage.person += 1
    await stage.brings("/api/webhooks/pushed", body, Sender(time.time()).github(body, str(stage.person)))


async def by_gateway(stage: Stage, text: str) -> None:
    stage.discord.simulator.sends_event("TYPING_START", {"padding": _values(text)})
    await stage.says_on(stage.discord, "and that")


async def by_api(stage: Stage, text: str) -> None:
    headers = {"Authorization": f"Bearer {stage.api['token']}"}
    await stage.brings("/api/chat/send", json.dumps({"text": text}).encode(), headers)


async def by_event(stage: Stage, text: str) -> None:
    headers = {"Authorization": f"Bearer {stage.api['token']}"}
    page = {"source": "bench", "type": "said", "payload": {"text": text}}
    await stage.brings("/api/events/emit", json.dumps(page).encode(), headers)


Door = Callable[[Stage, str], Awaitable[None]]
DOORS: Mapping[str, Door] = {
    "message": by_message,
    "slack": by_slack,
    "discord": by_discord,
    "name": by_name,
    "model reply": by_reply,
    "page": by_page,
    "html page": by_html,
    "file": by_file,
    "mcp result": by_mcp,
    "mcp over http": by_mcp_web,
    "stream event": by_stream_event,
    "discord history": by_history,
    "webhook": by_webhook,
    "webhook body": by_webhook_body,
    "gateway event": by_gateway,
    "api": by_api,
    "event": by_event,
}


def _config(stage: Stage) -> str:
    others = [on.account(person) for on in (stage.slack, stage.discord) for person in range(1, PEOPLE + 1)]
    everybody = json.dumps([f"telegram:{person}" for person in range(1, PEOPLE + 1)] + others)
    run = f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); "
    run += f"runpy.run_module({MCP_SERVER!r}, run_name='__main__')"
    server = json.dumps([sys.executable, "-c", run, str(stage.directory), str(stage.directory / "said.txt")])
    return f"""
[hub]
data_dir = "{stage.directory}/data"
owner_identities = {everybody}
[http]
port = 0
[workspace]
dir = "{stage.directory}/workspace"
[network]
allow_private = ["127.0.0.1:{stage.site.port}"]
[access]
sender_per_minute = 0
[approvals]
preset = "auto"
[log]
level = "warning"
[[models]]
name = "main"
provider = "openai"
model = "sim-1"
base_url = "{stage.model.openai_base_url}"
api_key = "{KEY}"
[mcp.raw]
command = {server}
users = ["owner"]
requirement = "never"
[mcp.web]
url = "{stage.web.url}"
users = ["owner"]
requirement = "never"
[channels.telegram]
token = "{TOKEN}"
api_base_url = "{stage.telegram.url}"
{stage.slack.section()}
{stage.discord.section()}
"""


async def _started(stage: Stage) -> asyncio.subprocess.Process:
    """The hub as a process; the secret of a webhook is in its vault."""
    config = stage.directory / "hubbub.toml"
    config.write_text(_config(stage))
    keep = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "secrets", "set", "hook", "--config", str(config)),
        stdin=asyncio.subprocess.PIPE,
    )
    await keep.communicate(f"{SECRET}\n".encode())
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.bots.watched_hub", str(stage.directory / "holds")),
        *("run", "--config", str(config)),
    )


async def _ready(stage: Stage) -> None:
    """Until the hub answers, and has a routine that listens to a webhook."""
    await stage.telegram.wait_polling(TOKEN, START_LIMIT_S)
    await stage.slack.connected()
    await stage.discord.connected()
    stage.api = json.loads((stage.directory / "data" / "api.json").read_text())
    hook = {"type": "webhook", "path": "pushed", "secret_name": "hook", "signature": "github"}
    routine = {
        "name": "pushed",
        "trigger": hook,
        "action": {"type": "lightweight", "prompt": "Say what was pushed."},
        "guardrails": {"cooldown_s": 0},
    }
    headers = {"Authorization": f"Bearer {stage.api['token']}"}
    async with stage.http.post(f"{stage.api['url']}/api/routines", json=routine, headers=headers) as answer:
        assert answer.status < 300, await answer.text()
    async with asyncio.timeout(START_LIMIT_S):
        while not await _has_mcp(stage):  # noqa: ASYNC110 - the hub tells nobody
            await asyncio.sleep(0.1)
    await stage.asks("hello")


async def _has_mcp(stage: Stage) -> bool:
    async with stage.http.get(f"{stage.api['url']}/readyz") as answer:
        servers = (await answer.json())["mcp"]
        return all(servers[name]["tools"] for name in ("raw", "web"))


async def measured(stage: Stage, door: Door, text: str) -> Holds:
    """How long the loop was held by one text, also by one that is not answered in time."""
    stage.holds()
    answered = True
    try:
        await door(stage, text)
    except TimeoutError:
        answered = False
    await asyncio.sleep(QUIET_S)  # what is done after the answer counts as well
    return replace(stage.holds(), answered=answered)


async def run(doors: list[str], attacks: list[str], largest: int) -> dict[str, dict[str, Holds]]:
    """All doors, each of a hub of its own, and attacks; the longest holds of each, by size."""
    found: dict[str, dict[str, Holds]] = {}
    for door in doors:
        with tempfile.TemporaryDirectory() as name:
            async with _opened(Path(name)) as stage:
                for attack in attacks:
                    row = found[f"{door}: {attack}"] = {}
                    for size in (size for size in SIZES if size <= largest):
                        unit = ATTACKS[attack]
                        held = await measured(stage, DOORS[door], unit * (size // len(unit)))
                        row[str(size)] = held
                        print(f"{door:13} {attack:12} {size:>9} {_told(held)}", flush=True)
    return found


def _told(held: Holds) -> str:
    answered = "" if held.answered else f"  NO ANSWER IN {LIMIT_S:g} S"
    what = held.what if held.longest_ms > NOTED_MS else ""
    return f"{held.step_ms:8.1f} ms, late {held.late_ms:6.1f} ms{answered}  {what}"


@contextlib.asynccontextmanager
async def _opened(directory: Path) -> AsyncIterator[Stage]:
    """A hub that serves, and all that is around it."""
    (directory / "workspace").mkdir()
    site = Site(directory)
    app = web.Application()
    app.router.add_get("/{kind}", site.page)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.port = runner.addresses[0][1]
    model = ModelSimulator(api_key=KEY, models=("sim-1",), context_tokens=100_000_000, log_limit=20)
    telegram, slack, discord = TelegramSimulator(log_limit=200), OnSlack(), OnDiscord()
    async with (
        telegram,
        slack.simulator,
        discord.simulator,
        model,
        open_web_server() as server,
        aiohttp.ClientSession() as http,
    ):
        server.mode = "given"
        telegram.add_bot(TOKEN)
        slack.open(PEOPLE)
        discord.open(PEOPLE)
        stage = Stage(telegram, slack, discord, model, server, site, http, directory)
        hub = await _started(stage)
        try:
            await _ready(stage)
            yield stage
        finally:
            hub.kill()
            await hub.wait()
            await runner.cleanup()


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--door", action="append", choices=list(DOORS))
    parser.add_argument("--attack", action="append", choices=list(ATTACKS))
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = asyncio.run(run(options.door or list(DOORS), options.attack or list(ATTACKS), options.largest))
    holds = {f"{row}, {size} bytes": held for row, sizes in found.items() for size, held in sizes.items()}
    unanswered = [text for text, held in holds.items() if not held.answered]
    longest_ms = max((held.longest_ms for held in holds.values()), default=0.0)
    if options.json:
        page = {
            "python": sys.version,
            "longest_ms": longest_ms,
            "unanswered": unanswered,
            "held": {text: [held.step_ms, held.late_ms] for text, held in holds.items()},
        }
        options.json.write_text(json.dumps(page, indent=2) + "\n")
    print(f"longest hold: {longest_ms:.1f} ms; at most {MAX_MS:g} ms")
    print(f"without an answer: {'; '.join(unanswered) or 'none'}")
    return 1 if longest_ms > MAX_MS or unanswered else 0


if __name__ == "__main__":
    sys.exit(main())
