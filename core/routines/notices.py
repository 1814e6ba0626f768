"""Routine notices: which ends are announced to owners, when, where, how often, and in which words."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from core.clock import SECOND_US, Clock
from core.consent.card_texts import grants_offered
from core.errors import ChannelError, NobodyToTell, StoreError
from core.jobs.notices import ACCEPT, REJECT
from core.messages import Address, Block, Choice, Markdown, Message, Plain
from core.people.notices import InOrder, Recipient, ToAddress, ToPerson, ToThread
from core.routine import Notify, Reminder, RunStatus
from core.routines.definitions import read_text
from core.runs.unseen_models import missing_blocks
from core.store.facets import NoticeAddress
from core.store.routine_rows import DueNotice, MenuView
from core.store.unattended_port import RunViews

DETAILS, PAUSE, RUN_AGAIN = "Details", "Pause", "Run again"
ALLOW = "Allow for this routine"
MENU = (DETAILS, PAUSE, RUN_AGAIN)
"""The buttons of every notice, in order."""
MISSING = f"These calls need your approval. “{ALLOW}” lets its next runs do exactly this:"
MISSING_TOO_LONG = (
    "Some calls were refused that don't fit here. The routine's page in the console shows each of them whole,"
    " with the run. To allow one, add it to the grants in the routine's editor."
)
SNOOZE, DONE = "Snooze 10 min", "Done"
REMINDER_MENU = (SNOOZE, DONE)
"""The buttons of a reminder, in order."""
SNOOZED = "Snoozed for 10 minutes."
SNOOZED_ALREADY = "Already snoozed."
DONE_NOW = "Done."
DONE_ALREADY = "Already done."


def menu(*, grants: bool, changes: bool) -> tuple[str, ...]:
    """Return the buttons of a notice, in order. `grants`: calls were refused for lack of one; `changes`: its
    job changed a project in a container."""
    return (*MENU, *((ALLOW,) if grants else ()), *((ACCEPT, REJECT) if changes else ()))


def allowed(name: str, grants: Sequence[str]) -> str:
    """Acknowledge a press that gave a routine grants."""
    return f"“{name}” may do this from its next run on: {'; '.join(grants)}"


def allowed_already(name: str) -> str:
    """Acknowledge a press on grants that the routine already has."""
    return f"“{name}” is already allowed to do this."


def too_many_grants(name: str, most: int) -> str:
    """Refuse a press on grants for which a routine has no room."""
    return f"A routine has at most {most} grants. Remove some of “{name}” in its editor, then press again."


NOT_YOURS = "This routine belongs to someone else."
PAUSED_BY_PERSON = "paused by a person"
DONE_BY_PERSON = "done"
SHOWN_CHARS = 3000


def consumed(names: str) -> str:
    """Acknowledge a message that only routines received."""
    return f"Handled by the routine {names}."


def already_paused(name: str) -> str:
    """Acknowledge a press on a routine that is already paused."""
    return f"“{name}” is already paused."


def paused(name: str) -> str:
    """Acknowledge a press that paused a routine."""
    return f"“{name}” is paused."


def cannot_run_again(name: str) -> str:
    """Acknowledge a press for another run of a paused routine."""
    return f"“{name}” is paused. Enable it before you run it again."


def runs_again(name: str) -> str:
    """Acknowledge a press that queued another run."""
    return f"“{name}” is queued to run again."


def details(menu: MenuView) -> str:
    """Return the details of a run in Markdown."""
    took = ""
    if menu.started_at is not None and menu.ended_at is not None:
        took = f" in {(menu.ended_at - menu.started_at) / SECOND_US:.1f} s"
    lines = [
        f"**{menu.name}**: {menu.state.value}{took}, fired by {menu.kind.replace('_', ' ')}",
        f"Tokens: {menu.input_tokens} in, {menu.output_tokens} out",
        f"Run `{menu.run_id}`",
    ]
    told = menu.error or menu.result
    if told:
        lines.append(told[:SHOWN_CHARS])
    return "\n\n".join(lines)


# A routine's own thread for notices, on platforms with threads: opened with its first notice.
#
# It is opened once, at the address where the notices would go otherwise. If that fails, the next notice tries
# again. A hub killed in between may leave an empty thread.

logger = logging.getLogger(__name__)

OPENED_WITHIN_S = 8.0
"""Limit for opening a thread; other routines wait in the meantime."""

Addresses = Callable[[Recipient], Awaitable[Sequence[NoticeAddress]]]
"""Finder of a recipient's addresses: `Notices.addresses` of core.people.notices."""


class ThreadOpener(Protocol):
    """The opener of a channel's threads: `ChannelManager.open_thread`."""

    def __call__(self, channel: str, at: Address, title: str, nonce: str) -> Awaitable[Address | None]:
        """Return the address of a new thread; None if there are no threads. Raises ChannelError."""
        ...


class NoticeThreads:
    """Threads for notices. Their addresses are kept with the routine; a thread opened at another address
    is left there."""

    def __init__(self, run_views: RunViews, addresses: Addresses, open_thread: ThreadOpener) -> None:
        self._run_views = run_views
        self._addresses = addresses
        self._open_thread = open_thread

    async def of(self, notice: DueNotice, otherwise: Recipient) -> ToAddress | None:
        """Return the routine's thread at that address; None if it has none there now. Raises StoreError."""
        addresses = await self._addresses(otherwise)
        if not addresses:
            return None
        channel, at = addresses[0].channel, addresses[0].address
        known = json.loads(notice.own_place) if notice.own_place else None
        if known is not None and known[:2] == [channel, at]:
            return None if known[2] is None else ToAddress(channel, Address(known[2]))
        try:
            async with asyncio.timeout(OPENED_WITHIN_S):
                opened = await self._open_thread(
                    channel, at, notice.routine_name, f"t{notice.routine_id}"[:25]
                )
        except (ChannelError, TimeoutError) as error:
            logger.info(
                "notice.thread_unavailable routine=%r channel=%s error=%s",
                notice.routine_name,
                channel,
                error,
            )
            return None
        await self._run_views.keep_own_place(notice.routine_id, json.dumps([channel, at, opened]))
        return None if opened is None else ToAddress(channel, opened)


MAX_AN_HOUR = 20
"""Limit of notices of one routine, also across restarts; the rest stay on the run alone."""
HOUR_US = 3600 * SECOND_US


class NoticeSender(Protocol):
    """The sender of notices: `Notices.send` of core.people.notices."""

    def __call__(self, key: str, to: Recipient, message: Message) -> Awaitable[bool]:
        """Send it, once for each key."""
        ...


def is_told(notify: Notify, status: RunStatus, failures: int) -> bool:
    """Return whether an end is announced. Of failures in a row the first is, then the second, fourth,
    eighth …"""
    match status:
        case RunStatus.OK:
            return notify.on_success
        case RunStatus.ATTENTION:
            return notify.on_attention
        case RunStatus.FAILED:
            return notify.on_failure and failures & (failures - 1) == 0
        case RunStatus.INTERRUPTED:
            return notify.on_failure
        case RunStatus.WAITING | RunStatus.RUNNING | RunStatus.SKIPPED:
            return False


class RoutineNotifier:
    """Sender of notices that are due. A notice that was handed over is sent, however often the hub is
    killed."""

    def __init__(
        self, run_views: RunViews, send: NoticeSender, notice_threads: NoticeThreads, clock: Clock
    ) -> None:
        self._run_views = run_views
        self._notice_threads = notice_threads
        self._send = send
        self._clock = clock

    async def tell_due(self) -> None:
        """Send all due notices. Raises StoreUnavailable."""
        for notice in await self._run_views.due_notices(self._clock.now()):
            # What waits for a person's decision is announced however many notices there were.
            allowed = notice.changes or not await self._too_many(notice.routine_id)
            sent = allowed and await self._tell(notice)
            await self._run_views.settle_notice(notice.run_id, sent=sent)

    async def _tell(self, notice: DueNotice) -> bool:
        heading, _, text = notice.text.partition("\n\n")
        blocks: tuple[Block, ...] = (Plain(heading), Markdown(text)) if text else (Plain(heading),)
        blocks = (*blocks, *missing_blocks(notice.missing_grants, MISSING, MISSING_TOO_LONG))
        labels = _labels(notice)
        choices = tuple(Choice(label) for label in labels) if notice.menu_id else ()
        message = Message(blocks, choices, notice.menu_id, files=notice.files)
        to = await self._recipient(notice)
        try:
            await self._send(f"routine:{notice.run_id}", to, message)
        except NobodyToTell as error:
            logger.warning(
                "notice.undeliverable run=%s routine=%r error=%s", notice.run_id, notice.routine_name, error
            )
        except StoreError:
            raise
        except Exception:  # a defect with one notice: the others are still sent
            logger.exception("notice.crashed run=%s to=%s", notice.run_id, to)
        else:
            return True
        return False

    async def _recipient(self, notice: DueNotice) -> Recipient:
        """Return the address the routine names, else wherever its owner is."""
        notify = _notify(notice)
        tried = _recipients(notify, notice)
        own = await self._notice_threads.of(notice, InOrder(tried)) if notify.own_thread else None
        return InOrder(tried if own is None else (own, *tried))

    async def _too_many(self, routine_id: str) -> bool:
        told = await self._run_views.notices_sent(routine_id, self._clock.now() - HOUR_US)
        if told < MAX_AN_HOUR:
            return False
        logger.warning("notice.rate_limited routine=%s count=%d", routine_id, told)
        return True


def _labels(notice: DueNotice) -> tuple[str, ...]:
    with contextlib.suppress(ValueError):
        if isinstance(read_text(notice.definition).action, Reminder):
            return REMINDER_MENU
    return menu(grants=bool(grants_offered(notice.missing_grants)), changes=notice.changes)


def _notify(notice: DueNotice) -> Notify:
    try:
        return read_text(notice.definition).notify
    except ValueError:
        return Notify()


def _recipients(notify: Notify, notice: DueNotice) -> tuple[Recipient, ...]:
    """Return the address the routine names, then where it was made, then wherever its owner is."""
    tried: list[Recipient] = []
    if notify.channel is not None and notify.address is not None:
        tried.append(ToAddress(notify.channel, notify.address))
    if notify.thread_id is not None:
        tried.append(ToThread(notify.thread_id))
    if notify.channel is not None and notify.address is None:
        tried.append(ToPerson(notice.owner_id, notify.channel))
    if notice.thread_id is not None and not tried:
        tried.append(ToThread(notice.thread_id))
    return (*tried, ToPerson(notice.owner_id))


# The hub's own words in notices of routines.

_ICONS = {RunStatus.OK: "✅", RunStatus.ATTENTION: "🔔", RunStatus.FAILED: "❌", RunStatus.INTERRUPTED: "⚠️"}
_WORDS = {
    RunStatus.OK: "done",
    RunStatus.ATTENTION: "has something for you",
    RunStatus.FAILED: "failed",
    RunStatus.INTERRUPTED: "was interrupted",
}


def heading(name: str, status: RunStatus) -> str:
    """Return the first line of a notice."""
    return f"{_ICONS.get(status, '')} Routine “{name}” {_WORDS.get(status, status.value)}"


REMINDER = "⏰ Reminder"


def budget_used_up(name: str, why: str) -> str:
    """Return the daily notice that a routine's budget is used up; `why`: the rest of a sentence about
    it."""
    return f"⏳ Routine “{name}” will not run until tomorrow\n\n{why[:1].upper()}{why[1:]}."


def stopped_by_budget(name: str, why: str) -> str:
    """Return the notice that a budget of the hub stopped a run; `why`: a sentence."""
    return f"⏳ Routine “{name}” stopped before it was done\n\n{why}"


def with_remarks(text: str, remarks: Sequence[str]) -> str:
    """Return a run's result, with the remarks for its owner."""
    lines = "\n".join(f"- {remark}" for remark in remarks)
    return "\n\n".join(part for part in (text, lines) if part)


def paused_heading(name: str, failures: int) -> str:
    """Return the first line of the one notice that a routine was paused."""
    return f"⏸ Routine “{name}” failed {failures} times in a row and is paused"


def how_to_resume(name: str) -> str:
    """Return how to resume a paused routine."""
    return f'Enable it with `hubbub routines enable "{name}"`, or ask me to.'


def interrupted() -> str:
    """Return the reason an interrupted run has no result."""
    return "The hub stopped during this run and did not repeat it. Steps already completed still apply."


def crashed_repeatedly(crashes: int) -> str:
    """Return the reason a run is not started again."""
    return f"The hub crashed {crashes} times during this run, so it will not be started again."


def timed_out(limit_s: int) -> str:
    """Return the reason a run was stopped."""
    return f"Stopped after {limit_s} s, the time limit for a run."


def broke(reference: str) -> str:
    """Return the text for an unexpected failure."""
    return f"Something went wrong in the hub. The operator can find it in the log under {reference}."


NO_JOBS = "Its work is a job, and jobs are turned off in this hub. Turn them on ([jobs] enabled = true)."
"""The reason a full job is refused."""
