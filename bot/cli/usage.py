"""`hubbub usage` and `hubbub models test`: what model calls used and cost, and trials of the models."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bot.cli.api import lock_or_hub, running, with_api
from bot.cli.conventions import print_json, print_table, printable, whole
from bot.operator.usage_views import UsageListing, UsageView
from bot.runtime import CommandFailed
from core.lazy import LazyModule
from core.store.lease import DataDirectoryLock
from core.usage import MICRO_USD

if TYPE_CHECKING:
    from bot import parts, runtime
    from bot.config import keys, load, schema
    from bot.config.load import Loaded
    from bot.models import builder
    from bot.ops import logs, model_trial
    from bot.ops.logs import Redactor
    from bot.ops.model_trial import Trial
    from core import clock, ids
    from core.runs import metering
else:
    # For trials only: a listing needs none of these.
    parts, runtime = LazyModule("bot.parts"), LazyModule("bot.runtime")
    keys, schema = LazyModule("bot.config.keys"), LazyModule("bot.config.schema")
    load = LazyModule("bot.config.load")
    builder = LazyModule("bot.models.builder")
    logs, model_trial = LazyModule("bot.ops.logs"), LazyModule("bot.ops.model_trial")
    clock, ids = LazyModule("core.clock"), LazyModule("core.ids")
    metering = LazyModule("core.runs.metering")

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
        _cost(row),
        *(estimated if row.estimated_calls else ("", "", "")),
    )


def _cost(row: UsageView) -> str:
    """Return the cost in the words of the console."""
    if row.free:
        return "free"
    tokens = row.input_tokens + row.output_tokens + row.estimated_tokens
    if tokens and not row.cost_micro_usd + row.estimated_cost_micro_usd:
        return "no price set"
    return _usd(row.cost_micro_usd)


def _usd(micro_usd: int) -> str:
    return f"${micro_usd / MICRO_USD:,.4f}"


# `hubbub models test`.


def try_models(path: Path | None, *, as_json: bool) -> None:
    """Try every configured model. Raises CommandFailed if one of them does not answer."""
    loaded = load.load(path)
    trials = _trials(loaded)
    redact = logs.Redactor(schema.secret_values(loaded.config))
    if as_json:
        print_json([asdict(trial) | {"problem": trial.problem and redact(trial.problem)} for trial in trials])
    else:
        columns = (whole("model"), whole("answers"), "first, total (s)", "tokens in, out", "reply")
        print_table(columns, (_trial_row(trial, redact) for trial in trials))
        for trial in trials:
            if found := model_trial.words(trial):
                typer.echo(printable(f"{trial.name}: {', '.join(found)}"))
    silent = sum(trial.problem is not None for trial in trials)
    if silent:
        raise CommandFailed(
            f"{silent} of {len(trials)} models did not reply; run `hubbub doctor` to find out more."
        )


def _trials(loaded: "Loaded") -> "Sequence[Trial]":
    """Try the models in the running hub, or here while none runs: the calls are part of its usage."""
    data_dir = loaded.config.hub.data_dir
    lock = DataDirectoryLock(data_dir)
    access = lock_or_hub(data_dir, lock)
    if access is not None:
        return running(
            access, lambda api: api.post("/models/test", list[model_trial.Trial], limit_s=TRIALS_LIMIT_S)
        )
    try:
        return asyncio.run(_trials_here(loaded))
    finally:
        lock.release()


async def _trials_here(loaded: "Loaded") -> "Sequence[Trial]":
    config, now, names = loaded.config, clock.SystemClock(), ids.RandomIds()
    ring = keys.VaultKeyRing(config.hub.data_dir, loaded.environment)
    async with parts.open_store(config, ring, now, names) as store:
        meter = metering.Metering(store.usage, now, names)
        async with builder.open_models(
            config, now, runtime.Certificates(), meter, environment=loaded.environment
        ) as models:
            return await model_trial.try_each(models, config.hub.owner, names.row_id(), model_trial.try_model)


def _trial_row(trial: "Trial", redact: "Redactor") -> Sequence[str]:
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
