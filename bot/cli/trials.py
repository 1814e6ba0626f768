"""Trials: of answers before they are written (tokens, models, and the account of the person who sets it up),
and of the configured models by `hubbub models test`.

The account is found by a code that only this person has seen, and sends to the bot.
"""

import asyncio
import contextlib
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import aiohttp
import typer

from bot.cli.api import lock_or_hub, running
from bot.cli.conventions import print_json, print_table, printable, whole
from bot.config.edits import Answers, configuration, variables
from bot.config.keys import VaultKeyRing
from bot.config.load import Loaded, load
from bot.config.place import FILE_NAME
from bot.config.schema import Config, secret_values
from bot.config.sections import TelegramChannel
from bot.models.builder import open_models
from bot.ops.logs import Redactor
from bot.ops.model_trial import Trial, try_each, try_model, try_text, words
from bot.ops.probes import Finding, Health, broken, channel_findings, fine, without_secrets
from bot.parts import open_store
from bot.platforms import ChannelBuilder
from bot.runtime import Certificates, CommandFailed, ConfigError
from channels.channel import Channel
from core.clock import SystemClock
from core.errors import ChannelError, InboxUnavailable
from core.ids import RandomIds, normalise_code
from core.messages import InboundEvent, InboundMessage, Sender, plain
from core.ports import Acceptance, Seen
from core.runs.metering import Metering, NoLedger
from core.store.lease import DataDirectoryLock

ANSWER_CHARS = 40
TRIALS_LIMIT_S = 900.0
"""The longest that trials of all models may take."""

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
    return without_secrets(found, config)


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
LONG_POLL_S, LOOK_AGAIN_S, MARGIN_S = 10, 1.0, 10


async def _no_export(thread_id: str, limit_bytes: int) -> bytes:
    raise FileNotFoundError(thread_id, limit_bytes)  # nothing is sent while an account is looked for


async def account_that_sends(config: Config, name: str, code: str) -> Sender | str:
    """Wait for a private message with the code on this channel; its sender.

    Returns text instead if a person presses Enter (empty), or if the platform does not work (the reason)."""
    certificates, settings = Certificates(), config.channels[name]
    channel = ChannelBuilder(SystemClock(), certificates, _no_export).one(config, name, settings)
    inbox = CodeInbox(code)
    entered = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(sys.stdin.fileno(), lambda: _take_line(entered))
    if isinstance(settings, TelegramChannel):
        search = _search_telegram(settings, inbox, certificates)
    else:
        search = channel.run(inbox, _connected)
    running = asyncio.create_task(search, name="account search")
    pressed = asyncio.create_task(entered.wait(), name="Enter")
    try:
        await asyncio.wait({running, pressed, inbox.found}, return_when=asyncio.FIRST_COMPLETED)
        if inbox.found.done():
            await _greet(channel, inbox.found.result())
            return inbox.found.result()
        if running.done() and (error := running.exception()) is not None:
            return _reason(error)
        return ""
    finally:
        loop.remove_reader(sys.stdin.fileno())
        running.cancel()
        pressed.cancel()
        await asyncio.gather(running, pressed, return_exceptions=True)
        await channel.close()


class CodeInbox:
    """An inbox that looks for a code, for platforms that deliver a message only while a program listens."""

    def __init__(self, code: str) -> None:
        self._code = code
        self.found: asyncio.Future[Sender] = asyncio.get_running_loop().create_future()

    async def accept(self, event: InboundEvent) -> Acceptance:
        """Compare a private message with the code."""
        if isinstance(event, InboundMessage) and event.direct:
            self.look(event.text, event.sender)
        return Acceptance("setup")

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        """Return nothing: older messages are of no interest."""
        del channel
        return ()

    def look(self, text: str, sender: Sender) -> bool:
        """Return whether a text is the code."""
        if normalise_code(text) != self._code:
            return False
        if not self.found.done():
            self.found.set_result(sender)
        return True


async def _search_telegram(settings: TelegramChannel, inbox: CodeInbox, certificates: Certificates) -> None:
    """Look at the messages that Telegram holds for the bot, without taking them: the hub answers them later.

    Only if all of them are from the person with the code are they taken. Raises ChannelError."""
    url = f"{settings.api_base_url}/bot{settings.token.get_secret_value()}/getUpdates"
    tls = certificates.for_url(url) or True
    limit = aiohttp.ClientTimeout(total=LONG_POLL_S + MARGIN_S)
    async with aiohttp.ClientSession(timeout=limit, cookie_jar=aiohttp.DummyCookieJar()) as http:

        async def updates(**query: int) -> list[Any]:
            try:
                async with http.get(url, params=query, ssl=tls) as answer:
                    page = await answer.json()
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise ChannelError(f"Telegram does not answer ({type(error).__name__})") from error
            match page:
                case {"ok": True, "result": [*found]}:
                    return found
                case _:
                    raise ChannelError(f"Telegram refused: {page.get('description', 'no reason given')}")

        while True:
            senders: set[str] = set()
            for update in await updates(timeout=LONG_POLL_S):
                match update:
                    case {"message": {"text": str(text), "from": {"id": int(number)} as person} as message}:
                        senders.add(str(number))
                        sender = Sender(str(number), str(person.get("first_name", number)))
                        private = message.get("chat", {}).get("id") == number
                        if private and inbox.look(text, sender):
                            if len(senders) == 1:
                                await updates(offset=update["update_id"] + 1, timeout=0)
                            return
                    case _:
                        senders.add("")
            await asyncio.sleep(LOOK_AGAIN_S)


def _connected(remark: str | None = None) -> None:
    del remark


def _take_line(entered: asyncio.Event) -> None:
    os.read(sys.stdin.fileno(), 4096)
    entered.set()


async def _greet(channel: Channel, sender: Sender) -> None:
    """Tell the person that they were found, if the platform allows it now."""
    with contextlib.suppress(ChannelError):
        for part in channel.render(plain(FOUND)):
            address = channel.direct(sender.platform_user_id)
            await channel.post(address, part, nonce=RandomIds().row_id())


def _reason(error: BaseException) -> str:
    if isinstance(error, ChannelError | InboxUnavailable):
        return str(error)
    raise error


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
    config, now, names = loaded.config, SystemClock(), RandomIds()
    ring = VaultKeyRing(config.hub.data_dir, loaded.environment)
    async with open_store(config, ring, now, names) as store:
        meter = Metering(store.usage, now, names)
        async with open_models(config, now, Certificates(), meter, environment=loaded.environment) as models:
            return await try_each(models, config.hub.owner, names.row_id(), try_model)


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
