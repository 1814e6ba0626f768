"""The conversation without a line editor: what comes in on one pipe goes to the hub, what comes back goes out
on another.

Plainly: all of the input is one message; the answers are printed as text, and the command ends when nothing
goes on any more. With JSON: one object a line, in and out.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, BinaryIO, assert_never, cast

from bot.chat.talk import (
    Asked,
    Began,
    Card,
    Cut,
    Event,
    Moved,
    Rested,
    Resumed,
    Said,
    Settled,
    Standing,
    Stepped,
    Talk,
    TalkFailed,
    Wrote,
)
from bot.chat.view import View
from channels.blocks import Block
from channels.terminal.painting import painted
from channels.terminal.rendering import render

LOOK_AGAIN_S = 0.2
"""How often it is looked whether anything still goes on, while nothing is heard."""
INPUT_LIMIT_BYTES = 1024 * 1024
WAITS = (
    "The conversation waits for you: answer with `hubbub approvals decide {id} approve`, or in `hubbub chat`."
)
BAD_LINE = 'write {"text": "…"} or {"prompt_id": "…", "choice": "approve"}, one object a line'


class PipeTalk:
    """Runs one conversation on pipes. `write` takes text for standard output."""

    def __init__(self, talk: Talk, write: Callable[[str], None]) -> None:
        self._talk = talk
        self._write = write
        self._view = View()
        # A program names what it answers, also after it went on in another conversation.
        self._asked: dict[str, Card] = {}

    async def one_message(self, text: str) -> bool:
        """Send the text and print what is answered; whether all is done, and nothing waits for a person."""
        if text.strip():
            await self._talk.say(text)
        standing = await self._until_rest(self._print)
        if standing is Standing.WAITING and self._view.card is not None:
            self._write(WAITS.format(id=self._view.card.prompt_id) + "\n")
        return standing is Standing.IDLE

    async def lines(self, source: AsyncIterator[str]) -> bool:
        """Do what each line says, and tell what happens, one object a line; as `one_message` at the end."""
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(self._follow(), name="conversation")
            async for line in source:
                if line.strip():
                    await self._do(line)
            following.cancel()
        return await self._until_rest(self._tell) is Standing.IDLE

    # --- out ---------------------------------------------------------------------------------------------

    async def _until_rest(self, show: Callable[[Event], None]) -> Standing:
        while True:
            standing = await self._talk.standing()
            if standing is Standing.IDLE or standing is Standing.WAITING:
                return standing
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_AGAIN_S):
                    event = await self._talk.next()
                show(event)

    async def _follow(self) -> None:
        while True:
            self._tell(await self._talk.next())

    def _print(self, event: Event) -> None:
        lines = self._view.take(event, None)
        if lines and not (isinstance(event, Said) and event.past):
            self._write(painted(lines, colours=False))

    def _tell(self, event: Event) -> None:
        if isinstance(event, Asked):
            self._asked[event.card.prompt_id] = event.card
        self._view.take(event, None)
        self._write(json.dumps(as_json(event), ensure_ascii=False) + "\n")

    # --- in ----------------------------------------------------------------------------------------------

    async def _do(self, line: str) -> None:
        try:
            await self._asked_for(line)
        except TalkFailed as error:
            self._write(json.dumps({"type": "error", "message": str(error)}, ensure_ascii=False) + "\n")

    async def _asked_for(self, line: str) -> None:
        try:
            page = json.loads(line)
        except ValueError as error:
            raise TalkFailed(f"{error}; {BAD_LINE}") from error
        match page:
            case {"text": str(text)}:
                await self._talk.say(text)
            case {"prompt_id": str(prompt_id), "arguments": dict(arguments)}:
                changed = cast("Mapping[str, Any]", arguments)
                await self._talk.approve_edited(prompt_id, changed, self._place(prompt_id, 0))
            case {"prompt_id": str(prompt_id), "choice": int() | str() as choice}:
                await self._talk.decide(prompt_id, self._place(prompt_id, choice))
            case _:
                raise TalkFailed(BAD_LINE)

    def _place(self, prompt_id: str, choice: int | str) -> int:
        card = self._asked.get(prompt_id)
        if card is None:
            raise TalkFailed(f"nothing that waits here has the id {prompt_id}")
        offered = _answers(card)
        if isinstance(choice, int) and 0 <= choice < len(offered):
            return card.first_choice + choice
        if choice in offered:
            return card.first_choice + offered.index(str(choice))
        raise TalkFailed(f"{choice} is no answer to this; it takes {', '.join(offered)}")


def as_json(event: Event) -> Mapping[str, object]:
    """An event for programs: `type`, and what belongs to it. What is said is text as it is printed."""
    page: Mapping[str, object]
    match event:
        case Said():
            page = {
                "by": event.author.value,
                "name": event.name,
                "text": _text(event.blocks),
                "files": list(event.files),
                "past": event.past,
            }
        case Asked(card):
            page = {
                "prompt_id": card.prompt_id,
                "text": _text(card.blocks),
                "choices": _answers(card),
                "arguments": None if card.arguments is None else dict(card.arguments),
                "free_text": card.free_text,
                "secret": card.secret,
            }
        case Stepped() | Settled() | Wrote() | Cut() | Began() | Rested() | Resumed() | Moved():
            page = asdict(event)
        case _:
            assert_never(event)
    return {"type": type(event).__name__.lower(), **page}


def _text(blocks: Sequence[Block]) -> str:
    return painted(render(blocks, None), colours=False).rstrip("\n")


def _answers(card: Card) -> Sequence[str]:
    return [choice.option or choice.label for choice in card.choices]


async def lines_of(file: BinaryIO) -> AsyncIterator[str]:
    """The lines of a file or pipe, as they come. A line that is too long is cut: it is no JSON then."""
    while line := await asyncio.to_thread(file.readline, INPUT_LIMIT_BYTES):
        yield line.decode("utf-8", "replace")
