"""Every command, parsed. What a command does is imported only when it runs, so that `--help` is quick."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="A chat hub: people talk to an assistant that asks before it acts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
config_commands = typer.Typer(help="Look at the configuration.", no_args_is_help=True)
app.add_typer(config_commands, name="config")

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", metavar="FILE", help="The configuration file; default: ./hubbub.toml if it exists."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command()
def run(config: ConfigOption = None) -> None:
    """Run the hub until it is interrupted."""
    from bot.cli.running import run_hub

    raise typer.Exit(run_hub(config))


@app.command()
def why(
    key: Annotated[str | None, typer.Argument(help="An event's key; default: the newest events.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many of the newest events.")] = 20,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what became of a message, and why."""
    from bot.cli.looking import why as look

    raise typer.Exit(look(config, key, limit, as_json=as_json))


@config_commands.command("check")
def config_check(config: ConfigOption = None) -> None:
    """Read the configuration and say whether it is right."""
    from bot.cli.running import check_config

    raise typer.Exit(check_config(config))
