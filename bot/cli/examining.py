"""`hubbub doctor`."""

import asyncio
from dataclasses import asdict
from pathlib import Path

from bot.api_access import read_access
from bot.cli.ending import CommandFailed
from bot.cli.printing import print_json, print_table, whole
from bot.cli.remote import RemoteDesk
from bot.config import Loaded, load
from bot.config_secrets import secret_values
from bot.doctor import examine
from bot.errors import ConfigError, DeskRefused
from bot.findings import Health, broken
from bot.logs import Redactor
from bot.status_views import StatusView


def _loaded(path: Path | None, *, as_json: bool) -> Loaded:
    """Without a good configuration nothing else can be looked at."""
    try:
        return load(path)
    except ConfigError as error:
        if as_json:
            fix = "each line says what to do"
            found = [broken("configuration", problem, fix) for problem in error.problems]
            print_json([asdict(one) for one in found])
        raise


def doctor(path: Path | None, *, as_json: bool) -> None:
    """Print every finding. Raises CommandFailed if something is broken."""
    loaded = _loaded(path, as_json=as_json)

    async def status() -> StatusView:
        access = read_access(loaded.config.hub.data_dir)
        if access is None:
            raise DeskRefused("unavailable", "it has not said where its API is")
        return await RemoteDesk(access).status()

    findings = asyncio.run(examine(loaded, status))
    redact = Redactor(secret_values(loaded.config))
    if as_json:
        print_json([{key: redact(str(value)) for key, value in asdict(one).items()} for one in findings])
    else:
        rows = ((f.what, f.health.value, redact(f.message), redact(f.fix)) for f in findings)
        print_table((whole("what"), whole("state"), "finding", "what to do"), rows)
    failing = sum(finding.health is Health.BROKEN for finding in findings)
    if failing:
        of_all = f"{failing} of {len(findings)} findings"
        raise CommandFailed(
            f"{of_all} {'is' if failing == 1 else 'are'} broken; do what the last column says."
        )
