"""Trials of answers before they are written: tokens, models, and the account of the person who sets it up.

The account is found by a code that only this person has seen, and sends to the bot.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from bot.cli.output import printable
from bot.config.load import load
from bot.config.schema import Config, secret_values
from bot.config.setup_catalog import Answers, configuration, variables
from bot.config.types import FILE_NAME
from bot.models.builder import open_models
from bot.ops.logs import Redactor
from bot.ops.model_trial import try_each, try_text
from bot.ops.probes import Finding, Health, broken, channel_findings, fine
from bot.platforms import ChannelBuilder
from bot.runtime import Certificates, ConfigError
from channels.channel import Channel
from core.clock import SystemClock
from core.errors import ChannelError, InboxUnavailable
from core.ids import RandomIds, normalise_code
from core.messages import InboundEvent, InboundMessage, Sender, plain
from core.ports import Acceptance, Seen
from core.runs.metering import Metering, NoLedger

MARKS = {Health.FINE: "ok", Health.WARNING: "note", Health.BROKEN: "NOT OK"}


def judged(answers: Answers, environ: Mapping[str, str]) -> Config:
    """Return the resulting configuration. Raises ConfigError in the words of `hubbub config check`."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / FILE_NAME).write_text(configuration(answers))
        relevant = {name: value for name, value in environ.items() if not name.startswith("HUBBUB_")}
        return load(environ={**relevant, **variables(answers)}, cwd=Path(place)).config


async def tried(config: Config, *, channels: bool = False, models: bool = False) -> Sequence[Finding]:
    """Return the results of trying platforms and model, the broken first, without secrets."""
    found = [*await channel_findings(config)] if channels else []
    found += await _models(config) if models else []
    redact = Redactor(secret_values(config))
    said = [Finding(one.what, one.health, redact(one.message), redact(one.fix)) for one in found]
    return sorted(said, key=lambda one: one.health is not Health.BROKEN)


def shown(findings: Sequence[Finding]) -> bool:
    """Print the findings; return whether something is broken."""
    for one in findings:
        fix = f" -> {one.fix}" if one.fix else ""
        typer.echo(printable(f"  {one.what}: {MARKS[one.health]}, {one.message}{fix}"))
    return any(one.health is Health.BROKEN for one in findings)


async def _models(config: Config) -> Sequence[Finding]:
    clock = SystemClock()
    findings: list[Finding] = []
    metering = Metering(NoLedger(), clock, RandomIds())  # there is no database yet
    async with open_models(config, clock, Certificates(), metering) as models:
        for trial in await try_each(models, config.hub.owner, "", try_text):
            what = f"model {trial.name}"
            if trial.problem is None:
                findings.append(fine(what, f"replied in {trial.total_s:.1f} s: {trial.answer[:40]}"))
            else:
                problem = trial.problem.removeprefix(f"{what}: ")
                findings.append(broken(what, problem, "check the API key, the model's name and base_url"))
    return findings


def require_valid(text: str, target: Path, environ: Mapping[str, str], answers: Answers) -> None:
    """Read a changed text in its own place, where relative paths lead where they will lead.

    Raises ConfigError."""
    draft = target.with_suffix(".draft")
    try:
        draft.touch(mode=0o600)
        draft.write_text(text)
        load(draft, environ={**environ, **variables(answers)})
    except ConfigError as error:
        raise ConfigError(problem.replace(str(draft), str(target)) for problem in error.problems) from error
    finally:
        draft.unlink(missing_ok=True)


FOUND = "Found you. I will answer here as soon as the hub runs."
LAST_REQUEST_S = 1.0
"""Telegram learns from the next request that the code was received, so that the hub does not get it again."""


class CodeInbox:
    """An inbox that looks for a code. Other messages are dropped: there is no hub yet that could answer."""

    def __init__(self, code: str) -> None:
        self._code = code
        self.found: asyncio.Future[InboundMessage] = asyncio.get_running_loop().create_future()

    async def accept(self, event: InboundEvent) -> Acceptance:
        """Compare a private message with the code."""
        if (
            isinstance(event, InboundMessage)
            and event.direct
            and normalise_code(event.text) == self._code
            and not self.found.done()
        ):
            self.found.set_result(event)
        return Acceptance("setup")

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        """Return nothing: older messages are of no interest."""
        del channel
        return ()


async def account_that_sends(config: Config, name: str, code: str) -> Sender | str:
    """Wait for a private message with the code on this channel; its sender.

    Returns text instead if a person presses Enter (empty), or if the platform does not work (the reason)."""
    builder = ChannelBuilder(SystemClock(), Certificates())
    channel = builder.one(config, name, config.channels[name])
    inbox = CodeInbox(code)
    entered = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), lambda: _take_line(entered))
    running = asyncio.create_task(channel.run(inbox, _connected), name="account search")
    pressed = asyncio.create_task(entered.wait(), name="Enter")
    try:
        await asyncio.wait({running, pressed, inbox.found}, return_when=asyncio.FIRST_COMPLETED)
        if inbox.found.done():
            return await _greeted(channel, inbox.found.result(), running)
        if running.done() and (error := running.exception()) is not None:
            return _reason(error)
        return ""
    finally:
        loop.remove_reader(sys.stdin.fileno())
        running.cancel()
        pressed.cancel()
        await asyncio.gather(running, pressed, return_exceptions=True)
        await channel.close()


def _connected(remark: str | None = None) -> None:
    del remark


def _take_line(entered: asyncio.Event) -> None:
    os.read(sys.stdin.fileno(), 4096)
    entered.set()


async def _greeted(channel: Channel, message: InboundMessage, running: asyncio.Task[None]) -> Sender:
    try:
        for part in channel.render(plain(FOUND)):
            await channel.post(message.address, part, nonce=RandomIds().row_id())
    except ChannelError:
        pass  # the account is known all the same
    await asyncio.wait({running}, timeout=LAST_REQUEST_S)
    return message.sender


def _reason(error: BaseException) -> str:
    if isinstance(error, ChannelError | InboxUnavailable):
        return str(error)
    raise error
