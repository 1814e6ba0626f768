"""Killed inside `sendMessage` while others are answered: every answer is shown, twice only where it must be.

A request can be cut off before the platform took it, or after. It can also be on its way still, and be taken
once the hub has looked for it, has not found it, and has sent the message again.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.crash.entry import IMPATIENT
from tests.crash.mortal import LIMIT_S, OWNER, TOKEN, MortalHub, Setup, open_mortal_hub
from tests.crash.test_previews import stored
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.model import Prompt, Reply
from tests.simulators.telegram.log import RequestRecord
from tests.simulators.telegram.world import Message

PEOPLE = (7, 21, 22, 23, 24, 25, 26)
WAYS = ("never", "taken", "late")
PARTS = 3
LOOKING = ("editMessageReplyMarkup", "editMessageText", "editMessageCaption")
MAX_REQUESTS = 12
_ASKED = re.compile(r"(mark-\d+) (\d+)")
AT_ONCE, KILLS_OF_A_HUB, BLOCKS = 2, 5, 20


@dataclass(frozen=True, slots=True)
class Blow:
    """A kill in the request that shows a part (counted from 0) of the answer to one person."""

    way: str
    person: int
    part: int
    parts: int


@dataclass(frozen=True, slots=True)
class Struck:
    """The interrupted send: the request that was under way, and what its message says."""

    blow: Blow
    request: RequestRecord
    text: str
    last_request: int


def reply(prompt: Prompt) -> Reply:
    """Name the marks of all that was said, each in as many parts as it asks for."""
    asked = [(mark, int(parts)) for mark, parts in _ASKED.findall(prompt.user_text)]
    said = [f"{mark} part {part} " + "x" * 3_000 for mark, parts in asked for part in range(parts)]
    return Reply(text="\n\n".join(said))


class Story:
    """One hub, killed again and again on the same data. `said`: how many parts each mark is answered in."""

    def __init__(self, town: MortalHub, rng: random.Random) -> None:
        self.town = town
        self.rng = rng
        self.said: dict[str, tuple[int, int]] = {}
        self.struck: list[Struck] = []

    def says(self, person: int, parts: int = 1) -> str:
        mark = f"mark-{len(self.said)}"
        self.said[mark] = (person, parts)
        self.town.telegram.user_sends_text(person, f"tell me about {mark} {parts}")
        return mark

    def others_say(self, person: int, count: int) -> None:
        for other in self.rng.sample([one for one in PEOPLE if one != person], count):
            self.says(other)

    def answered(self) -> bool:
        """Everybody has every part of their answers, and the hub polls."""
        shown = {person: [m.text for m in self.town.telegram.bot_messages(person)] for person in PEOPLE}
        return (
            all(
                any(text.startswith(f"{mark} part {part} ") for text in shown[person])
                for mark, (person, parts) in self.said.items()
                for part in range(parts)
            )
            and self.town.telegram.all_confirmed()
            and self.town.telegram.is_polling(TOKEN)
        )

    def next_blow(self, way: str) -> Blow:
        """Somebody who was not struck lately: what arrives late has arrived."""
        lately = {struck.blow.person for struck in self.struck[-3:]}
        parts = self.rng.choice((1, 1, PARTS))
        person = self.rng.choice([person for person in PEOPLE if person not in lately])
        return Blow(way, person, self.rng.randrange(parts), parts)

    async def strike(self, blow: Blow) -> None:
        """The hub is killed and started again, and everybody gets their answers."""
        telegram, town = self.town.telegram, self.town
        kind = {"never": "hold", "taken": "hold", "late": "late"}[blow.way]
        when = "after" if blow.way == "taken" else "before"
        before = telegram.last_number()
        fault = telegram.fail(
            kind, method="sendMessage", chat_id=blow.person, skip=blow.part, count=1, when=when
        )
        self.others_say(blow.person, 2)
        self.says(blow.person, blow.parts)
        self.others_say(blow.person, 2)
        (held,) = await telegram.wait_requests("sendMessage", outcome="held", since=before, timeout_s=LIMIT_S)
        await town.kill()
        struck = Struck(blow, held, str(held.params["text"]), telegram.last_number())
        self.struck.append(struck)
        if blow.way != "late":
            telegram.clear_faults()
        self.others_say(blow.person, 2)
        await town.start()
        self.others_say(blow.person, 2)
        if blow.way == "late":
            await telegram.wait_for(lambda: self.copies(struck), LIMIT_S)
            telegram.release(fault.id)
            await telegram.wait_for(lambda: len(self.copies(struck)) == 2, LIMIT_S)
            telegram.clear_faults()
        await telegram.wait_for(self.answered, LIMIT_S)
        await town.account()

    def copies(self, struck: Struck) -> list[Message]:
        shown = self.town.telegram.bot_messages(struck.blow.person)
        return [message for message in shown if message.text == struck.text]

    def requests_spent(self) -> list[int]:
        """On each message that was looked for, as the hub says."""
        log = (self.town.directory / "hub.log").read_text()
        return [
            int(number) for number in re.findall(r"telegram\.lookup_ended address=\S+ requests=(\d+)", log)
        ]


def judge(story: Story) -> list[str]:
    """Return what went wrong, from what the platform saw and what is marked."""
    telegram = story.town.telegram
    late = {struck.text for struck in story.struck if struck.blow.way == "late"}
    wrong: list[str] = []
    for person in PEOPLE:
        shown = telegram.bot_messages(person)
        wrong += [
            f"{text[:15]} is shown {times} times to {person}"
            for text, times in Counter(message.text for message in shown).items()
            if times != (2 if text in late else 1)
        ]
        wrong += [
            f"message {message.id} of {person} was changed: {message.text[:15]}"
            for message in shown
            if message.history and (message.text in late or said_first(message) != message.text)
        ]
    spent = story.requests_spent()
    made = sum(len(telegram.requests(method)) for method in LOOKING)
    wrong += [f"{number} requests were spent on one" for number in spent if number > MAX_REQUESTS]
    wrong += [f"{made} requests were made, {sum(spent)} are accounted for"] if made != sum(spent) else []
    for struck in story.struck:
        wrong += judge_struck(story, struck)
    return wrong


def said_first(message: Message) -> str:
    return str(message.history[0]["content"]["text"])


def judge_struck(story: Story, struck: Struck) -> list[str]:
    """Return whether it is marked as it should be, and was not looked for too early."""
    mark = struck.text.split()[0]
    marked = [repeats for _, text, repeats in stored(story.town) if f"{mark} part" in text]
    wrong = [] if marked == [int(struck.blow.way != "taken")] else [f"{struck.blow}: marked {marked}"]
    person, since = struck.blow.person, struck.last_request
    looks = [
        look.received_at - struck.request.received_at
        for method in LOOKING
        for look in story.town.telegram.requests(method, chat_id=person, since=since)
    ]
    if looks and min(looks) < IMPATIENT.taken_within_s:
        wrong.append(f"{struck.blow}: looked for after {min(looks):.3f} s")
    return wrong


async def play(directory: Path, seed: int, blows: int) -> tuple[list[str], Counter[int]]:
    """One hub's story; what went wrong, and how many requests were spent how often."""
    directory.mkdir()
    owners = tuple(f"telegram:{person}" for person in PEOPLE)
    house = Setup(owners=owners, extra="[agent]\nstream = false\n")  # no message is changed for a preview
    rng = random.Random(seed)
    async with open_mortal_hub(directory, house) as town:
        for person in PEOPLE[1:]:
            town.telegram.add_user(person, first_name=f"Person {person}")
        town.model.rule("mark-", reply, on="any")
        story = Story(town, rng)
        await town.start()
        for person in PEOPLE:
            story.says(person)
        await town.telegram.wait_for(story.answered, LIMIT_S)
        try:
            for number in range(blows):
                await story.strike(story.next_blow(WAYS[(seed + number) % len(WAYS)]))
        except TimeoutError:
            return [f"seed {seed}: nothing moves after {story.struck[-1].blow} (in {directory})"], Counter()
        await town.stop()
        failures = [f"seed {seed}: {line} (in {directory})" for line in judge(story)]
        return failures, Counter(story.requests_spent())


async def run(directory: Path, seeds: Sequence[int], blows: int, proof_record: ProofRecord) -> None:
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(seed: int) -> tuple[list[str], Counter[int]]:
        async with at_once:
            return await play(directory / str(seed), seed, blows)

    async with asyncio.TaskGroup() as group:
        stories = [group.create_task(one(seed)) for seed in seeds]
    failures = [line for story in stories for line in story.result()[0]]
    spent = sum((story.result()[1] for story in stories), Counter[int]())
    kills = len(seeds) * blows
    table = {str(requests): times for requests, times in sorted(spent.items())}
    print(f"{kills} kills inside sendMessage; requests spent on each, and how often: {table}")
    proof_record(
        "crash-telegram-sends", kills=kills, seeds=[seeds[0], seeds[-1]], requests_spent=table,
        requests_in_all=sum(requests * times for requests, times in spent.items()),
    )  # fmt: skip
    assert not failures, "\n".join(failures)


async def test_an_interrupted_send_is_shown_once_unless_it_arrives_late(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    await run(tmp_path, [profile.seed * 1000], len(WAYS), proof_record)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("block", range(1, BLOCKS + 1))
async def test_many_interrupted_sends_are_shown_once_unless_they_arrive_late(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord, block: int
) -> None:
    first = profile.seed * 1000 + block * AT_ONCE
    await run(tmp_path, range(first, first + AT_ONCE), KILLS_OF_A_HUB, proof_record)


async def test_killed_while_it_searches_the_hub_searches_again(tmp_path: Path) -> None:
    async with open_mortal_hub(tmp_path) as town:
        town.model.rule("mark-", reply, on="any")
        story = Story(town, random.Random(0))
        for method in ("sendMessage", "editMessageReplyMarkup"):
            town.telegram.fail("hold", method=method, when="before", count=1)
        await town.start()
        story.says(OWNER)
        for _ in range(2):
            await town.telegram.wait_held(timeout_s=LIMIT_S)
            await town.kill()
            await town.telegram.wait_for(lambda: not town.telegram.requests(outcome="held"), LIMIT_S)
            await town.start()
        await town.telegram.wait_for(story.answered, LIMIT_S)
        assert len(town.telegram.bot_messages(OWNER)) == 1
