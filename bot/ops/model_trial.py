"""One short call to a model, to see whether it answers, how fast and for how many tokens."""

import asyncio
from dataclasses import dataclass

from core.clock import Clock
from core.errors import ModelError
from core.model.base import Model, ModelReply, ModelRequest, closing
from core.transcript import UserSaid

QUESTION = "Answer with the single word: ready"
TRIAL_LIMIT_S = 60.0
MAX_OUTPUT_TOKENS = 512
"""Room for models that think before they say one word."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a trial. `problem`: None if the model answered; tokens as the provider counted them."""

    name: str
    problem: str | None
    answer: str = ""
    first_s: float | None = None
    total_s: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0


async def try_model(model: Model, clock: Clock) -> Trial:
    """Call it once, with everything a real call has."""
    began_s = clock.monotonic_s()
    first_s: float | None = None
    request = ModelRequest(
        system="You are being tested for reachability.",
        conversation=[UserSaid(QUESTION)],
        max_output_tokens=MAX_OUTPUT_TOKENS,
    )
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
                    )
        problem = "no reply"
    except TimeoutError:
        problem = f"no response within {TRIAL_LIMIT_S:g} s"
    except ModelError as error:
        problem = str(error)
    return Trial(model.name, problem, first_s=first_s, total_s=clock.monotonic_s() - began_s)
