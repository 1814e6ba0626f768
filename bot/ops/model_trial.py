"""A few short calls to a model: whether it answers and how fast, whether it streams, calls tools and sees."""

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

from core.clock import Clock
from core.errors import BudgetUsedUp, ModelError
from core.lazy import dataclass
from core.model.base import ImagePart, ModelAbilities, ModelReply, ModelRequest, ReplyDelta, ToolSpec, closing
from core.runs.metering import RunMeter
from core.runs.model_list import Candidate, ModelList
from core.transcript import UserSaid
from core.usage import CallKind, Payer

SYSTEM = "You are being tested for reachability."
QUESTION = "Answer with the single word: ready"
TOOL = ToolSpec(
    "report",
    "Report that you are ready.",
    {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "the word ready"}},
        "required": ["word"],
    },
)
TOOL_QUESTION = "Call the tool `report` with the word ready."
IMAGE = ImagePart(
    "red.png",
    "image/png",
    base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3NsQkAAAjAsP7/tF7hIASyp6lTCQQCgUAg"
        "EAgEgi/BAjLD/C5w/SM9AAAAAElFTkSuQmCC"
    ),
)
IMAGE_QUESTION = "Which color is this image? Answer with one word."
TRIAL_LIMIT_S = 60.0
MAX_OUTPUT_TOKENS = 512
"""Room for models that think before they say one word."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial. `problem`: None if the model answered; tokens as the provider counted them.

    `streams`, `calls_tools`, `sees_images`: None if not tried.
    `learned`: parts of the API that its provider refused."""

    name: str
    problem: str | None
    answer: str = ""
    first_s: float | None = None
    total_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    streams: bool | None = None
    calls_tools: bool | None = None
    sees_images: bool | None = None
    learned: tuple[str, ...] = ()


class Tried:
    """A model with one of its keys, called through the metering point."""

    def __init__(self, candidate: Candidate, key: int, meter: RunMeter) -> None:
        self._candidate = candidate
        self._key = key
        self._meter = meter

    @property
    def name(self) -> str:
        """The model's name in the configuration."""
        return self._candidate.name

    @property
    def abilities(self) -> ModelAbilities:
        """Its limits and abilities as known now."""
        return self._candidate.abilities(self._key)

    def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """Yield what the model yields. Raises its errors, and BudgetUsedUp."""
        return self._meter.reply(self._candidate, self._key, request)


async def try_each(
    models: ModelList, user_id: str, run_id: str, trial: Callable[[Tried, Clock], Awaitable[Trial]]
) -> Sequence[Trial]:
    """Try every model with each of its keys, for that person. `run_id`: names the trial in the usage."""
    meter = models.metering.run(Payer(CallKind.TEST, run_id, user_id))
    try:
        return [
            await trial(Tried(candidate, key, meter), models.clock)
            for candidate in models.all
            for key in range(candidate.keys)
        ]
    finally:
        await meter.settle()


async def try_model(model: Tried, clock: Clock) -> Trial:
    """Try everything that the model is used for. Images are tried only if it is known to see."""
    trial = await try_text(model, clock)
    if trial.problem is not None:
        return trial
    reply = await _reply(model, ModelRequest(SYSTEM, [UserSaid(TOOL_QUESTION)], [TOOL], MAX_OUTPUT_TOKENS))
    calls_tools = reply is not None and any(call.tool == TOOL.name for call in reply.calls)
    sees_images: bool | None = None
    if model.abilities.images:
        request = ModelRequest(SYSTEM, [UserSaid(IMAGE_QUESTION)], (), MAX_OUTPUT_TOKENS, images=[IMAGE])
        sees_images = await _reply(model, request) is not None and model.abilities.images
    learned = model.abilities.learned
    return replace(trial, calls_tools=calls_tools, sees_images=sees_images, learned=learned)


async def try_text(model: Tried, clock: Clock) -> Trial:
    """Ask for one word."""
    began_s = clock.monotonic_s()
    first_s: float | None = None
    streams = False
    request = ModelRequest(SYSTEM, [UserSaid(QUESTION)], max_output_tokens=MAX_OUTPUT_TOKENS)
    try:
        async with asyncio.timeout(TRIAL_LIMIT_S), closing(model.reply(request)) as pieces:
            async for piece in pieces:
                passed_s = clock.monotonic_s() - began_s
                first_s = passed_s if first_s is None else first_s
                if isinstance(piece, ModelReply):
                    usage = piece.usage
                    return Trial(
                        model.name,
                        None,
                        " ".join(piece.text.split()),
                        first_s,
                        passed_s,
                        usage.input_tokens,
                        usage.output_tokens,
                        streams=streams,
                        learned=model.abilities.learned,
                    )
                streams = True
        problem = "no reply"
    except TimeoutError:
        problem = f"no response within {TRIAL_LIMIT_S:g} s"
    except (ModelError, BudgetUsedUp) as error:
        problem = str(error)
    return Trial(model.name, problem, first_s=first_s, total_s=clock.monotonic_s() - began_s)


async def _reply(model: Tried, request: ModelRequest) -> ModelReply | None:
    """Return the reply, or None if there is none in time."""
    try:
        async with asyncio.timeout(TRIAL_LIMIT_S), closing(model.reply(request)) as pieces:
            async for piece in pieces:
                if isinstance(piece, ModelReply):
                    return piece
    except (TimeoutError, ModelError, BudgetUsedUp):
        pass
    return None


def words(trial: Trial) -> Sequence[str]:
    """Return the abilities that were tried, and the parts of the API that its provider refused."""
    tried = (
        (trial.streams, "streams", "does not stream"),
        (trial.calls_tools, "calls tools", "calls no tools"),
        (trial.sees_images, "sees images", "sees no images"),
    )
    found = [yes if holds else no for holds, yes, no in tried if holds is not None]
    return list(dict.fromkeys((*found, *trial.learned)))
