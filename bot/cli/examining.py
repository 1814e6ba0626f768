"""`hubbub doctor`."""

import asyncio
from dataclasses import asdict
from pathlib import Path

from bot.api_access import read_access
from bot.cli.ending import CommandFailed
from bot.cli.printing import print_json, print_table, whole
from bot.cli.remote import RemoteDesk
from bot.config import load, secret_values
from bot.desk import DeskRefused
from bot.doctor import examine
from bot.findings import Health
from bot.logs import Redactor
from bot.views import StatusView


def doctor(path: Path | None, *, as_json: bool) -> None:
    """Print every finding. Raises CommandFailed if something is broken."""
    loaded = load(path)

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
    broken = sum(finding.health is Health.BROKEN for finding in findings)
    if broken:
        raise CommandFailed(f"{broken} of {len(findings)} findings are broken; do what the last column says.")
