"""Twenty messages in flight, plain ones and ones that run tools, several of one person, and their fates.

A message carries a mark of its own; a tool's call writes it to a file, an answer names the marks it covers.
"""

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.crash.deliveries import Events, judge_copies, judge_marks, turns_of
from tests.crash.ledger import Ledger
from tests.crash.mortal import TOKEN, UNKNOWN, MortalHub, Setup, survivors
from tests.simulators.model import Prompt, Reply, ToolCall

OWNERS, GUESTS = (7, 8, 9), (21, 22, 23, 24)
SETUP = Setup(owners=tuple(f"telegram:{person}" for person in OWNERS))
IN_FLIGHT, RUNNING_TOOLS = 20, 9
ANSWER = "Answered: "

_MARK = re.compile(r"mark-\d+")
_RUN = re.compile(r"please run: *(.+)")


@dataclass(frozen=True, slots=True)
class Said:
    """One message: who writes it, what it is recognised by, and its words."""

    person: int
    mark: str
    text: str

    @property
    def runs_tool(self) -> bool:
        """Return whether it asks for a call that writes its mark."""
        return _RUN.search(self.text) is not None


def compose(rng: random.Random) -> list[Said]:
    """Twenty messages in random order; only owners may run tools."""
    said: list[Said] = []
    for number in range(IN_FLIGHT):
        mark = f"mark-{number}"
        if number < RUNNING_TOOLS:
            pause = rng.choice(("", "", f" && sleep {rng.uniform(0, 0.1):.3f}"))
            said.append(Said(rng.choice(OWNERS), mark, f"please run: echo {mark} >> out{pause}"))
        else:
            said.append(Said(rng.choice(OWNERS + GUESTS), mark, f"how about {mark}?"))
    rng.shuffle(said)
    return said


def reply(prompt: Prompt) -> Reply:
    """Return what the model says: it runs what it was asked to run, then names the marks of all it was
    told."""
    commands = _RUN.findall(prompt.user_text)
    if commands and not prompt.tool_results:
        return Reply(calls=tuple(ToolCall("shell", {"command": command}) for command in commands))
    return Reply(text=ANSWER + " ".join(_MARK.findall(prompt.user_text)))


def answered(town: MortalHub, messages: Sequence[Said]) -> bool:
    """Everybody has an answer, nothing is open, nothing is left to fetch, and the hub polls."""
    people = {said.person for said in messages}
    covered = {
        (person, mark) for person in people for text in _answers(town, person) for mark in _marks(text)
    }
    return (
        all((said.person, said.mark) in covered for said in messages)
        and not any(town.open_cards(person) for person in people)
        and town.telegram.all_confirmed()
        and town.telegram.is_polling(TOKEN)
    )


def _answers(town: MortalHub, person: int) -> set[str]:
    """The different answers in a person's chat."""
    return {message.text for message in town.answers(person, ANSWER)}


def _marks(text: str) -> list[str]:
    return _MARK.findall(text)


def judge(town: MortalHub, messages: Sequence[Said], events: Events, dead: Ledger) -> None:
    """The promises, from what the platform saw, what is on disk, and what the dead hub had committed."""
    unknown = _reported_unknown(town)
    _judge_answers(town, messages)
    _judge_unknown(messages, unknown, dead)
    _judge_lines(town, messages, unknown)
    turns = turns_of(events)
    assert len(turns) == len(messages)
    assert {event["turn_state"] for event in turns} == {"done"}
    judge_marks(events, dead, judge_copies(town, dead))
    assert not survivors(town), "a tool's child outlived its hub"


def _reported_unknown(town: MortalHub) -> set[str]:
    return {
        mark
        for person in OWNERS
        for card in town.telegram.bot_messages(person)
        if UNKNOWN in card.text
        for mark in _marks(card.text)
    }


def _judge_answers(town: MortalHub, messages: Sequence[Said]) -> None:
    """Each message is covered by exactly one answer, in its own chat."""
    for person in OWNERS + GUESTS:
        covered = Counter(mark for text in _answers(town, person) for mark in _marks(text))
        assert covered == Counter(said.mark for said in messages if said.person == person)
        assert not town.open_cards(person), "a card was left without its outcome"


def _judge_unknown(messages: Sequence[Said], unknown: set[str], dead: Ledger) -> None:
    """`unknown` is reported exactly for the calls that were cut off."""
    assert unknown <= {said.mark for said in messages if said.runs_tool}
    by_mark = {_marks(arguments)[0]: call_id for call_id, arguments in dead.arguments.items()}
    for said in messages:
        call_id = by_mark.get(said.mark)
        was_running = False if call_id is None else dead.was_running(call_id)
        if was_running is not None:
            assert (said.mark in unknown) == was_running, f"{said.mark}: running at the kill: {was_running}"


def _judge_lines(town: MortalHub, messages: Sequence[Said], unknown: set[str]) -> None:
    out = town.workspace / "out"
    written = Counter(out.read_text().split() if out.exists() else [])
    for said in messages:
        if said.mark in unknown:
            assert written[said.mark] <= 1, f"{said.mark} was written {written[said.mark]} times"
        else:
            assert written[said.mark] == int(said.runs_tool), f"{said.mark}: {written[said.mark]} lines"
