"""`hubbub usage` and `hubbub models test`: what model calls used and cost, and trials of the models."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from bot.cli.api import lock_or_hub, running, with_api
from bot.cli.exit_codes import CommandFailed
from bot.cli.output import print_json, print_table, printable, whole
from bot.config.keys import VaultKeyRing
from bot.config.load import Loaded, load
from bot.config.schema import secret_values
from bot.models.builder import open_models
from bot.operator.usage_views import UsageListing, UsageView
from bot.ops.logs import Redactor
from bot.ops.model_trial import Trial, try_each, try_model, words
from bot.parts import open_store
from bot.runtime import Certificates
from core.clock import SystemClock
from core.ids import RandomIds
from core.runs.metering import Metering
from core.store.lease import DataDirectoryLock
from core.usage import MICRO_USD

ANSWER_CHARS = 40
TRIALS_LIMIT_S = 900.0
"""The longest that trials of all models may take."""


def show_usage(path: Path | None, by: str, days: int, *, as_json: bool) -> None:
    """Print the tokens and costs of model calls."""
    found = with_api(path, lambda api: api.get("/usage", UsageListing, by=by, days=days))
    if as_json:
        print_json(found)
        return
    if not found.rows:
        typer.echo("No model was called in that time.")
        return
    columns = (
        whole(by),
        "calls",
        "input",
        "of it cached",
        "output",
        "cost",
        "estimated calls",
        "estimated tokens",
        "estimated cost",
    )
    print_table(columns, map(_usage_row, found.rows))


def _usage_row(row: UsageView) -> Sequence[str]:
    estimated = (f"{row.estimated_calls:,}", f"{row.estimated_tokens:,}", _usd(row.estimated_cost_micro_usd))
    return (
        row.name,
        f"{row.calls:,}",
        f"{row.input_tokens:,}",
        f"{row.cached_input_tokens:,}",
        f"{row.output_tokens:,}",
        _usd(row.cost_micro_usd),
        *(estimated if row.estimated_calls else ("", "", "")),
    )


def _usd(micro_usd: int) -> str:
    return f"${micro_usd / MICRO_USD:,.4f}"


# `hubbub models test`.


def try_models(path: Path | None, *, as_json: bool) -> None:
    """Try every configured model. Raises CommandFailed if one of them does not answer."""
    loaded = load(path)
    trials = _trials(loaded)
    redact = Redactor(secret_values(loaded.config))
    if as_json:
        print_json([asdict(trial) | {"problem": trial.problem and redact(trial.problem)} for trial in trials])
    else:
        columns = (whole("model"), whole("answers"), "first, total (s)", "tokens in, out", "reply")
        print_table(columns, (_trial_row(trial, redact) for trial in trials))
        for trial in trials:
            if found := words(trial):
                typer.echo(printable(f"{trial.name}: {', '.join(found)}"))
    silent = sum(trial.problem is not None for trial in trials)
    if silent:
        raise CommandFailed(
            f"{silent} of {len(trials)} models did not reply; run `hubbub doctor` to find out more."
        )


def _trials(loaded: Loaded) -> Sequence[Trial]:
    """Try the models in the running hub, or here while none runs: the calls are part of its usage."""
    data_dir = loaded.config.hub.data_dir
    lock = DataDirectoryLock(data_dir)
    access = lock_or_hub(data_dir, lock)
    if access is not None:
        return running(access, lambda api: api.post("/models/test", list[Trial], limit_s=TRIALS_LIMIT_S))
    try:
        return asyncio.run(_trials_here(loaded))
    finally:
        lock.release()


async def _trials_here(loaded: Loaded) -> Sequence[Trial]:
    config, clock, ids = loaded.config, SystemClock(), RandomIds()
    ring = VaultKeyRing(config.hub.data_dir, loaded.environment)
    async with open_store(config, ring, clock, ids) as store:
        metering = Metering(store.usage, clock, ids)
        async with open_models(
            config, clock, Certificates(), metering, environment=loaded.environment
        ) as models:
            return await try_each(models, config.hub.owner, ids.row_id(), try_model)


def _trial_row(trial: Trial, redact: Redactor) -> Sequence[str]:
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
