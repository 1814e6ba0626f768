"""The command group `extensions`, parsed; see bot.cli.commands."""

from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.parameters import ConfigOption, JsonOption, UserOption, finish
from core.lazy import LazyModule

if TYPE_CHECKING:
    from bot.cli import admin, api
else:
    admin = LazyModule("bot.cli.admin")
    api = LazyModule("bot.cli.api")

extensions_commands = typer.Typer(
    help="Add MCP servers for a person, and turn them on and off.", no_args_is_help=True
)
ExtensionArgument = Annotated[str, typer.Argument(metavar="NAME", help="The extension's name.")]


@extensions_commands.command("list")
def extensions_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List all extensions.

    With the servers of the configuration, and installed Python packages."""
    finish(lambda: admin.list_extensions(config, as_json=as_json))


@extensions_commands.command("add")
def extensions_add(
    name: ExtensionArgument,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="The program to start, and its arguments."),
    ] = None,
    url: Annotated[str | None, typer.Option("--url", help="Or the address of a server over HTTP.")] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret", metavar="VAR=NAME", help="A variable or header, and the vault's secret for it."
        ),
    ] = None,
    requirement: Annotated[
        str, typer.Option("--requirement", metavar="never|ask|always_ask", help="Approval of its calls.")
    ] = "ask",
    user: UserOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add an MCP server, or replace one of the same name. Without --user, it is the owner's."""

    def add() -> None:
        body = admin.extension_of(name, command, url, secret, requirement, user)
        api.change(config, "/extensions", body, as_json=as_json, new_database=True)

    finish(add)


def _extension_change(word: str, told: str) -> None:
    def change(name: ExtensionArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
        body = {"name": name, "change": word}
        finish(lambda: api.change(config, "/extensions/change", body, as_json=as_json))

    change.__doc__ = told
    extensions_commands.command(word)(change)


@extensions_commands.command("auth")
def extensions_auth(
    name: ExtensionArgument, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Print a link to sign in to an extension or server.

    An extension of yours, or a server of the configuration."""
    finish(lambda: api.change(config, "/extensions/auth", {"name": name}, as_json=as_json))


_extension_change("enable", "Connect an extension, and offer its tools to its person's runs.")
_extension_change("disable", "Disconnect an extension, and take its tools away at once.")
_extension_change("remove", "Remove an extension.")
