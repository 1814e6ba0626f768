"""The groups `users` and `pair`, parsed; see bot.cli.commands."""

from typing import Annotated

import typer

from bot.cli.parameters import AccountArgument, CodeArgument, ConfigOption, JsonOption

users_commands = typer.Typer(help="The people who may speak to the hub.", no_args_is_help=True)
pair_commands = typer.Typer(help="Let people in who ask.", no_args_is_help=True)


@users_commands.command("list")
def users_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Everybody who was ever let in, and how."""
    from bot.cli import looking
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: looking.list_users(config, as_json=as_json)))


@pair_commands.command("list")
def pair_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Who asks and has a good code, the oldest first."""
    from bot.cli import changing
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: changing.list_pairing(config, as_json=as_json)))


@pair_commands.command("approve")
def pair_approve(
    code: CodeArgument,
    pair_as: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="member|me|owner",
            help="member: a person of their own; me: another account of yours; owner: your first account.",
        ),
    ] = "member",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let somebody in."""
    from bot.cli import changing
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: changing.let_in(config, code, pair_as, as_json=as_json)))


@pair_commands.command("reject")
def pair_reject(code: CodeArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Turn somebody down."""
    from bot.cli import changing
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: changing.turn_down(config, code, as_json=as_json)))


@pair_commands.command("revoke")
def pair_revoke(account: AccountArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Let a paired or linked account in no more."""
    from bot.cli import changing
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: changing.revoke(config, account, as_json=as_json)))


@users_commands.command("add")
def users_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the person is called.")],
    account: Annotated[
        str | None, typer.Option("--account", metavar="ACCOUNT", help="Such as telegram:12345.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make somebody a member without any code."""
    from bot.cli import changing
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: changing.add_user(config, name, account, as_json=as_json)))


@users_commands.command("link")
def users_link(
    user: Annotated[str, typer.Argument(metavar="USER", help="The user's id, see `users list`.")],
    account: AccountArgument,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a person another account, without any code."""
    from bot.cli import changing
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: changing.link(config, user, account, as_json=as_json)))
