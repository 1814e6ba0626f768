"""Make an upgrade fixture, tests/upgrade/schemaNN: an earlier version of the program, killed in mid-work.

    mkdir OLD && git archive c5caeb1 | tar x -C OLD
    python -m tests.upgrade.make OLD 21

The hub of OLD runs as a process of its own between today's simulators and is killed twice: the first time
while a call runs, the second time with everything under way that can be. Made once for each schema and never
again: 20 by b62dd9c1, the last program that stored `prompt_id` in its JSON, 21 by c5caeb1. Each opens a gate
of every kind that it can open; neither opens a `budget` or a `menu`. It reads the database of a running hub,
in the words of its schema.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.simulators.model import Hold, ModelSimulator, Reply, ToolCall
from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.world import Message
from tests.upgrade.stored import (
    BEN,
    CONFIG,
    DAN,
    EVA,
    FIXTURES,
    KEPT,
    KEY,
    LEA,
    LEA_PLACE,
    OLIVIA,
    PEOPLE,
    TOKEN,
    WORKSPACE,
    dump,
    store_telegram,
    write_config,
)

LIMIT_S = 30.0
TOPICS = ("approval", "joint", "question", "unknown", "continue", "running", "turn", "streaming", "grant")
SECRET = "correct-horse-battery"
STORY = "\n".join(f"Line {number} of the story." for number in range(400))


@dataclass(slots=True)
class OldHub:
    """The landed program and its surroundings."""

    tree: Path
    schema: int
    directory: Path
    telegram: TelegramSimulator
    model: ModelSimulator
    forum: int
    config: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    def command(self, *words: str, given: str = "") -> str:
        """Run `hubbub WORDS` to its end and return its output."""
        command = [sys.executable, "-m", "bot", *words, "--config", str(self.directory / "hubbub.toml")]
        done = subprocess.run(
            command, cwd=self.tree, env=self._environment, input=given, text=True, capture_output=True
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def configure(self, lea: str | None) -> None:
        """Write its configuration, with Lea's user id in the team; without a team while she has none."""
        self.config = CONFIG.partition("[teams.ops]")[0] if lea is None else CONFIG.replace(LEA_PLACE, lea)
        write_config(self.config, self.directory, self.telegram.url, self.model.openai_base_url)

    async def start(self) -> None:
        """Start the hub and wait until it takes messages."""
        command = [sys.executable, "-m", "bot", "run", "--config", str(self.directory / "hubbub.toml")]
        with (self.directory / "hub.log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: ASYNC220 - nothing else waits then
                command, cwd=self.tree, env=self._environment, stdout=log, stderr=log, start_new_session=True
            )
        await self.telegram.wait_polling(TOKEN, LIMIT_S)

    async def end(self, how: signal.Signals) -> None:
        """End the hub by a signal, and whatever it left at work."""
        assert self.process is not None
        self.process.send_signal(how)
        await asyncio.to_thread(self.process.wait)
        for pid in _at_work():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.tree)}

    def rows(self, sql: str) -> list[Any]:
        """Read the hub's database."""
        with contextlib.closing(
            sqlite3.connect(f"file:{self.directory}/data/hub.db?mode=ro", uri=True)
        ) as one:
            return one.execute(sql).fetchall()

    async def until(self, what: str, holds: Callable[[], object]) -> None:
        """Wait for something that no simulator hears of."""
        try:
            async with asyncio.timeout(LIMIT_S):
                while not holds():  # noqa: ASYNC110 - the old program tells nobody
                    await asyncio.sleep(0.005)
        except TimeoutError:
            raise SystemExit(f"it never came to that: {what}; see {self.directory}/hub.log") from None

    def say(self, topic: str, text: str, by: int = OLIVIA) -> None:
        """A person writes in a topic of the forum."""
        self.telegram.user_sends_text(by, text, chat_id=self.forum, topic_id=self.topic(topic))

    def topic(self, name: str) -> int:
        """A topic's id."""
        return next(
            topic.id for topic in self.telegram.chat(self.forum).topics.values() if topic.name == name
        )

    async def card(self, topic: str, said: str = "") -> Message:
        """A topic's message with buttons, once there is one."""

        def shown() -> list[Message]:
            found = self.telegram.messages(self.forum, by="bot", topic_id=self.topic(topic))
            return [message for message in found if message.keyboard and said in message.text]

        return (await self.telegram.wait_for(shown, LIMIT_S))[-1]

    async def press(self, card: Message, label: str, by: int = OLIVIA) -> None:
        """A person presses the button of that label, and is answered."""
        assert card.keyboard is not None
        buttons = [button for row in card.keyboard["inline_keyboard"] for button in row]
        (number,) = [n for n, button in enumerate(buttons) if button["text"].startswith(label)]
        query = self.telegram.user_presses_button(by, card.id, number, chat_id=card.chat.id)
        await self.telegram.wait_callback_answer(query.id, LIMIT_S)


def _at_work() -> Iterator[int]:
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with contextlib.suppress(OSError):  # gone meanwhile, or somebody else's
                if (process / "cwd").readlink() == WORKSPACE:
                    yield int(process.name)


def _script(model: ModelSimulator) -> None:
    model.rule("count for ever", Reply(calls=(ToolCall("time", {}),)), on="any")
    model.rule("tell the story", Reply(text=STORY, chunk_chars=60, delay_s=0.02))
    model.fault(Hold(at="mid_stream", after_events=80), match="tell the story")
    model.fault(Hold(), times=None, match="hold the turn")
    model.fault(Hold(), times=None, match="hold the routine")


def _blocking(name: str) -> str:
    return f"please run: echo {name} >> {name}.txt && sleep 600"


async def _first_life(hub: OldHub) -> None:
    """A grant, a secret, a routine with a notice; killed while a call runs."""
    await hub.start()  # it makes the database
    hub.command("users", "add", "Ben", "--account", f"telegram:{BEN}")
    hub.command("users", "add", "Dan", "--account", f"telegram:{DAN}")
    hub.command("users", "add", "Eva", "--account", f"telegram:{EVA}")
    lea = json.loads(hub.command("users", "add", "Lea", "--account", f"telegram:{LEA}", "--json"))
    await hub.end(signal.SIGINT)
    hub.configure(lea["id"])
    hub.command("secrets", "set", "garden", given=SECRET)
    hub.command("routines", "add", "watch", "--prompt", "say: The tap drips.")
    hub.command("routines", "add", "nightly", "--prompt", "hold the routine")
    _add_tending(hub)
    await hub.start()
    for person in PEOPLE:
        hub.telegram.user_sends_text(person, "/start")
        await hub.telegram.wait_bot_messages(person, 1, timeout_s=LIMIT_S)
    hub.say("grant", "please run: echo granted >> granted.txt")
    await hub.press(await hub.card("grant"), "Always")
    await hub.until("a grant", lambda: hub.rows("SELECT 1 FROM grants"))
    hub.command("routines", "fire", "watch")
    await hub.telegram.wait_for(
        lambda: [one for one in hub.telegram.bot_messages(OLIVIA) if one.keyboard], LIMIT_S
    )
    hub.say("unknown", _blocking("unknown"))
    await hub.press(await hub.card("unknown"), "Approve")
    await hub.until("the call had its effect", (WORKSPACE / "unknown.txt").exists)
    await hub.end(signal.SIGKILL)


def _add_tending(hub: OldHub) -> None:
    """A routine that uses a tool, and goes on after a crash."""
    action = {"type": "lightweight", "prompt": "", "use_tools": True, "allowed_tools": ["shell"]}
    page = {"action": action | {"grants": ["shell *"]}, "guardrails": {"rerun_interrupted": True}}
    file = hub.directory / "tending.json"
    file.write_text(json.dumps(page))
    hub.command("routines", "add", "tending", "--prompt", _blocking("tending"), "--file", str(file))


async def _second_life(hub: OldHub) -> None:
    """Everything at once; killed in mid-work."""
    telegram, model = hub.telegram, hub.model
    hub.command("routines", "fire", "nightly")
    hub.command("routines", "fire", "tending")
    await hub.start()
    await hub.until("the run's call had its effect", (WORKSPACE / "tending.txt").exists)
    await hub.card("unknown", "interrupted")
    hub.say("approval", "please run: echo approved >> approved.txt")
    await hub.card("approval")
    hub.say("joint", "please run: echo one >> joint.txt\nplease run: echo two >> joint.txt")
    await hub.card("joint")
    hub.say(
        "question", 'please call: ask_user {"question": "Which color?", "choices": ["red", "dark green"]}'
    )
    await hub.card("question")
    hub.say("continue", "count for ever")
    await hub.card("continue")
    asked = json.dumps({"path": "quorum.txt", "content": "by two\n"})
    telegram.user_sends_text(BEN, f"please call: write_file {asked}")
    copy = await telegram.wait_for(
        lambda: [one for one in telegram.bot_messages(LEA) if one.keyboard], LIMIT_S
    )
    await hub.press(copy[0], "Approve", by=LEA)
    await hub.until("one of two votes", lambda: hub.rows("SELECT 1 FROM votes"))
    telegram.user_sends_text(BEN, "and water the garden")  # waits for the turn
    hub.say("running", _blocking("running"))
    await hub.press(await hub.card("running"), "Approve")
    await hub.until("the second call had its effect", (WORKSPACE / "running.txt").exists)
    hub.say("turn", "hold the turn")
    await hub.until(
        "all sent", lambda: not hub.rows("SELECT 1 FROM outbox WHERE state IN ('queued', 'sending')")
    )
    telegram.fail("hold", method="sendMessage", chat_id=DAN)
    telegram.user_sends_text(DAN, "say: Sent to Dan.")
    await telegram.wait_held(timeout_s=LIMIT_S)
    hub.say("streaming", "tell the story")
    await hub.until(
        "a preview", lambda: hub.rows("SELECT 1 FROM outbox WHERE state = 'streaming' AND refs <> '[]'")
    )
    # The last text of hers: the next one is taken for the secret.
    telegram.user_sends_text(OLIVIA, 'please call: tool_auth {"name": "shed", "purpose": "to open the shed"}')
    await telegram.wait_for(lambda: "shed" in telegram.bot_messages(OLIVIA)[-1].text, LIMIT_S)
    for person, text in ((LEA, "say: Sent to Lea."), (EVA, "please run: echo late >> late.txt")):
        telegram.fail("drop", method="sendMessage", chat_id=person, when="before")
        telegram.user_sends_text(person, text)
    ambiguous = "SELECT 1 FROM outbox WHERE state = 'ambiguous' AND settled = 0"
    await hub.until("two ambiguous rows, one of a card", lambda: len(hub.rows(ambiguous)) == 2)
    await telegram.wait_confirmed(timeout_s=LIMIT_S)
    await model.wait_requests(state="held", timeout_s=LIMIT_S)
    await hub.end(signal.SIGKILL)


STATES = {
    "gates of each kind": "SELECT kind, count(*) FROM {gates} WHERE state = 'open' GROUP BY kind",
    "votes on open gates": "SELECT count(*) FROM votes JOIN {gates} g ON g.id = {gate}_id AND state = 'open'",
    "calls": "SELECT state, count(*) FROM calls GROUP BY state",
    "turns": "SELECT state, count(*) FROM turns GROUP BY state",
    "steps of runs": "SELECT kind, state, count(*) FROM run_steps GROUP BY kind, state",
    "routine runs": "SELECT state, notice_state, count(*) FROM routine_runs GROUP BY state, notice_state",
    "outbox": "SELECT state, settled, count(*) FROM outbox GROUP BY state, settled",
    "grants": "SELECT tool, pattern FROM grants",
    "secrets": "SELECT name FROM secrets",
    "waiting inputs": "SELECT count(*) FROM inbox WHERE outcome = 'waiting'",
    "audit": "SELECT count(*), sum(link IS NULL) FROM audit",
}


def _keep(hub: OldHub, made_at_s: float) -> None:
    fixture, gate = FIXTURES[hub.schema], "prompt" if hub.schema == 20 else "gate"
    shutil.rmtree(fixture, ignore_errors=True)
    fixture.mkdir()
    ((version,),) = hub.rows("PRAGMA user_version")
    assert version == hub.schema
    for what, sql in STATES.items():
        print(f"{what}: {hub.rows(sql.format(gate=gate, gates=f'{gate}s'))}")
    (fixture / "hub.sql").write_text(dump(hub.directory / "data" / "hub.db"))
    for name in KEPT:
        shutil.copyfile(hub.directory / "data" / name, fixture / name)
    (fixture / "hubbub.toml").write_text(hub.config)
    shutil.copytree(WORKSPACE, fixture / "workspace")
    store_telegram(fixture, hub.telegram, hub.forum, made_at_s)
    size_kb = sum(file.stat().st_size for file in fixture.rglob("*") if file.is_file()) / 1000
    print(f"{size_kb:.0f} kB in {fixture}")


async def make(tree: Path, schema: int) -> None:
    """Play the story and keep what is left of it."""
    shutil.rmtree(WORKSPACE, ignore_errors=True)
    WORKSPACE.mkdir(mode=0o700)
    async with TelegramSimulator() as telegram, ModelSimulator(api_key=KEY, models=("sim-1",)) as model:
        bot = telegram.add_bot(TOKEN, can_read_all_group_messages=True)
        for person, name in PEOPLE.items():
            telegram.add_user(person, first_name=name)
        forum = telegram.create_supergroup("House", list(PEOPLE), is_forum=True).id
        telegram.set_member(forum, bot.id, "administrator", by=OLIVIA)
        for topic in TOPICS:
            telegram.topic_created(forum, topic)
        _script(model)
        directory = Path(tempfile.mkdtemp(prefix="hubbub-fixture-"))
        hub = OldHub(tree, schema, directory, telegram, model, forum)
        hub.configure(None)
        try:
            await _first_life(hub)
            await _second_life(hub)
        except BaseException:
            if hub.process is not None:
                hub.process.kill()
            raise
        _keep(hub, time.time())
        shutil.rmtree(directory)
    shutil.rmtree(WORKSPACE)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make it with the program in the directory that the command line names, of the schema named there."""
    tree, schema = arguments or sys.argv[1:]
    asyncio.run(make(Path(tree).absolute(), int(schema)))


if __name__ == "__main__":
    main()
