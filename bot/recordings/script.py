"""A recording as its replay follows it: inputs to feed, records that must come, and how far both are."""

import asyncio
import math
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bot.recordings.log import Compared, Record, sort_key
from bot.recordings.routines import FedHub, routine_end
from bot.recordings.values import (
    FED,
    FOLLOWED,
    Exchange,
    Findings,
    ReplayClock,
    ReplayIds,
    error_from_json,
    event_from_json,
    first_difference,
    for_ever,
    other_call,
    plain_value,
    request_to_json,
    run_id,
    run_kind,
    web_request_to_json,
)
from bot.runtime import StartError, version
from channels.webchat import WEB
from core.events import Failed, Finished, RunEnded, RunStarted, TurnEvent
from core.messages import Address, InboundMessage, MessageRef
from core.model.base import ModelRequest
from core.ports import Inbox, Posted
from core.store.routine_rows import RunEnd, StartedRun
from core.store.rows import CallState
from core.tool import Arguments
from core.web import WebRequest

UNSENT_S = 2.0
"""The longest wait for a message that was shown earlier in the recording, such as a timer's."""
_BEGINNINGS = {"reply": "ask", "outcome": "call", "ended": "job"}
"""What names the record of the beginning, by the kind of the one of the end."""


class Script:
    """A recording as its replay follows it. Implements TurnListener.

    Records of chat turns and jobs must all come: a request, a call's outcome and a turn's end are used up.
    `stalled_s`: the longest time without any; a missing record then is a difference. `difference`: the
    first one, in words."""

    def __init__(self, records: Sequence[Record], stalled_s: float) -> None:
        self.records = records
        self._stalled_s = stalled_s
        self.clock = ReplayClock()
        self.ids = ReplayIds(records)
        self.difference: str | None = None
        self.inputs = [record for record in records if record["k"] == "in"]
        # The first start is the hub's own.
        self._feed = [record for record in records if record["k"] in FED][1:]
        self.marks = {record["mark"]: record["kind"] for record in records if record["k"] == "mark"}
        self._compared = Compared(self.marks)
        self._expected: dict[int, str] = {}
        """What must still come, by number, in words."""
        self._asks: defaultdict[str, deque[Exchange]] = defaultdict(deque)
        self._calls: defaultdict[str, deque[Exchange]] = defaultdict(deque)
        self._jobs: defaultdict[str, deque[Exchange]] = defaultdict(deque)
        self._requests: dict[int, dict[str, Any]] = {}
        self._turns: deque[Record] = deque()
        self._ran: defaultdict[str, deque[Record]] = defaultdict(deque)
        self._fired: dict[tuple[str, str], int] = {}
        self._keeps: dict[str, int] = {}
        self._findings = Findings(records, self._compared)
        self._at_work: set[str] = set()
        """The runs that have a reply and have not acted on it."""
        self._again = False
        self.began = 0
        """The number of the record of the hub's start; 0 for the first hub."""
        self._threads: dict[str, str] = {}
        self._fed = 0
        self._lists = deque(record for record in records if record["k"] == "mcp")
        self._listed: Callable[[Record], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._news = self._loop.create_future()
        self._read()

    def _read(self) -> None:
        begun: dict[int, Exchange] = {}
        tools: dict[int, Any] = {}
        version_then = ""
        replied: dict[str, Exchange] = {}
        for record in self.records:
            number = record["n"]
            match record["k"]:
                case "session":
                    version_then = record["version"]
                    replied = {one.record["of"]: one for one in begun.values() if "reply" in (one.end or {})}
                case "tools":
                    tools[number] = record["tools"]
                case "ask" if record["run"] in FOLLOWED:
                    system = record["request"]["system"]
                    system = system.replace(f"in hubbub {version_then}.", f"in hubbub {version()}.")
                    request = {**record["request"], "system": system}
                    whole = self._compared.request(record["model"], request, tools[record["tools"]])
                    asked = Exchange(record, sort_key(whole), f"a request to the model {record['model']}")
                    self._requests[number], begun[number] = whole, asked
                    self._asks[asked.key].append(asked)
                    before = replied.pop(record["of"], None)
                    if before is not None and before.key == asked.key:
                        before.end = None  # the hub was killed before it stored that reply
                case "call" if record["run"] in FOLLOWED:
                    key = self._compared.call(record["tool"], record["arguments"])
                    begun[number] = Exchange(record, key, f"the call {key}")
                    self._calls[key].append(begun[number])
                case "job":
                    key = self._compared.normal(record["task"])
                    begun[number] = Exchange(record, key, f"the job in a container {key!r}")
                    self._jobs[key].append(begun[number])
                case "reply" | "outcome" | "ended" as kind:
                    exchange = begun.get(record[_BEGINNINGS[kind]])
                    if exchange is not None:
                        exchange.end = record
                case _:
                    self._read_other(record, begun)
        # Without an end, the hub was killed then; what the last hub was at need not come.
        last = max((record["n"] for record in self._feed if record["k"] == "session"), default=0)
        ended = {number for number, one in begun.items() if one.end is not None or number < last}
        self._expected |= {number: begun[number].told for number in ended}
        self._times = {record["n"]: record["at"] for record in self.records}
        self._set_limit()

    def _read_other(self, record: Record, begun: Mapping[int, Exchange]) -> None:
        match record["k"]:
            case "kept" if record["call"] in begun:
                call = begun[record["call"]]
                call.kept = record["n"]
                self._expected[record["n"]] = f"the outcome of {call.told} in the journal"
            case "turn":
                self._turns.append(record)
                self._expected[record["n"]] = f"the end of a turn, {record['result']}"
            case "fired":
                self._fired[record["id"], record["run"]["key"]] = record["n"]
                self._expected[record["n"]] = f"the beginning of a run of {record['text']['name']!r}"
            case "ran":
                self._ran[sort_key(record["run"])].append(record)
                self._expected[record["n"]] = f"the end of a run of the routine {record['name']!r}"

    # --- progress ------------------------------------------------------------------------------------------

    def differ(self, text: str) -> None:
        """Stop the replay, unless it has stopped before. May be called by any thread."""
        if self.difference is None:
            self.difference = text
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        news, self._news = self._news, self._loop.create_future()
        news.set_result(None)

    def _came(self, number: int) -> None:
        self._expected.pop(number, None)
        self._set_limit()
        self._tell()

    def _set_limit(self) -> None:
        """Let the time reach that of the next record that must come or is fed."""
        number = min(self._expected, default=math.inf)
        fed = self._feed[self._fed] if self._fed < len(self._feed) else None
        if fed is not None and fed["n"] < number:
            self.clock.limit = fed.get("time", fed["at"])
        else:
            self.clock.limit = self._times.get(int(number), math.inf) if number < math.inf else math.inf
        while self._listed is not None and self._lists and self._lists[0]["n"] < number:
            self._listed(self._lists.popleft())

    def lists(self, listed: Callable[[Record], None]) -> None:
        """Call this with the tools that each MCP server listed, before the requests that offer them."""
        self._listed = listed
        self._set_limit()

    async def until(self, holds: Callable[[], bool], limit_s: float | None) -> bool:
        """Wait until it holds or the replay has stopped. Return False after `limit_s` without news."""
        while not holds() and self.difference is None:
            done, _ = await asyncio.wait([self._news], timeout=limit_s)
            if not done:
                return False
        return True

    async def _fed_before(self, number: int) -> None:
        """Wait until everything that came in before that record is fed. Never returns once it has stopped."""

        def fed() -> bool:
            return self._fed == len(self._feed) or self._feed[self._fed]["n"] > number

        await self.until(fed, None)
        if self.difference is not None:
            await for_ever()

    async def play(self, inbox: Inbox, hub: FedHub) -> bool:
        """Feed what came in, each once everything before it has come, to the end or the first difference.

        Returns True where the hub was started again: it plays on from there then."""
        if self._again:  # what comes after is for this hub, not for the one that was stopped
            self._fed_next()
        self._again = False
        while self._fed < len(self._feed):
            record = self._feed[self._fed]
            await self._before(record)
            if self.difference is not None:
                return False
            match record["k"]:
                case "session":
                    self.clock.set(record["at"])
                    self._again, self.ids.since = True, record["n"]
                    return True
                case "in":
                    await self._say(record, inbox, hub)
                case _:
                    self.clock.set(record["at"])
                    await self._change(record, hub)
            self._fed_next()
        await self._all_come(None)
        return False

    def _fed_next(self) -> None:
        self._fed += 1
        self._set_limit()
        self._tell()

    def _comes(self) -> str:
        """A run does what it does next. Return the run."""
        self._at_work.discard(run_id.get())
        self._tell()
        return run_id.get()

    async def _say(self, record: Record, inbox: Inbox, hub: FedHub) -> None:
        event = event_from_json(record)
        if isinstance(event, InboundMessage) and event.channel == WEB and event.scope in self._threads:
            event = replace(event, scope=self._threads[event.scope])
            await hub.take_up(event.sender.platform_user_id, str(event.scope))
        self.clock.set(record["time"], held=True)
        accepted = await inbox.accept(event)
        self.clock.set(record["time"])
        if accepted.thread_id is not None and record["thread"] is not None:
            self._threads[record["thread"]] = accepted.thread_id
        if accepted.outcome != record["outcome"] and not record["killed"]:
            differs = f"expected {record['outcome']!r}, came {accepted.outcome!r}"
            self.differ(f"{event.key} was accepted otherwise: {differs}")

    async def _change(self, record: Record, hub: FedHub) -> None:
        if record["text"] is None:
            await hub.delete_routine(record["id"])
            return
        await hub.put_routine(record, self._threads.get(record["thread"] or ""))
        if record["k"] == "fired":
            await hub.fire(record)

    async def _before(self, record: Record) -> None:
        """Wait for everything before an input; for messages only a while, unless it is pressed on one."""
        number = record["n"]
        await self._all_come(number)
        await self.until(lambda: not self._findings.unshown_before(number), UNSENT_S)
        if record["k"] == "session":  # what the next hub is to find in the store
            await self.until(lambda: not self._at_work, UNSENT_S)

    async def _all_come(self, before: int | None) -> None:
        def missing() -> list[int]:
            return [number for number in self._expected if before is None or number < before]

        if not await self.until(lambda: not missing(), self._stalled_s):
            first = min(missing())
            self.differ(f"record {first}: expected {self._expected[first]}, came nothing")

    # --- what the hub asks -------------------------------------------------------------------------------

    async def answered(self, model: str, request: ModelRequest) -> Record:
        """Return the record of the reply to a request. Never returns for one that isn't there."""
        run = self._comes()
        came = self._compared.request(model, request_to_json(request), list(map(plain_value, request.tools)))
        waiting = self._asks.get(sort_key(came))
        if not waiting:
            self._differs_from_next(came)
            await for_ever()
        record = await self._end(waiting)
        if "cut" not in record:
            self._at_work.add(run)
        return record

    async def outcome(self, call_id: str, tool: str, arguments: Arguments) -> Record:
        """Return the record of a call's outcome. Never returns for one that is missing, cut or not stored."""
        self._comes()
        key = self._compared.call(tool, plain_value(arguments))
        waiting = self._calls.get(key)
        if not waiting:
            expected = _first(self._calls)
            if not self._cut_off(expected):
                self.differ(other_call(key, expected and expected.record))
            await for_ever()
        exchange = waiting[0]
        record = await self._end(waiting)
        if "cut" in record or exchange.kept is None:
            await for_ever()
        self._keeps[call_id] = exchange.kept
        return record

    def kept(self, call_ids: Sequence[str]) -> None:
        for number in [self._keeps.pop(one) for one in call_ids if one in self._keeps]:
            self._came(number)

    def _cut_off(self, expected: Exchange | None) -> bool:
        """Return whether the hub was stopped or killed before the run's next step."""
        restart = self._restart()
        return restart is not None and (expected is None or expected.record["n"] > restart)

    def _restart(self) -> int | None:
        return next((one["n"] for one in self._feed if one["k"] == "session" and one["n"] > self.began), None)

    async def goes_on(self, name: str, state: CallState) -> None:
        """Return if the recorded hub came to this before it was stopped or killed."""
        left = self._findings.left(self._restart()).get(name)
        if left is not None and (state is CallState.RUNNING or left == state):
            self._comes()
            await for_ever()

    async def job(self, task: str) -> Record:
        """Return the record of the end of a job in a container. Never returns for one that isn't there."""
        key = self._compared.normal(task)
        waiting = self._jobs.get(key)
        if not waiting:
            self.differ(f"a job in a container that the recording doesn't have: {key!r}")
            await for_ever()
        return await self._end(waiting)

    async def _end(self, waiting: deque[Exchange]) -> Record:
        """Return how the first one ended, once everything came in that came in before."""
        exchange = waiting.popleft()
        try:
            await self._fed_before(exchange.record["n"])
        except asyncio.CancelledError:
            waiting.appendleft(exchange)  # the hub is started again before: the next one asks this
            raise
        self.clock.set(exchange.record["at"])
        self._came(exchange.record["n"])
        end = exchange.end
        if end is None:
            await for_ever()
        if "cut" not in end:
            await self._fed_before(end["n"])
            self.clock.set(end["at"])
        return end

    def web_record(self, request: WebRequest) -> Record | None:
        """Return the record of a tool's web request; None, and stop the replay, for one that isn't there."""
        came = self._compared.normal(web_request_to_json(request))
        record = self._findings.web(came)
        if record is None:
            self.differ(f"a web request that the recording doesn't have: {came['method']} {came['url']}")
        return record

    def _differs_from_next(self, came: dict[str, Any]) -> None:
        expected = _first(self._asks)
        if self._cut_off(expected):
            return
        if expected is None:
            last = first_difference(None, came["conversation"][-1:])
            self.differ(f"a request to the model {came['model']} that the recording doesn't have ({last})")
            return
        number = expected.record["n"]
        where = first_difference(self._requests[number], came)
        self.differ(f"record {number}: the request to the model {came['model']} differs in {where}")

    def looked(self, what: str, tool: str, arguments: Arguments) -> Any:
        """Return the finding about a call; the last one from then on. Raises the recorded error."""
        call = self._compared.call(tool, plain_value(arguments))
        record = self._findings.look(what, call)
        if record is None:
            self.differ(other_call(call, None))
            raise StartError(f"the recording has no such call: {call}")
        if "error" in record:
            raise error_from_json(record["error"])
        return record["value"]

    def routine_begun(self, started: StartedRun) -> None:
        self._came(self._fired.pop((started.routine.id, started.run.key), 0))

    def routine_ended(self, started: StartedRun, end: RunEnd) -> None:
        came = self._compared.normal(routine_end(started, end))
        waiting = self._ran.get(sort_key(came["run"]))
        if not waiting:
            self.differ(f"a run of the routine {came['name']!r} that the recording doesn't have")
            return
        record = waiting.popleft()
        where = first_difference(
            [record["state"], self._compared.normal(record["text"])], [came["state"], came["text"]]
        )
        if where:
            self.differ(
                f"record {record['n']}: a run of the routine {came['name']!r} ended otherwise: {where}"
            )
        self._came(record["n"])

    def turn_event(self, thread_id: str, turn_id: str, event: TurnEvent) -> None:
        del thread_id
        match event:
            case RunStarted(kind=kind):
                run_kind.set(kind.value)
                run_id.set(turn_id)
            case RunEnded():
                self._comes()
                run_kind.set("")
            case Finished(text=text):
                self._turn_ended("finished", text)
            case Failed(text=text):
                self._turn_ended("failed", text)
            case _:
                pass

    def _turn_ended(self, result: str, text: str) -> None:
        def end(result: str, text: str) -> list[str]:
            return [result, self._compared.normal(text) if result == "finished" else ""]

        for record in self._turns:
            if end(record["result"], record["text"]) == end(result, text):
                self._turns.remove(record)
                self._came(record["n"])
                return
        expected = self._turns[0] if self._turns else {"n": "none", "result": "nothing", "text": ""}
        where = first_difference(end(expected["result"], expected["text"]), end(result, text))
        self.differ(f"record {expected['n']}: a turn ended otherwise: {where}")

    def posted(self, channel: str, to: Address, message: str, part: int, nonce: str) -> Posted:
        """Return where a message was shown; a new place if it wasn't."""
        record = self._findings.shown(channel, to, message, part)
        if record is not None:
            self._tell()
            return Posted(MessageRef(record["ref"]), record["order_key"])
        keys = [
            record["event"]["order_key"]
            for record in self._feed[: self._fed]
            if record["k"] == "in" and record["type"] == "InboundMessage" and record["event"]["address"] == to
        ]
        return Posted(MessageRef(f"replay:{nonce}"), f"{max(keys, default='')}~")


def _first(exchanges: Mapping[str, deque[Exchange]]) -> Exchange | None:
    kind = run_kind.get()
    left = (one for waiting in exchanges.values() for one in waiting if one.record["run"] == kind)
    return min(left, key=lambda one: one.record["n"], default=None)
