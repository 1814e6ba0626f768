"""`hubbub routines`: the owner's routines."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import typer

from bot.cli.admin import in_place
from bot.cli.exit_codes import USAGE, CommandFailed
from bot.cli.output import print_json, print_table, printable, printable_lines, when, whole
from bot.cli.show import existing_database
from bot.config.load import load
from bot.operator.routine_views import RoutineView
from bot.operator.routines import RoutineActions
from bot.ops.api_access import ApiAccess
from core.lazy_module import LazyModule

if TYPE_CHECKING:
    from bot.cli import offline, remote
else:
    offline = LazyModule("bot.cli.offline")
    remote = LazyModule("bot.cli.remote")

T = TypeVar("T")


def looked_up(path: Path | None, question: Callable[[RoutineActions], Awaitable[T]]) -> T:
    """The answer to what changes nothing. Raises CommandFailed without a database."""
    return at_routines(path, question, new_database=False)


def at_routines(
    path: Path | None, action: Callable[[RoutineActions], Awaitable[T]], *, new_database: bool = True
) -> T:
    """Return the result of the action, here or in the running hub. Raises CommandFailed if it is refused."""
    loaded = load(path, secrets=False)
    if not new_database:
        existing_database(loaded.database)

    async def here() -> T:
        async with offline.offline_routines(loaded) as routines:
            return await action(routines)

    async def there(access: ApiAccess) -> T:
        return await action(remote.RemoteRoutines(access))

    return in_place(loaded, here, there)


# --- looking --------------------------------------------------------------------------------------------


def list_routines(path: Path | None, *, as_json: bool) -> None:
    """All of them."""
    found = list(looked_up(path, lambda routines: routines.listed()))
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


def show(path: Path | None, name: str, *, as_json: bool) -> None:
    """One, with all it says."""
    found = looked_up(path, lambda routines: routines.show(name))
    if as_json:
        print_json(found)
        return
    typer.echo(printable(f"{found.name} ({found.id}): {found.status}"))
    typer.echo(printable(found.fires_on + (f"; next {when(found.next_at)} UTC" if found.next_at else "")))
    if found.paused_because:
        typer.echo(printable(f"paused: {found.paused_because}"))
    typer.echo(printable_lines(json.dumps(found.definition, indent=2, ensure_ascii=False)))


def history(path: Path | None, name: str, limit: int, *, as_json: bool) -> None:
    """Its newest runs."""
    runs = list(looked_up(path, lambda routines: routines.history(name, limit)))
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


def test(path: Path | None, name: str, text: str, *, as_json: bool) -> None:
    """Test whether a message would fire it; nothing runs."""
    trial = looked_up(path, lambda routines: routines.test(name, text))
    if as_json:
        print_json(trial)
        return
    typer.echo(printable(f"It {'fires' if trial.fires else 'does not fire'}: {trial.why}."))
    if trial.input is not None:
        told = f"{printable_lines(trial.system or '')}\n\n{printable_lines(trial.input)}"
        typer.echo(f"\nPrompt for the model:\n\n{told}")


# --- changing -------------------------------------------------------------------------------------------


def add(path: Path | None, page: dict[str, Any], *, as_json: bool) -> None:
    """A new one."""
    _tell(at_routines(path, lambda routines: routines.create(page)), "saved", as_json=as_json)


def edit(path: Path | None, name: str, page: dict[str, Any], *, as_json: bool) -> None:
    """Change the given fields."""
    if not page:
        raise CommandFailed("no change was given; see `hubbub routines edit --help`", USAGE)
    _tell(at_routines(path, lambda routines: routines.change(name, page)), "updated", as_json=as_json)


def switch(path: Path | None, name: str, *, enabled: bool, as_json: bool) -> None:
    """Pause it or let it go on."""
    word = "enabled" if enabled else "paused"
    _tell(at_routines(path, lambda routines: routines.switch(name, enabled=enabled)), word, as_json=as_json)


def delete(path: Path | None, name: str, *, as_json: bool) -> None:
    """Forget it."""
    _tell(at_routines(path, lambda routines: routines.delete(name)), "deleted", as_json=as_json)


def fire(path: Path | None, name: str, *, as_json: bool) -> None:
    """Run it once."""
    fired = at_routines(path, lambda routines: routines.fire(name))
    if as_json:
        print_json(fired)
    else:
        typer.echo(printable(f"{name}: run {fired.run_id} is queued; see `hubbub routines history`"))


def page_of(file: Path | None, given: dict[str, Any]) -> dict[str, Any]:
    """A routine as options say it, over what a JSON file says."""
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


def _tell(routine: RoutineView, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(routine)
        return
    next_at = f"; next at {when(routine.next_at)} UTC" if routine.next_at is not None else ""
    typer.echo(printable(f"{routine.name} {what}{next_at}"))


def _at(moment: int | None) -> str:
    return "" if moment is None else when(moment)
