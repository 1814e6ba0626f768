"""The groups `grants`, `permissions`, `secrets`, `tools`, parsed; see bot.cli.commands."""

from typing import Annotated

import typer

from bot.cli.parameters import ConfigOption, JsonOption, UserOption

grants_commands = typer.Typer(help="What people allowed once and for all.", no_args_is_help=True)
permissions_commands = typer.Typer(help="A person's own settings of tools.", no_args_is_help=True)
tools_commands = typer.Typer(help="What the assistant can do.", no_args_is_help=True)
secrets_commands = typer.Typer(help="Tokens and keys, kept encrypted in the vault.", no_args_is_help=True)

SecretArgument = Annotated[
    str, typer.Argument(metavar="NAME", help='What the configuration calls it: "vault:NAME".')
]


@grants_commands.command("list")
def grants_list(user: UserOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """What runs unasked because somebody said "always"."""
    from bot.cli import kept
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: kept.list_grants(config, user, as_json=as_json)))


@grants_commands.command("revoke")
def grants_revoke(
    grant: Annotated[str, typer.Argument(metavar="ID", help="What `grants list` names.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask again from now on."""
    from bot.cli import keeping
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: keeping.revoke_grant(config, grant, as_json=as_json)))


@permissions_commands.command("list")
def permissions_list(
    user: UserOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """The settings people have made."""
    from bot.cli import kept
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: kept.list_permissions(config, user, as_json=as_json)))


@permissions_commands.command("set")
def permissions_set(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name, such as shell.")],
    setting: Annotated[
        str,
        typer.Argument(
            metavar="SETTING", help="always_allow, ask_each_time or disabled; default: as configured."
        ),
    ],
    user: UserOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set what holds for one tool, whatever the preset says. Without --user for the owner.

    A disabled tool is hidden from the model and refused if it is called all the same. A tool that always asks
    does so also when it is allowed.
    """
    from bot.cli import keeping
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: keeping.set_permission(config, tool, setting, user, as_json=as_json)))


@secrets_commands.command("list")
def secrets_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """The names of what is kept; values are never shown."""
    from bot.cli import kept
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: kept.list_secrets(config, as_json=as_json)))


@secrets_commands.command("set")
def secrets_set(name: SecretArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Keep a secret, typed at the prompt or given by standard input."""
    from bot.cli import keeping
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: keeping.set_secret(config, name, as_json=as_json)))


@secrets_commands.command("delete")
def secrets_delete(name: SecretArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Forget a secret."""
    from bot.cli import keeping
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: keeping.delete_secret(config, name, as_json=as_json)))


@secrets_commands.command("rotate")
def secrets_rotate(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Change the vault's key. Every secret is sealed anew, and the old key opens nothing any more."""
    from bot.cli import keeping
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: keeping.rotate(config, as_json=as_json)))


@tools_commands.command("pause")
def tools_pause(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Stop all tools of everybody at once; what runs is ended. It holds until `tools resume`."""
    from bot.cli import keeping
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: keeping.halt_tools(config, halted=True, as_json=as_json)))


@tools_commands.command("resume")
def tools_resume(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Let tools run again."""
    from bot.cli import keeping
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: keeping.halt_tools(config, halted=False, as_json=as_json)))
