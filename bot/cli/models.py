"""`hubbub models test`."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bot.cli.ending import CommandFailed
from bot.cli.printing import print_json, print_table, printable, whole
from bot.config import Loaded, load
from bot.config_secrets import secret_values
from bot.logs import Redactor
from bot.model_trial import Trial, try_model
from core.clock import SystemClock

ANSWER_CHARS = 40


def try_each(path: Path | None, *, as_json: bool) -> None:
    """Call every configured model once. Raises CommandFailed if one of them does not answer."""
    loaded = load(path)
    trials = asyncio.run(_trials(loaded))
    redact = Redactor(secret_values(loaded.config))
    if as_json:
        print_json([asdict(trial) | {"problem": trial.problem and redact(trial.problem)} for trial in trials])
    else:
        columns = (whole("model"), whole("answers"), "first, total (s)", "tokens in, out", "what it said")
        print_table(columns, (_row(trial, redact) for trial in trials))
    silent = sum(trial.problem is not None for trial in trials)
    if silent:
        raise CommandFailed(f"{silent} of {len(trials)} models do not answer; `hubbub doctor` may say why.")


async def _trials(loaded: Loaded) -> Sequence[Trial]:
    from bot.certificates import Certificates
    from bot.parts import open_each_model

    clock = SystemClock()
    async with open_each_model(loaded.config, clock, Certificates()) as models:
        return [await try_model(model, clock) for model in models]


def _row(trial: Trial, redact: Redactor) -> Sequence[str]:
    if trial.problem is not None:
        return trial.name, "no", f"{trial.total_s:.2f}", "", printable(redact(trial.problem))
    first = "" if trial.first_s is None else f"{trial.first_s:.2f}, "
    said = trial.answer if len(trial.answer) <= ANSWER_CHARS else f"{trial.answer[:ANSWER_CHARS]}…"
    return (
        trial.name,
        "yes",
        f"{first}{trial.total_s:.2f}",
        f"{trial.input_tokens}, {trial.output_tokens}",
        said,
    )
