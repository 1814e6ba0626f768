"""One start of a job: its requests to the model, its call of `finish`, and its messages; and the plan in a
model's reply.

Refusals go back to the model. What people say joins between the rounds.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeGuard, cast
from zoneinfo import ZoneInfo

from core.clock import SECOND_US
from core.consent.rules import Autonomous, ScopeGrant
from core.errors import HubError, InvalidArguments
from core.gates import ConsentSettings
from core.job import JobPlan, JobRow, PlanStep
from core.lazy import dataclass
from core.messages import File, folded, quoted
from core.model.base import ModelReply, ModelRequest, ToolSpec
from core.runs.loop import Exhausted
from core.runs.metering import SpendingLimit
from core.runs.unattended import InForce, UnattendedRun, UnattendedServices, UnattendedStart, partial_result
from core.safety.fencing import FENCE_RULE, read_arguments
from core.store.units import patiently
from core.tools.builtin.attachments import sendable
from core.transcript import AssistantSaid, ResultStatus, ToolResult

MAX_OUTPUT_TOKENS = 4096
TESTS_CHARS = 3_000
MAX_LINES = 50
"""The number of artifacts, and of open points, that the end of a job lists."""
MAX_FILES = 10
"""The number of artifacts that are sent with the result."""
MAKES_FILES = frozenset({"write_file", "apply_patch", "shell", "save_attachment", "send_file"})
"""The tools of which a job needs one to send files with its result: it could have made them. They go to its
owner alone."""
NO_FILES = "No files are attached: the job has no tool that makes files."

FINISH = ToolSpec(
    "finish",
    "End the job with its result. Call it alone, once everything is done or nothing more can be done.",
    {
        "type": "object",
        "properties": {
            "result": {"type": "string", "description": "what was done and found, for the job's owner"},
            "artifacts": {
                "type": "array",
                "items": {"type": "string"},
                "description": "paths of the files that the owner should look at",
            },
            "open_points": {
                "type": "array",
                "items": {"type": "string"},
                "description": "what is not done, and why",
            },
        },
        "required": ["result"],
        "additionalProperties": False,
    },
)
"""The call that ends a job; plain words end it as well."""


class IterationsUsedUp(HubError):
    """Error for a job that has used up its rounds."""


@dataclass(frozen=True, slots=True)
class JobTerms:
    """The terms of one start of a job.

    `spending`: the rest of its budget, and of its routine's for the day. `timezone`: its owner's."""

    job: JobRow
    spending: tuple[SpendingLimit, ...]
    scope: Autonomous
    timezone: str


def granted_to(standing: ConsentSettings) -> tuple[ScopeGrant, ...]:
    """Return the grants that a job has now."""
    return tuple(ScopeGrant(tool, pattern) for tool, pattern in sorted(standing.own or ()))


class JobRun(UnattendedRun):
    """One start of a job, as the agentic loop's delegate."""

    def __init__(self, services: UnattendedServices, start: UnattendedStart, terms: JobTerms) -> None:
        super().__init__(services, start)
        self._spending = terms.spending
        self._scope = terms.scope
        self._timezone = terms.timezone
        self._artifacts: list[str] = []
        self._open_points: list[str] = []

    def _reserve(self, tokens: int) -> int:
        for limit in self._spending:
            tokens = limit.reserve(tokens)
        return tokens

    async def join_input(self) -> bool:
        store = self._services.store
        joined = await patiently(
            lambda: store.jobs.join_job_messages(self._start.run_id), self._services.clock
        )
        self._said.extend(joined)
        return bool(joined)

    async def at_limit(self, limit: Exhausted) -> None:
        del limit
        raise IterationsUsedUp(f"Maximum iterations exceeded ({self._start.rounds})")

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        return self._ending(await super().call_model(with_tools=with_tools))

    def _ending(self, reply: ModelReply) -> ModelReply:
        """Return a reply that calls finish as the last words it is."""
        finishing = [call for call in reply.calls if call.tool == FINISH.name]
        if not finishing:
            return reply
        others = tuple(call for call in reply.calls if call.tool != FINISH.name)
        if others:  # they come first, and the model ends the job once it knows their results
            return replace(reply, calls=others)
        self._offered = False  # these are its last words, also if they announce something
        given = _given(finishing[0].arguments)
        self._artifacts, self._open_points = _lines(given, "artifacts"), _lines(given, "open_points")
        said = reply.text or finishing[0].arguments
        return replace(reply, text=last_words(given, reply.text) if given else said, calls=())

    async def _in_force(self) -> InForce:
        services, start = self._services, self._start
        standing = await services.store.journal.run_standing(
            start.run_id, start.owner.user_id, start.consent_thread
        )
        workable = services.pipeline.workable(start.owner)
        return replace(self._scope, worker=workable, grants=granted_to(standing)), standing

    def heard(self, reply: ModelReply) -> None:
        """Note last words that a message of a person overtook: they are in the journal now."""
        self._said.append(AssistantSaid(reply.text, reply.origin))

    async def artifacts(self) -> tuple[tuple[File, ...], Sequence[str]]:
        """Return the files that the model named at its end, and why others can't be sent."""
        files: list[File] = []
        refused: list[str] = []
        pipeline = self._services.pipeline
        if not MAKES_FILES.intersection(*self._scope.scopes, pipeline.workable(self._start.owner)):
            return (), [NO_FILES] if self._artifacts else []
        workspace = pipeline.workspace_of(self._start.owner)
        for path in self._artifacts[:MAX_FILES]:
            try:
                files.append(await asyncio.to_thread(sendable, workspace, path))
            except HubError as error:
                refused.append(f"{quoted(path[:200])} is not attached: {error}")
        return tuple(files), refused

    @property
    def in_doubt(self) -> bool:
        """Whether the job names open points, or had a call that was refused or has an unknown outcome."""
        doubtful = {ResultStatus.DENIED, ResultStatus.UNKNOWN}
        calls = (one for one in self._said if isinstance(one, ToolResult))
        return bool(self._open_points) or any(call.status in doubtful for call in calls)

    def partial(self) -> str:
        """Return what the job has come to by now, from its journal."""
        return partial_result(self._said)

    def _request(self, *, with_tools: bool) -> ModelRequest:
        request = super()._request(with_tools=with_tools)
        if not with_tools:
            return request
        return replace(request, system=self._prompt(True), tools=(*request.tools, FINISH))

    def _prompt(self, with_tools: bool) -> str:
        moment = datetime.fromtimestamp(self._services.clock.now() / SECOND_US, ZoneInfo(self._timezone))
        owner = quoted(self._start.owner.name)
        tools = (
            "Only the tools on offer are available; don't repeat a refused call. Call finish with the result "
            "when you are done."
            if with_tools
            else "You can't use tools any more: say what was done and what is left."
        )
        alone = (
            f"You are working on a job for {owner} by yourself, in the background. There is no one to answer "
            f"questions or to approve anything; {owner} may send you messages meanwhile."
        )
        end = (
            f"Your last words are sent to {owner}. Never claim to have done something that no tool result "
            "shows, and say what is left undone."
        )
        now = f"It is {moment:%A, %Y-%m-%d %H:%M} ({folded(self._timezone)})."
        return f"{alone} {tools} {FENCE_RULE}\n\n{end}\n\n{now}"


def _given(arguments: str) -> Mapping[str, Any]:
    """Return the arguments of the call that ends a job; none if they can't be read."""
    try:
        return read_arguments(arguments)
    except HubError:
        return {}


def _lines(given: Mapping[str, Any], name: str) -> list[str]:
    listed = given.get(name)
    return [str(line) for line in cast("list[Any]", listed)[:MAX_LINES]] if isinstance(listed, list) else []


def last_words(given: Mapping[str, Any], said: str) -> str:
    """Return the end of a job that the model gave as a call."""
    parts = [str(given.get("result") or said or "Done.")]
    if tests := str(given.get("test_output") or "").strip():
        parts.append(f"Tests:\n```\n{tests[-TESTS_CHARS:]}\n```")
    for name, heading in (("artifacts", "Files"), ("open_points", "Not done")):
        if lines := _lines(given, name):
            parts.append("\n".join([f"{heading}:", *(f"- {line}" for line in lines)]))
    return "\n\n".join(parts)


# Jobs in containers.

FINISHED_BY_WORDS = (
    "`with-credential NAME COMMAND ARGUMENT…` runs a command with a secret of the person's in its "
    "environment, github-token as $GITHUB_TOKEN, if it is granted to this job; the person may be asked, "
    "which can take minutes; never print it. Say what was done and found when you are done."
)


@dataclass(frozen=True, slots=True)
class ContainedTerms:
    """Instructions on its place for the model of a job in a container. `owner`: a name; `egress`: the hosts,
    with ports, that are reached; `agent`: an agent CLI works."""

    owner: str
    timezone: str
    egress: Sequence[str]
    agent: bool


def contained_prompt(terms: ContainedTerms, now: int, *, with_tools: bool) -> str:
    """Return the instructions of a job in a container. `now`: microseconds UTC."""
    moment = datetime.fromtimestamp(now / SECOND_US, ZoneInfo(terms.timezone))
    owner = quoted(terms.owner)
    network = "There is no network, and no one to ask"
    if terms.egress:
        network = (
            f"The only network is https to {', '.join(terms.egress)}, by the proxy that HTTPS_PROXY "
            "names, and there is no one to ask"
        )
    alone = (
        f"You are working on a job for {owner} by yourself, in a container with a copy of a project in "
        f"the current directory. {network}; {owner} may send you messages "
        f"meanwhile. The real project changes only if {owner} accepts what you changed in the copy."
    )
    done = FINISHED_BY_WORDS if terms.agent else "Call finish with the result when you are done."
    tools = (
        f"Run the project's tests if there are any. {done}"
        if with_tools
        else "You can't use tools any more: say what was done and what is left."
    )
    end = "Never claim to have done something that no tool result shows, and say what is left undone."
    said = f"It is {moment:%A, %Y-%m-%d %H:%M} ({folded(terms.timezone)})."
    return f"{alone} {tools} {FENCE_RULE}\n\n{end}\n\n{said}"


def no_secret(name: str, owner: str, *, denied: bool) -> str:
    """Return why a job does not get a secret, for its model. `denied`: its owner said so."""
    if denied:
        told = f"{quoted(owner)} denied this job the secret {name}; go on"
    else:
        told = (
            f"This job has no grant for the secret {name}. {quoted(owner)} is asked with the result whether "
            "it may have it; go on"
        )
    return f"{told} without it, and say what is left undone."


def ending_of(reply: ModelReply) -> tuple[ModelReply, bool]:
    """Return a reply that calls finish as the last words it is, and whether it is that."""
    if reply.truncated or not any(call.tool == FINISH.name for call in reply.calls):
        return reply, False
    others = tuple(call for call in reply.calls if call.tool != FINISH.name)
    if others:  # they come first, and the model ends the job once it knows their results
        return replace(reply, calls=others), False
    given = _given(reply.calls[0].arguments) or {"result": reply.text or reply.calls[0].arguments}
    return replace(reply, text=last_words(given, reply.text), calls=()), True


# The plan of a job, as a model writes it.


NOT_AS_ASKED = "it does not have the form that was asked for"


class UnusablePlan(HubError):
    """Error for a plan that can't be carried out; the text says why."""


def read_plan(text: str) -> JobPlan:
    """Return the plan in a reply, which may stand in a block of code. Raises UnusablePlan."""
    first, last = text.find("{"), text.rfind("}")
    if first < 0 or last < first:
        raise UnusablePlan("it is not JSON")
    try:
        page = read_arguments(text[first : last + 1])
    except InvalidArguments as error:
        raise UnusablePlan("it is not valid JSON") from error
    goal, actions, confidence = (page.get(name) for name in ("goal", "actions", "confidence"))
    if not (goal and _is_text(goal) and isinstance(actions, list) and _is_share(confidence)):
        raise UnusablePlan(NOT_AS_ASKED)
    return JobPlan(_line(goal), tuple(map(_step, cast("list[Any]", actions))), float(confidence))


def _step(action: Any) -> PlanStep:
    given = cast("dict[str, Any]", action) if isinstance(action, dict) else {}
    tool, parameters = given.get("tool", given.get("tool_name")), given.get("parameters", {})
    reasoning = given.get("reasoning", "")
    if not (tool and _is_text(tool) and isinstance(parameters, dict) and _is_text(reasoning)):
        raise UnusablePlan(NOT_AS_ASKED)
    return PlanStep(tool, json.dumps(parameters, ensure_ascii=False), _line(reasoning))


def _is_text(value: Any) -> TypeGuard[str]:
    """Return whether it is a text that can be stored: JSON can also hold halves of characters."""
    return isinstance(value, str) and value.encode(errors="replace").decode() == value


def _is_share(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _line(text: str) -> str:
    return " ".join(text.split())
