"""Plans: the calls that a job begins with, made in order without the model in between.

One reply of the model is the plan. Each of its steps is journalled and judged as any call; the next one is
known by the calls in the journal. A person's message ends the plan. After the last step one question decides
whether the job is done; if it isn't, the usual rounds go on.
"""

import json
import re
from collections.abc import Callable, Sequence

from core.errors import ModelError
from core.job import MAX_PLAN_STEPS, JobPlan, PlanState
from core.jobs.job_run import FINISH, MAX_OUTPUT_TOKENS, JobRun, JobTerms
from core.model.base import CallRequest, ModelReply, ModelRequest, ToolSpec
from core.model.plan_reply import UnusablePlan
from core.names import quoted
from core.runs.unattended import UnattendedServices, UnattendedStart
from core.safety.fencing import FENCE_RULE
from core.store.units import patiently
from core.transcript import AssistantSaid, Note, Origin, ToolCalled, in_call_order
from core.usage import NOTHING_USED

ReadPlan = Callable[[str], JobPlan]
"""Reads a plan from a model's reply. Raises UnusablePlan."""

TEMPERATURE = 0.3
PLAN_TOKENS = 2048
ORIGIN = Origin("hub", "plan")
"""The origin of what the hub says in the model's place."""
WORDS_ONLY = "No usable plan, working without one: {reason}"
UNFINISHED = "Plan completed but job needs more work, continuing…"

ASK_PLAN = """Answer with a plan for this job as one JSON object and nothing else:
{"goal": "what the job is to achieve", "actions": [{"tool": "NAME", "parameters": {}, "reasoning": "why"}], \
"confidence": 0.8}
The actions run in order, each exactly as written; no result is seen in between. Use only the listed tools. \
confidence is between 0 and 1. If the job needs no tools, or later calls depend on earlier results, list \
only the actions that are certain, or none."""
ASK_COMPLETION = (
    "Every step of the plan was made. If the whole job is done, call finish with the result. If not, list "
    "only what is left to do, in words."
)


class PlannedRun(JobRun):
    """One start of a job that has a plan, or may begin with one."""

    def __init__(
        self,
        services: UnattendedServices,
        start: UnattendedStart,
        terms: JobTerms,
        read: ReadPlan | None,
    ) -> None:
        """Keep the parts. `read`: None if a job that has no plan is not asked for one."""
        super().__init__(services, start, terms)
        self._read, job = read, terms.job
        self._plan = job.plan if job.plan_state is PlanState.RUNNING else None
        begun = any(isinstance(one, AssistantSaid) for one in start.steps.said)
        self._asks = job.plan_state is None and not begun

    async def join_input(self) -> bool:
        joined = await super().join_input()
        if joined:
            self._plan = None  # the same transaction has ended it
        return joined

    async def call_model(self, *, with_tools: bool) -> ModelReply:
        planned = await self._planned() if with_tools else None
        return planned or await super().call_model(with_tools=with_tools)

    async def _planned(self) -> ModelReply | None:
        """Return the next step of the plan as a reply, or the last words after it; None without a plan."""
        if self._asks and self._read is not None:
            self._asks = False
            await self._judge_anew()
            await self._make_plan(self._read)
            await self.join_input()
        if self._plan is None:
            return None
        made = sum(isinstance(one, ToolCalled) for one in self._said)
        if made >= len(self._plan.steps):
            return await self._completion()
        await self._judge_anew()
        self._models.models.meter.hold(self._calls.take_reserved())  # given back with the step
        step = self._plan.steps[made]
        call = CallRequest("", step.tool, step.arguments, step.reasoning)
        return ModelReply("", (call,), NOTHING_USED, ORIGIN)

    # --- the plan --------------------------------------------------------------------------------------

    async def _make_plan(self, read: ReadPlan) -> None:
        pipeline, owner = self._services.pipeline, self._start.owner
        tools = pipeline.offered(owner, self._standing.disabled, self._mode)
        try:
            reply = await self._ask(
                ModelRequest(
                    system=self._planner(tools),
                    conversation=(*in_call_order(self._said), Note(ASK_PLAN)),
                    max_output_tokens=PLAN_TOKENS,
                    temperature=TEMPERATURE,
                )
            )
            if reply.truncated:
                raise UnusablePlan("it is too long")
            plan = read(reply.text)
            self._require_runnable(plan, {tool.name for tool in tools})
        except ModelError:
            await self._end_plan(WORDS_ONLY.format(reason="the model did not answer"))
        except UnusablePlan as error:
            await self._end_plan(WORDS_ONLY.format(reason=error))
        else:
            said, jobs, models = (
                AssistantSaid(_shown(plan), ORIGIN),
                self._services.store.jobs,
                self._run.trace(),
            )
            await patiently(
                lambda: jobs.begin_plan(self._start.run_id, plan, said, models), self._services.clock
            )
            self._run.kept(models)
            self._said.append(said)
            self._plan = plan

    def _require_runnable(self, plan: JobPlan, offered: set[str]) -> None:
        for step in plan.steps:
            if step.tool not in offered:
                raise UnusablePlan(f"{quoted(step.tool[:64])} is not available to this job")
        # The rounds after the last step are for the question whether the job is done.
        most = min(MAX_PLAN_STEPS, self._start.rounds - 1)
        if not plan.steps:
            raise UnusablePlan("it has no steps")
        if len(plan.steps) > most:
            raise UnusablePlan(f"it has {len(plan.steps)} steps, and at most {most} are allowed")

    async def _completion(self) -> ModelReply | None:
        """Ask whether the job is done after its plan. Return its last words; None if work is left."""
        reply = await self._ask(
            ModelRequest(
                system=self._prompt(True),
                conversation=(*in_call_order(self._said), Note(ASK_COMPLETION)),
                tools=(FINISH,),
                max_output_tokens=MAX_OUTPUT_TOKENS,
            )
        )
        self._offered = False
        if {call.tool for call in reply.calls} == {FINISH.name}:
            return self._ending(reply)
        if not reply.calls and not reply.truncated and says_complete(reply.text):
            return reply
        left = reply.text.strip() or "see what the results show."
        await self._end_plan(UNFINISHED, Note(f"Remaining work: {left}"))
        return None

    async def _ask(self, request: ModelRequest) -> ModelReply:
        self._models.models.meter.hold(self._calls.take_reserved())
        return await self._models.reply(request, self._reserve)

    async def _end_plan(self, status: str, note: Note | None = None) -> None:
        self._plan = None
        jobs, models = self._services.store.jobs, self._run.trace()
        await patiently(lambda: jobs.end_plan(self._start.run_id, status, models, note), self._services.clock)
        self._run.kept(models)
        if note is not None:
            self._said.append(note)

    def _planner(self, tools: Sequence[ToolSpec]) -> str:
        owner = quoted(self._start.owner.name)
        listed = "\n".join(
            f"- {tool.name}: {tool.description} Parameters: {json.dumps(dict(tool.parameters))}"
            for tool in tools
        )
        alone = (
            f"You are planning a job for {owner}, which you will carry out by yourself, in the background. "
            "There is no one to answer questions or to approve anything."
        )
        return f"{alone} {FENCE_RULE}\n\nTools:\n{listed}"


def _shown(plan: JobPlan) -> str:
    steps = [f"{number}. {step.tool}: {step.reasoning}" for number, step in enumerate(plan.steps, start=1)]
    return "\n".join([f"Plan: {plan.goal}", f"Confidence: {plan.confidence:.0%}", *steps])


_UNDONE = re.compile(
    r"\b(?:not|isn.t|aren.t|never|un|hasn.t|haven.t)(?: (?:yet|been|be|fully|all|entirely))*[ -]?"
    r"(?:complete|completed|done|finished)\b"
    r"|\bincomplete\b|\bnot yet\b|\bonce\b|\bwhen\b|\bstill\b|\bremain(?:s|ing)?\b|\bexcept\b",
)
_DONE = re.compile(
    r"\b(?:job|task|work|everything|all(?: the)? (?:steps|tasks)) (?:is|are|was|were|has been|have been)"
    r"(?: now| all| fully)? (?:complete|completed|done|finished)\b"
    r"|\b(?:i have|i.ve|have) (?:successfully |now )?(?:completed|finished)\b"
    r"|\bsuccessfully completed\b|\ball done\b",
)


def says_complete(text: str) -> bool:
    """Return whether a reply clearly says that the whole job is done. Any doubt in it counts as no."""
    said = " ".join(text.lower().split())
    return _DONE.search(said) is not None and _UNDONE.search(said) is None
