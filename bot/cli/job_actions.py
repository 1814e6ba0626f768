"""`hubbub jobs`: the owner's jobs."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import typer

from bot.cli.api import HubApi, with_api
from bot.cli.output import print_json, print_table, printable, printable_lines, when, whole
from bot.operator.unattended_views import ChangesView, JobEventView, JobPartsView, JobView

JOBS = "/jobs"
LOOK_EVERY_S = 1.0
PAGE = 200
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


def start(path: Path | None, wanted: Mapping[str, Any], *, as_json: bool) -> None:
    """Start a job, see bot.web.jobs_api.NewJobPage, and print it."""
    job = with_api(path, lambda api: api.post(JOBS, JobView, wanted))
    if as_json:
        print_json(job)
    else:
        typer.echo(printable(f"{job.short_id} {job.state}: {job.title}"))


def show(path: Path | None, named: str, *, as_json: bool) -> None:
    """Print one job, and the names of its files."""

    async def asked(api: HubApi) -> tuple[JobView, JobPartsView]:
        return await api.get(_of(named), JobView), await api.get(f"{_of(named)}/parts", JobPartsView)

    job, parts = with_api(path, asked)
    _print(job, as_json=as_json)
    if parts.files and not as_json:
        typer.echo(printable(f"files: {', '.join(file.name for file in parts.files)}"))


def show_changes(path: Path | None, named: str, *, as_json: bool) -> None:
    """Print the changes of a job to its project."""
    found = with_api(path, lambda api: api.get(f"{_of(named)}/changes", ChangesView))
    if as_json:
        print_json(found)
    else:
        typer.echo(printable_lines(found.diff))


def act(path: Path | None, named: str, action: str, *, as_json: bool, text: str | None = None) -> None:
    """Do what the job's endpoint of that name does, and print the job as it is then."""
    body = None if text is None else {"text": text}
    job = with_api(path, lambda api: api.post(f"{_of(named)}/{action}", JobView, body))
    if as_json:
        print_json(job)
    else:
        typer.echo(printable(f"{job.short_id} {job.state}: {job.title}"))


def events(path: Path | None, named: str, after: int, *, follow: bool, as_json: bool) -> None:
    """Print a job's events; with `follow`, until it has ended."""
    found = with_api(path, lambda api: _events(api, named, after, follow=follow, as_json=as_json))
    if as_json:
        print_json(found)


async def _events(api: HubApi, named: str, after: int, *, follow: bool, as_json: bool) -> list[JobEventView]:
    found: list[JobEventView] = []
    while True:
        working = (await api.get(_of(named), JobView)).state in WORKING
        while page := await api.get(
            f"{_of(named)}/events", list[JobEventView], after=found[-1].seq if found else after, limit=PAGE
        ):
            found += page
            if not as_json:
                for event in page:
                    typer.echo(printable_lines(_line(event)))
        if not (follow and working and api.runs):
            return found
        await asyncio.sleep(LOOK_EVERY_S)


def _line(event: JobEventView) -> str:
    about = f"{event.name} ({event.detail})" if event.detail else event.name
    return f"{event.seq} {when(event.at)} {event.kind} {about}: {event.text}"


def _print(job: JobView, *, as_json: bool) -> None:
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


def _of(named: str) -> str:
    return f"{JOBS}/{quote(named, safe='')}"
