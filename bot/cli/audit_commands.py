"""The groups `audit` and `policy`, parsed; see bot.cli.commands."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.parameters import ConfigOption, JsonOption

audit_commands = typer.Typer(help="Who decided and did what, in a chain of records.", no_args_is_help=True)
policy_commands = typer.Typer(help="What may run, and what is asked about.", no_args_is_help=True)


@audit_commands.command("export")
def audit_export(
    after: Annotated[
        int, typer.Option("--after", metavar="N", min=0, help="Only records behind that one.")
    ] = 0,
    message: Annotated[
        str | None,
        typer.Option(
            "--message",
            metavar="KEY",
            help="Only what follows from that message, verified: its decisions, effects and reply."
            " `hubbub why` lists the keys.",
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs: one JSON object a line.")] = False,
) -> None:
    """All records, the oldest first. Works beside a running hub or without one.

    With --message the whole chain is verified, too. The exit code is 0 if it is as it was written; else 1,
    with what is wrong with which record. KEY may also be that of what fired a routine, such as
    slot:1767225600000000.
    """
    from bot.cli import audit, audit_message
    from bot.cli.ending import ended

    if message is not None:
        raise typer.Exit(ended(lambda: audit_message.export(config, message, as_json=as_json)))
    raise typer.Exit(ended(lambda: audit.export(config, after, as_json=as_json)))


@audit_commands.command("verify")
def audit_verify(
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="HEAD", help="What an earlier `audit verify` ended with."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Whether all records are as they were written.

    The exit code is 0 if they are; else 1, with what is wrong with which.

    Finds what was changed, deleted, inserted, moved or cut off. The head it prints, kept where nobody who can
    write to the data directory can write, shows a later cut even if the file of heads was cut, too.
    """
    from bot.cli import audit
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: audit.verify(config, head, as_json=as_json)))


@policy_commands.command("test")
def policy_test(
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="A policy file, in the place of the configured one."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", min=1, max=100_000, help="How many calls at most, the newest."),
    ] = 1000,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Judge the calls of the past by the rules as they are now.

    Lists what would be decided otherwise.

    The rules are those of the configuration (also another one: --config) with the policy given; people's
    grants, settings and roles are those of today. Nothing is changed.
    """
    from bot.cli import policy_replay
    from bot.cli.ending import ended

    raise typer.Exit(ended(lambda: policy_replay.test(config, policy, limit, as_json=as_json)))
