"""Tries what was answered before it is written: every token on its platform, the model by one short call."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.certificates import Certificates
from bot.config import load
from bot.config_secrets import secret_values
from bot.findings import Finding, Health, broken, fine
from bot.logs import Redactor
from bot.model_trial import try_model
from bot.parts import open_each_model
from bot.probes import channel_findings
from bot.settings import Config
from bot.setup import Answers, configuration, variables
from core.clock import SystemClock


def judged(answers: Answers, environ: Mapping[str, str]) -> Config:
    """The configuration that follows. Raises ConfigError in the words of `hubbub config check`."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "hubbub.toml").write_text(configuration(answers))
        relevant = {name: value for name, value in environ.items() if not name.startswith("HUBBUB_")}
        return load(environ={**relevant, **variables(answers)}, cwd=Path(place)).config


async def tried(config: Config) -> Sequence[Finding]:
    """What the platforms and the model say, the broken first; no secret is in it."""
    redact = Redactor(secret_values(config))
    found = [*await channel_findings(config), *await _models(config)]
    said = [Finding(one.what, one.health, redact(one.message), redact(one.fix)) for one in found]
    return sorted(said, key=lambda one: one.health is not Health.BROKEN)


async def _models(config: Config) -> Sequence[Finding]:
    clock = SystemClock()
    findings: list[Finding] = []
    async with open_each_model(config, clock, Certificates()) as models:
        for model in models:
            trial = await try_model(model, clock)
            what = f"model {model.name}"
            if trial.problem is None:
                findings.append(fine(what, f"answered in {trial.total_s:.1f} s: {trial.answer[:40]}"))
            else:
                problem = trial.problem.removeprefix(f"{what}: ")
                findings.append(broken(what, problem, "check the key, the model's name and base_url"))
    return findings
