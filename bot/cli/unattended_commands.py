"""The groups `routines` and `jobs`, parsed; see bot.cli.commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.conventions import ConfigOption, JsonOption, finish
from core.lazy import LazyModule

if TYPE_CHECKING:
    from bot import runtime
    from bot.cli import unattended
else:
    runtime = LazyModule("bot.runtime")
    unattended = LazyModule("bot.cli.unattended")


routines_commands = typer.Typer(
    help="Manage routines: prompts run on a schedule or an event.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The routine's name or ID.")]
File = Annotated[
    Path | None, typer.Option("--file", metavar="FILE", help="The routine as JSON; options override it.")
]
Cron = Annotated[
    str | None, typer.Option(metavar="SCHEDULE", help='Run on a schedule, such as "0 9 * * 1-5".')
]
At = Annotated[
    str | None, typer.Option(metavar="TIME", help='Run once at a time: "2026-12-01 09:00" or "09:00".')
]
In = Annotated[
    str | None, typer.Option("--in", metavar="DURATION", help='Run once after a time: "20 m", "2 h", "3 d".')
]
Remind = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Send this text as it is, instead of a prompt's result.")
]
Zone = Annotated[
    str | None, typer.Option(metavar="ZONE", help="Time zone of the schedule, such as Europe/Berlin.")
]
Match = Annotated[
    str | None,
    typer.Option(metavar="PATTERN", help="Run on messages that match this regular expression."),
]
Consume = Annotated[
    bool | None,
    typer.Option(
        "--consume/--also-chat",
        help="Keep matching messages from the chat assistant, or pass them on as well.",
    ),
]
Webhook = Annotated[str | None, typer.Option(metavar="PATH", help="Run on requests to /api/webhooks/PATH.")]
Secret = Annotated[
    str | None, typer.Option("--secret", metavar="NAME", help="Name of the vault secret that signs requests.")
]
Signature = Annotated[
    str | None, typer.Option(metavar="KIND", help="Signature scheme: standard, github, gitlab, stripe.")
]
EventOption = Annotated[
    str | None, typer.Option("--event", metavar="SOURCE/TYPE", help="Run on an event, such as github/push.")
]
Prompt = Annotated[str | None, typer.Option(metavar="TEXT", help="The prompt for the model.")]
FullJob = Annotated[
    str | None,
    typer.Option("--full-job", metavar="TITLE", help="Dispatch a job of this title; --prompt is its task."),
]
Tools = Annotated[
    str | None,
    typer.Option(metavar="NAME,NAME", help="Tools that its runs may use although they may need approval."),
]
Iterations = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=200, help="Maximum number of rounds of a full job.")
]
Sandbox = Annotated[
    str | None,
    typer.Option(metavar="DIRECTORY", help="A full job's container works on a copy of this directory."),
]
Mode = Annotated[
    str | None, typer.Option(metavar="NAME", help="The agent CLI that does a full job in its container.")
]
Image = Annotated[
    str | None, typer.Option(metavar="NAME", help="The image of a full job's container, of [sandbox] images.")
]
Cooldown = Annotated[
    int | None,
    typer.Option("--cooldown", metavar="SECONDS", help="Minimum time between two runs, in seconds."),
]
Description = Annotated[str | None, typer.Option(metavar="TEXT", help="A description of its purpose.")]


@routines_commands.command("list")
def routines_list(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List routines with their next run times."""
    finish(lambda: unattended.list_routines(config, as_json=as_json))


@routines_commands.command("add")
def routines_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The routine's name.")],
    prompt: Prompt = None,
    cron: Cron = None,
    at: At = None,
    after: In = None,
    remind: Remind = None,
    full_job: FullJob = None,
    tools: Tools = None,
    max_iterations: Iterations = None,
    sandbox: Sandbox = None,
    mode: Mode = None,
    image: Image = None,
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
    """Add a routine: a trigger and a prompt. Without a trigger it runs only when you start it."""

    def make() -> None:
        given = _given(None, cooldown, description) | {"name": name}
        schedule = _schedule(cron, at, after)
        trigger = _trigger(schedule, timezone, match, consume, webhook, secret, signature, event)
        page = unattended.page_of(file, given)
        page["trigger"] = page.get("trigger", {}) | trigger if trigger else page.get("trigger", _MANUAL)
        held = page.get("action", {})
        contained = {"sandbox": sandbox, "mode": mode, "image": image}
        page["action"] = _action(held, prompt, remind, full_job, tools, max_iterations, contained)
        unattended.add_routine(config, page, as_json=as_json)

    finish(make)


@routines_commands.command("edit")
def routines_edit(
    name: Name,
    prompt: Prompt = None,
    cron: Annotated[str | None, typer.Option(metavar="SCHEDULE", help="The new schedule.")] = None,
    at: At = None,
    after: In = None,
    timezone: Zone = None,
    match: Annotated[str | None, typer.Option(metavar="PATTERN", help="The new pattern.")] = None,
    cooldown: Cooldown = None,
    description: Description = None,
    rename: Annotated[str | None, typer.Option(metavar="NAME", help="The new name.")] = None,
    file: File = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change only the given fields of a routine. Its kind of trigger stays the same."""

    def change() -> None:
        given = _given(prompt, cooldown, description) | ({"name": rename} if rename is not None else {})
        trigger = {"schedule": _schedule(cron, at, after), "timezone": timezone, "pattern": match}
        if kept := {field: value for field, value in trigger.items() if value is not None}:
            given["trigger"] = kept
        unattended.edit_routine(config, name, unattended.page_of(file, given), as_json=as_json)

    finish(change)


@routines_commands.command("show")
def routines_show(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show a routine's definition."""
    finish(lambda: unattended.show_routine(config, name, as_json=as_json))


@routines_commands.command("enable")
def routines_enable(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Enable a routine; it can run again from now on."""
    finish(lambda: unattended.change_routine(config, "POST", name, "enabled", "/enable", as_json=as_json))


@routines_commands.command("disable")
def routines_disable(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Pause a routine."""
    finish(lambda: unattended.change_routine(config, "POST", name, "paused", "/disable", as_json=as_json))


@routines_commands.command("fire")
def routines_fire(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Run a routine once, ignoring its cooldown."""
    finish(lambda: unattended.fire_routine(config, name, as_json=as_json))


@routines_commands.command("test")
def routines_test(
    name: Name,
    text: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The text of a test message; shows the model's input as well."),
    ] = None,
    call: Annotated[
        list[str] | None,
        typer.Option(metavar="CALL", help='A call to judge, such as "shell make test"; repeatable.'),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Test what fires a routine, and what its runs would be refused.

    Judges the tools and grants that the routine names, and the calls given."""
    finish(lambda: unattended.test_routine(config, name, text, call or (), as_json=as_json))


@routines_commands.command("history")
def routines_history(
    name: Name,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=200, help="Maximum number of runs.")] = 20,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List a routine's runs, newest first."""
    finish(lambda: unattended.routine_history(config, name, limit, as_json=as_json))


@routines_commands.command("delete")
def routines_delete(name: Name, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Delete a routine and its runs."""
    finish(lambda: unattended.change_routine(config, "DELETE", name, "deleted", as_json=as_json))


_MANUAL = {"type": "manual"}


def _action(
    held: dict[str, Any],
    prompt: str | None,
    remind: str | None,
    full_job: str | None,
    tools: str | None,
    max_iterations: int | None,
    contained: dict[str, str | None],
) -> dict[str, Any]:
    """Return the action of the options, over the one of a file."""
    kind = held.get("type", "lightweight")
    kind = kind if remind is None else "reminder"
    kind = kind if full_job is None else "full_job"
    named = None if tools is None else [name.strip() for name in tools.split(",") if name.strip()]
    given: dict[str, Any] = {"text": remind, "title": full_job, "max_iterations": max_iterations}
    given |= contained
    given["description" if kind == "full_job" else "prompt"] = prompt
    given["allowed_tools"] = named
    if named and kind == "lightweight":
        given["use_tools"] = True
    return held | {"type": kind} | {name: value for name, value in given.items() if value is not None}


def _given(prompt: str | None, cooldown: int | None, description: str | None) -> dict[str, Any]:
    page: dict[str, Any] = {}
    if prompt is not None:
        page["action"] = {"prompt": prompt}
    if cooldown is not None:
        page["guardrails"] = {"cooldown_s": cooldown}
    if description is not None:
        page["description"] = description
    return page


def _schedule(cron: str | None, at: str | None, after: str | None) -> str | None:
    """Return the one schedule that was given."""
    once = [f"{word} {given}" for word, given in (("at", at), ("in", after)) if given is not None]
    given = [*([] if cron is None else [cron]), *once]
    if len(given) > 1:
        raise runtime.CommandFailed("give only one of --cron, --at and --in", runtime.USAGE)
    return given[0] if given else None


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


jobs_commands = typer.Typer(
    help="Start, follow and manage jobs: work in the background.", no_args_is_help=True
)

JobId = Annotated[str, typer.Argument(metavar="ID", help="The job's ID, short or long.")]


@jobs_commands.command("start")
def jobs_start(
    task: Annotated[str, typer.Argument(metavar="TASK", help="What is to be done.")],
    tools: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME", help="Tools that it may use although they need approval."),
    ] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(metavar="DIRECTORY", help='Work in a container, on a copy of it; "." is the workspace.'),
    ] = None,
    mode: Annotated[
        str | None, typer.Option(metavar="NAME", help="The agent CLI that does it in the container.")
    ] = None,
    image: Annotated[
        str | None, typer.Option(metavar="NAME", help="The image of its container, of [sandbox] images.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a job. Its result is sent to your active conversation."""
    wanted: dict[str, Any] = {"task": task, "sandbox": sandbox is not None}
    wanted |= {"tools": [one.strip() for one in tools.split(",")]} if tools else {}
    wanted |= {"project": sandbox} if sandbox is not None else {}
    wanted |= {"mode": mode} if mode is not None else {}
    wanted |= {"image": image} if image is not None else {}
    finish(lambda: unattended.start_job(config, wanted, as_json=as_json))


@jobs_commands.command("list")
def jobs_list(
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=200, help="Maximum number of jobs.")] = 50,
    working: Annotated[bool, typer.Option("--working", help="Only jobs that wait or run.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs, newest first."""
    finish(lambda: unattended.list_jobs(config, limit, working=working, as_json=as_json))


@jobs_commands.command("show")
def jobs_show(job: JobId, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show a job's state, usage, tools, task and result."""
    finish(lambda: unattended.show_job(config, job, as_json=as_json))


@jobs_commands.command("events")
def jobs_events(
    job: JobId,
    after: Annotated[int, typer.Option(metavar="N", min=0, help="Only events after this number.")] = 0,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the job has ended.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what a job said and did, in order."""
    finish(lambda: unattended.job_events(config, job, after, follow=follow, as_json=as_json))


@jobs_commands.command("prompt")
def jobs_prompt(
    job: JobId,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The message.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a job a message; its model reads it before the next step."""
    finish(lambda: unattended.act_on_job(config, job, "prompt", text=text, as_json=as_json))


@jobs_commands.command("cancel")
def jobs_cancel(job: JobId, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Cancel a job. Steps already completed still apply."""
    finish(lambda: unattended.act_on_job(config, job, "cancel", as_json=as_json))


@jobs_commands.command("accept")
def jobs_accept(job: JobId, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Accept a job's result; its changes are made in the project."""
    finish(lambda: unattended.act_on_job(config, job, "accept", as_json=as_json))


@jobs_commands.command("diff")
def jobs_diff(job: JobId, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print the changes of a job in a container to its project's copy."""
    finish(lambda: unattended.show_job_changes(config, job, as_json=as_json))


@jobs_commands.command("reject")
def jobs_reject(
    job: JobId,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="The reason; a repeat is told it.")] = "",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reject the result of a job that was submitted."""
    finish(lambda: unattended.act_on_job(config, job, "reject", text=reason, as_json=as_json))


@jobs_commands.command("restart")
def jobs_restart(job: JobId, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Start a new job that repeats one that has ended."""
    finish(lambda: unattended.act_on_job(config, job, "restart", as_json=as_json))
