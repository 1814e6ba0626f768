"""The command groups of administration, parsed: people, grants, secrets, tools, audit, policy, database."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.conventions import AccountArgument, CodeArgument, ConfigOption, JsonOption, UserOption, finish
from core.lazy import LazyModule

if TYPE_CHECKING:
    from bot.cli import admin, api, records, show
else:
    admin = LazyModule("bot.cli.admin")
    api = LazyModule("bot.cli.api")
    records = LazyModule("bot.cli.records")
    show = LazyModule("bot.cli.show")


users_commands = typer.Typer(help="Manage the people who may use the hub.", no_args_is_help=True)
pair_commands = typer.Typer(
    help="Pair accounts that ask for access, or remove their access.", no_args_is_help=True
)


@users_commands.command("list")
def users_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List all users and their accounts."""
    finish(lambda: show.list_users(config, as_json=as_json))


@pair_commands.command("list")
def pair_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List pairing requests with a valid code, the oldest first."""
    finish(lambda: admin.list_pairing(config, as_json=as_json))


@pair_commands.command("approve")
def pair_approve(
    code: CodeArgument,
    pair_as: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="member|me|owner",
            help="member: a new person; me: another account of yours; owner: your first account.",
        ),
    ] = "member",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve a pairing request."""

    def approve() -> None:
        api.change(config, "/pairing/approve", {"code": code, "as": admin.role_of(pair_as)}, as_json=as_json)

    finish(approve)


@pair_commands.command("reject")
def pair_reject(code: CodeArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Deny a pairing request."""
    finish(lambda: api.change(config, "/pairing/reject", {"code": code}, as_json=as_json))


@pair_commands.command("revoke")
def pair_revoke(account: AccountArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Remove the access of a paired or linked account."""
    finish(lambda: api.change(config, "/pairing/revoke", admin.account_of(account), as_json=as_json))


@users_commands.command("add")
def users_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The person's name.")],
    account: Annotated[
        str | None,
        typer.Option("--account", metavar="ACCOUNT", help="An account of theirs, such as telegram:12345."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a member without a pairing code."""
    finish(lambda: admin.add_user(config, name, account, as_json=as_json))


@users_commands.command("invite")
def users_invite(
    name: Annotated[str, typer.Argument(metavar="NAME|USER", help="A new member's name, or a member's ID.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a link that lets a member use the console. It works once and expires after 3 days."""
    finish(lambda: admin.invite(config, name, as_json=as_json))


@users_commands.command("link")
def users_link(
    user: Annotated[str, typer.Argument(metavar="USER", help="The user's ID; see `users list`.")],
    account: AccountArgument,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Link another account to a user without a code."""

    def link() -> None:
        api.change(config, "/users/link", {"user_id": user, **admin.account_of(account)}, as_json=as_json)

    finish(link)


@users_commands.command("timezone")
def users_timezone(
    user: Annotated[str, typer.Argument(metavar="USER", help="The user's ID; see `users list`.")],
    zone: Annotated[
        str, typer.Argument(metavar="ZONE", help="Such as Europe/Berlin, or default for the hub's.")
    ],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set a person's time zone, for quiet hours and the heartbeat."""
    wanted = None if zone.strip().lower() == "default" else zone
    body = {"user_id": user, "timezone": wanted}
    finish(lambda: api.change(config, "/users/timezone", body, as_json=as_json))


_User = Annotated[str, typer.Argument(metavar="USER", help="The user's ID; see `users list`.")]


@users_commands.command("role")
def users_role(
    user: _User,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="member or guest.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a guest a member, or a member a guest. The configuration names the owner."""
    body = {"user_id": user, "role": role.strip().lower()}
    finish(lambda: api.change(config, "/users/role", body, as_json=as_json))


@users_commands.command("model")
def users_model(
    user: _User,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A model's name, or default for the configured order.")
    ],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set the model that a person's conversations try first."""
    _choose(user, "model", model, config, as_json=as_json)


@users_commands.command("think")
def users_think(
    user: _User,
    effort: Annotated[
        str, typer.Argument(metavar="EFFORT", help="off, low, medium, high, or default as configured.")
    ],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set how much models think for a person."""
    _choose(user, "thinking", effort, config, as_json=as_json)


def _choose(user: str, field: str, value: str, config: Path | None, *, as_json: bool) -> None:
    wanted = None if value.strip().lower() == "default" else value
    finish(lambda: api.change(config, "/users/model", {"user_id": user, field: wanted}, as_json=as_json))


# The groups `audit` and `policy`, parsed; see bot.cli.commands.

audit_commands = typer.Typer(help="Export and verify the audit log.", no_args_is_help=True)
policy_commands = typer.Typer(help="Test a policy on past tool calls.", no_args_is_help=True)


@audit_commands.command("export")
def audit_export(
    after: Annotated[
        int,
        typer.Option(
            "--after", metavar="N", min=0, help="Only records after position N, and those not chained yet."
        ),
    ] = 0,
    message: Annotated[
        str | None,
        typer.Option(
            "--message",
            metavar="KEY",
            help="Only the records of one message: its decisions, effects and reply, verified."
            " `hubbub why` lists the keys.",
        ),
    ] = None,
    config: ConfigOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Print all records, the oldest first. Works whether or not a hub is running.

    With --message the whole chain is verified, too. The exit code is 0 if it is intact; else 1, with the
    problem of each record. KEY may also be the key of an input that fired a routine, such as
    slot:1767225600000000.
    """
    if message is not None:
        finish(lambda: records.export_message(config, message, as_json=as_json))
    finish(lambda: records.export(config, after, as_json=as_json))


@audit_commands.command("verify")
def audit_verify(
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="HEAD", help="The head printed by an earlier `audit verify`."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Verify that all records are as they were written.

    The exit code is 0 if they are; else 1, with the problem of each record.

    Finds changed, deleted, inserted, moved and cut-off records. Store the head it prints where users of the
    data directory can't write. With --head, it reveals a later cut even if the file of heads was cut, too.
    """
    finish(lambda: records.verify(config, head, as_json=as_json))


@policy_commands.command("test")
def policy_test(
    policy: Annotated[
        Path | None,
        typer.Option("--policy", metavar="FILE", help="A policy file to test instead of the configured one."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", metavar="N", min=1, max=100_000, help="Maximum number of calls, newest first."
        ),
    ] = 1000,
    tools: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME", help="Judge a job of the owner's with these tools, instead of past calls."
        ),
    ] = None,
    call: Annotated[
        list[str] | None,
        typer.Option(metavar="CALL", help='A call of that job, such as "shell make test"; repeatable.'),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Apply the current rules to past calls, or to those of a job.

    Lists the calls that would be decided differently, or what the job would be refused.

    The rules come from the configuration (or the one given by --config) and the policy given; grants,
    settings and roles are those of today. Changes nothing.
    """
    if tools is not None or call:
        finish(lambda: records.expect(config, policy, tools or "", call or (), as_json=as_json))
    finish(lambda: records.test(config, policy, limit, as_json=as_json))


# The group `db`, parsed; see bot.cli.commands.

db_commands = typer.Typer(help="Check, back up, restore, and upgrade the database.", no_args_is_help=True)


@db_commands.command("check")
def db_check(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Check the whole database. Works whether or not a hub is running."""
    finish(lambda: records.check(config, as_json=as_json))


@db_commands.command("backup")
def db_backup(
    target: Annotated[
        Path, typer.Argument(metavar="FILE", help="A new file, or an existing directory for it.")
    ],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a consistent backup of the database. Works whether or not a hub is running."""
    finish(lambda: records.backup(config, target, as_json=as_json))


@db_commands.command("restore")
def db_restore(
    backup: Annotated[Path, typer.Argument(metavar="FILE", help="A backup made by `db backup`.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Restore a backup (stop the hub first). The current database is kept under a new name; tools start
    paused."""
    finish(lambda: records.restore(config, backup, as_json=as_json))


@db_commands.command("upgrade")
def db_upgrade(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Upgrade the database after making a backup. The next start of the hub does the same."""
    finish(lambda: records.upgrade(config, as_json=as_json))


# The groups `grants`, `permissions`, `secrets`, `tools`, parsed; see bot.cli.commands.

grants_commands = typer.Typer(help='List and revoke grants ("Always allow").', no_args_is_help=True)
permissions_commands = typer.Typer(help="List and change a person's tool settings.", no_args_is_help=True)
tools_commands = typer.Typer(
    help="Pause and unpause all tools, and reset failing ones.", no_args_is_help=True
)
secrets_commands = typer.Typer(help="Manage tokens and keys in the encrypted vault.", no_args_is_help=True)

SecretArgument = Annotated[
    str, typer.Argument(metavar="NAME", help='The name used in the configuration as "vault:NAME".')
]


@grants_commands.command("list")
def grants_list(user: UserOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List people's grants, also those to one routine or job."""
    finish(lambda: admin.list_grants(config, user, as_json=as_json))


@grants_commands.command("revoke")
def grants_revoke(
    grant: Annotated[str, typer.Argument(metavar="ID", help="The grant's ID; see `grants list`.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a grant; the hub asks again from now on."""
    body = {"id": grant.strip()}
    finish(lambda: api.change(config, "/grants/revoke", body, as_json=as_json, new_database=True))


@permissions_commands.command("list")
def permissions_list(
    user: UserOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List people's tool settings."""
    finish(lambda: admin.list_permissions(config, user, as_json=as_json))


@permissions_commands.command("set")
def permissions_set(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name, such as shell.")],
    setting: Annotated[
        str,
        typer.Argument(
            metavar="SETTING",
            help="always_allow, ask_each_time, disabled, or default (use the configuration).",
        ),
    ],
    user: UserOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set the permission for one tool, overriding the preset. Without --user, applies to the owner.

    A disabled tool is hidden from the model and refused if it is called anyway. A tool that always needs
    approval still asks when set to always_allow.
    """

    def keep() -> None:
        body = admin.permission_of(config, tool, setting, user)
        api.change(config, "/permissions", body, as_json=as_json, new_database=True)

    finish(keep)


@secrets_commands.command("list")
def secrets_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the names of stored secrets; values are never shown."""
    finish(lambda: admin.list_secrets(config, as_json=as_json))


@secrets_commands.command("set")
def secrets_set(name: SecretArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Store a secret, typed at the prompt or read from standard input."""

    def keep() -> None:
        body = {"name": name, "value": admin.typed_secret(name)}
        api.change(config, "/secrets", body, as_json=as_json, new_database=True)

    finish(keep)


@secrets_commands.command("delete")
def secrets_delete(name: SecretArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Delete a secret."""
    body = {"name": name}
    finish(lambda: api.change(config, "/secrets/delete", body, as_json=as_json, new_database=True))


@secrets_commands.command("rotate")
def secrets_rotate(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Change the vault's key. Every secret is encrypted again, and the old key no longer opens any."""
    finish(lambda: api.change(config, "/secrets/rotate", as_json=as_json, new_database=True))


@tools_commands.command("pause")
def tools_pause(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Pause all tools at once. Running calls are stopped. Tools stay paused until `tools unpause`."""
    finish(lambda: api.change(config, "/tools/pause", as_json=as_json, new_database=True))


@tools_commands.command("unpause")
@tools_commands.command("resume", hidden=True, deprecated=True)
def tools_unpause(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Let tools run again."""
    finish(lambda: api.change(config, "/tools/unpause", as_json=as_json, new_database=True))


@tools_commands.command("list")
def tools_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the tools that keep failing in unattended runs. Says since when these go without them."""
    finish(lambda: admin.list_failing_tools(config, as_json=as_json))


@tools_commands.command("reset")
def tools_reset(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool's name, such as search__find.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let unattended runs use a tool again. Jobs and routines go without one that kept failing."""
    finish(lambda: api.change(config, "/tools/reset", {"name": name}, as_json=as_json))
