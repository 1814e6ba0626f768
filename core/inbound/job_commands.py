"""The chat commands about jobs: `/job`, `/jobs`, `/status ID`, `/cancel ID`, `/prompt ID TEXT`.

Also the buttons of the messages about jobs, and replies to these."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.consent import card_texts
from core.gates import Grant, GrantScope
from core.ids import Ids
from core.job import WORKER, WORKING, JobRefused, JobRow, JobState
from core.jobs import notices
from core.messages import ChoiceAnswer, InboundMessage, plain
from core.store.accept import Verdict, refused
from core.store.effects import CancelJob, Effect, JudgeJob, RecordGrant, Say, ShowJobs, StartJob, TellJob
from core.users import Principal, Role

if TYPE_CHECKING:
    from core.jobs.dispatch import JobDispatcher

USAGES = {
    "job": "Type /job and what is to be done. /job --tools NAME,NAME gives it more tools; /job --sandbox lets"
    " it work in a container, /job --sandbox=DIRECTORY on that directory of the workspace; then --mode=NAME"
    " lets an agent CLI do it, and --image=NAME makes the container of that image.",
    "jobs": "/jobs takes no arguments; /status ID shows one job.",
    "status": "Type /status alone, or /status and the ID of a job.",
    "cancel": "Type /cancel and the ID of a job; /jobs lists them.",
    "prompt": "Type /prompt, the ID of a job, and your message.",
}
NO_JOBS = "Jobs are turned off in this hub."
TOOLS = "--tools"
SANDBOX = "--sandbox"
MODE = "--mode="
IMAGE = "--image="


def command(
    name: str, rest: str, key: str, dispatcher: "JobDispatcher | None", principal: Principal
) -> Verdict:
    """Handle a command about the person's jobs. `key`: of the event, which counts once."""
    if dispatcher is None:
        return refused("no jobs here", NO_JOBS)
    try:
        effect = _start(rest, key, dispatcher, principal) if name == "job" else _about(name, rest, key)
    except JobRefused as error:
        return refused("no job", str(error))
    if effect is None:
        return refused(f"/{name}: wrong arguments", USAGES[name])
    return Verdict(f"command: /{name}", (effect,))


def _start(rest: str, key: str, dispatcher: "JobDispatcher", principal: Principal) -> Effect | None:
    tools: Sequence[str] = ()
    project: str | None = None
    chosen: dict[str, str] = {}
    flag, _, task = rest.partition(" ")
    if flag.split("=")[0] == SANDBOX:
        project, rest = flag.partition("=")[2] or ".", task.strip()
        while (option := next((one for one in (MODE, IMAGE) if rest.startswith(one)), None)) is not None:
            flag, _, task = rest.partition(" ")
            chosen[option], rest = flag.removeprefix(option), task.strip()
    flag, *words = rest.split(maxsplit=2)[:3] or [""]
    if flag == TOOLS:
        if len(words) != 2:
            return None
        tools, rest = [tool for tool in words[0].split(",") if tool], words[1]
    if not rest:
        return None
    mode, image = chosen.get(MODE, WORKER), chosen.get(IMAGE)
    new = dispatcher.new(principal, rest, key=key, tools=tools, project=project, mode=mode, image=image)
    return StartJob(new, notices.progress)


def pressed(
    event: ChoiceAnswer,
    job: JobRow,
    dispatcher: "JobDispatcher | None",
    by: Principal,
    ids: Ids,
    now: int,
) -> Verdict:
    """Return the verdict on a press below a job's newest message, or below the one that shows it."""
    outcome = f"job {job.short_id}"
    if by.user_id != job.owner_id:
        return Verdict(f"refused: {outcome}", answer=notices.NOT_YOURS)
    monitors = event.gate_id == job.monitor_menu
    labels = notices.ACTIONS if monitors else notices.menu(job)
    on_offer = notices.offered(job) if monitors else range(len(labels))
    if event.choice not in on_offer:
        return Verdict(f"refused: {outcome}", answer=notices.outdated(job))
    label = labels[event.choice]
    match label:
        case notices.AGAIN | notices.RESTART:
            return _again(event, job, dispatcher, by, label)
        case notices.ALLOW:
            return _allowed(job, by, ids, now)
        case notices.CANCEL:
            cancel = CancelJob(job.id, lambda found: _cancelled(found, job.short_id))
            return Verdict(outcome, (cancel,), answer=label)
        case notices.DETAILS:
            show = ShowJobs(job.id, lambda found: _status(found, job.short_id))
            return Verdict(outcome, (show,), answer=label)
        case notices.SEND:
            tell = ShowJobs(job.id, lambda found: notices.how_to_tell(found[0]))
            return Verdict(outcome, (tell,), answer=label)
        case _:
            return judged(job, label, by)


def judged(job: JobRow, label: str, by: Principal) -> Verdict:
    """Return the verdict on "Accept" or "Reject" below a job's result, or the notice of its routine's run."""
    outcome = f"job {job.short_id}"
    if by.user_id != job.owner_id:
        return Verdict(f"refused: {outcome}", answer=notices.NOT_YOURS)
    if job.state is not JobState.SUBMITTED:
        return Verdict(f"refused: {outcome}", answer=notices.outdated(job))
    accepts = label == notices.ACCEPT
    to, word = (JobState.ACCEPTED, "Accepted") if accepts else (JobState.FAILED, "Rejected")
    judge = JudgeJob(job.id, to, f"{word} by {by.name}", notices.judged)
    return Verdict(outcome, (judge,), answer=label)


def _allowed(job: JobRow, by: Principal, ids: Ids, now: int) -> Verdict:
    """Return the verdict on "Allow for this job", which grants exactly the calls that the message showed.
    Given again, a grant replaces itself."""
    outcome = f"job {job.short_id}"
    if by.role is not Role.OWNER:
        return Verdict(f"refused: {outcome}", answer=card_texts.ONLY_OWNERS_ALLOW)
    new = card_texts.grants_offered(job.missing_grants)
    effects: list[Effect] = []
    for tool, _, pattern in (grant.partition(" ") for grant in new):
        grant = Grant(ids.row_id(), by.user_id, tool, pattern, GrantScope.THREAD, job.origin, by.user_id, now)
        effects.append(RecordGrant(grant))
    word = notices.allowed(job, new)
    return Verdict(outcome, (*effects, Say(plain(word))), answer=word)


def replied(event: InboundMessage, job: JobRow, dispatcher: "JobDispatcher | None", by: Principal) -> Verdict:
    """Return the verdict on a reply to the message that shows a job: a message to that job, as `/prompt`."""
    outcome = f"job {job.short_id}"
    if by.user_id != job.owner_id:
        return refused(outcome, notices.NOT_YOURS)
    if dispatcher is None:
        return refused("no jobs here", NO_JOBS)
    if event.attachments or not event.text.strip():
        return refused(outcome, notices.ONLY_WORDS)
    tell = TellJob(job.id, event.key, event.text.strip(), lambda found: _told(found, job.short_id))
    return Verdict(outcome, (tell,))


def _again(
    event: ChoiceAnswer, job: JobRow, dispatcher: "JobDispatcher | None", by: Principal, label: str
) -> Verdict:
    outcome = f"job {job.short_id}"
    if dispatcher is None:
        return Verdict(f"refused: {outcome}", answer=NO_JOBS)
    try:
        new = dispatcher.again(by, job, key=event.key)
    except JobRefused as error:
        return Verdict(f"refused: {outcome}", answer=str(error))
    return Verdict(outcome, (StartJob(new, notices.progress),), answer=label)


def _about(name: str, rest: str, key: str) -> Effect | None:
    named, *words = rest.split(maxsplit=1) or [""]
    match name, named, words:
        case "jobs", "", []:
            return ShowJobs(None, notices.listing)
        case "status", str(named), [] if named:
            return ShowJobs(named, lambda found: _status(found, named))
        case "cancel", str(named), [] if named:
            return CancelJob(named, lambda job: _cancelled(job, named))
        case "prompt", str(named), [text]:
            return TellJob(named, key, text, lambda job: _told(job, named))
        case _:
            return None


def _status(found: Sequence[JobRow], named: str) -> str:
    return notices.status(found[0]) if found else notices.unknown(named)


def _cancelled(job: JobRow | None, named: str) -> str:
    if job is None:
        return notices.unknown(named)
    return notices.cancelled(job) if job.state in WORKING else notices.over(job)


def _told(job: JobRow | None, named: str) -> str:
    return notices.unknown(named) if job is None else notices.told(job)
