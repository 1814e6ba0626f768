"""The groups `threads`, `approvals` and `extensions`, parsed; see bot.cli.commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.conventions import ConfigOption, JsonOption, LimitOption, UserOption, finish
from core.lazy import LazyModule

if TYPE_CHECKING:
    from bot.cli import admin, api, ops, show
else:
    admin = LazyModule("bot.cli.admin")
    api = LazyModule("bot.cli.api")
    ops = LazyModule("bot.cli.ops")
    show = LazyModule("bot.cli.show")

threads_commands = typer.Typer(help="List, show, export and delete conversations.", no_args_is_help=True)
approvals_commands = typer.Typer(help="List and decide open approval requests.", no_args_is_help=True)


@threads_commands.command("list")
def threads_list(
    limit: LimitOption = 20,
    archived: Annotated[bool, typer.Option("--archived", help="List archived ones as well.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List conversations, most recently active first."""
    finish(lambda: show.list_threads(config, limit, archived=archived, as_json=as_json))


@threads_commands.command("set")
def threads_set(
    thread: Annotated[str, typer.Argument(metavar="ID", help="The thread, with or without dashes.")],
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="Give it this title.")] = None,
    tags: Annotated[
        str | None, typer.Option(metavar="TAGS", help="Give it these tags, separated by commas.")
    ] = None,
    archived: Annotated[
        bool | None, typer.Option("--archive/--unarchive", help="Leave it out of lists, or list it again.")
    ] = None,
    closed: Annotated[
        bool | None, typer.Option("--close/--reopen", help="Close it, or open it again.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Rename, tag, archive, close or reopen a conversation."""
    split = None if tags is None else [tag for tag in tags.split(",") if tag]
    body = {"title": title, "tags": split, "archived": archived, "closed": closed}
    finish(lambda: admin.change_thread(config, thread, body, as_json=as_json))


@threads_commands.command("show")
def threads_show(
    thread: Annotated[str, typer.Argument(metavar="ID", help="The thread, with or without dashes.")],
    limit: LimitOption = 100,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Show the prompt that the next message would have instead.")
    ] = False,
    message: Annotated[
        str, typer.Option(metavar="TEXT", help="With --prompt: the next message, which may activate skills.")
    ] = "",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a conversation, with tool calls and their results."""
    if prompt:
        finish(lambda: ops.show_prompt(config, thread, message, as_json=as_json))
    finish(lambda: show.show_thread(config, thread, limit, as_json=as_json))


@threads_commands.command("search")
def threads_search(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS",
            help="Words that were said in one turn. The last one, and words that end in *, match beginnings. "
            "Filters: person:NAME, channel:NAME, after:2026-01-31, before:2026-02-28.",
        ),
    ],
    limit: LimitOption = 20,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Search the messages of all conversations, newest first."""
    finish(lambda: show.search_threads(config, " ".join(words), limit, as_json=as_json))


@threads_commands.command("export")
def threads_export(
    thread: Annotated[str, typer.Argument(metavar="ID", help="The thread, with or without dashes.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export a whole conversation as Markdown or JSON."""
    finish(lambda: show.export_thread(config, thread, as_json=as_json))


@approvals_commands.command("list")
def approvals_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List open requests, the oldest first."""
    finish(lambda: show.list_approvals(config, as_json=as_json))


@approvals_commands.command("decide")
def approvals_decide(
    gate: Annotated[str, typer.Argument(metavar="ID", help="The request's ID; see `approvals list`.")],
    answer: Annotated[
        str,
        typer.Argument(
            metavar="ANSWER", help="approve, always, deny, or another answer that the request offers."
        ),
    ],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide a request as the owner."""

    def decide() -> None:
        body = {"request_id": gate, "action": admin.option_of(answer)}
        api.change(config, "/chat/gate/resolve", body, as_json=as_json)

    finish(decide)


@threads_commands.command("delete")
def threads_delete(
    thread: Annotated[str, typer.Argument(metavar="ID", help="The thread, with or without dashes.")],
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Export it to this new file first, as Markdown.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete it without an export.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a conversation for good. Audit records and the costs of models stay."""
    finish(lambda: admin.delete_thread(config, thread, export, yes=yes, as_json=as_json))


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
