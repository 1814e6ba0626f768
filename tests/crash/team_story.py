"""The story "Ben asks, the team decides": a call of Ben's is changed by the owner before she agrees, and runs
once Lea has agreed, too; killed and judged.

Each reads what is shown to them and answers that: the owner changes a call she is asked about, Lea agrees
only to what was changed. Of two calls at once the owner wants to decide one by one.
"""

import asyncio
import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from core.clock import SystemClock
from core.ids import RandomIds
from core.store.sqlite.store import open_store
from core.users import Role
from tests.crash.ledger import Ledger
from tests.crash.mortal import APPROVE, LEAVE_IT, LIMIT_S, OWNER, UNKNOWN, MortalHub, Setup, open_mortal_hub
from tests.crash.points import AtCommit, InTelegram, Point, parse_commit_point
from tests.simulators.telegram.world import Message

BEN, LEA = 8, 9
BEN_ID, LEA_ID = "01900000-0000-7000-8000-000000000008", "01900000-0000-7000-8000-000000000009"
ONE_BY_ONE = 2
LOOK_AGAIN_S = 1.0
CHANGE = "change"
ANSWER, APART = "Done:", "owner asked to decide each call separately"
OUTCOMES = ("Approved by Lea", "Approved by owner")
"""Whoever agrees last is named."""
TEAM = Setup(
    direct="pairing",
    extra=f"""
[roles.member]
tools = ["shell"]
[teams.ops]
users = ["owner", "{LEA_ID}"]
[[approvals.rules]]
tool = "shell"
approvers = "team:ops"
quorum = 2
""",
)
METHODS = ("sendMessage", "editMessageText", "answerCallbackQuery")


@dataclass(slots=True)
class Team:
    """The people of one story. `words`: what the calls that Ben asks for would write, one each."""

    town: MortalHub
    words: tuple[str, ...]
    _done: set[tuple[int, int, str, str]] = field(default_factory=set)

    def begin(self) -> None:
        """A bot may write to those alone who wrote first."""
        for person in (OWNER, LEA):
            self.town.telegram.user_sends_text(person, "/start")
        request = "\n".join(f"please run: {_command(word)}" for word in self.words)
        self.town.telegram.user_sends_text(BEN, request)

    async def play(self) -> None:
        """Until Ben has his answer and nothing is open any more. Raises TimeoutError if nothing moves."""
        self.begin()
        async with asyncio.timeout(LIMIT_S):
            while not self.finished():
                await self._news()
                for person, card, what in self._due():
                    self._done.add(_deed(person, card, what))
                    self._act(person, card, what)

    async def _news(self) -> None:
        """Until there is something to do; who replied and sees no change replies again."""
        try:
            await self.town.telegram.wait_for(lambda: self.finished() or bool(self._due()), LOOK_AGAIN_S)
        except TimeoutError:
            self._done = {done for done in self._done if done[2] != CHANGE}

    def finished(self) -> bool:
        """Nothing is left to see or to do."""
        town = self.town
        return bool(
            self._answered()
            and not any(town.open_cards(person) for person in (OWNER, BEN, LEA))
            and town.telegram.all_confirmed()
            and town.listens()
        )

    def _answered(self) -> bool:
        return bool(self.town.answers(BEN, ANSWER))

    def _due(self) -> list[tuple[int, Message, str]]:
        due = [
            (person, card, what)
            for person in (OWNER, BEN, LEA)
            for card in self.town.open_cards(person)
            if (what := self._wish(person, card.text))
        ]
        return [one for one in due if _deed(*one) not in self._done]

    def _wish(self, person: int, text: str) -> str:
        """Return what this person does about a card that says that; empty: nothing."""
        if UNKNOWN in text:
            return "leave it"
        if self._answered():
            return "press a stale copy"
        if person == BEN:
            return ""
        if "these 2 calls" in text:
            return "one by one" if person == OWNER else ""
        if _changed(self.words[0]) in text or any(word in text for word in self.words[1:]):
            return "approve"
        return CHANGE if person == OWNER else ""

    def _act(self, person: int, card: Message, what: str) -> None:
        telegram = self.town.telegram
        if what == CHANGE:
            form = f"command: {_command(_changed(self.words[0]))}"
            telegram.user_sends_text(person, form, reply_to=card.id)
            return
        button = {"leave it": LEAVE_IT, "one by one": ONE_BY_ONE}.get(what, APPROVE)
        telegram.user_presses_button(person, card.id, button)


def _deed(person: int, card: Message, what: str) -> tuple[int, int, str, str]:
    """Done once for each form of a card: changed once more, it is looked at and answered once more."""
    return person, card.id, what, str(card.keyboard)


def _command(word: str) -> str:
    return f"echo {word} >> out"


def _changed(word: str) -> str:
    return f"changed-{word[::-1]}"


@contextlib.asynccontextmanager
async def open_team_hub(directory: Path) -> AsyncIterator[MortalHub]:
    """As open_mortal_hub; Ben and Lea are members whom the hub knows."""
    async with open_mortal_hub(directory, TEAM) as town:
        for person, name in ((BEN, "Ben"), (LEA, "Lea")):
            town.telegram.add_user(person, first_name=name)
        (directory / "data").mkdir(mode=0o700)
        store = await open_store(directory / "data" / "hub.db", SystemClock(), RandomIds())
        try:
            for user_id, name, person in ((BEN_ID, "Ben", BEN), (LEA_ID, "Lea", LEA)):
                await store.people.ensure_user(user_id, Role.MEMBER, name)
                await store.people.link_account(user_id, "telegram", str(person), name)
        finally:
            await store.close()
        yield town


async def points_of(directory: Path, words: tuple[str, ...]) -> list[Point]:
    """Those the story passes when nothing goes wrong."""
    directory.mkdir()
    async with open_team_hub(directory) as town:
        await play(town, None, words)
        judge(town, words)
        commits: list[Point] = [parse_commit_point(line) for line in town.trace()]
        methods = Counter(request.method for request in town.telegram.requests())
    inside = [InTelegram(method, nth) for method in METHODS for nth in range(1, methods[method] + 1)]
    return [*commits, *inside]


async def play(town: MortalHub, point: Point | None, words: tuple[str, ...]) -> bool:
    """The whole story. With a point, the hub is killed there and started again; whether it got there: how
    often it writes of what it sends depends on its pace."""
    team = Team(town, words)
    await town.start(point if isinstance(point, AtCommit) else None)
    if isinstance(point, InTelegram):
        town.telegram.fail("hold", method=point.method, skip=point.nth - 1, count=1)
    struck = False
    async with asyncio.TaskGroup() as group:
        people = group.create_task(team.play())
        if point is not None:
            striking = group.create_task(_struck(town, point))
            await asyncio.wait([people, striking], return_when=asyncio.FIRST_COMPLETED)
            struck = striking.done()
            striking.cancel()
            await town.kill()
            town.telegram.clear_faults()
            await town.start()
        await people
        await town.telegram.wait_for(town.listens, LIMIT_S)
    await town.account()
    await town.stop()
    return struck


async def _struck(town: MortalHub, point: Point) -> None:
    if isinstance(point, InTelegram):
        await town.telegram.wait_held(timeout_s=LIMIT_S)
    else:
        assert town.hub is not None
        await town.hub.wait(LIMIT_S)


# --- judging --------------------------------------------------------------------------------------------


def judge(town: MortalHub, words: tuple[str, ...]) -> None:
    """The promises, from what the platform saw and what is on disk."""
    _judge_runs(town, words, town.ledger(1))
    _judge_decisions(town, words)
    for person in (OWNER, BEN, LEA):
        copies = [m.text for m in town.shown_to(person) if m.text.startswith("Run `")]
        assert len(copies) >= len(words), f"{person} was not shown every card"
        for text in copies:
            assert text.endswith((*OUTCOMES, APART)), f"a copy without its outcome: {text}"


def _judge_runs(town: MortalHub, words: tuple[str, ...], dead: Ledger) -> None:
    out = town.workspace / "out"
    written = Counter(out.read_text().split() if out.exists() else [])
    wanted = {_changed(words[0]), *words[1:]}
    assert set(written) <= wanted, f"what nobody agreed to was run: {written}"
    assert all(count == 1 for count in written.values()), f"run more than once: {written}"
    asked = [m.text for m in town.shown_to(BEN) if UNKNOWN in m.text]
    if not asked:
        assert set(written) == wanted, f"run: {written}"
    cut_off = [dead.was_running(call_id) for call_id in dead.arguments]
    if town.starts > 1 and None not in cut_off:
        assert bool(asked) == any(cut_off), "unknown is reported exactly for a call cut off in its window"


def _judge_decisions(town: MortalHub, words: tuple[str, ...]) -> None:
    """Each card has one recorded outcome, by the two who had to agree to what it said in the end."""
    database = sqlite3.connect(f"file:{town.directory}/data/hub.db?mode=ro", uri=True)
    with contextlib.closing(database):
        gates = database.execute(
            "SELECT g.outcome, g.outcome_text, g.calls IS NOT NULL,"
            " (SELECT json_group_array(v.user_id) FROM votes v"
            " WHERE v.gate_id = g.id AND v.option = 'approve')"
            " FROM gates g WHERE g.kind = 'approval' ORDER BY g.created_at, g.id"
        ).fetchall()
    singles = [(outcome, sorted(json.loads(by))) for outcome, _, joint, by in gates if not joint]
    assert singles == [("approve", sorted(["owner", LEA_ID]))] * len(words)
    assert {text for _, text, joint, _ in gates if not joint} <= set(OUTCOMES)
    joint = [outcome for outcome, _, is_joint, _ in gates if is_joint]
    assert joint == (["one_by_one"] if len(words) > 1 else [])
