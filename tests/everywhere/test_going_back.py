"""Going back in a conversation and choosing one, at every platform alike.

What counts is the next request, at the model: byte for byte the one it was at that point."""

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from core.store.conversations import UNDONE
from core.texts import NOTHING_TO_COMPACT
from tests.everywhere.hub import HubEverywhere, open_hub_everywhere
from tests.everywhere.people import LIMIT_S, LOOK_AGAIN_S, Console, Person, last, terminal
from tests.simulators.model.journal import Exchange

_LAST_TIME = re.compile(rb"time: \w+, [\d-]+ [\d:]+(?!.*time: \w+, )", re.DOTALL)
Scene = Callable[[HubEverywhere, Person, str], Awaitable[None]]


_NUMBERS = itertools.count(1)


async def says(town: HubEverywhere, person: Person, text: str) -> str:
    """A message, and an answer that no other message got."""
    answer = f"Answer {next(_NUMBERS)} to {text}."
    town.model.enqueue(answer, match=re.escape(text))
    await person.says(text)
    await person.sees(answer)
    return answer


async def goes(person: Person, command: str, answer: str) -> None:
    """Give a command that goes back, again where the turn before it hasn't quite ended: a preview may have
    shown the whole answer."""
    busy = [text for text in ("still sending", "still working") if text not in answer]
    told = -1
    async with asyncio.timeout(LIMIT_S):
        while True:
            shown = await person.transcript()
            refused = sum(any(text in one.text for text in busy) for one in shown)
            if refused > told:
                told = refused
                await person.commands(command)
            elif last(shown, answer) is not None:
                return
            else:
                await asyncio.sleep(LOOK_AGAIN_S)


async def answer_to(person: Person, text: str) -> str:
    """The answer that a message got earlier."""
    shown = "\n".join(one.text for one in await person.transcript())
    found = re.search(rf"Answer \d+ to {re.escape(text)}\.", shown)
    assert found is not None
    return found[0]


async def marked(person: Person, name: str, *answers: str) -> None:
    """Where messages can be edited, just these are marked as undone, once each."""
    if name in {"web", "terminal"}:  # the console shows the turns themselves as undone
        return
    wanted = sorted(answers)
    async with asyncio.timeout(LIMIT_S):
        while True:
            seen = [one.text for one in await person.transcript() if UNDONE in one.text]
            if all(text.count(UNDONE) == 1 for text in seen) and wanted == sorted(
                re.sub(rf"(?:-# )?{UNDONE}|\s*$", "", text).strip() for text in seen
            ):
                return
            await asyncio.sleep(LOOK_AGAIN_S)


def asked(town: HubEverywhere, text: str) -> list[Exchange]:
    """The requests that a message with these words ends."""
    return town.model.log.select(match=re.escape(text))


def spoken(exchange: Exchange) -> str:
    return "\n".join(str(message["content"]) for message in exchange.body["messages"][1:])


def same_but_for_the_newest_time(first: Exchange, second: Exchange) -> bool:
    """The second was asked later, and a request says when its last message came."""
    return _LAST_TIME.sub(b"", first.raw) == _LAST_TIME.sub(b"", second.raw)


async def undo_and_redo(town: HubEverywhere, person: Person, name: str) -> None:
    undone = await says(town, person, f"{name} second")
    await goes(
        person, "undo", f"Undid the last turn, back to before “{name} second”. 1 more turn can be undone."
    )
    await marked(person, name, undone)
    brought_back = await says(town, person, f"{name} second")
    first, again = asked(town, f"{name} second")
    assert same_but_for_the_newest_time(first, again)
    await goes(person, "undo 3", "I can undo at most 2 turns here.")
    await goes(person, "undo 2", "Undid the last 2 turns")
    await marked(person, name, undone, brought_back, await answer_to(person, f"{name} first"))
    await goes(person, "undo", "There is nothing to undo here.")
    await goes(person, "redo", "Brought back 2 undone turns. 2 turns can be undone.")
    await marked(person, name, undone)
    await says(town, person, f"{name} third")
    (third,) = asked(town, f"{name} third")
    assert all(f"{name} {said}" in spoken(third) for said in ("first", "second"))
    await goes(person, "redo", "There is nothing to redo here.")


async def retry(town: HubEverywhere, person: Person, name: str) -> None:
    await goes(person, "retry", "Trying again.")
    await town.model.wait_requests(count=2, match=f"{name} third", timeout_s=LIMIT_S)
    first, again = asked(town, f"{name} third")
    assert again.raw == first.raw


async def what_is_busy_stays_as_it_is(town: HubEverywhere, person: Person, name: str) -> None:
    await person.says(f"slow 600: never on {name}")
    await town.model.wait_requests(match=f"never on {name}", timeout_s=LIMIT_S)
    await goes(person, "undo", "I'm still working here")
    await person.commands("stop")
    await person.sees("Stopped.")


async def on_with_an_interrupted_turn(town: HubEverywhere, person: Person, name: str) -> None:
    town.model.rule(f"never on {name}[^$]*continue with what was interrupted", f"On again, {name}.")
    await goes(person, "resume", "Continuing where I was interrupted.")
    await person.sees(f"On again, {name}.")


async def effects_that_stay_are_named(town: HubEverywhere, person: Person, name: str) -> None:
    await person.says(f"please run: echo {name} >> built")
    card = await person.sees("There is no grant for this call")
    await goes(person, "retry", "still waits for an answer")
    if card.buttons:
        await person.presses("Approve")
    else:
        await person.says("yes")
    await person.sees("Done:")
    await goes(person, "undo", "These effects stay: shell.")


async def back_to_a_checkpoint(town: HubEverywhere, person: Person, name: str) -> None:
    await says(town, person, f"{name} fourth")
    await person.commands("resume")
    listed = await person.sees("Go back to before one of these turns:")
    assert re.search(rf": {name} fourth – /(hubbub )?undo 1$", listed.text, re.MULTILINE)
    if listed.buttons:
        await person.presses(listed.buttons[0][0])
    else:
        await goes(person, "undo 1", f"Undid the last turn, back to before “{name} fourth”.")
    await says(town, person, f"{name} fourth")
    first, again = asked(town, f"{name} fourth")
    assert same_but_for_the_newest_time(first, again)


async def on_in_a_branch(town: HubEverywhere, person: Person, name: str) -> None:
    await goes(person, "branch 1", "This is now a branch of")
    await says(town, person, f"{name} elsewhere")
    (elsewhere,) = asked(town, f"{name} elsewhere")
    assert f"to {name} first." in spoken(elsewhere)
    assert f"{name} third" not in spoken(elsewhere)
    await goes(person, "undo 2", "I can undo at most 1 turn here.")


async def clear(town: HubEverywhere, person: Person, name: str) -> None:
    await goes(person, "clear", "Cleared.")
    await goes(person, "undo", "There is nothing to undo here.")
    await says(town, person, f"{name} afresh")
    (afresh,) = asked(town, f"{name} afresh")
    assert f"{name} first" not in spoken(afresh)


async def close_and_open_again(town: HubEverywhere, person: Person, name: str) -> None:
    await person.commands("threads")
    listed = await person.sees("Your conversations, the most recently active first:")
    assert f"\n{name} first (branch) ({channel(name)}) – /" in listed.text
    await person.commands(f"rename Talk on {name}")
    await person.sees(f"This conversation is now called “Talk on {name}”.")
    await person.commands("close")
    await person.sees("Closed. Your next message here starts a new conversation.")
    await says(town, person, f"{name} anew")
    await person.sees("The conversation here was closed, so this is a new one.")
    (anew,) = asked(town, f"{name} anew")
    assert f"{name} first" not in spoken(anew)
    await person.commands("close")
    await person.commands(f"thread talk ON {name}")
    await person.sees(
        f"Continuing “Talk on {name}”, last active on {channel(name)}. It was closed and is open"
    )
    await says(town, person, f"{name} goes on")
    (further,) = asked(town, f"{name} goes on")
    assert f"to {name} first." in spoken(further)


async def another_by_its_button(town: HubEverywhere, person: Person, name: str) -> None:
    await person.commands(f"new Aside of {name}")
    await person.sees(f"It is called “Aside of {name}”.")
    await person.commands(f"thread {name}")
    several = await person.sees("Several conversations fit. Choose one:")
    if several.buttons:
        button = next(label for label, _ in several.buttons if f"Talk on {name}" in label)
        await person.presses(button)
    else:
        await person.commands(f"thread Talk on {name}")
    await person.sees(f"Continuing “Talk on {name}”, last active on {channel(name)}.")
    await says(town, person, f"{name} once more")
    (once_more,) = asked(town, f"{name} once more")
    assert f"to {name} goes on." in spoken(once_more)


async def found_again(town: HubEverywhere, person: Person, name: str) -> None:
    del town
    await person.commands(f"search {name} goes on")
    await person.sees(f" · Talk on {name}")
    await person.commands(f"search nobody said this on {name}")
    await person.sees("I found nothing for")


async def said_while_busy(town: HubEverywhere, person: Person, name: str) -> None:
    await person.says(f"slow 600: for ever on {name}")
    await town.model.wait_requests(match=f"for ever on {name}", timeout_s=LIMIT_S)
    town.model.enqueue(f"At once, {name}.", match=f"{name} instead")
    await person.commands(f"interrupt {name} instead")
    await person.sees("Stopped. Your new message is next.")
    await person.sees(f"At once, {name}.")
    for wish in ("queue", "steer"):
        town.model.enqueue(f"To {wish}, {name}.", match=f"{name} by {wish}")
        await person.commands(f"{wish} {name} by {wish}")
        await person.sees(f"To {wish}, {name}.")


async def made_shorter(town: HubEverywhere, person: Person, name: str) -> None:
    del town, name
    await person.commands("compact")
    await person.sees(NOTHING_TO_COMPACT)


async def received(person: Person, text: str) -> str:
    """The file with this text that the bot sent."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            for content in await person.files():
                if text in content.decode():
                    return content.decode()
            await asyncio.sleep(LOOK_AGAIN_S)


async def deleted(town: HubEverywhere, person: Person, name: str) -> None:
    await person.commands("delete")
    asked_first = await person.sees("for good? Nothing that was said in it")
    if asked_first.buttons:
        await person.presses("Export first")
    else:
        await person.commands("export")
    await person.sees("The file has all of")
    exported = await received(person, f"{name} afresh" if name != "terminal" else "conversation-")
    assert name == "terminal" or f"{name} goes on" in exported, "also what was cleared"
    if asked_first.buttons:
        await person.presses("Delete for good")
    else:
        await goes(person, "delete now", "Deleted for good.")
    await person.sees("Deleted for good.")
    await says(town, person, f"{name} after all")
    (after_all,) = asked(town, f"{name} after all")
    assert f"{name} afresh" not in spoken(after_all)
    await person.commands("export")
    await received(person, f"{name} after all" if name != "terminal" else "conversation-")
    await person.commands("delete later")
    await person.sees("I ask before I do.")


async def one_thread_on_two_channels(town: HubEverywhere, here: Person, there: Person) -> None:
    """It is chosen on the second, where its turns can be undone, and each message is answered where it was
    written."""
    await there.commands("thread telegram after all")
    await there.sees("Continuing “telegram after all”, last active on telegram.")
    await there.commands("undo")
    await there.sees("Undid the last turn, back to before “telegram after all”.")
    await there.commands("redo")
    await there.sees("Brought back the last undone turn")
    answers = [
        await says(town, there, "on in slack"),
        await says(town, here, "back in telegram"),
        await says(town, there, "again in slack"),
    ]
    (last_one,) = asked(town, "again in slack")
    assert all(said in spoken(last_one) for said in ("telegram after all", *answers[:2]))
    at = [[one.text for one in await person.transcript()] for person in (there, here, there)]
    assert all(answer in texts for answer, texts in zip(answers, at, strict=True))
    assert answers[1] not in at[0]
    assert not {answers[0], answers[2]} & set(at[1])


def channel(name: str) -> str:
    return "web" if name == "terminal" else name


SCENES: tuple[Scene, ...] = (
    undo_and_redo,
    retry,
    what_is_busy_stays_as_it_is,
    on_with_an_interrupted_turn,
    effects_that_stay_are_named,
    back_to_a_checkpoint,
    on_in_a_branch,
    close_and_open_again,
    another_by_its_button,
    found_again,
    said_while_busy,
    clear,
    made_shorter,
    deleted,
)


COMMANDS = {
    *("undo", "redo", "retry", "clear", "resume", "branch", "compact", "queue", "steer", "interrupt"),
    *("stop", "search", "new", "threads", "thread", "rename", "close", "export", "delete"),
}
"""The commands on conversations: each is given on every channel."""


class Counted:
    """A person, and the commands they gave."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self.given: set[str] = set()
        self.says, self.presses = person.says, person.presses
        self.transcript, self.sees, self.files = person.transcript, person.sees, person.files

    async def commands(self, command: str) -> None:
        self.given.add(command.partition(" ")[0])
        await self._person.commands(command)


@pytest.mark.slow
async def test_every_scene_on_every_channel(tmp_path: Path) -> None:
    async with open_hub_everywhere(tmp_path) as town, terminal(tmp_path) as at_terminal:
        await says(town, at_terminal, "terminal first")
        console = town.people["web"]
        assert isinstance(console, Console)
        people = {name: Counted(one) for name, one in {**town.people, "terminal": at_terminal}.items()}

        async def all_scenes(name: str, person: Person) -> None:
            if name != "terminal":
                await says(town, person, f"{name} first")
            for scene in SCENES:
                await scene(town, person, name)

        async with asyncio.TaskGroup() as talks:
            for name, person in people.items():
                talks.create_task(all_scenes(name, person), name=name)
        missing = {name: COMMANDS - person.given for name, person in people.items()}
        assert not any(missing.values()), missing
        await one_thread_on_two_channels(town, town.people["telegram"], town.people["slack"])
        built = (tmp_path / "workspace" / "built").read_text().split()
        assert sorted(built) == sorted(people), "no effect was repeated"
