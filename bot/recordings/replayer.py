"""The hub that replays a recording: nothing is run, no model is called, and nothing is sent.

The first request or call that isn't in the recording stops it.
"""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot.app import App, Seams, serve
from bot.config.load import Loaded
from bot.config.place import DATABASE_NAME
from bot.parts import Dependencies
from bot.recordings.log import VAULT, Record, read_recording, sort_key
from bot.recordings.recorder import MCP_LISTS
from bot.recordings.routines import Progress, ReplayedHub, heard_store
from bot.recordings.script import Script
from bot.recordings.values import (
    answer_from_json,
    error_from_json,
    for_ever,
    job_end_from_json,
    plan_from_json,
    reply_from_json,
    risk_from_json,
)
from bot.runtime import StartError
from channels.channel import Channel, Look, Payload, Route
from core.clock import Clock
from core.errors import MessageRejected, ToolDenied, ToolFailed
from core.job import JobLimits, JobState
from core.jobs.notices import ended
from core.jobs.service import JobOutcomes, Readiness
from core.jobs.worker import JobWorker
from core.lazy import LazyModule
from core.messages import Address, Attachment, Message, MessageRef
from core.model.base import Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta
from core.ports import Inbox, OutboxListener, Posted
from core.runs.registry import Run
from core.runs.workspace_texts import DOCUMENTS, SKILL_FILE, SKILLS
from core.safety.fencing import ResultLimits
from core.store.codecs import message_to_json
from core.store.container_port import ContainerEnd
from core.store.port import Store
from core.store.routine_rows import StartedJob, task_of
from core.store.unattended_port import JobEnd
from core.tool import Arguments, CallContext, CallPlan, Risk, Tool, Workspace
from core.tools.execution import ToolPause
from core.tools.registry import ToolRegistry
from core.transcript import ResultStatus, ToolResult
from core.web import WebAnswer, WebRequest

if TYPE_CHECKING:
    from bot.mcp import build
else:
    build = LazyModule("bot.mcp.build")

STALLED_S = 15.0
"""Longer than a busy machine takes for any step of a replay."""

logger = logging.getLogger(__name__)


class ReplayModel:
    """A model that is never called: its replies are the recorded ones."""

    def __init__(self, model: Model, script: Script) -> None:
        self._model = model
        self._script = script

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def abilities(self) -> ModelAbilities:
        return self._model.abilities

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        record = await self._script.answered(self.name, request)
        for piece in record["pieces"]:
            yield ReplyDelta(piece)
        if "reply" in record:
            yield reply_from_json(record["reply"])
        elif "error" in record:
            raise error_from_json(record["error"])
        else:
            await for_ever()


class ReplayExecutor:
    """An executor that neither looks nor runs: all it returns stands in the recording."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def plan(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> CallPlan | None:
        del workspace
        if tool.plan is None:
            return None
        return plan_from_json(self._script.looked("plan", tool.name, arguments))

    def rate(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> Risk | None:
        del workspace
        if tool.rate is None:
            return None
        return risk_from_json(self._script.looked("rate", tool.name, arguments))

    def digests(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> Mapping[str, str] | None:
        del workspace
        return None if tool.digests is None else self._script.looked("digests", tool.name, arguments)

    async def run(
        self,
        call_id: str,
        tool: Tool,
        arguments: Arguments,
        context: CallContext,
        clock: Clock,
        limits: ResultLimits,
        pause: ToolPause,
        plan: CallPlan | None,
    ) -> ToolResult:
        del context, clock, limits, pause, plan
        record = await self._script.outcome(call_id, tool.name, arguments)
        return ToolResult(call_id, ResultStatus(record["status"]), record["text"])


class ReplayWeb:
    """The web as it was recorded: no request of a tool is ever sent. Implements core.web.Interceptor."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def answer(self, request: WebRequest) -> WebAnswer:
        record = self._script.web_record(request)
        if record is None:
            host = request.url.host
            raise ToolDenied(f"a replay reaches no server, and the recording has no answer of {host}")
        if record["answer"] is None:
            raise ToolFailed(f"{request.url.host} sent no answer when this was recorded")
        return answer_from_json(record["answer"])

    def answered(self, request: WebRequest, answer: WebAnswer | None) -> None:
        raise AssertionError(f"a replay sent a request to {request.url.host}: {answer}")


class ReplayedJobs:
    """Jobs in containers without any container: how they end stands in the recording.

    Implements core.jobs.scheduler.ClaimedWork."""

    def __init__(self, script: Script, store: Store, ends: JobWorker, listener: OutboxListener) -> None:
        self._script = script
        self._jobs = store.jobs
        self._containers = store.containers
        self._ends = ends
        self._listener = listener

    async def begin_jobs(self, limits: JobLimits) -> Sequence[StartedJob]:
        return await self._containers.begin_container_jobs(limits)

    async def resume_job(self, job_id: str) -> StartedJob | None:
        return await self._containers.adopt_container_job(job_id)

    async def stopped_jobs(self, job_ids: Sequence[str]) -> Sequence[str]:
        return await self._jobs.stopped_jobs(job_ids)

    async def work(self, started: StartedJob, run: Run) -> bool:
        del run
        record = await self._script.job(task_of(started))
        await self._end(started, job_end_from_json(record))
        return True

    async def close(self, started: StartedJob, run: Run, left_running: str | None) -> None:
        del run, left_running
        await self._end(started, ContainerEnd(JobEnd(((JobState.CANCELLED, ""),), ended, result="")))

    async def repair(self, started: StartedJob, run: Run, reason: str, most: int) -> StartedJob | None:
        """Leave a job whose end doesn't come: the replay stops by that."""
        del started, run, reason, most
        return None

    async def set_aside(self, job_id: str, reason: str) -> None:
        """Do nothing: a replay's own hub is never started again."""

    async def _end(self, started: StartedJob, end: ContainerEnd) -> None:
        whole = replace(end, end=self._ends.held(end.end))
        done = await self._containers.end_container_job(started.job.id, whole)
        self._listener.outbox_ready(done.outbox)


class StandIn:
    """A platform's channel that reaches no platform: what it shows is shown where it was."""

    def __init__(self, channel: Channel, script: Script) -> None:
        self._channel = channel
        self._script = script

    @property
    def name(self) -> str:
        return self._channel.name

    def routes(self, inbox: Inbox) -> Sequence[Route]:
        del inbox
        return ()

    async def check(self) -> None:
        pass

    async def run(self, inbox: Inbox, connected: Callable[[], None]) -> None:
        del inbox
        connected()
        await for_ever()

    def render(self, message: Message) -> tuple[Payload, ...]:
        whole = message_to_json(message)
        return tuple({"message": whole, "part": part} for part in range(len(self._channel.render(message))))

    async def post(self, to: Address, payload: Payload, *, nonce: str, repeated: bool = False) -> Posted:
        del repeated
        return self._script.posted(self.name, to, str(payload["message"]), int(str(payload["part"])), nonce)

    async def edit(self, ref: MessageRef, payload: Payload) -> None:
        pass

    async def retract(self, ref: MessageRef) -> bool:
        del ref
        return True

    async def typing(self, to: Address) -> None:
        pass

    async def acknowledge(self, ref: MessageRef) -> None:
        pass

    async def recover_post(self, to: Address, payload: Payload, nonce: str, look: Look) -> Posted | None:
        del to, payload, nonce, look
        return None

    async def fetch(self, attachment: Attachment, limit_bytes: int) -> bytes:
        del limit_bytes
        raise MessageRejected(f"{attachment.name} is not in the recording")

    def direct(self, platform_user_id: str) -> Address:
        return self._channel.direct(platform_user_id)

    async def close(self) -> None:
        await self._channel.close()


@dataclass(frozen=True, slots=True)
class ReplayedContainers:
    """Containers that are there whenever a job wants one: none is made. `enabled`: by the configuration.
    Implements core.jobs.service.ContainerProbe."""

    enabled: bool

    async def readiness(self) -> Readiness:
        return Readiness.READY if self.enabled else Readiness.HOST


# --- the hub that replays ----------------------------------------------------------------------------------


def replayed_configuration(loaded: Loaded, own: Path) -> Loaded:
    """Return the configuration for a replay in its own directory, with copies of the workspace's identity
    documents and skills. Raises StartError for a directory that holds a hub's database."""
    data_dir, workspace = own / "data", own / "workspace"
    if any((place / DATABASE_NAME).exists() for place in (own, data_dir)):
        raise StartError(f"{own} holds a hub's database; replay in another directory")
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    workspace.mkdir(mode=0o700, exist_ok=True)
    config = loaded.config
    files = [config.workspace.dir / name for name in DOCUMENTS]
    files += (config.workspace.dir / SKILLS).glob(f"*/{SKILL_FILE}")
    for file in files:
        if file.is_file():
            copy = workspace / file.relative_to(config.workspace.dir)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    changes = {
        "hub": config.hub.model_copy(update={"data_dir": data_dir}),
        "http": config.http.model_copy(update={"host": "127.0.0.1", "port": 0, "public_url": ""}),
        "workspace": config.workspace.model_copy(update={"dir": workspace}),
        "heartbeat": config.heartbeat.model_copy(update={"enabled": False}),
        "sessions": config.sessions.model_copy(update={"summary": False}),
        "hooks": (),
    }
    return replace(loaded, config=config.model_copy(update=changes), again=None)


def replay_seams(script: Script, *, containers: bool) -> Seams:
    """Return the seams of a hub that replays. `containers`: whether jobs may run in containers."""

    async def prepare(dependencies: Dependencies) -> None:
        for mark, kind in script.marks.items():
            if kind == VAULT:
                continue  # the recorded hub didn't find it either
            dependencies.leaks.learn([mark], kind)

    def servers(
        loaded: Loaded, registry: ToolRegistry, clock: Clock, interceptor: object, sign_ins: object
    ) -> None:
        """List the tools that servers had, and reach none."""
        del clock, interceptor, sign_ins
        place = loaded.config.hub.data_dir / MCP_LISTS

        def listed(record: Record) -> None:
            if record["name"] in loaded.config.mcp:
                place.mkdir(mode=0o700, exist_ok=True)
                (place / f"{record['name']}.json").write_text(sort_key(record["page"]))
                build.name_known_tools(loaded, registry)

        script.lists(listed)

    return Seams(
        clock=script.clock,
        ids=script.ids,
        turns=script,
        model=lambda model: ReplayModel(model, script),
        store=lambda store: heard_store(
            store, Progress(script.routine_begun, script.routine_ended, script.goes_on, script.kept)
        ),
        executor=ReplayExecutor(script),
        interceptor=ReplayWeb(script),
        prepare=prepare,
        stand_in=lambda channel: StandIn(channel, script),
        servers=servers,
        probe=ReplayedContainers(containers),
        outcomes=JobOutcomes(instead=partial(ReplayedJobs, script)),
    )


async def replay(
    loaded: Loaded,
    directory: Path,
    own: Path,
    *,
    stays: bool,
    ready: Callable[[App], None] | None = None,
    stalled_s: float = STALLED_S,
) -> Script:
    """Replay a recording and return how it went. Raises StartError.

    `own`: the directory for the replay's data and workspace. `stays`: afterwards the hub serves its
    console until it is interrupted, or a request differs. `stalled_s`: see Script."""
    records = read_recording(directory)
    script = Script(records, stalled_s)
    loaded = replayed_configuration(loaded, own)
    script.clock.set(records[0]["at"])
    again = True
    while again:
        again = await _replay_session(loaded, script, stays=stays, ready=ready)
    return script


async def _replay_session(
    loaded: Loaded, script: Script, *, stays: bool, ready: Callable[[App], None] | None
) -> bool:
    """Run the hub to the end of the recording, or to where it was started again: then return True."""
    playing: list[asyncio.Task[bool]] = []
    script.began, stop = script.ids.since, asyncio.Event()

    async def play(app: App) -> bool:
        try:
            again = await script.play(app.inbox, ReplayedHub(app, loaded.config.workspace.dir))
            if script.difference is None and stays and not again:
                logger.info("replay.finished inputs=%d", len(script.inputs))
                await script.until(lambda: False, None)
            return again
        finally:
            stop.set()

    def begins(app: App) -> None:
        if ready is not None:
            ready(app)
        playing.append(asyncio.create_task(play(app), name="replay"))

    seams = replay_seams(script, containers=loaded.config.sandbox.enabled)
    await serve(loaded, seams, begins, stop)
    return any([await _ended(task) for task in playing])


async def _ended(task: asyncio.Task[bool]) -> bool:
    """Return what the task returned, or raise what it raised; cancel it if the hub was interrupted."""
    if not task.done():
        task.cancel()
    await asyncio.wait([task])
    return not task.cancelled() and task.result()
