"""`hubbub policy test`: the calls of the past, judged by the rules as they are now."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import typer

from bot.cli.ending import USAGE, CommandFailed
from bot.cli.looking import existing_database
from bot.cli.printing import print_json, print_table, printable, when, whole
from bot.config import Loaded, load
from bot.parts import SPILL_NAME
from bot.policy_file import read_policy
from bot.tools import build_laws, build_tools
from core.clock import SystemClock
from core.safety.limits import ResultLimits
from core.store.sqlite.replaying import PastCall, Was, past_calls
from core.tools.pipeline import CallPipeline, NeedsPerson, PipelineSettings, PutsQuestion, Ready, Refused
from core.transcript import ResultStatus

NOT_HERE = "cannot be judged"
"""The tool is gone, or takes other arguments by now."""


@dataclass(frozen=True, slots=True)
class Otherwise:
    """A call that would be decided otherwise. `was`, `now`: runs, asks or refused; `now` may be NOT_HERE."""

    at: int
    call_id: str
    thread_id: str
    user: str
    tool: str
    was: str
    now: str
    reason: str


def test(path: Path | None, policy: Path | None, limit: int, *, as_json: bool) -> None:
    """Judge them, and list what would be decided otherwise."""
    loaded = _with_policy(load(path, secrets=False), policy)
    database = existing_database(loaded.database)
    calls, left_out = past_calls(database, limit, SystemClock())
    pipeline = _pipeline(loaded)
    differ = [found for call in calls if (found := _otherwise(pipeline, call)) is not None]
    if as_json:
        page = {"judged": len(calls), "left_out": left_out}
        print_json({**page, "otherwise": [asdict(one) for one in differ]})
        return
    if differ:
        columns = ("when (UTC)", whole("call"), "user", "tool", "was", "would be", "because")
        rows = ((when(o.at), o.call_id, o.user, o.tool, o.was, o.now, o.reason) for o in differ)
        print_table(columns, rows)
    besides = f" {left_out} were not judged by any rule." if left_out else ""
    typer.echo(f"Of {len(calls)} calls {len(differ)} would be decided otherwise.{besides}")


def _with_policy(loaded: Loaded, policy: Path | None) -> Loaded:
    """Raises CommandFailed for a policy that leaves nobody any tool because it cannot be read."""
    config = loaded.config
    file = policy.absolute() if policy is not None else config.policy.file
    if file is not None and (why := read_policy(file).unreadable) is not None:
        raise CommandFailed(printable(f"{file} {why}"), USAGE)
    changed = config.policy.model_copy(update={"file": file})
    return replace(loaded, config=config.model_copy(update={"policy": changed}))


def _pipeline(loaded: Loaded) -> CallPipeline:
    """One that judges and never runs anything."""
    config = loaded.config
    settings = PipelineSettings(
        laws=build_laws(config),
        binding_key=b"",
        workspace=str(config.workspace.dir),
        tool_timeout_s=config.approvals.tool_timeout_s,
        tool_timeouts_s={},
        result_limits=ResultLimits(config.hub.data_dir / SPILL_NAME),
    )
    clock = SystemClock()
    return CallPipeline(build_tools(loaded, None, clock), settings, clock)


def _otherwise(pipeline: CallPipeline, past: PastCall) -> Otherwise | None:
    now, reason = _judged(pipeline, past)
    if now == past.was:
        return None
    call = past.call
    return Otherwise(
        past.at, call.call_id, past.thread_id, past.principal.user_id, call.tool, past.was, now, reason
    )


def _judged(pipeline: CallPipeline, past: PastCall) -> Sequence[str]:
    """What would become of it, and why."""
    prepared = pipeline.prepare(past.call, past.principal, past.thread_id, past.standing)
    match prepared:
        case Ready() | PutsQuestion():
            return Was.RUNS.value, ""
        case NeedsPerson(ask=ask):
            return Was.ASKS.value, ask.reason
        case Refused(result):
            refused = result.status is ResultStatus.DENIED
            return (Was.REFUSED.value if refused else NOT_HERE), result.text
