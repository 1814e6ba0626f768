"""The hub's side of a worker in a container: its model, its journal, and the messages of people.

A worker can't be trusted: what it runs may speak in its place. It names itself by a token, asks for one thing
after the other, and gets no more than its job may have. The conversation is the journal in the store, which
the worker never sends; keys of providers and other people's work are nowhere in its reach. An answer is
stored, with its effect, before it is given, so that a repeated request is answered as it was the first time.
"""

import asyncio
import contextlib
import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.clock import SECOND_US, Clock
from core.consent.cards import open_card, secret_gate
from core.errors import HubError, InvalidArguments, StaleTurn, StoreError, VaultError
from core.ids import OWN_SECRET, Ids, is_secret_name
from core.job import WORKER
from core.jobs.job_run import (
    MAX_OUTPUT_TOKENS,
    ContainedTerms,
    IterationsUsedUp,
    contained_prompt,
    ending_of,
    no_secret,
)
from core.model.base import CallRequest, ModelRequest
from core.off_loop import off_loop
from core.ports import OutboxListener, OutboxRow
from core.runs.metering import SpendingLimit
from core.runs.registry import Run
from core.runs.unseen_models import UnseenRun
from core.safety.fencing import fence_tool_output, head_and_tail, read_arguments, sanitise
from core.safety.leaks import SHORTEST_KNOWN, LeakDetector
from core.sandbox.provider_wire import OUTPUT_TOKENS, objects_in, read_request
from core.sandbox.worker import FINISH, SPECS
from core.store.codecs import encode
from core.store.container_port import (
    CREDENTIAL,
    AskedForCredential,
    AskedForMessages,
    CallEnded,
    ContainerRequests,
    Noted,
    OutOfOrder,
    Replied,
    RequestEffect,
    SaidComplete,
    StartedContainer,
    Told,
)
from core.store.rows import CallState, NewCall
from core.store.units import committed, patiently
from core.tool import Effect
from core.transcript import (
    AssistantSaid,
    Note,
    Origin,
    ResultStatus,
    Said,
    ToolCalled,
    ToolResult,
    UserSaid,
    in_call_order,
)

MAX_REQUEST_BYTES = 1_000_000
MAX_AGENT_REQUEST_BYTES = 8_000_000
"""An agent sends its whole conversation with each call of a model."""
RESULT_CHARS = 30_000
NOTE_CHARS = 2_000
TOOL_CHARS = 64
CALLS_LIMIT = 100
AGENT = "agent"
"""What the journal names as the origin of what an agent said: the hub has it from the container."""
DECISION_LIMIT_US = 900 * SECOND_US
"""How long a request for a secret waits for a person, who has half of the job's remaining time at most:
the rest is for going on without it."""
LOOK_AGAIN_S = 0.5
ASKED_CHARS = 600
"""How much of the call that needs a secret is shown."""
NO_MORE = "this hub answers no more"
ENDED = encode({"ended": True})
"""The answer to a worker whose job has ended. It is not stored: there is nothing more to be answered."""


class NotTheWorker(HubError):
    """Error for a request without the token of the job, or after its end."""


class BadRequest(HubError):
    """Error for a request that is none of a worker's."""


def hash_of(token: str) -> str:
    """Return what the store knows of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class SessionServices:
    """The services of every session."""

    containers: ContainerRequests
    clock: Clock
    ids: Ids
    leaks: LeakDetector
    secret: Callable[[str], Awaitable[str]]
    """Returns the secret of that name. Raises VaultError."""
    outbox: OutboxListener


class JobSession:
    """The requests of one job's worker, one at a time.

    `over`: set once the worker said that its work is done, or the job failed. `failure`: why it did."""

    def __init__(
        self,
        services: SessionServices,
        job: StartedContainer,
        run: Run,
        models: UnseenRun,
        spending: Sequence[SpendingLimit],
        timezone: str,
        egress: Sequence[str],
    ) -> None:
        self._services = services
        self._job = job.job
        self._owner = job.owner
        self._run = run
        self._models = models
        self._spending = spending
        self._agent = job.row.mode != WORKER
        self._terms = ContainedTerms(job.owner.name, timezone, egress, self._agent)
        self._ends_at = services.clock.now() + round(job.job.budget.timeout_s * SECOND_US) - job.spent_us
        self._said: list[Said] = list(job.steps.said)
        open_calls = (call for call in job.steps.calls if call.state is not CallState.ENDED)
        self._open = {call.call_id: call.tool for call in open_calls}
        self._rounds = self._job.rounds
        self._token_hash = job.row.token_hash
        self._last_seq = job.row.last_seq
        self._closed = False
        self._asking = asyncio.Lock()
        self._working: asyncio.Task[Any] | None = None
        self.over = asyncio.Event()
        self.failure: HubError | None = None
        if job.row.complete:
            self.over.set()

    @property
    def max_request_bytes(self) -> int:
        """The longest request that is read."""
        return MAX_AGENT_REQUEST_BYTES if self._agent else MAX_REQUEST_BYTES

    @property
    def begun(self) -> bool:
        """Whether the worker has asked for anything yet."""
        return self._last_seq > 0

    @property
    def last_words(self) -> str:
        """What the model said last."""
        said = (one.text for one in reversed(self._said) if isinstance(one, AssistantSaid) and one.text)
        return next(said, "").strip()

    @property
    def journal(self) -> Sequence[Said]:
        """The journal of the job."""
        return self._said

    def armed(self, token_hash: str) -> None:
        """Answer the worker that knows this token, and no other."""
        self._token_hash = token_hash

    def close(self) -> None:
        """Answer nothing more, and stop the answer that is being made."""
        self._closed = True
        self._token_hash = None
        if self._working is not None:
            self._working.cancel()

    async def answer(self, token: str, body: bytes) -> str:
        """Return the answer to a request as JSON. Raises NotTheWorker, BadRequest, OutOfOrder, StoreError."""
        if self._closed:  # the next hub answers, or the container is removed
            raise StoreError(NO_MORE)
        known = self._token_hash
        if known is None or not hmac.compare_digest(known, hash_of(token)):
            raise NotTheWorker("this is not the token of the job")
        seq, asked = await off_loop(len(body), lambda: _read(body))
        async with self._asking:
            stored = await self._services.containers.answer_to(self._job.id, seq)
            if stored is not None:
                return await self._with_credential(asked, stored)
            if self._token_hash is None or self.over.is_set():
                return ENDED
            if seq != self._last_seq + 1:
                raise OutOfOrder(f"request {seq} is not the next one")
            self._working = asyncio.current_task()
            try:
                return await self._with_credential(asked, await self._answered(seq, asked))
            except asyncio.CancelledError:
                if not self._closed:
                    raise
                raise StoreError(NO_MORE) from None
            finally:
                self._working = None

    async def recall(self) -> None:
        """Find the secrets that the job was given by earlier hubs, in all that it says."""
        for name in await self._services.containers.credentials_given(self._job.id):
            with contextlib.suppress(VaultError):
                self._services.leaks.learn([await self._services.secret(name)])

    async def _with_credential(self, asked: Mapping[str, Any], answer: str) -> str:
        """Return the answer with the secret that it grants, which is nowhere stored with it."""
        said: dict[str, Any] = json.loads(answer) if asked.get("kind") == CREDENTIAL else {}
        if "granted" not in said:
            return answer
        name = str(said["credential"])
        problem = no_secret(name, self._owner.name, denied="denied" in said)
        if said["granted"] and name in await self._services.containers.granted_credentials(self._job.id):
            try:
                value = await self._services.secret(name)
            except VaultError as error:
                problem = str(error)
            else:
                problem = f"The secret {name} is too short to be kept out of what the job says."
                if len(value) >= SHORTEST_KNOWN:
                    self._services.leaks.learn([value])
                    return encode({**said, "value": value})
        return encode({"credential": name, "problem": problem})

    async def _decided(self, name: str) -> None:
        """Wait until a person has decided whether the job may have a secret, if anyone is to be asked."""
        services, job = self._services, self._job
        if job.routine_id is not None or name in await services.containers.granted_credentials(job.id):
            return
        try:
            await services.secret(name)
        except VaultError:
            return  # there is nothing to be given
        at = (one for one in self._said if isinstance(one, ToolCalled) and one.call_id in self._open)
        calls = services.leaks.redacted(sanitise("\n".join(f"{one.tool} {one.arguments}" for one in at)))
        now = services.clock.now()
        left_us = min(DECISION_LIMIT_US, max(0, (self._ends_at - now) // 2))
        shown, _ = head_and_tail(calls, ASKED_CHARS)
        gate = secret_gate(job, name, shown, self._terms.egress, now, left_us, services.ids)

        async def ask() -> Sequence[OutboxRow]:
            return await services.containers.ask_for_credential(gate, open_card(gate))

        await committed(patiently(ask, services.clock), services.outbox.outbox_ready)
        while await services.containers.is_asked_for(job.id, name):
            await services.clock.sleep(LOOK_AGAIN_S)

    async def _answered(self, seq: int, asked: Mapping[str, Any]) -> str:
        try:
            effect = await self._effect(asked)
            job_id, containers = self._job.id, self._services.containers
            done = await patiently(
                lambda: containers.answer_request(job_id, seq, effect), self._services.clock
            )
        except (BadRequest, OutOfOrder, StoreError) as error:
            if not isinstance(error, StaleTurn):
                raise
            return ENDED
        except HubError as error:
            self.failure = error
            self.over.set()
            return ENDED
        self._last_seq = seq
        self._note(effect)
        self._said.extend(done.joined)
        if isinstance(effect, SaidComplete) and json.loads(done.answer)["over"]:
            self.over.set()
        return done.answer

    def _note(self, effect: RequestEffect) -> None:
        """Keep in memory what the store has now."""
        match effect:
            case Replied(said, calls, models, _):
                self._run.kept(models)
                self._said.append(said)
                self._said.extend(ToolCalled(call.call_id, call.tool, call.arguments) for call in calls)
                self._open |= {call.call_id: call.tool for call in calls}
                self._rounds += bool(calls) and not self._agent  # whose rounds are its calls of the model
            case CallEnded(result):
                self._said.append(result)
                self._open.pop(result.call_id, None)
            case Noted(text):
                self._said.append(Note(text))
            case Told(_, models, calls):
                self._rounds += calls
                if models is not None:
                    self._run.kept(models)
            case _:
                pass

    async def _effect(self, asked: Mapping[str, Any]) -> RequestEffect:
        """Return the effect of a request; for a model's reply, make the call."""
        match asked:
            case {"kind": "model", "tools": bool(with_tools)}:
                return await self._reply(with_tools=with_tools)
            case {
                "kind": "result",
                "call": str(call_id),
                "status": "ok" | "error" as status,
                "text": str(text),
            }:
                tool = self._open.get(call_id)
                if tool is None:
                    raise BadRequest("there is no such call without a result")
                clean = await off_loop(len(text), lambda: self._cleaned(tool, text))
                return CallEnded(ToolResult(call_id, ResultStatus(status), clean))
            case {"kind": "note", "text": str(text)}:
                return Noted(self._services.leaks.redacted(sanitise(text[:NOTE_CHARS])))
            case {"kind": "messages"}:
                return AskedForMessages(texts=self._agent and asked.get("texts") is True)
            case {"kind": "complete"}:
                return SaidComplete()
            case {"kind": "credential", "name": str(name)}:
                if not is_secret_name(name) or name.startswith(OWN_SECRET):
                    raise BadRequest("there is no such secret")
                await self._decided(name)
                return AskedForCredential(name)
            case _ if self._agent:
                return await self._effect_of_agent(asked)
            case _:
                raise BadRequest("this is no request of a worker")

    async def _effect_of_agent(self, asked: Mapping[str, Any]) -> RequestEffect:
        """Return the effect of a request that only agent CLIs make."""
        match asked:
            case {"kind": "task"}:
                said = next((one.text for one in self._said if isinstance(one, UserSaid)), "")
                return Told(encode({"text": said}))
            case {"kind": "said", "text": str(text)}:
                calls = objects_in(asked.get("calls"))
                return await off_loop(len(text), lambda: self._reported(text, calls))
            case {"kind": "reply", "max_tokens": int(most)}:
                try:
                    request = await asyncio.to_thread(read_request, asked, self._services.leaks)
                except InvalidArguments as error:
                    raise BadRequest(str(error)) from error
                return await self._proxied(request, most)
            case _:
                raise BadRequest("this is no request of an agent")

    def _reported(self, text: str, listed: Sequence[Mapping[str, Any]]) -> Replied:
        """Return what an agent says it said, and the calls it says it makes of its own tools."""
        leaks, ids = self._services.leaks, self._services.ids
        calls = tuple(
            NewCall(
                ids.row_id(),
                sanitise(str(call.get("tool")))[:TOOL_CHARS],
                leaks.redacted(sanitise(str(call.get("arguments")))[:RESULT_CHARS]),
                Effect.NONE,  # none on the host
                max(1, self._rounds),
            )
            for call in listed[:CALLS_LIMIT]
        )
        said = AssistantSaid(leaks.redacted(sanitise(text[:RESULT_CHARS])), Origin(AGENT, self._job.mode))
        answer = encode({"calls": [call.call_id for call in calls]})
        return Replied(said, calls, self._run.trace(), answer)

    def _cleaned(self, tool: str, text: str) -> str:
        within, _ = head_and_tail(text, RESULT_CHARS)
        return fence_tool_output(tool, self._services.leaks.redacted(sanitise(within)))

    # --- the model -------------------------------------------------------------------------------------

    async def _reply(self, *, with_tools: bool) -> Replied:
        """Call the model on the journal, within the job's limits and budgets."""
        most = self._job.budget.iterations
        if self._rounds >= most:
            raise IterationsUsedUp(f"Maximum iterations exceeded ({most})")
        if self._open:
            raise BadRequest("calls have no results yet")
        request = ModelRequest(
            system=self._prompt(with_tools),
            conversation=tuple(in_call_order(self._said)),
            tools=(*SPECS, FINISH) if with_tools else (),
            max_output_tokens=MAX_OUTPUT_TOKENS,
        )
        reply = await self._models.reply(request, self._reserve)
        reply, finished = ending_of(reply)
        calls = () if reply.truncated or not with_tools else tuple(map(self._intent, reply.calls))
        given = [{"id": call.call_id, "tool": call.tool, "arguments": call.arguments} for call in calls]
        if reply.truncated:  # the worker is told that there were some; none runs
            given = [{"id": "", "tool": call.tool[:TOOL_CHARS], "arguments": ""} for call in reply.calls]
        answer = {"text": reply.text, "calls": given, "stop": reply.stop.value, "finished": finished}
        said = AssistantSaid(reply.text, reply.origin)
        return Replied(said, calls, self._run.trace(), encode(answer))

    async def _proxied(self, request: ModelRequest, most: int) -> Told:
        """Make the call of a model that an agent asks for, by the hub's models, within the job's limits."""
        if self._rounds >= self._job.budget.iterations:
            raise IterationsUsedUp(f"Maximum iterations exceeded ({self._job.budget.iterations})")
        system = f"{request.system}\n\n{self._prompt(True)}"
        tokens = max(1, min(most, OUTPUT_TOKENS))
        reply = await self._models.reply(
            replace(request, system=system, max_output_tokens=tokens), self._reserve
        )
        calls = () if reply.truncated else reply.calls
        answer = {
            "text": reply.text,
            "calls": [
                {"id": self._services.ids.row_id(), "tool": call.tool, "arguments": call.arguments}
                for call in calls
            ],
            "stop": reply.stop.value,
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
        }
        return Told(encode(answer), self._run.trace(), bool(calls))

    def _prompt(self, with_tools: bool) -> str:
        return contained_prompt(self._terms, self._services.clock.now(), with_tools=with_tools)

    def _reserve(self, tokens: int) -> int:
        for limit in self._spending:
            tokens = limit.reserve(tokens)
        return tokens

    def _intent(self, call: CallRequest) -> NewCall:
        return NewCall(
            self._services.ids.row_id(),
            call.tool[:TOOL_CHARS],
            call.arguments,
            Effect.NONE,  # none on the host
            self._rounds + 1,
        )


def _read(body: bytes) -> tuple[int, Mapping[str, Any]]:
    try:
        asked = read_arguments(body.decode())
    except (HubError, UnicodeDecodeError) as error:
        raise BadRequest("this is not JSON") from error
    seq = asked.get("seq")
    if not isinstance(seq, int) or isinstance(seq, bool) or not 0 < seq < 1 << 31:
        raise BadRequest("a request has a number")
    return seq, asked
