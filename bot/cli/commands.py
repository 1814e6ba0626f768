"""Every command, parsed. What a command does is imported only when it runs, so that `--help` is quick."""

from typing import Annotated

import typer

from bot.cli.audit_commands import audit_commands, policy_commands
from bot.cli.database_commands import db_commands
from bot.cli.keeping_commands import (
    grants_commands,
    permissions_commands,
    secrets_commands,
    tools_commands,
)
from bot.cli.operating_commands import config_commands, init, login, logs, models_commands
from bot.cli.parameters import ConfigOption, JsonOption, LimitOption
from bot.cli.people_commands import pair_commands, users_commands
from bot.cli.routine_commands import routines_commands

app = typer.Typer(
    help="A chat hub: people talk to an assistant that asks before it acts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from bot.version import version

        typer.echo(f"hubbub {version()}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Which version this is."),
    ] = False,
) -> None:
    """Of the command itself."""


def _group(name: str, told: str) -> typer.Typer:
    commands = typer.Typer(help=told, no_args_is_help=True)
    app.add_typer(commands, name=name)
    return commands


threads_commands = _group("threads", "Look at conversations.")
approvals_commands = _group("approvals", "What waits for a person's decision.")
app.add_typer(users_commands, name="users")
app.add_typer(pair_commands, name="pair")
app.add_typer(config_commands, name="config")
app.add_typer(models_commands, name="models")
app.add_typer(grants_commands, name="grants")
app.add_typer(permissions_commands, name="permissions")
app.add_typer(secrets_commands, name="secrets")
app.add_typer(tools_commands, name="tools")
app.add_typer(routines_commands, name="routines")
app.add_typer(audit_commands, name="audit")
app.add_typer(policy_commands, name="policy")
app.add_typer(db_commands, name="db")


@app.command()
def run(config: ConfigOption = None) -> None:
    """Run the hub until it is interrupted."""
    from bot.cli.running import run_hub

    raise typer.Exit(run_hub(config))


@app.command()
def chat(
    config: ConfigOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs: one JSON object a line, in and out.")
    ] = False,
) -> None:
    """Talk to the hub in this terminal.

    `echo hello | hubbub chat` sends one message and prints the answer.

    Enter sends, Alt-Enter begins a new line, Tab completes commands. What waits for a decision is answered by
    the key it names. Ctrl-C stops what runs, a second Ctrl-C or Ctrl-D leaves.
    """
    from bot.cli.chat import chat as talk

    raise typer.Exit(talk(config, as_json=as_json))


for command in (init, login, logs):
    app.command()(command)


@app.command()
def why(
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="An event's key; default: the newest events.")
    ] = None,
    limit: LimitOption = 20,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what became of a message, and why. Without a key also what was only counted."""
    from bot.cli import explaining
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: explaining.why(config, key, limit, as_json=as_json)))


@app.command()
def doctor(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Look at everything the hub needs. Each finding says what to do about it."""
    from bot.cli.ending import ended
    from bot.cli.examining import doctor as examine

    raise typer.Exit(ended(lambda: examine(config, as_json=as_json)))


@threads_commands.command("list")
def threads_list(limit: LimitOption = 20, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """The conversations, the latest active first."""
    from bot.cli import looking
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: looking.list_threads(config, limit, as_json=as_json)))


@threads_commands.command("show")
def threads_show(
    thread: Annotated[str, typer.Argument(metavar="ID", help="The thread, with or without dashes.")],
    limit: LimitOption = 100,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Instead: what the model would be told first in its next turn.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """What was said in a conversation. Tool calls and their results are included."""
    from bot.cli.ending import ended

    if prompt:
        from bot.cli.prompting import show_prompt

        raise typer.Exit(ended(lambda: show_prompt(config, thread, as_json=as_json)))
    from bot.cli import looking

    raise typer.Exit(ended(lambda: looking.show_thread(config, thread, limit, as_json=as_json)))


@threads_commands.command("export")
def threads_export(
    thread: Annotated[str, typer.Argument(metavar="ID", help="The thread, with or without dashes.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """The whole conversation as Markdown, or as JSON."""
    from bot.cli import looking
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: looking.export_thread(config, thread, as_json=as_json)))


@approvals_commands.command("list")
def approvals_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """What is open now, the oldest first."""
    from bot.cli import looking
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: looking.list_approvals(config, as_json=as_json)))


@approvals_commands.command("decide")
def approvals_decide(
    prompt: Annotated[str, typer.Argument(metavar="ID", help="What `approvals list` names.")],
    answer: Annotated[
        str, typer.Argument(metavar="ANSWER", help="approve, always or deny; or what else it offers.")
    ],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer as the owner."""
    from bot.cli import changing
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: changing.decide(config, prompt, answer, as_json=as_json)))
