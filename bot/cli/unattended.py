"""`hubbub routines` and `hubbub jobs`: the owner's."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import typer

from bot.cli.api import HubApi, with_api
from bot.cli.conventions import print_json, print_table, printable, printable_lines, when, whole
from bot.operator.unattended_views import (
    ChangesView,
    ExpectedView,
    FiredView,
    JobEventView,
    JobPartsView,
    JobView,
    RoutineTestView,
    RoutineView,
    RunView,
)
from bot.runtime import USAGE, CommandFailed

ROUTINES = "/routines"
PAGE = 200


# --- looking at routines --------------------------------------------------------------------------------


def list_routines(path: Path | None, *, as_json: bool) -> None:
    """Print all routines."""
    found = with_api(path, _listed)
    if as_json:
        print_json(found)
    elif found:
        columns = (whole("name"), "fires on", "status", "next (UTC)", "last run (UTC)", "runs")
        rows = (
            (one.name, one.fires_on, one.status, _at(one.next_at), _at(one.last_run_at), str(one.run_count))
            for one in found
        )
        print_table(columns, rows)
    else:
        typer.echo("There are no routines; see `hubbub routines add --help`.")


def show_routine(path: Path | None, name: str, *, as_json: bool) -> None:
    """Print one routine with all its fields."""
    found = with_api(path, lambda api: api.get(_routine_path(name), RoutineView))
    if as_json:
        print_json(found)
        return
    typer.echo(printable(f"{found.name} ({found.id}): {found.status}"))
    typer.echo(printable(found.fires_on + (f"; next {when(found.next_at)} UTC" if found.next_at else "")))
    if found.paused_because:
        typer.echo(printable(f"paused: {found.paused_because}"))
    typer.echo(printable_lines(json.dumps(found.definition, indent=2, ensure_ascii=False)))


def routine_history(path: Path | None, name: str, limit: int, *, as_json: bool) -> None:
    """Print the newest runs of a routine."""
    runs = with_api(path, lambda api: api.get(f"{_routine_path(name)}/runs", list[RunView], limit=limit))
    if as_json:
        print_json(runs)
    elif runs:
        columns = ("due (UTC)", "fired by", "status", "tokens", "result")
        rows = (
            (
                when(run.due_at),
                run.kind,
                run.status,
                str(run.input_tokens + run.output_tokens),
                (run.error or run.result or "")[:200],
            )
            for run in runs
        )
        print_table(columns, rows)
    else:
        typer.echo("No runs yet.")


def test_routine(
    path: Path | None, name: str, text: str | None, calls: Sequence[str], *, as_json: bool
) -> None:
    """Test whether a message would fire it, and what its runs would be refused; nothing runs."""
    body = {"text": text, "calls": list(calls)}
    found = with_api(path, lambda api: api.post(f"{_routine_path(name)}/test", RoutineTestView, body))
    if as_json:
        print_json(found)
        return
    if found.fires is not None:
        _tell_trial(found)
    tell_expected(found.expected)
    if found.fires is None and not found.expected:
        typer.echo("It names no tools that may need approval, and has no grants.")


def tell_expected(expected: Sequence[ExpectedView]) -> None:
    """Print the outcomes that tools, grants and calls can expect."""
    words = {"runs": "runs", "some": "depends", "refused": "refused"}
    for one in expected:
        why = f": {one.why}" if one.why else ""
        typer.echo(printable(f"{words[one.outcome]}  {one.about}{why}"))
        for grant in one.grants:
            typer.echo(printable(f"         the grant that allows exactly this: {grant}"))


def _tell_trial(trial: RoutineTestView) -> None:
    typer.echo(printable(f"It {'fires' if trial.fires else 'does not fire'}: {trial.why}."))
    if trial.input is not None:
        told = f"{printable_lines(trial.system or '')}\n\n{printable_lines(trial.input)}"
        typer.echo(f"\nPrompt for the model:\n\n{told}")


# --- changing routines ----------------------------------------------------------------------------------


def add_routine(path: Path | None, page: dict[str, Any], *, as_json: bool) -> None:
    """Add a routine."""
    _change(path, "POST", ROUTINES, "saved", page, as_json=as_json)


def edit_routine(path: Path | None, name: str, page: dict[str, Any], *, as_json: bool) -> None:
    """Change the given fields."""
    if not page:
        raise CommandFailed("no change was given; see `hubbub routines edit --help`", USAGE)
    _change(path, "PATCH", _routine_path(name), "updated", page, as_json=as_json)


def change_routine(
    path: Path | None, method: str, name: str, what: str, action: str = "", *, as_json: bool
) -> None:
    """Do what the endpoint of that routine does; `what`: what has become of it then."""
    _change(path, method, _routine_path(name) + action, what, as_json=as_json)


def fire_routine(path: Path | None, name: str, *, as_json: bool) -> None:
    """Run it once."""
    fired = with_api(path, lambda api: api.post(f"{_routine_path(name)}/fire", FiredView), new_database=True)
    if as_json:
        print_json(fired)
    else:
        typer.echo(printable(f"{name}: run {fired.run_id} is queued; see `hubbub routines history`"))


def page_of(file: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """Return a routine from the options given, over those of a JSON file."""
    page: dict[str, Any] = {}
    if file is not None:
        try:
            read = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise CommandFailed(f"{file} is not readable as JSON: {error}", USAGE) from error
        if not isinstance(read, dict):
            raise CommandFailed(f"{file} does not contain a JSON object", USAGE)
        page = cast("dict[str, Any]", read)
    for part, value in given.items():
        held = page.get(part)
        page[part] = {**held, **value} if isinstance(held, dict) and isinstance(value, dict) else value
    return page


def _change(
    path: Path | None,
    method: str,
    endpoint: str,
    what: str,
    page: dict[str, Any] | None = None,
    *,
    as_json: bool,
) -> None:
    routine = with_api(path, lambda api: api.call(method, endpoint, RoutineView, page), new_database=True)
    if as_json:
        print_json(routine)
        return
    next_at = f"; next at {when(routine.next_at)} UTC" if routine.next_at is not None else ""
    typer.echo(printable(f"{routine.name} {what}{next_at}"))


async def _listed(api: HubApi) -> list[RoutineView]:
    found: list[RoutineView] = []
    while True:
        after = found[-1].name if found else ""
        page = await api.get(ROUTINES, list[RoutineView], after=after, limit=PAGE)
        found += page
        if len(page) < PAGE:
            return found


def _routine_path(name: str) -> str:
    return f"{ROUTINES}/{quote(name, safe='')}"


def _at(moment: int | None) -> str:
    return "" if moment is None else when(moment)


# --- jobs -----------------------------------------------------------------------------------------------

JOBS = "/jobs"
LOOK_EVERY_S = 1.0
WORKING = frozenset({"pending", "in_progress", "stuck"})


def list_jobs(path: Path | None, limit: int, *, working: bool, as_json: bool) -> None:
    """Print the newest jobs."""
    query = {"limit": limit, "working": str(working).lower()}
    found = with_api(path, lambda api: api.get(JOBS, list[JobView], **query))
    if as_json:
        print_json(found)
    elif found:
        columns = (whole("id"), "state", "title", "started (UTC)", "rounds", "tokens")
        rows = (
            (
                one.short_id,
                one.state,
                one.title,
                "" if one.started_at is None else when(one.started_at),
                str(one.rounds),
                str(one.input_tokens + one.output_tokens),
            )
            for one in found
        )
        print_table(columns, rows)
    else:
        typer.echo("There are no jobs. Start one with hubbub jobs start, or in a chat with /job.")


def start_job(path: Path | None, wanted: Mapping[str, Any], *, as_json: bool) -> None:
    """Start a job, see bot.web.jobs_api.NewJobPage, and print it."""
    job = with_api(path, lambda api: api.post(JOBS, JobView, wanted))
    if as_json:
        print_json(job)
    else:
        typer.echo(printable(f"{job.short_id} {job.state}: {job.title}"))


def show_job(path: Path | None, named: str, *, as_json: bool) -> None:
    """Print one job, and the names of its files."""

    async def asked(api: HubApi) -> tuple[JobView, JobPartsView]:
        return await api.get(_job_path(named), JobView), await api.get(
            f"{_job_path(named)}/parts", JobPartsView
        )

    job, parts = with_api(path, asked)
    _print_job(job, as_json=as_json)
    if parts.files and not as_json:
        typer.echo(printable(f"files: {', '.join(file.name for file in parts.files)}"))


def show_job_changes(path: Path | None, named: str, *, as_json: bool) -> None:
    """Print the changes of a job to its project."""
    found = with_api(path, lambda api: api.get(f"{_job_path(named)}/changes", ChangesView))
    if as_json:
        print_json(found)
    else:
        typer.echo(printable_lines(found.diff))


def act_on_job(path: Path | None, named: str, action: str, *, as_json: bool, text: str | None = None) -> None:
    """Do what the job's endpoint of that name does, and print the job as it is then."""
    body = None if text is None else {"text": text}
    job = with_api(path, lambda api: api.post(f"{_job_path(named)}/{action}", JobView, body))
    if as_json:
        print_json(job)
    else:
        typer.echo(printable(f"{job.short_id} {job.state}: {job.title}"))


def job_events(path: Path | None, named: str, after: int, *, follow: bool, as_json: bool) -> None:
    """Print a job's events; with `follow`, until it has ended."""
    found = with_api(path, lambda api: _events_of(api, named, after, follow=follow, as_json=as_json))
    if as_json:
        print_json(found)


async def _events_of(
    api: HubApi, named: str, after: int, *, follow: bool, as_json: bool
) -> list[JobEventView]:
    found: list[JobEventView] = []
    while True:
        working = (await api.get(_job_path(named), JobView)).state in WORKING
        while page := await api.get(
            f"{_job_path(named)}/events",
            list[JobEventView],
            after=found[-1].seq if found else after,
            limit=PAGE,
        ):
            found += page
            if not as_json:
                for event in page:
                    typer.echo(printable_lines(_event_line(event)))
        if not (follow and working and api.runs):
            return found
        await asyncio.sleep(LOOK_EVERY_S)


def _event_line(event: JobEventView) -> str:
    about = f"{event.name} ({event.detail})" if event.detail else event.name
    return f"{event.seq} {when(event.at)} {event.kind} {about}: {event.text}"


def _print_job(job: JobView, *, as_json: bool) -> None:
    if as_json:
        print_json(job)
        return
    typer.echo(printable(f"{job.short_id} ({job.id}): {job.state}; {job.reason}"))
    used = f"{job.rounds} of {job.max_iterations} rounds, {job.input_tokens + job.output_tokens} tokens"
    typer.echo(printable(f"{used}, created {when(job.created_at)} UTC"))
    typer.echo(printable(f"tools: {', '.join(job.tools)}"))
    typer.echo(printable_lines(f"\n{job.task}"))
    if job.result:
        typer.echo(printable_lines(f"\n{job.result}"))
    for grant in job.missing_grants:
        typer.echo(printable(f"refused for want of a grant: {grant}"))


def _job_path(named: str) -> str:
    return f"{JOBS}/{quote(named, safe='')}"
