"""The `hubbub init` command: asks, tries each answer at once, writes hubbub.toml and hubbub.env.

Run again, it changes one thing of what is there."""

import asyncio
import contextlib
import getpass
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import typer

from bot.cli.conventions import printable
from bot.cli.serve import own_name
from bot.cli.trials import account_that_sends, judged, require_valid, shown, tried
from bot.config.edits import (
    DEMO,
    PLATFORMS,
    PROVIDERS,
    Answers,
    ChannelAnswer,
    EditRefused,
    ModelAnswer,
    PlatformSetup,
    ProviderSetup,
    changes,
    configuration,
    edited,
    read_text,
    replace_text,
    service_unit,
    variables,
)
from bot.config.keys import write_for_its_user
from bot.config.load import load
from bot.config.place import FILE_NAME, environment_file, process_environment, read_access, with_file, written
from bot.ops.probes import local_models
from bot.runtime import FAILED, PACKAGE, USAGE, CommandFailed, ConfigError
from core.ids import RandomIds
from core.lazy import dataclass

NONE = "none"
SERVICE_WANTED = "Write a systemd unit, so that the hub runs in the background?"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Given:
    """Values of the command line; None is asked for where a person can answer. `service`: also write a
    systemd unit."""

    platforms: tuple[str, ...] | None
    owner: tuple[str, ...]
    provider: str | None
    model: str | None
    base_url: str | None
    api_base_url: str | None
    ask: bool
    check: bool
    force: bool
    service: bool = False


def init(path: Path | None, given: Given) -> None:
    """Make or change the two files. Raises CommandFailed, and then nothing was written."""
    target = path or Path(FILE_NAME)
    if given.ask and not sys.stdin.isatty():
        raise CommandFailed("this needs a terminal; add --no-input, see --help", USAGE)
    environ = process_environment()
    dialogue = Dialogue(given, environ)
    if given.ask and target.exists() and not given.force:
        answers = _change(target, dialogue, environ)
    else:
        answers = _create(target, dialogue, environ)
    if answers is None:
        return
    typer.echo(_next(target, answers))
    if given.service or (shutil.which("systemctl") and dialogue.agrees(SERVICE_WANTED)):
        _write_service(target, environ, dialogue)


def _create(target: Path, dialogue: "Dialogue", environ: Mapping[str, str]) -> Answers:
    given, beside = dialogue.given, environment_file(target)
    files = [str(file) for file in (target, beside) if file.exists()]
    if files and not given.force:
        names = " and ".join(files)
        if not given.ask:
            raise CommandFailed(f"{names} would be replaced; add --force to allow it", USAGE)
        if not dialogue.agrees(f"{names} will be replaced. Continue?"):
            raise CommandFailed("nothing was changed", FAILED)
    answers = dialogue.answers()
    try:
        config = judged(answers, environ)
    except ConfigError as error:
        raise CommandFailed(f"{error}\nnothing was written", USAGE) from error
    if given.check and not given.ask:  # at a terminal each answer was tried when it was given
        typer.echo("Testing the configuration ...")
        if shown(asyncio.run(tried(config, channels=True, models=True))):
            raise CommandFailed("nothing was written; fix the problem, or skip the test with --no-check")
    with _writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_variables(beside, answers)
        target.with_suffix(".new").write_text(configuration(answers))
        target.with_suffix(".new").rename(target)
    typer.echo(f"Wrote {target}" + (f", and {beside} with the secrets." if variables(answers) else "."))
    return answers


# --- a file that is there --------------------------------------------------------------------------------


def _change(target: Path, dialogue: "Dialogue", environ: Mapping[str, str]) -> Answers | None:
    """Change one thing of the file; None if that was none of the settings."""
    beside = environment_file(target)
    with _writing(target):
        before = read_text(target)
    try:
        tree = tomllib.loads(before)
    except tomllib.TOMLDecodeError as error:
        raise CommandFailed(f"{target} is not valid TOML ({error}); fix it first", USAGE) from error
    known = [name for name in PLATFORMS if name in tree.get("channels", {})]
    others = [name for name in PLATFORMS if name not in known]
    wishes = ["the model", *(f"{name}: token and your account" for name in known)]
    wishes += [f"add {name}" for name in others]
    wishes += ["run as a service", "start over"]
    typer.echo(f"{target} exists. What do you want to change?")
    place = dialogue.numbered(wishes, "Number (empty: nothing)")
    match place:
        case None:
            raise CommandFailed("nothing was changed", FAILED)
        case 0:
            answers = Answers((), dialogue.model())
        case _ if place <= len(known) + len(others):
            channel = dialogue.channel(PLATFORMS[[*known, *others][place - 1]])
            answers = Answers([channel] if channel is not None else (), None)
        case _ if wishes[place] == "start over":
            return _create(target, dialogue, environ)
        case _:
            _write_service(target, environ, dialogue)
            return None
    _apply(target, before, tree, answers, environ)
    typer.echo(f"Changed {target}" + (f" and {beside}." if variables(answers) else "."))
    return answers


def _apply(
    target: Path, before: str, tree: Mapping[str, Any], answers: Answers, environ: Mapping[str, str]
) -> None:
    """Write the changes, and nothing else. Raises CommandFailed."""
    wanted = changes(answers, tree.get("hub", {}).get("owner_identities", ()))
    if tree.get("models"):
        wanted.pop(("models", 0, "name"), None)
    try:
        after = edited(before, wanted)
        require_valid(after, target, environ, answers)
        with _writing(target):
            _write_variables(environment_file(target), answers)
            replace_text(target, before, after)
    except (ConfigError, EditRefused) as error:
        raise CommandFailed(f"{error}\nnothing was written", USAGE) from error


def _write_variables(beside: Path, answers: Answers) -> None:
    """Write the environment file before the configuration that needs it. Its other variables stay."""
    kept = {**with_file({}, beside, Path.cwd()), **variables(answers)}
    if variables(answers):
        write_for_its_user(beside.absolute(), written(kept))


@contextlib.contextmanager
def _writing(target: Path) -> Iterator[None]:
    """Say which file can't be written, instead of a trace."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise CommandFailed(f"can't write {target}: {why}; choose another path with --config") from error


# --- questions -------------------------------------------------------------------------------------------


class Dialogue:
    """Gets the answers: from the command line, the environment, and by asking, again after a wrong one."""

    def __init__(self, given: Given, environ: Mapping[str, str]) -> None:
        self.given = given
        self._environ = environ

    def answers(self) -> Answers:
        """Return all answers. Raises CommandFailed for a missing one that cannot be asked for."""
        channels = [self.channel(PLATFORMS[name]) for name in self._platforms()]
        return Answers([one for one in channels if one is not None], self.model())

    def numbered(self, offers: Sequence[str], question: str) -> int | None:
        """Offer a list; the place of the choice, None for an empty answer."""
        for number, offer in enumerate(offers, start=1):
            typer.echo(f"  {number}  {offer}")

        def place(said: str) -> int | None:
            if not said.isdecimal() or not 1 <= int(said) <= len(offers):
                raise ValueError(f"choose a number from 1 to {len(offers)}")
            return int(said) - 1

        return self._asked(question, "", lambda said: place(said) if said else None)

    def agrees(self, question: str) -> bool:
        """Return whether a person says yes; a script is not asked."""
        return self.given.ask and typer.confirm(question, default=False)

    # --- platforms

    def _platforms(self) -> Sequence[str]:
        known = ", ".join(PLATFORMS)

        def read(said: str) -> Sequence[str]:
            names = [word.strip().lower() for word in said.split(",") if word.strip()]
            for name in names:
                if name not in (*PLATFORMS, NONE):
                    raise ValueError(f"{printable(name)} is not a platform; use {known} or {NONE}")
            return [name for name in dict.fromkeys(names) if name != NONE]

        if self.given.platforms is not None:
            return self._from_command_line(",".join(self.given.platforms), read)
        return self._asked(f"Platforms, separated by commas ({known}, or {NONE})", "telegram", read)

    def channel(self, platform: PlatformSetup) -> ChannelAnswer | None:
        """Return a platform's answers; None if it is left out after all."""
        prefix = f"{platform.name}:"
        known = next((one.removeprefix(prefix) for one in self.given.owner if one.startswith(prefix)), "")
        if self.given.ask:
            typer.echo(f"\n{platform.name}: {platform.steps}")
        environ = self._environ
        while True:
            secrets = {
                one.variable: self._secret(one.variable, one.told, environ) for one in platform.secrets
            }
            answer = ChannelAnswer(platform, secrets, known, self.given.api_base_url or "")
            if not self.given.ask:
                return answer
            if not self._refused(Answers([answer], ModelAnswer(DEMO))):
                return replace(answer, account=known or self._account(answer))
            environ = {}  # what was refused is asked for, also if it came from there
            match self._one_of("Enter (t)okens again, (k)eep them anyway, or (s)kip this platform?", "tks"):
                case "k":
                    return replace(answer, account=known or self._typed_account(platform))
                case "s":
                    return None
                case _:
                    pass

    def _account(self, answer: ChannelAnswer) -> str:
        """Return the owner's account: found by a message to the bot, or typed."""
        platform = answer.platform
        config = judged(Answers([answer], ModelAnswer(DEMO)), self._environ)
        code = RandomIds().code()
        typer.echo(
            f"\nYour account: send this to the bot in a private message: {code}\n"
            "Waiting for it. Press Enter to type your account instead, or to pair later."
        )
        found = asyncio.run(account_that_sends(config, platform.name, code))
        if isinstance(found, str):
            typer.echo(f"  {printable(found)}" if found else "", nl=bool(found))
            return self._typed_account(platform)
        typer.echo(f"  Found you: {printable(found.name)} ({found.platform_user_id}).")
        return found.platform_user_id

    def _typed_account(self, platform: PlatformSetup) -> str:
        def read(said: str) -> str:
            if said and not re.fullmatch(platform.account_form, said):
                raise ValueError(f"that is not {platform.account}")
            return said

        return self._asked(f"{platform.name}: {platform.account} (leave empty to pair later)", "", read)

    # --- the model

    def model(self) -> ModelAnswer:
        """Return a model that answered, or one that is wanted anyway."""
        local: Mapping[str, Sequence[str]] = {}
        if self.given.ask and self.given.provider is None:
            typer.echo("\nLooking for model servers on this machine ...")
            local = asyncio.run(local_models([one for one in PROVIDERS.values() if one.local]))
        name, environ = self._provider(local), self._environ
        while name != DEMO:
            answer = self._model_of(PROVIDERS[name], local.get(name, ()), environ)
            if not self.given.ask or not self._refused(Answers((), answer)):
                return answer
            match self._one_of("Change the (m)odel or key, the (p)rovider, or (w)rite it anyway?", "mpw"):
                case "w":
                    return answer
                case "p":
                    name = self._provider(local)
                case _:
                    environ = {}
        return ModelAnswer(DEMO)

    def _provider(self, local: Mapping[str, Sequence[str]]) -> str:
        names = [*PROVIDERS, DEMO]

        def read(said: str) -> str:
            if said.isdecimal() and 1 <= int(said) <= len(names):
                return names[int(said) - 1]
            if said.lower() not in names:
                raise ValueError(
                    f"{printable(said)} is not a provider; use {', '.join(names[:-1])} or {DEMO}"
                )
            return said.lower()

        if self.given.provider is not None:
            return self._from_command_line(self.given.provider, read)
        if self.given.ask:
            for number, one in enumerate(PROVIDERS.values(), start=1):
                found = local.get(one.name)
                more = f"found: {', '.join(map(printable, found[:4]))}" if found else one.page
                typer.echo(f"  {number}  {one.title:34}{more}".rstrip())
            typer.echo(f"  {len(names)}  {'the built-in demo model':34}no account, no network")
        return self._asked("Model provider, by number or name", next(iter(local), "openai"), read)

    def _model_of(
        self, setup: ProviderSetup, found: Sequence[str], environ: Mapping[str, str]
    ) -> ModelAnswer:
        base_url = self.given.base_url or setup.base_url
        if not base_url:
            base_url = self._asked("API base URL, such as http://127.0.0.1:8080/v1", "", _url)
        hosted = bool(setup.page) and not setup.local and base_url == setup.base_url
        key = ""
        if setup.key_variable:
            told = f"the API key, from {setup.page}" if hosted else "the provider's API key"
            key = self._secret(setup.key_variable, told, environ, needed=hosted)
        suggested = found[0] if found else setup.model
        if self.given.model:
            return ModelAnswer(setup.name, self.given.model, base_url.rstrip("/"), key)
        if len(found) > 1:
            typer.echo(f"Its models: {', '.join(map(printable, found))}")
        model = self._asked("Model name", suggested, _name)
        return ModelAnswer(setup.name, model, base_url.rstrip("/"), key)

    # --- one answer

    def _refused(self, answers: Answers) -> bool:
        """Return whether the configuration, the platform or the provider refuses; the reason is printed."""
        try:
            config = judged(answers, self._environ)
        except ConfigError as error:
            typer.echo("\n".join(f"  {problem}" for problem in error.problems))
            return True
        if not self.given.check:
            return False
        typer.echo("  testing ...")
        return shown(asyncio.run(tried(config, channels=bool(answers.channels), models=not answers.channels)))

    def _secret(self, variable: str, told: str, environ: Mapping[str, str], *, needed: bool = True) -> str:
        if value := environ.get(variable, "").strip():
            typer.echo(f"Using {variable} from the environment.")
            return value
        if not self.given.ask:
            if needed:
                raise CommandFailed(f"{variable} is not set; set it to {told}", USAGE)
            return ""
        empty = "" if needed else "; leave empty for none"
        while True:
            value = getpass.getpass(f"{variable}, {told} (not shown{empty}): ").strip()
            if value or not needed:
                return value
            typer.echo(f"  {told} is required; Ctrl-C leaves without changes")

    def _one_of(self, question: str, letters: str) -> str:
        def read(said: str) -> str:
            if said[:1].lower() not in letters:
                raise ValueError(f"type one of {', '.join(letters)}")
            return said[:1].lower()

        return self._asked(question, letters[0], read)

    def _asked(self, question: str, suggested: str, read: Callable[[str], T]) -> T:
        """Ask until the answer can be read. `read` raises ValueError with the reason."""
        if not self.given.ask:
            return self._from_command_line(suggested, read)
        while True:
            said = str(typer.prompt(question, default=suggested, show_default=bool(suggested))).strip()
            try:
                return read(said)
            except ValueError as error:
                typer.echo(f"  {error}")

    def _from_command_line(self, said: str, read: Callable[[str], T]) -> T:
        try:
            return read(said)
        except ValueError as error:
            raise CommandFailed(str(error), USAGE) from error


def _name(said: str) -> str:
    if not said:
        raise ValueError("type the model's name")
    return said


def _url(said: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", said):
        raise ValueError("type an address that starts with http:// or https://")
    return said


# --- what follows ----------------------------------------------------------------------------------------


def _next(target: Path, answers: Answers) -> str:
    name, option = own_name(), "" if target == Path(FILE_NAME) else f" --config {target}"
    running = read_access(load(target, secrets=False).config.hub.data_dir) is not None
    if running and not answers.channels:
        return f"Next:\n  {name} config reload{option}\n  and the running hub uses the model"
    again = f"restart the running hub (a changed token: {name} config reload{option})"
    lines = ["Next:", f"  {again if running else f'{name} run{option}'}"]
    for channel in answers.channels:
        lines.append(f"  then send the bot a message on {channel.platform.name}")
        if not channel.account:
            pair = f"  {name} pair approve{option} CODE --as owner"
            lines += ["  and pair yourself with the code in its reply:", pair]
    if not answers.channels:
        lines.append(f"  then open the link it prints, or chat here: {name} chat{option}")
    return "\n".join(lines)


def _write_service(target: Path, environ: Mapping[str, str], dialogue: Dialogue) -> None:
    """Write a unit for the person's own systemd, and show it. Starting it is up to the person."""
    home = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    unit = home / "systemd" / "user" / "hubbub.service"
    command = Path(sys.executable).absolute().with_name(PACKAGE)
    text = service_unit(str(command), str(Path.cwd()), str(target.absolute()))
    typer.echo(f"\n{unit}:\n\n{text}")
    old = unit.exists() and unit.read_text() != text
    if old and not dialogue.given.force and not dialogue.agrees(f"Replace the old {unit.name}?"):
        raise CommandFailed(f"{unit} was not changed; add --force to replace it", FAILED)
    with _writing(unit):
        unit.parent.mkdir(parents=True, exist_ok=True)
        unit.write_text(text)
    typer.echo(
        "Wrote the unit. It is not enabled. To start the hub now and at each login:\n"
        "  systemctl --user daemon-reload\n"
        "  systemctl --user enable --now hubbub\n"
        "To keep it running while you are logged out: loginctl enable-linger"
    )
