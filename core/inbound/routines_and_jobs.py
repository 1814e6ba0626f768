"""Routines and jobs in chat: messages that fire routines, presses on notices, replies to jobs, and the
commands `/job`, `/jobs`, `/status ID`, `/cancel ID` and `/prompt ID TEXT`.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.clock import SECOND_US
from core.consent import card_texts
from core.gates import Grant, GrantScope
from core.ids import Ids
from core.job import WORKER, WORKING, JobOrder, JobRefused, JobRow, JobState
from core.jobs import notices
from core.lazy import dataclass
from core.messages import ChoiceAnswer, InboundMessage, Markdown, Message, plain
from core.routine import MAX_LISTED, ManualInput, Match
from core.routines import notices as routine_notices
from core.store.accept import AcceptView, Verdict, refused
from core.store.effects import (
    CancelJob,
    Effect,
    FireRoutine,
    GrantToRoutine,
    JudgeJob,
    PauseRoutine,
    RecordGrant,
    Say,
    SettleMenu,
    ShowJobs,
    StartJob,
    TellJob,
)
from core.store.routine_rows import MenuView, NewRun
from core.users import Principal, Role

if TYPE_CHECKING:
    from core.jobs.service import JobDispatcher


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
    order = JobOrder(rest, tools, project=project, mode=mode, image=image)
    return StartJob(dispatcher.new(principal, order, key=key), notices.progress)


def job_pressed(
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
            return _job_allowed(job, by, ids, now)
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


def _job_allowed(job: JobRow, by: Principal, ids: Ids, now: int) -> Verdict:
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


SNOOZE_US = 10 * 60 * SECOND_US


@dataclass(frozen=True, slots=True)
class Fired:
    """The effects of routines fired by a message.

    `consumed_by`: the names of the routines that keep the message from the chat."""

    effects: tuple[Effect, ...]
    consumed_by: tuple[str, ...]

    def alone(self) -> Verdict:
        """Return the verdict on a message that only routines receive. It is acknowledged."""
        names = ", ".join(f"“{name}”" for name in self.consumed_by)
        said = Say(plain(routine_notices.consumed(names)))
        return Verdict(f"routine {', '.join(self.consumed_by)}", (*self.effects, said))


def fired_by(matches: Sequence[Match], view: AcceptView, direct: bool, ids: Ids, now: int) -> Fired:
    """Return the routines that the message fires. For those that are resting, the claim records that.

    These are the sender's own and, in a group, those of owners, who can read it. Only the sender's own
    can keep the message from the chat, and only if they really fire."""
    standing = {routine.id: routine for routine in view.routines if routine.ready}
    thread_id = None if view.thread is None else view.thread.id
    effects: list[Effect] = []
    consumed_by: list[str] = []
    for match in matches:
        routine = standing.get(match.routine_id)
        if routine is None or match.thread_id not in {None, thread_id}:
            continue
        own = routine.owner_id == view.principal.user_id
        if not own and (direct or not routine.owner_reads_groups):
            continue
        run = NewRun.fired(match.found, ids.row_id(), routine.id, now, content_hash=match.content_hash)
        effects.append(FireRoutine(run))
        if own and match.consumes and not routine.resting:
            consumed_by.append(routine.name)
    return Fired(tuple(effects), tuple(consumed_by))


def pressed(event: ChoiceAnswer, menu: MenuView, by: Principal, ids: Ids, now: int) -> Verdict:
    """Return the verdict on a press on a notice. Buttons never expire; each press reports its effect."""
    if by.user_id != menu.owner_id and by.role is not Role.OWNER:
        return Verdict(f"refused: routine {menu.name}", answer=routine_notices.NOT_YOURS)
    outcome = f"routine {menu.name}"
    if json.loads(menu.definition)["action"]["type"] == "reminder":
        return _reminded(event, menu, by, ids, now)
    labels = routine_notices.menu(
        grants=bool(card_texts.grants_offered(menu.missing_grants)), changes=menu.changed_by is not None
    )
    label = labels[event.choice] if 0 <= event.choice < len(labels) else ""
    match label:
        case routine_notices.ALLOW:
            return _allowed(menu, by)
        case routine_notices.ACCEPT | routine_notices.REJECT if menu.changed_by:
            return judged(menu.changed_by, label, by)
        case routine_notices.DETAILS:
            return Verdict(
                outcome,
                (Say(Message((Markdown(routine_notices.details(menu)),))),),
                answer=routine_notices.DETAILS,
            )
        case routine_notices.PAUSE if not menu.enabled:
            return Verdict(outcome, answer=routine_notices.already_paused(menu.name))
        case routine_notices.PAUSE:
            word = routine_notices.paused(menu.name)
            pause = PauseRoutine(menu.routine_id, routine_notices.PAUSED_BY_PERSON)
            return Verdict(outcome, (pause, Say(plain(word))), answer=word)
        case routine_notices.RUN_AGAIN if not menu.enabled:
            return Verdict(outcome, answer=routine_notices.cannot_run_again(menu.name))
        case routine_notices.RUN_AGAIN:
            asked = ManualInput(event.key, by.user_id)
            run = NewRun.fired(asked, ids.row_id(), menu.routine_id, now, heeds_guardrails=False)
            return Verdict(outcome, (FireRoutine(run),), answer=routine_notices.runs_again(menu.name))
        case _:
            return Verdict(f"refused: routine {menu.name}", answer=routine_notices.NOT_YOURS)


def _reminded(event: ChoiceAnswer, menu: MenuView, by: Principal, ids: Ids, now: int) -> Verdict:
    """Return the verdict on a press on a reminder: snoozed once, and never again once it is done."""
    outcome = f"reminder {menu.name}"
    if not menu.enabled:
        return Verdict(outcome, answer=routine_notices.DONE_ALREADY)
    labels = routine_notices.REMINDER_MENU
    match labels[event.choice] if 0 <= event.choice < len(labels) else "":
        case routine_notices.SNOOZE if menu.snoozed:
            return Verdict(outcome, answer=routine_notices.SNOOZED_ALREADY)
        case routine_notices.SNOOZE:
            asked = ManualInput(f"snooze:{menu.run_id}", by.user_id)
            due_at = now + SNOOZE_US
            run = NewRun.fired(asked, ids.row_id(), menu.routine_id, due_at, heeds_guardrails=False)
            word, effect = routine_notices.SNOOZED, FireRoutine(run)
        case routine_notices.DONE:
            word, effect = (
                routine_notices.DONE_NOW,
                PauseRoutine(menu.routine_id, routine_notices.DONE_BY_PERSON),
            )
        case _:
            return Verdict(f"refused: {outcome}", answer=routine_notices.NOT_YOURS)
    return Verdict(outcome, (effect, SettleMenu(event.gate_id, word)), answer=word)


def _allowed(menu: MenuView, by: Principal) -> Verdict:
    """Return the verdict on "Allow for this routine", which grants exactly the access that the notice
    showed."""
    outcome = f"routine {menu.name}"
    if by.role is not Role.OWNER:
        return Verdict(f"refused: {outcome}", answer=card_texts.ONLY_OWNERS_ALLOW)
    page = json.loads(menu.definition)
    held = page["action"].get("grants", [])
    new = tuple(grant for grant in card_texts.grants_offered(menu.missing_grants) if grant not in held)
    if not new:
        return Verdict(outcome, answer=routine_notices.allowed_already(menu.name))
    if len(held) + len(new) > MAX_LISTED:
        return Verdict(f"refused: {outcome}", answer=routine_notices.too_many_grants(menu.name, MAX_LISTED))
    page["action"]["grants"] = [*held, *new]
    grant = GrantToRoutine(menu.routine_id, new, menu.definition, json.dumps(page, ensure_ascii=False))
    word = routine_notices.allowed(menu.name, new)
    return Verdict(outcome, (grant, Say(plain(word))), answer=word)
