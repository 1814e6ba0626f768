"""The recorder: one wrapper each around models, calls, time, ids, the inbox and shown messages."""

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.app import Seams
from bot.config.keys import VaultKeyRing, hub_key
from bot.config.schema import secret_values
from bot.parts import Dependencies
from bot.platforms import readable_files
from bot.recordings.log import CONTAINED, FORMAT, Marks, RecordingLog
from bot.recordings.routines import (
    Arrival,
    arriving,
    files_of,
    heard_store,
    kept_calls,
    lost_runs,
    lost_turns,
    not_reached,
    nothing_to_read,
    routine_end,
    routine_to_json,
)
from bot.recordings.values import (
    HeldClock,
    RecordedIds,
    answer_to_json,
    error_to_json,
    event_to_json,
    plain_value,
    plan_to_json,
    request_to_json,
    run_id,
    run_kind,
    web_request_to_json,
)
from bot.runtime import version
from core.clock import Clock
from core.errors import HubError, VaultError
from core.events import Failed, Finished, RunEnded, RunKind, RunStarted, TurnEvent
from core.jobs.service import JobOutcomes
from core.messages import InboundEvent, InboundMessage
from core.model.base import Model, ModelAbilities, ModelReply, ModelRequest, ReplyDelta, ToolSpec, closing
from core.ports import Acceptance, Inbox, OutboxRow, Posted, Seen
from core.routines.run import ReadFile
from core.safety.fencing import ResultLimits
from core.safety.paths import PathGuard
from core.store.accept import Accepted
from core.store.codecs import message_to_json
from core.store.container_port import ContainerEnd, EgressUse
from core.store.port import People
from core.store.routine_rows import RoutineRow, RunEnd, StartedRun
from core.store.rows import CallState
from core.tool import Arguments, CallContext, CallPlan, Risk, Tool, Workspace
from core.tools.execution import Executor, HostExecutor, ToolPause
from core.transcript import ToolResult
from core.web import WebAnswer, WebRequest, secrets_in

MCP_LISTS = "mcp"
"""The directory of what MCP servers listed, in the data directory."""


class Recorder:
    """Writes what a hub hears, asks, runs and shows to a recording.

    Nothing is written before `begin`. Implements TurnListener, and core.web.Interceptor."""

    def __init__(self, directory: Path, seams: Seams) -> None:
        self._directory = directory
        self._seams = seams
        self.clock = HeldClock(seams.clock)
        self._log: RecordingLog | None = None
        self._marks = Marks(b"", (), self._marked)
        self._tools: dict[str, int] = {}
        self._lists: dict[str, str] = {}
        self._jobs: dict[str, int] = {}
        self._outcomes: dict[str, int] = {}
        self._data_dir = Path()
        self._people: People | None = None
        self._read: ReadFile = nothing_to_read

    def seams(self) -> Seams:
        """Return the seams of a hub that is recorded."""
        own = self._seams
        return Seams(
            clock=self.clock,
            ids=RecordedIds(own.ids, self.made),
            turns=self,
            store=lambda store: heard_store(own.store(store), self),
            model=lambda model: RecordedModel(own.model(model), self),
            read_timeout_s=own.read_timeout_s,
            lookup=own.lookup,
            telegram=own.telegram,
            alone=own.alone,
            lease_s=own.lease_s,
            executor=RecordedExecutor(HostExecutor(), self),
            interceptor=self,
            inbox=lambda inbox: RecordedInbox(inbox, self),
            posted=self.posted,
            outcomes=JobOutcomes(self.job_begun, self.job_reached, self.job_ended),
            sealed=lambda value: self._marks.learn([value]),
            prepare=self.begin,
        )

    async def begin(self, dependencies: Dependencies) -> None:
        """Open the recording. Raises StartError."""
        loaded, ring = dependencies.loaded, dependencies.ring
        key, found = hub_key(loaded.config.hub.data_dir), secret_values(loaded.config)
        self._marks = Marks(key, found, self._marked)
        self._marks.learn(await _vault_values(dependencies, ring))
        self._data_dir = loaded.config.hub.data_dir
        store = dependencies.store
        self._people = store.people
        self._read = readable_files(PathGuard(loaded.config.workspace.dir, loaded.closed))
        self._log = RecordingLog(self._directory, self.clock.now)
        left = self._log.left  # by a hub that was killed before it knew of a commit
        async for number in kept_calls(store, left):
            self.write("kept", call=number)
        async for ended_turn in lost_turns(store, left):
            self.write("turn", number=None, **ended_turn)
        async for started, begun, ended in lost_runs(store, left):
            if begun:
                await self.routine_begun(started)
            if ended:
                self.write("ran", **routine_end(started, started.run))
        if states := await not_reached(store, left):
            self.write("left", calls=states)
        self.write("session", format=FORMAT, version=version())
        for number, key in left.events.items():
            stored = await store.explanations.explain(key)
            if stored is not None:
                known = {"outcome": stored.outcome, "thread": stored.thread_id}
                self.write("accepted", event=number, **known, killed=True)
        self._keep_lists()
        for row in await store.routines.routines():
            await self.routine_changed(row)

    def close(self) -> None:
        """End the recording."""
        if self._log is not None:
            self._keep_lists()
            self._log.close()

    def write(self, kind: str, *, number: int | None = None, **fields: Any) -> int:
        """Write a record, its secrets replaced, and return its number."""
        if self._log is None:
            return 0
        return self._log.write(kind, self._marks.value(fields), number)

    def reserve(self) -> int:
        """Return a number for a record that is written later."""
        return 0 if self._log is None else self._log.reserve()

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        match event:
            case RunStarted(kind=kind):
                run_kind.set(kind.value)
                run_id.set(turn_id)
            case RunEnded():
                run_kind.set("")
            case Finished(text=text) if run_kind.get() == RunKind.CHAT:
                self.write("turn", of=turn_id, result="finished", text=text)
            case Failed(text=text) if run_kind.get() == RunKind.CHAT:
                self.write("turn", of=turn_id, result="failed", text=text)
            case _:
                pass
        if self._seams.turns is not None:
            self._seams.turns.turn_event(thread_id, turn_id, event)

    def posted(self, row: OutboxRow, part: int, posted: Posted) -> None:
        """Record where a part of a message is shown."""
        self.write(
            "sent",
            channel=row.channel,
            address=row.address,
            gate=row.message.gate_id,
            part=part,
            message=message_to_json(row.message),
            ref=posted.ref,
            order_key=posted.order_key,
        )

    def answer(self, request: WebRequest) -> WebAnswer | None:
        """Let the request be sent."""
        return self._seams.interceptor.answer(request)

    def answered(self, request: WebRequest, answer: WebAnswer | None) -> None:
        """Record a request with its answer. Headers of requests are not recorded: they are full of keys."""
        self._marks.learn(secrets_in(request.headers, request.url, request.body or b""))
        page = None
        if answer is not None:
            self._marks.learn(secrets_in(answer.headers, answer.url, answer.body))
            page = answer_to_json(answer)
        self.write("web", run=run_kind.get(), request=web_request_to_json(request), answer=page)
        self._seams.interceptor.answered(request, answer)

    def job_begun(self, job_id: str, task: str) -> None:
        """Record that a job is at work in a container; what it asks for is a part of its outcome."""
        run_kind.set(CONTAINED)
        self._jobs[job_id] = self.write("job", job=job_id, task=task)

    def job_reached(self, job_id: str, log: Sequence[EgressUse]) -> None:
        """Record a job's connections. What passed by them is encrypted, and nowhere."""
        if log:
            reached = [plain_value(one) for one in log]
            self.write("egress", job=self._jobs.get(job_id, 0), connections=reached)

    def job_ended(self, job_id: str, end: ContainerEnd) -> None:
        """Record the end of a job in a container."""
        path = [[state.value, reason] for state, reason in end.end.path]
        changes = None if end.changes is None else plain_value(end.changes)
        number = self._jobs.pop(job_id, 0)
        self.write("ended", job=number, path=path, result=end.end.result, changes=changes)

    def arrived(self, arrival: Arrival) -> None:
        """Record an event that is about to be committed: every secret in it is known, and none is stored."""
        if arrival.withheld and isinstance(arrival.event, InboundMessage):
            self._marks.learn([arrival.event.text])
        self.write("in", number=arrival.number, **event_to_json(arrival.event), time=arrival.time)

    def accepted(self, arrival: Arrival, accepted: Accepted) -> None:
        """Record that an event was committed. One without this was not, or the hub was killed then."""
        known = {"outcome": accepted.outcome, "thread": accepted.thread_id}
        self.write("accepted", event=arrival.number, **known, killed=False)

    async def routine_changed(self, row: RoutineRow) -> None:
        """Record a routine that was made or changed."""
        self.write("routine", **await self._routine(row))

    def routine_deleted(self, routine_id: str) -> None:
        """Record that a routine is gone."""
        self.write("routine", id=routine_id, text=None)

    async def routine_begun(self, started: StartedRun) -> None:
        """Record the beginning of a routine's run, with the files that its question holds."""
        run, files = started.run, dict[str, str]()
        for path, limit_bytes in files_of(started.routine):
            with contextlib.suppress(ValueError, HubError):
                files[path] = self._read(path, limit_bytes).decode("utf-8", "replace")
        given = {"key": run.key, "kind": run.kind, "input": run.input, "due_at": run.due_at}
        self.write("fired", **await self._routine(started.routine), run=given, files=files)

    def routine_ended(self, started: StartedRun, end: RunEnd) -> None:
        """Record the end of a routine's run."""
        self.write("ran", **routine_end(started, end))

    def made(self, kind: str, value: str) -> None:
        """Record an ID."""
        self.write("id", run=run_kind.get(), of=kind, value=value)

    def outcome(self, call: int, call_id: str, **end: Any) -> None:
        """Record a call's outcome. It counts once it is kept: a hub may be killed before."""
        self.write("outcome", call=call, **end)
        if "cut" not in end:
            self._outcomes[call_id] = call

    async def goes_on(self, name: str, state: CallState) -> None:
        """Do nothing: a call is recorded when it runs, and a run when it has ended."""

    def kept(self, call_ids: Sequence[str]) -> None:
        """Record that the outcomes of calls were committed."""
        for number in [self._outcomes.pop(one) for one in call_ids if one in self._outcomes]:
            self.write("kept", call=number)

    async def _routine(self, row: RoutineRow) -> dict[str, Any]:
        owner = None if self._people is None else await self._people.user(row.owner_id)
        return routine_to_json(row, "" if owner is None else owner.name)

    def asked(self, model: str, request: ModelRequest) -> int:
        """Record a request and return its number."""
        tools = self._tools_of(request.tools)
        return self.write(
            "ask",
            run=run_kind.get(),
            of=run_id.get(),
            model=model,
            tools=tools,
            request=request_to_json(request),
        )

    def replied(self, ask: int, pieces: Sequence[str], **end: Any) -> None:
        """Record a reply, or how else it ended."""
        self.write("reply", ask=ask, pieces=self._marks.pieces(pieces), **end)

    def _tools_of(self, tools: Sequence[ToolSpec]) -> int:
        """Return the number of the record of these tools."""
        listed = [plain_value(tool) for tool in tools]
        key = json.dumps(listed)
        if key not in self._tools:
            self._keep_lists()
            self._tools[key] = self.write("tools", tools=listed)
        return self._tools[key]

    def _keep_lists(self) -> None:
        """Record what MCP servers list, if that has changed."""
        for file in sorted((self._data_dir / MCP_LISTS).glob("*.json")):
            text = file.read_text(encoding="utf-8", errors="replace")
            if self._lists.get(file.stem) != text:
                self._lists[file.stem] = text
                with contextlib.suppress(ValueError):
                    self.write("mcp", name=file.stem, page=json.loads(text))

    def _marked(self, mark: str, kind: str) -> None:
        if self._log is not None:
            self._log.write("mark", {"mark": mark, "kind": kind})


async def _vault_values(dependencies: Dependencies, ring: VaultKeyRing) -> list[str]:
    keys, values = ring.keys(), list[str]()
    for secret in await dependencies.store.secrets.secrets() if keys is not None else ():
        with contextlib.suppress(VaultError):
            values.append(keys.open(secret) if keys is not None else "")
    return values


@contextlib.contextmanager
def recording(directory: Path | None, seams: Seams) -> Iterator[Seams]:
    """Return the seams of a hub that is recorded in a directory; unchanged without one."""
    if directory is None:
        yield seams
        return
    recorder = Recorder(directory, seams)
    try:
        yield recorder.seams()
    finally:
        recorder.close()


class RecordedInbox:
    """An inbox whose events are recorded as the store commits them, under the number they came at."""

    def __init__(self, inbox: Inbox, recorder: Recorder) -> None:
        self._inbox = inbox
        self._recorder = recorder

    async def accept(self, event: InboundEvent) -> Acceptance:
        number = self._recorder.reserve()
        with self._recorder.clock.held() as time:
            arriving.set(Arrival(number, event, time))
            return await self._inbox.accept(event)

    async def last_seen(self, channel: str) -> Sequence[Seen]:
        return await self._inbox.last_seen(channel)


class RecordedModel:
    """A model whose requests and replies are recorded, pieces as they came."""

    def __init__(self, model: Model, recorder: Recorder) -> None:
        self._model = model
        self._recorder = recorder

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def abilities(self) -> ModelAbilities:
        return self._model.abilities

    async def reply(self, request: ModelRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        recorder, pieces = self._recorder, list[str]()
        ask = recorder.asked(self.name, request)
        end: dict[str, Any] = {"cut": True}
        try:
            async with closing(self._model.reply(request)) as stream:
                async for piece in stream:
                    if isinstance(piece, ModelReply):
                        end = {}
                        recorder.replied(ask, pieces, reply=plain_value(piece))
                    else:
                        pieces.append(piece.text)
                    yield piece
        except HubError as error:
            end = {}
            recorder.replied(ask, pieces, error=error_to_json(error))
            raise
        finally:
            if end:
                recorder.replied(ask, pieces, **end)


class RecordedExecutor:
    """An executor whose looks and outcomes are recorded."""

    def __init__(self, executor: Executor, recorder: Recorder) -> None:
        self._executor = executor
        self._recorder = recorder

    def plan(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> CallPlan | None:
        with self._looks("plan", tool, arguments) as found:
            plan = self._executor.plan(tool, arguments, workspace)
            found["value"] = None if plan is None else plan_to_json(plan)
        return plan

    def rate(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> Risk | None:
        with self._looks("rate", tool, arguments) as found:
            risk = self._executor.rate(tool, arguments, workspace)
            found["value"] = plain_value(risk)
        return risk

    def digests(self, tool: Tool, arguments: Arguments, workspace: Workspace) -> Mapping[str, str] | None:
        with self._looks("digests", tool, arguments) as found:
            digests = self._executor.digests(tool, arguments, workspace)
            found["value"] = plain_value(digests)
        return digests

    @contextlib.contextmanager
    def _looks(self, what: str, tool: Tool, arguments: Arguments) -> Iterator[dict[str, Any]]:
        """Record what the block finds. Nothing is recorded of a tool without such looks."""
        found: dict[str, Any] = {}
        try:
            yield found
        except Exception as error:
            found["error"] = error_to_json(error)
            raise
        finally:
            if found.get("value", found.get("error")) is not None:
                call = {"tool": tool.name, "arguments": plain_value(arguments)}
                self._recorder.write("look", what=what, **call, **found)

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
        recorder = self._recorder
        end: dict[str, Any] = {"cut": True}
        kind, given = run_kind.get(), plain_value(arguments)
        call = recorder.write("call", run=kind, of=run_id.get(), id=call_id, tool=tool.name, arguments=given)
        try:
            result = await self._executor.run(call_id, tool, arguments, context, clock, limits, pause, plan)
            end = {"status": result.status.value, "text": result.text}
        finally:
            recorder.outcome(call, call_id, **end)
        return result
