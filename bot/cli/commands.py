"""Every command, parsed. What a command does is imported only when it runs, so that `--help` is quick."""

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer.models import CommandInfo

from bot.cli.admin_commands import (
    audit_commands,
    db_commands,
    grants_commands,
    pair_commands,
    permissions_commands,
    policy_commands,
    secrets_commands,
    tools_commands,
    users_commands,
)
from bot.cli.conventions import ConfigOption, JsonOption, LimitOption, finish
from bot.cli.groups import approvals_commands, extensions_commands, threads_commands
from bot.cli.unattended_commands import jobs_commands, routines_commands
from core.lazy import LazyModule

if TYPE_CHECKING:
    from bot.cli import admin, api, ops, show, trials
    from bot.cli import chat as conversation
    from bot.cli import init as setup
    from bot.cli import sandbox as containers
    from bot.cli import serve as hub_process
else:
    admin = LazyModule("bot.cli.admin")
    api = LazyModule("bot.cli.api")
    containers = LazyModule("bot.cli.sandbox")
    conversation = LazyModule("bot.cli.chat")
    setup = LazyModule("bot.cli.init")
    ops = LazyModule("bot.cli.ops")
    hub_process = LazyModule("bot.cli.serve")
    show = LazyModule("bot.cli.show")
    trials = LazyModule("bot.cli.trials")


# `init`, `login`, `logs` and the groups `config` and `models`, parsed; see bot.cli.commands.

config_commands = typer.Typer(help="Check and reload the configuration.", no_args_is_help=True)
models_commands = typer.Typer(help="Test the configured language models.", no_args_is_help=True)


def init(
    platform: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="telegram, slack, discord or none. Repeatable."),
    ] = None,
    owner: Annotated[
        list[str] | None, typer.Option(metavar="ACCOUNT", help="Your own account, such as telegram:12345.")
    ] = None,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="openai, anthropic, openrouter, ollama, lmstudio, vllm, other (any compatible) or demo.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The provider's name for the model.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="The URL of the model's API.")] = None,
    api_base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Base URL of another server with the platform's API.")
    ] = None,
    ask: Annotated[
        bool, typer.Option("--input/--no-input", help="Ask for missing values, or use the suggested ones.")
    ] = True,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Test tokens and model before writing the files.")
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    service: Annotated[
        bool,
        typer.Option("--service", help="Also write a systemd unit for your user, and show how to start it."),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", metavar="FILE", help="The configuration file to create; default: ./hubbub.toml."
        ),
    ] = None,
) -> None:
    """Create a configuration by answering questions, or change it.

    Tests each token and the model, then writes hubbub.toml and hubbub.env. Run again, it changes what you
    choose and keeps everything else in the file.

    Asks for tokens and keys, or reads them from TELEGRAM_TOKEN, SLACK_BOT_TOKEN, SLACK_APP_TOKEN,
    DISCORD_TOKEN, OPENAI_API_KEY, ANTHROPIC_API_KEY, OPENROUTER_API_KEY and MODEL_API_KEY; never from the
    command line.
    """
    given = setup.Given(
        platforms=tuple(platform) if platform else None,
        owner=tuple(owner or ()),
        provider=provider,
        model=model,
        base_url=base_url,
        api_base_url=api_base_url,
        ask=ask,
        check=check,
        force=force,
        service=service,
    )
    finish(lambda: setup.init(config, given))


def login(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print a new link to the running hub's console. It works once and expires after 15 minutes."""
    finish(lambda: ops.login(config, as_json=as_json))


def logs(
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing new lines until interrupted.")
    ] = False,
    level: Annotated[
        str, typer.Option(metavar="LEVEL", help="The lowest level shown: debug, info, warning, error.")
    ] = "debug",
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Start time, such as 10m, 2h, 3d (ago), or 2026-01-31T08:00 (UTC)."
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="N", min=0, help="Maximum number of lines; older ones are omitted."
        ),
    ] = 200,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the hub's log, also while no hub runs."""
    finish(lambda: ops.show(config, level, since, limit, follow=follow, as_json=as_json))


@models_commands.command("test")
def models_test(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Send a short request to each configured model. Shows the answer, latency and tokens."""
    finish(lambda: trials.try_models(config, as_json=as_json))


@config_commands.command("check")
def config_check(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Check the configuration. With --json also print the effective settings."""
    finish(lambda: ops.check(config, as_json=as_json))


@config_commands.command("reload")
def config_reload(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Reload the configuration in the running hub. Channels use new tokens at once; other changes apply at
    the next start."""
    finish(lambda: ops.reload(config, as_json=as_json))


app = typer.Typer(
    help="A chat hub for an assistant that asks for approval before it acts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from bot.runtime import version

        typer.echo(f"hubbub {version()}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Handle the options of the program itself."""


def _group(name: str, told: str) -> typer.Typer:
    commands = typer.Typer(help=told, no_args_is_help=True)
    app.add_typer(commands, name=name)
    return commands


sandbox_commands = _group("sandbox", "Build the image of containers, and check their limits.")
replay_commands = _group("replay", "Check recorded conversations.")
app.add_typer(threads_commands, name="threads")
app.add_typer(approvals_commands, name="approvals")
app.add_typer(users_commands, name="users")
app.add_typer(pair_commands, name="pair")
app.add_typer(config_commands, name="config")
app.add_typer(models_commands, name="models")
app.add_typer(grants_commands, name="grants")
app.add_typer(permissions_commands, name="permissions")
app.add_typer(secrets_commands, name="secrets")
app.add_typer(tools_commands, name="tools")
app.add_typer(extensions_commands, name="extensions")
app.add_typer(routines_commands, name="routines")
app.add_typer(jobs_commands, name="jobs")
app.add_typer(audit_commands, name="audit")
app.add_typer(policy_commands, name="policy")
app.add_typer(db_commands, name="db")


@app.command()
def run(
    record: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Record conversations in this directory, without secrets."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Replay this recording. Calls no model, runs no tool and sends nothing."
        ),
    ] = None,
    own: Annotated[
        Path | None,
        typer.Option(
            "--replay-in",
            metavar="DIR",
            help="With --replay: the directory for its data and workspace; default: a temporary one.",
        ),
    ] = None,
    browser: Annotated[
        bool,
        typer.Option(
            "--browser/--no-browser",
            help="At a terminal, without a chat platform: open the console in the browser.",
        ),
    ] = True,
    config: ConfigOption = None,
) -> None:
    """Run the hub until it is interrupted."""
    if replay is not None and record is not None:
        raise typer.BadParameter("a replay can't be recorded; use --record or --replay")
    if replay is not None:
        raise typer.Exit(hub_process.replay_hub(config, replay, own, stays=True))
    raise typer.Exit(hub_process.run_hub(config, record, browser=browser))


@sandbox_commands.command("build")
def sandbox_build(
    base: Annotated[
        str,
        typer.Option(
            metavar="IMAGE", help="An image at Docker with Python 3.11 or newer and nothing else needed."
        ),
    ] = "python:3.11-slim-bookworm",
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=DIRECTORY",
            help="An agent CLI, claude or qwen, and its package's directory from npm.",
        ),
    ] = None,
    node: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The program of Node 20 or newer, for --agent.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="NAME", help="The image's name, by default [sandbox] image.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Build an image of workers, without any network."""
    finish(lambda: containers.build_image(config, base, agent or (), node, image))


@sandbox_commands.command("status")
def sandbox_status(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print the limits of containers, and check them at Docker."""
    finish(lambda: containers.show_status(config, as_json=as_json))


@replay_commands.command("check")
def replay_check(
    recording: Annotated[Path, typer.Argument(metavar="DIR", help="The recording's directory.")],
    config: ConfigOption = None,
) -> None:
    """Replay a recording and compare. Exits with 1 at the first difference.

    Uses the current configuration, AGENTS.md and skills. Needs no secrets, calls no model, runs no tool and
    sends nothing.
    """
    raise typer.Exit(hub_process.replay_hub(config, recording, None, stays=False))


@app.command()
def status(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show the running hub's status. Lists channels, MCP servers and timers with their next run."""
    finish(lambda: ops.show_status(config, as_json=as_json))


@app.command()
def chat(
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Read and write one JSON object per line.")] = False,
) -> None:
    """Talk to the hub in this terminal.

    `echo hello | hubbub chat` sends one message and prints the answer.

    Enter sends, Alt-Enter starts a new line, Tab completes commands. To decide an approval request, press
    the key shown. Ctrl-C stops the current run; a second Ctrl-C or Ctrl-D exits.
    """
    raise typer.Exit(conversation.chat(config, as_json=as_json))


for command in (init, login, logs):
    app.command()(command)


@app.command()
def why(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="KEY",
            help="The key of an event, or words of its text or sender; default: list the newest events.",
        ),
    ] = None,
    limit: LimitOption = 20,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a message's outcome and the reason.

    Without a key, list the newest events, and counts of those not stored.
    """
    finish(lambda: show.why(config, key, limit, as_json=as_json))


@app.command()
def usage(
    by: Annotated[
        Literal["day", "model", "user", "kind", "routine", "thread", "job", "step"],
        typer.Option("--by", help="The thing that is added up by."),
    ] = "day",
    days: Annotated[
        int, typer.Option("--days", metavar="N", min=1, help="Number of days, today included.")
    ] = 30,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the tokens and costs of model calls.

    Calls without an answer are estimated at the most they may have used, and counted apart.
    """
    finish(lambda: admin.show_usage(config, by, days, as_json=as_json))


@app.command()
def doctor(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Run health checks. Each finding says how to fix it."""
    finish(lambda: ops.doctor(config, as_json=as_json))


# Builds only what was asked for.
#
# Typer makes every command of an application, with the types of all its options, before it looks at the
# first word; that takes longer than most commands do.


def only(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """Return the same application in which every command, except the one the words begin with, is a
    name with its help: enough for lists of commands and for suggestions."""
    word, rest = (words[0], words[1:]) if words else (None, ())
    names = [*map(_name, app.registered_commands), *(str(group.name) for group in app.registered_groups)]
    selected = typer.Typer(
        help=str(app.info.help),
        add_help_option=word not in names,  # a flag that is not given is read all the same, by pydantic
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode=None,  # help drawn by rich takes as long as the rest of the start
    )
    for command in app.registered_commands:
        name = _name(command)
        if name == word:
            selected.registered_commands.append(command)
        else:
            selected.command(
                name,
                help=inspect.getdoc(command.callback),
                hidden=command.hidden,
                deprecated=command.deprecated,
            )(_mentioned)
    for group in app.registered_groups:
        if group.typer_instance is not None and group.name == word:
            selected.add_typer(only(group.typer_instance, rest), name=word)
        elif group.typer_instance is not None:
            selected.command(str(group.name), help=str(group.typer_instance.info.help))(_mentioned)
    own = app.registered_callback if word not in names else None
    selected.callback()((own and own.callback) or _mentioned)  # makes a group also of one command
    return selected


def _name(command: CommandInfo) -> str:
    return command.name or getattr(command.callback, "__name__", "")


def _mentioned() -> None:
    """Return placeholders for commands: one that is called is a real one."""
