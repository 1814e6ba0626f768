"""Hubs of schema 20 and 21, killed in mid-work by the program of their day, are taken over by today's: every
button and typed id of their time works, once, and nothing that was done is done again.

tests/upgrade/make.py made the fixture. The clocks of the hub and the platform go on from the kill.
"""

import asyncio
import contextlib
import fcntl
import os
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bot.app import App, Seams
from bot.config.keys import VaultKeyRing
from channels.telegram.addresses import Timeouts
from core.consent import card_texts
from core.store.sqlite.offline import sealed_in
from tests.bot.cli.in_process import command
from tests.harness.hub import AnyHub
from tests.harness.simulators import Simulators
from tests.patience import PATIENCE_S
from tests.simulators.model import ModelSimulator, Reply
from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.world import Message
from tests.upgrade.make import SECRET, STORY
from tests.upgrade.stored import (
    BEN,
    EVA,
    FIXTURES,
    KEPT,
    KEY,
    LEA,
    OLIVIA,
    PEOPLE,
    TOKEN,
    WORKSPACE,
    Shown,
    load,
    restore_telegram,
    stored_telegram,
    write_config,
)

SPEED = 20.0
OF_WATCH = "FROM routine_runs r JOIN routines o ON o.id = r.routine_id WHERE o.name = 'watch'"
SINCE_20 = {"Always": "Always allow", "Go on": "Continue", "Stop here": "Stop", "Leave it": "Skip"}
"""Labels of buttons then and now."""
INTERRUPTED = "I was interrupted while running"
TWICE = {"Sent to Dan."}
"""Telegram showed it, but the dead hub had no answer yet: it may come twice, and says so."""


@dataclass(slots=True)
class Upgraded(AnyHub):
    """Today's hub on a fixture. `shown`: what the platform held at the kill."""

    shown: Shown = field(kw_only=True)

    async def start(self) -> App:
        """Start the hub, until it takes messages."""
        timeouts = Timeouts(taken_within_s=0.5, probe_pace_s=0.02)
        app = await self.serve(Seams(clock=self.clock, telegram=timeouts))
        await self.telegram.wait_polling(TOKEN, PATIENCE_S)
        return app

    def of(self, chat: str | int) -> list[Message]:
        """The bot's messages in a topic of the forum, or with a person."""
        if isinstance(chat, int):
            return self.telegram.bot_messages(chat)
        return self.telegram.messages(self.shown.forum, by="bot", topic_id=self.shown.topics[chat])

    async def says(self, chat: str | int, start: str) -> Message:
        """The bot's message that begins so, once it is there."""

        def found() -> list[Message]:
            return [message for message in self.of(chat) if message.text.startswith(start)]

        return (await self.telegram.wait_for(found, PATIENCE_S))[-1]

    def card(self, chat: str | int) -> Message:
        """The last message with buttons there."""
        return [message for message in self.of(chat) if message.keyboard][-1]

    async def press(self, card: Message, data: str, by: int = OLIVIA) -> str:
        """Press a button, also one that is gone; return the word that answers."""
        query = self.telegram.user_presses_button(by, card.id, data=data, chat_id=card.chat.id)
        answered = await self.telegram.wait_callback_answer(query.id, PATIENCE_S)
        return str(answered.answers[0].get("text", ""))

    async def settled(self) -> None:
        """Until no message is on its way any more."""
        await self.until_rows("SELECT 1 FROM outbox WHERE settled = 0", [])

    async def until_rows(self, sql: str, rows: list[Any]) -> None:
        """Until a query finds these rows."""
        async with asyncio.timeout(PATIENCE_S):
            while self.rows(sql) != rows:  # noqa: ASYNC110 - the store tells nobody
                await asyncio.sleep(0.02)

    def rows(self, sql: str) -> list[Any]:
        """Read the database."""
        path = f"file:{self.directory}/data/hub.db?mode=ro"
        with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
            return database.execute(sql).fetchall()


def lines(name: str) -> list[str]:
    """Return what calls wrote to a file of the workspace."""
    path = WORKSPACE / name
    return path.read_text().splitlines() if path.exists() else []


def buttons(card: Message) -> dict[str, str]:
    """Return what a card's buttons send, by their labels; those of schema 20 in the words of today."""
    rows = (card.keyboard or {}).get("inline_keyboard", [])
    labels = [(str(button["text"]), button["callback_data"]) for row in rows for button in row]
    return {SINCE_20.get(label, label): data for label, data in labels}


@contextlib.contextmanager
def _workspace(fixture: Path) -> Iterator[None]:
    """The one workspace for the time of the block, as it was at the kill."""
    with WORKSPACE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(WORKSPACE, ignore_errors=True)
        shutil.copytree(fixture / "workspace", WORKSPACE)
        try:
            yield
        finally:
            shutil.rmtree(WORKSPACE, ignore_errors=True)


@pytest_asyncio.fixture(params=FIXTURES)
async def upgraded(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Upgraded]:
    fixture = FIXTURES[request.param]
    shown = stored_telegram(fixture)
    behind_s = time.time() - shown.made_at_s - 1
    async with (
        TelegramSimulator(
            clock=lambda: time.time() - behind_s, first_callback_id=shown.next_callback_id
        ) as telegram,
        ModelSimulator(api_key=KEY, models=("sim-1",)) as model,
    ):
        restore_telegram(telegram, shown)
        model.rule("tell the story", Reply(text=STORY))
        model.rule("count for ever", "Counted.", on="any")
        hub = Upgraded(Simulators(model, _telegram=telegram), tmp_path, SPEED, shown=shown)
        hub.clock.skip(-behind_s)
        load(fixture / "hub.sql", tmp_path / "data" / "hub.db")
        for name in KEPT:
            shutil.copyfile(fixture / name, tmp_path / "data" / name)
            os.chmod(tmp_path / "data" / name, 0o600)
        write_config((fixture / "hubbub.toml").read_text(), tmp_path, telegram.url, model.openai_base_url)
        with _workspace(fixture):
            try:
                await hub.start()
                yield hub
            finally:
                await hub.stop()


async def test_work_under_way_at_the_kill_is_finished_once(upgraded: Upgraded) -> None:
    assert "hold the turn" in (await upgraded.says("turn", "You said:")).text
    await upgraded.telegram.wait_for(
        lambda: upgraded.of("streaming")[-1].text.endswith("Line 399 of the story."), PATIENCE_S
    )
    assert buttons(await upgraded.says("running", INTERRUPTED)).keys() == {
        "It happened",
        "Run it again",
        "Skip",
    }
    await upgraded.says(LEA, "Sent to Lea.")
    assert "shell was interrupted" in (await upgraded.says(OLIVIA, "🔔 Routine “tending”")).text
    await upgraded.settled()
    assert upgraded.rows("SELECT state FROM routine_runs ORDER BY created_at") == [
        ("attention",),
        ("interrupted",),
        ("attention",),
    ]
    assert not upgraded.rows("SELECT 1 FROM outbox WHERE state NOT IN ('sent', 'replaced')")
    _judge_once(upgraded)
    await upgraded.stop()
    await upgraded.start()
    await upgraded.settled()
    _judge_once(upgraded)


def _judge_once(upgraded: Upgraded) -> None:
    """Nothing was said, asked of the model or done twice."""
    asked = Counter(request.body["messages"][-1]["content"] for request in upgraded.model.log.all())
    assert set(asked.values()) == {1}
    for chat in (*upgraded.shown.topics, *PEOPLE):
        shown = Counter(message.text for message in upgraded.of(chat))
        assert {text for text, times in shown.items() if times > 1} <= TWICE
    assert (
        sum(repeats for (repeats,) in upgraded.rows("SELECT repeats FROM outbox WHERE state = 'sent'")) <= 2
    )
    for name in ("running", "unknown", "granted", "tending"):
        assert lines(f"{name}.txt") == [name]


SHOWN = [
    ("approval", "Approve", "Done:", ("approved.txt", ["approved"])),
    ("approval", "Deny", "Done:", ("approved.txt", [])),
    ("approval", "Always allow", "Done:", ("approved.txt", ["approved"])),
    ("joint", "Approve all", "Done:", ("joint.txt", ["one", "two"])),
    ("joint", "Deny all", "Done:", ("joint.txt", [])),
    ("joint", "One by one", "Run `", ("joint.txt", [])),
    ("question", "red", "Done:", ("approved.txt", [])),
    ("question", "dark green", "Done:", ("approved.txt", [])),
    (OLIVIA, "Cancel", "Done:", ("approved.txt", [])),
    ("unknown", "It happened", "Done:", ("unknown.txt", ["unknown"])),
    ("unknown", "Skip", "Done:", ("unknown.txt", ["unknown"])),
    ("continue", "Continue", "Counted.", ("approved.txt", [])),
    ("continue", "Stop", "I have used 3 rounds", ("approved.txt", [])),
]


def each_on_one_fixture_and_at_length_on_all() -> Iterator[object]:
    for number, shown in enumerate(SHOWN):
        for place, fixture in enumerate(FIXTURES):
            marks = [] if number % len(FIXTURES) == place else [pytest.mark.slow]
            name = f"{fixture}-{shown[0]}-{shown[1]}"
            yield pytest.param(fixture, *shown, id=name, marks=marks)


@pytest.mark.parametrize(
    "upgraded, chat, label, told, effect",
    list(each_on_one_fixture_and_at_length_on_all()),
    indirect=["upgraded"],
)
async def test_a_button_shown_before_the_upgrade_decides_once(
    upgraded: Upgraded, chat: str | int, label: str, told: str, effect: tuple[str, list[str]]
) -> None:
    card = upgraded.card(chat)
    data = buttons(card)
    assert not (await upgraded.press(card, data[label])).startswith("Already")
    await upgraded.says(chat, told)
    name, written = effect
    assert sorted(lines(name)) == written
    await upgraded.settled()
    for button in data.values():  # all that are gone now
        answer = await upgraded.press(card, button)
        assert answer.startswith("Already closed") or button.endswith(":e"), answer
    await upgraded.settled()
    assert sorted(lines(name)) == written
    assert len([message for message in upgraded.of(chat) if message.text.startswith("Done:")]) <= 1


async def test_an_edit_button_shown_before_the_upgrade_edits_the_call(upgraded: Upgraded) -> None:
    upgraded.telegram.user_sends_text(OLIVIA, "a password")  # the gate before asked for one
    await upgraded.says(OLIVIA, "Done:")
    card = upgraded.card("approval")
    assert await upgraded.press(card, buttons(card)["Edit…"]) == card_texts.REPLY_TO_CHANGE
    await upgraded.settled()
    form, topic = upgraded.of("approval")[-1], upgraded.shown.topics["approval"]
    reply = "command: echo edited >> approved.txt"
    upgraded.telegram.user_sends_text(OLIVIA, reply, form.chat.id, topic_id=topic, reply_to=form.id)
    await upgraded.says("approval", "Done:")
    assert lines("approved.txt") == ["edited"]


async def test_a_card_not_shown_before_the_upgrade_is_shown_with_its_buttons(upgraded: Upgraded) -> None:
    card = await upgraded.says(EVA, "May I run shell?")
    await upgraded.press(card, buttons(card)["Approve"], by=EVA)
    await upgraded.says(EVA, "Done:")
    assert lines("late.txt") == ["late"]


async def test_a_call_interrupted_before_the_upgrade_runs_again_once_it_is_asked_for(
    upgraded: Upgraded,
) -> None:
    card = upgraded.card("unknown")
    again = buttons(card)["Run it again"]
    await upgraded.press(card, again)
    async with asyncio.timeout(PATIENCE_S):
        while lines("unknown.txt") != ["unknown", "unknown"]:  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.02)
    assert (await upgraded.press(card, again)).startswith("Already closed")


async def test_one_of_two_votes_from_before_counts_with_the_second(upgraded: Upgraded) -> None:
    card = upgraded.card(LEA)
    approve = buttons(card)["Approve"]
    await upgraded.press(upgraded.card(BEN), approve, by=BEN)  # who asks is not in the team
    assert lines("quorum.txt") == []
    copies = [message for message in upgraded.of(OLIVIA) if approve in buttons(message).values()]
    assert await upgraded.press(copies[0], approve) == card_texts.outcome_line("approve", "owner")
    await upgraded.says(BEN, "Done:")
    assert lines("quorum.txt") == ["by two"]
    await upgraded.says(BEN, "You said: and water the garden")
    assert (await upgraded.press(card, approve, by=LEA)).startswith("Already closed")
    await upgraded.settled()
    assert not [
        message
        for person in PEOPLE
        for message in upgraded.of(person)
        if approve in buttons(message).values()
    ]


async def test_one_person_is_not_two_votes_after_the_upgrade(upgraded: Upgraded) -> None:
    card = upgraded.card(LEA)
    assert "Already" not in await upgraded.press(card, buttons(card)["Approve"], by=LEA)
    await upgraded.settled()
    assert lines("quorum.txt") == []
    assert upgraded.rows(
        "SELECT count(*) FROM votes v JOIN gates g ON g.id = v.gate_id AND g.state = 'open'"
    ) == [(1,)]


async def test_an_id_shown_before_the_upgrade_can_be_typed(upgraded: Upgraded) -> None:
    upgraded.telegram.user_sends_text(OLIVIA, "a password")  # the gate before asked for one
    await upgraded.says(OLIVIA, "Done:")
    for topic, file in (("approval", "approved.txt"), ("joint", "joint.txt")):
        _, gate_id, _ = next(iter(buttons(upgraded.card(topic)).values())).split(":")
        upgraded.telegram.user_sends_text(
            OLIVIA, f"/approve {gate_id}", chat_id=upgraded.shown.forum, topic_id=upgraded.shown.topics[topic]
        )
        await upgraded.says(topic, "Done:")
        assert lines(file)
    assert (lines("approved.txt"), sorted(lines("joint.txt"))) == (["approved"], ["one", "two"])


@pytest.mark.parametrize(
    "label, sql, rows",
    [
        ("Pause", "SELECT enabled FROM routines WHERE name = 'watch'", [(0,)]),
        ("Run again", f"SELECT count(*) {OF_WATCH} AND r.state = 'attention'", [(2,)]),
        ("Details", "SELECT outcome FROM inbox WHERE answer = 'Details'", [("routine watch",)]),
    ],
)
async def test_a_routines_notice_still_has_its_buttons(
    upgraded: Upgraded, label: str, sql: str, rows: list[Any]
) -> None:
    (notice,) = [message for message in upgraded.of(OLIVIA) if "watch" in message.text and message.keyboard]
    await upgraded.press(notice, buttons(notice)[label])
    await upgraded.until_rows(sql, rows)


async def test_a_denial_settles_every_copy_shown_before_the_upgrade(upgraded: Upgraded) -> None:
    deny = buttons(upgraded.card(LEA))["Deny"]
    copies = [
        (person, message)
        for person in (OLIVIA, BEN, LEA)
        for message in upgraded.of(person)
        if deny in buttons(message).values()
    ]
    assert [person for person, _ in copies] == [OLIVIA, BEN, LEA]
    await upgraded.press(copies[0][1], deny)
    await upgraded.says(BEN, "Done:")
    await upgraded.settled()
    for _, copy in copies:
        assert copy.text.endswith(card_texts.outcome_line("deny", "owner"))
        assert not copy.keyboard
    assert lines("quorum.txt") == []


async def test_grants_secrets_and_the_audit_are_as_they_were(upgraded: Upgraded) -> None:
    before = upgraded.rows("SELECT count(*) FROM audit")
    upgraded.telegram.user_sends_text(OLIVIA, "a password")
    await upgraded.says(OLIVIA, "Done:")
    topic = upgraded.shown.topics["grant"]
    upgraded.telegram.user_sends_text(
        OLIVIA, "please run: echo granted >> granted.txt", chat_id=upgraded.shown.forum, topic_id=topic
    )
    await upgraded.telegram.wait_for(
        lambda: sum(message.text.startswith("Done:") for message in upgraded.of("grant")) == 2, PATIENCE_S
    )
    assert lines("granted.txt") == ["granted", "granted"]
    await upgraded.stop()
    data = upgraded.directory / "data"
    keys = VaultKeyRing(data, {}).keys()
    assert keys is not None
    assert {one.name: keys.open(one) for one in sealed_in(data / "hub.db")} == {
        "garden": SECRET,
        "shed": "a password",
    }
    assert upgraded.rows("SELECT count(*) FROM audit") > before
    for words in ("audit verify", "db check"):
        done = command(upgraded.directory, *words.split())
        assert done.code == 0, done
