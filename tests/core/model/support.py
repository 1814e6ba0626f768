"""The parts that tests of models share: recorded replies, a clock that does not wait, requests,
collecting."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.model.base import Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta, ToolSpec
from core.transcript import Said, UserSaid

PAYLOADS = Path(__file__).parents[2] / "payloads" / "openai"
NOW_US = 1_763_760_000_000_000
"""2025-11-21 21:20:00 UTC."""

SHELL = ToolSpec(
    "shell",
    "Run a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
TIME = ToolSpec("time", "Tell the time.", {"type": "object", "properties": {}})


def recorded(name: str) -> bytes:
    return (PAYLOADS / name).read_bytes()


@dataclass(slots=True)
class TestClock:
    """Moves by its sleeps only; a sleep is noted and over at once."""

    __test__ = False
    now_us: int = NOW_US
    slept_s: list[float] = field(default_factory=list)

    def now(self) -> int:
        return self.now_us

    def monotonic_s(self) -> float:
        return self.now_us / 1_000_000

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_us += round(seconds * 1_000_000)
        await asyncio.sleep(0)


def asking(
    *said: Said | str, tools: Sequence[ToolSpec] = (SHELL, TIME), system: str = "Be kind."
) -> ModelRequest:
    """A request; a plain string is what a person said."""
    conversation = [UserSaid(entry) if isinstance(entry, str) else entry for entry in said]
    return ModelRequest(system, conversation, tools)


async def collect(model: Model, request: ModelRequest) -> tuple[list[str], ModelReply]:
    """The deltas and the reply; a second reply, a delta after it, or none at all is an error."""
    deltas: list[str] = []
    replies: list[ModelReply] = []
    async for piece in model.reply(request):
        assert not replies, "something followed the reply"
        match piece:
            case ReplyDelta(text):
                deltas.append(text)
            case ModelReply():
                replies.append(piece)
    (reply,) = replies
    return deltas, reply


@dataclass(slots=True)
class ScriptedModel:
    """Plays one list of pieces per call; an exception in it is raised there."""

    name: str
    calls: list[Sequence[ReplyDelta | ModelReply | Exception]]
    asked: int = 0
    closed: int = 0
    abilities: ModelAbilities = field(default_factory=ModelAbilities)

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        self.asked += 1
        try:
            for piece in self.calls.pop(0):
                if isinstance(piece, Exception):
                    raise piece
                yield piece
        finally:
            self.closed += 1
