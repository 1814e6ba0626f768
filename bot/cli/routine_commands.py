"""The group `routines`, parsed; see bot.cli.commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.parameters import ConfigOption, JsonOption, finish
from core.lazy_module import LazyModule

if TYPE_CHECKING:
    from bot.cli import routines
else:
    routines = LazyModule("bot.cli.routines")


routines_commands = typer.Typer(
    help="What is done by itself, by the clock, a message or an event.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The routine's name, or its id.")]
File = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="The routine as JSON; options come over it.")
]
Cron = Annotated[str | None, typer.Option(metavar="SCHEDULE", help='By the clock, such as "0 9 * * 1-5".')]
Zone = Annotated[str | None, typer.Option(metavar="ZONE", help="Of the schedule, such as Europe/Berlin.")]
Match = Annotated[
    str | None,
    typer.Option(metavar="PATTERN", help="By a message in which this expression is found."),
]
Consume = Annotated[
    bool | None, typer.Option("--consume/--also-chat", help="Whether such a message is the routine's alone.")
]
Webhook = Annotated[str | None, typer.Option(metavar="PATH", help="By a request to /api/webhooks/PATH.")]
Secret = Annotated[
    str | None, typer.Option("--secret", metavar="NAME", help="The secret of the vault that signs requests.")
]
Signature = Annotated[
    str | None, typer.Option(metavar="KIND", help="How they are signed: standard, github, gitlab, stripe.")
]
EventOption = Annotated[
    str | None, typer.Option("--event", metavar="SOURCE/TYPE", help="By an event, such as github/push.")
]
Prompt = Annotated[str | None, typer.Option(metavar="TEXT", help="What the model is asked.")]
Cooldown = Annotated[
    int | None, typer.Option("--cooldown", metavar="SECONDS", help="How long it rests after it fired.")
]
Description = Annotated[str | None, typer.Option(metavar="TEXT", help="What it is for.")]


@routines_commands.command("list")
def routines_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """All of them, with the next time of each."""
    finish(lambda: routines.list_routines(config, as_json=as_json))


@routines_commands.command("add")
def routines_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    prompt: Prompt = None,
    cron: Cron = None,
    timezone: Zone = None,
    match: Match = None,
    consume: Consume = None,
    webhook: Webhook = None,
    secret: Secret = None,
    signature: Signature = None,
    event: EventOption = None,
    cooldown: Cooldown = None,
    description: Description = None,
    file: File = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a routine. Say what fires it, and what the model is asked then; without a trigger only you do."""

    def make() -> None:
        given = _given(prompt, cooldown, description) | {"name": name}
        trigger = _trigger(cron, timezone, match, consume, webhook, secret, signature, event)
        page = routines.page_of(file, given)
        page["trigger"] = page.get("trigger", {}) | trigger if trigger else page.get("trigger", _MANUAL)
        page["action"] = {"type": "lightweight"} | page.get("action", {})
        routines.add(config, page, as_json=as_json)

    finish(make)


@routines_commands.command("edit")
def routines_edit(
    name: Name,
    prompt: Prompt = None,
    cron: Annotated[str | None, typer.Option(metavar="SCHEDULE", help="Its new schedule.")] = None,
    timezone: Zone = None,
    match: Annotated[str | None, typer.Option(metavar="PATTERN", help="Its new pattern.")] = None,
    cooldown: Cooldown = None,
    description: Description = None,
    rename: Annotated[str | None, typer.Option(metavar="NAME", help="Its new name.")] = None,
    file: File = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the given fields only. A routine keeps its kind of trigger."""

    def change() -> None:
        given = _given(prompt, cooldown, description) | ({"name": rename} if rename is not None else {})
        trigger = {"schedule": cron, "timezone": timezone, "pattern": match}
        if kept := {field: value for field, value in trigger.items() if value is not None}:
            given["trigger"] = kept
        routines.edit(config, name, routines.page_of(file, given), as_json=as_json)

    finish(change)


@routines_commands.command("show")
def routines_show(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """All that one says."""
    finish(lambda: routines.show(config, name, as_json=as_json))


@routines_commands.command("enable")
def routines_enable(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Let one go on, with its next time."""
    finish(lambda: routines.switch(config, name, enabled=True, as_json=as_json))


@routines_commands.command("disable")
def routines_disable(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Pause one."""
    finish(lambda: routines.switch(config, name, enabled=False, as_json=as_json))


@routines_commands.command("fire")
def routines_fire(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Run one once, whatever its cooldown."""
    finish(lambda: routines.fire(config, name, as_json=as_json))


@routines_commands.command("test")
def routines_test(
    name: Name,
    text: Annotated[str, typer.Option(metavar="TEXT", help="A message that nobody wrote.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test whether a message would fire a routine, and why. Shows the model's input; nothing runs."""
    finish(lambda: routines.test(config, name, text, as_json=as_json))


@routines_commands.command("history")
def routines_history(
    name: Name,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=200, help="How many runs.")] = 20,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """The newest runs of one, newest first."""
    finish(lambda: routines.history(config, name, limit, as_json=as_json))


@routines_commands.command("delete")
def routines_delete(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Forget one and its runs."""
    finish(lambda: routines.delete(config, name, as_json=as_json))


_MANUAL = {"type": "manual"}


def _given(prompt: str | None, cooldown: int | None, description: str | None) -> dict[str, Any]:
    page: dict[str, Any] = {}
    if prompt is not None:
        page["action"] = {"prompt": prompt}
    if cooldown is not None:
        page["guardrails"] = {"cooldown_s": cooldown}
    if description is not None:
        page["description"] = description
    return page


def _trigger(
    cron: str | None,
    timezone: str | None,
    match: str | None,
    consume: bool | None,
    webhook: str | None,
    secret: str | None,
    signature: str | None,
    event: str | None,
) -> dict[str, Any]:
    """Return the trigger of the options; of several kinds the first, and the fields of the others are
    refused later."""
    page: dict[str, Any] = {}
    if cron is not None:
        page |= {"type": "cron", "schedule": cron}
    if timezone is not None:
        page["timezone"] = timezone
    if match is not None:
        page = {"type": "event", **page, "pattern": match}
    if consume is not None:
        page["on_match"] = "consume" if consume else "also_chat"
    if webhook is not None:
        page = {"type": "webhook", **page, "path": webhook}
    if secret is not None:
        page["secret_name"] = secret
    if signature is not None:
        page["signature"] = signature
    if event is not None:
        source, _, event_type = event.partition("/")
        page = {"type": "system_event", **page, "source": source, "event_type": event_type}
    return page
