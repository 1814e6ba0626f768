"""The words about jobs: for their owners, and as data for the chat's model.

The monitor keeps the message that shows each job up to date. The newest state counts: the next change
replaces one that was not sent yet. Senders send these changes seldom, and after everything else (see
`OutboxRow.paced`). It also sends the messages about ends once the quiet hours that held them back are over.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.clock import SECOND_US, Clock
from core.consent.card_texts import grants_offered
from core.errors import StoreUnavailable
from core.job import WORKING, JobRow, JobState
from core.messages import Block, Choice, Markdown, Message, Plain, quoted
from core.runs.unattended import remarks_of
from core.runs.unseen_models import missing_blocks
from core.safety.fencing import fence_tool_output
from core.store.routine_rows import RunSteps
from core.store.units import committed

if TYPE_CHECKING:
    from core.clock import Timers
    from core.ports import OutboxListener
    from core.store.feed import Changes
    from core.store.unattended_port import JobMonitors

logger = logging.getLogger(__name__)

_ICONS = {
    JobState.IN_PROGRESS: "⏳",
    JobState.STUCK: "⏳",
    JobState.COMPLETED: "✅",
    JobState.SUBMITTED: "📝",
    JobState.ACCEPTED: "✅",
    JobState.FAILED: "❌",
}
RESULT_FOR_MODEL_CHARS = 8_000
PLAN_CHARS = 200
"""The limit on what the message that shows a job says of its plan."""


ACCEPT, REJECT, AGAIN = "Accept", "Reject", "Do it again"
ALLOW = "Allow for this job"
MISSING = f"These calls need your approval. “{ALLOW}” lets the job do exactly this when it is done again:"
MISSING_TOO_LONG = "Some calls were refused that don't fit here. `hubbub jobs show` lists each of them."
CANCEL, DETAILS, SEND, RESTART = "Cancel", "Details", "Send message", "Restart"
ACTIONS = (CANCEL, DETAILS, SEND, ACCEPT, REJECT, DETAILS, RESTART, DETAILS)
"""The buttons of the message that shows a job. Each has one position for good, so that an outdated button is
recognized."""
NOT_YOURS = "This is another person's job."
FOR_REVIEW = (
    "Waiting for you: accept or reject below the result, in the console under Jobs, or with `hubbub jobs"
    " accept ID` and `hubbub jobs reject ID`."
)
ONLY_WORDS = "A job hears text only. Nothing was sent to it."


def menu(job: JobRow) -> tuple[str, ...]:
    """Return the buttons below a job's newest message. One that was refused calls can be allowed to make
    them."""
    allow = (ALLOW,) if grants_offered(job.missing_grants) else ()
    match job.state:
        case JobState.SUBMITTED:
            return (ACCEPT, REJECT, *allow)
        case JobState.FAILED | JobState.CANCELLED:
            return (AGAIN, *allow)
        case JobState.COMPLETED if allow:
            return (AGAIN, *allow)
        case _:
            return ()


def offered(job: JobRow) -> range:
    """Return the positions in ACTIONS of the buttons that a job's message has now."""
    if job.state in WORKING:
        return range(3)
    return range(3, 6) if job.state is JobState.SUBMITTED else range(6, 8)


def progress(job: JobRow) -> Message:
    """Return the message that shows a job. It stays the same until a person would notice a change."""
    if job.state is JobState.PENDING:
        text = created(job)
    else:
        state = job.state.value.replace("_", " ")
        heading = f"{_ICONS.get(job.state, '')} Job “{job.title}” is {state}.".strip()
        plan = () if job.plan is None else (f"Plan: {job.plan.goal[:PLAN_CHARS]} ({job.plan.percent})",)
        text = "\n".join([heading, *plan, " · ".join(_facts(job)), f"ID: {job.short_id}"])
    positions = offered(job)
    labels = (ACTIONS[position] for position in positions)
    choices = tuple(Choice(label, writes=label == SEND) for label in labels)
    return Message((Plain(text),), choices, job.monitor_menu, first_choice=positions.start)


def _facts(job: JobRow) -> list[str]:
    facts = [f"round {job.rounds} of {job.budget.iterations}"] if job.rounds else []
    if job.last_tool:
        facts.append(f"last tool {job.last_tool}")
    facts.append(f"{job.input_tokens + job.output_tokens:,} tokens")
    if job.cost_micro_usd:
        facts.append(f"${job.cost_micro_usd / 1_000_000:,.4f}")
    until = job.active_at if job.ended_at is None else job.ended_at
    if job.started_at is not None and until is not None:
        facts.append(in_words(max(0, until - job.started_at) // SECOND_US))
    return facts


def in_words(seconds: int) -> str:
    """Return a duration in words."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def how_to_tell(job: JobRow) -> str:
    """Return how a person sends a job a message."""
    how = f"Reply to the message that shows it, or type /prompt {job.short_id} and your message."
    return f"{how} Job “{job.title}” hears it before its next step."


def outdated(job: JobRow) -> str:
    """Return the answer to a button that a job no longer has."""
    return f"Job {job.short_id} is {job.state.value} now."


def _with_menu(job: JobRow, blocks: tuple[Block, ...], menu_id: str) -> Message:
    choices = tuple(map(Choice, menu(job)))
    if choices:
        blocks = (*blocks, *missing_blocks(job.missing_grants, MISSING, MISSING_TOO_LONG))
    return Message(blocks, choices, menu_id) if choices else Message(blocks)


def judged(job: JobRow, menu_id: str) -> Message:
    """Return the answer to a person who accepted or rejected a job."""
    if job.state is JobState.SUBMITTED:
        return Message((Plain(f"Job {job.short_id}: its changes are being made in the project."),))
    word = "accepted" if job.state is JobState.ACCEPTED else "rejected"
    return _with_menu(job, (Plain(f"Job {job.short_id} “{job.title}” is {word}."),), menu_id)


def ended(job: JobRow, steps: RunSteps, menu_id: str) -> tuple[Message, str]:
    """Return the message about a job's end, and the note for the model of its conversation. `menu_id`: of
    its buttons."""
    heading = f"{_ICONS.get(job.state, '')} Job {job.short_id} “{job.title}” {job.state.value}".strip()
    parts: list[str] = []
    if job.state is JobState.FAILED:
        parts.append(f"{job.reason.rstrip('.')}.")
    if job.result:
        parts.append(job.result)
    if remarks := remarks_of(steps):
        parts.append("\n".join(f"- {remark}" for remark in remarks))
    text = "\n\n".join(parts)
    blocks: tuple[Block, ...] = (Plain(heading), Markdown(text)) if text else (Plain(heading),)
    told = fence_tool_output(f"job {job.short_id}", text[:RESULT_FOR_MODEL_CHARS])
    about = f"Job {job.short_id} {quoted(job.title)} is {job.state.value}. Its result:\n{told}"
    return _with_menu(job, blocks, menu_id), about


def allowed(job: JobRow, grants: Sequence[str]) -> str:
    """Acknowledge a press that gave a job grants."""
    return f"Job {job.short_id} may do this when it is done again: {'; '.join(grants)}"


def line(job: JobRow) -> str:
    """Return a job on one line."""
    return f"{job.short_id} {job.state.value}: {job.title}"


def listing(jobs: Sequence[JobRow]) -> str:
    """Return a person's jobs, a line each, first the ones that wait for them."""
    if not jobs:
        return "You have no jobs. Start one with /job and what is to be done."
    waiting = [job for job in jobs if job.state is JobState.SUBMITTED]
    rest = "\n".join(line(job) for job in jobs if job.state is not JobState.SUBMITTED)
    if not waiting:
        return rest
    return "\n\n".join(filter(None, ("\n".join([FOR_REVIEW, *map(line, waiting)]), rest)))


def status(job: JobRow) -> str:
    """Return the state of a job: its rounds, last tool and usage."""
    tokens = job.input_tokens + job.output_tokens
    lines = [
        f"Job {job.short_id} “{job.title}” is {job.state.value}.",
        f"Rounds: {job.rounds} of {job.budget.iterations}; tokens: {tokens}.",
    ]
    if job.last_tool:
        lines.append(f"Last tool: {job.last_tool}.")
    if job.reason and job.state in {JobState.FAILED, JobState.STUCK, JobState.CANCELLED}:
        lines.append(f"Reason: {job.reason}")
    if job.result:
        lines += ["", job.result]
    return "\n".join(lines)


def created(job: JobRow) -> str:
    """Return the confirmation of a new job."""
    return f"Created job: {job.title}\nID: {job.short_id}"


def unknown(named: str) -> str:
    """Return the refusal of a job that the person does not have, whoever else may."""
    return f"You have no job {quoted(named[:40])}. /jobs lists yours."


def cancelled(job: JobRow) -> str:
    """Return the confirmation that a job was cancelled."""
    return f"Job {job.short_id} is cancelled."


def over(job: JobRow) -> str:
    """Return the refusal to cancel a job that has ended."""
    return f"Job {job.short_id} is {job.state.value}; there is nothing to cancel."


def told(job: JobRow) -> str:
    """Return the confirmation that a job was given a message."""
    return f"Job {job.short_id} hears it before its next step."


# The monitor.

CHANGE_EVERY_S = 3.0
"""The minimum time between two changes of one job's message."""
NOTICES = "jobs.notices"
"""The timer of messages that quiet hours hold back."""


class JobMonitor:
    """Implements core.store.feed.ChangeListener."""

    def __init__(
        self, monitors: "JobMonitors", listener: "OutboxListener", clock: Clock, timers: "Timers"
    ) -> None:
        self._monitors = monitors
        self._listener = listener
        self._clock = clock
        self._timers = timers
        self._watched: set[str] = set()
        self._changed: set[str] = set()
        self._met = False
        self._news = asyncio.Event()
        self._news.set()

    def changed(self, changes: "Changes") -> None:
        # A job's id is also that of the thread with its journal.
        self._watched |= changes.jobs
        self._changed |= changes.jobs | (changes.threads & self._watched)
        if self._changed:
            self._news.set()

    async def run(self) -> None:
        """Show the jobs until cancelled, first those that an earlier hub left out of date."""
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                try:
                    await self._show()
                    await self._tell_held()
                except StoreUnavailable as error:
                    logger.warning("job.show_failed error=%s", error)
                    self._news.set()
                await self._clock.sleep(CHANGE_EVERY_S)
        finally:
            self._timers.cancel(NOTICES)

    async def _tell_held(self) -> None:
        """Send the messages whose quiet hours are over, and come back for the next one."""
        now, due_at = self._clock.now(), await self._monitors.next_job_notice()
        if due_at is not None and due_at <= now:
            await committed(self._monitors.send_job_notices(now), self._listener.outbox_ready)
            due_at = await self._monitors.next_job_notice()
        if due_at is not None:
            self._timers.at(NOTICES, due_at, self._wake)

    async def _wake(self) -> None:
        self._news.set()

    async def _show(self) -> None:
        if not self._met:
            self._watched.update(left := await self._monitors.jobs_to_show())
            self._changed.update(left)
            self._met = True
        changed, self._changed = self._changed, set()
        try:
            shown = await self._monitors.show_jobs(tuple(changed), progress)
        except StoreUnavailable:
            self._changed |= changed
            raise
        self._watched -= shown.over - self._changed
        if shown.later:
            self._changed |= shown.later
            self._news.set()
        self._listener.outbox_ready(shown.outbox)
