"""Telling owners what their routines came to: which ends are told, when, where, and how often."""

import logging
from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from core.clock import SECOND_US, Clock
from core.conversation.routine_texts import ALLOW, MENU, MISSING, MISSING_TOO_LONG, grants_offered
from core.errors import NobodyToTell, StoreError
from core.messages import Block, Choice, Code, Markdown, Message, Plain
from core.notices import InOrder, Recipient, ToAddress, ToPerson, ToThread
from core.routine import Notify, QuietHours
from core.routine_run import RunStatus
from core.routines.own_threads import OwnThreads
from core.routines.stored import read_text
from core.store.base import Store
from core.store.routines import DueNotice
from core.tools.prepared import as_seen

logger = logging.getLogger(__name__)

MOST_AN_HOUR = 20
"""Notices of one routine, restarts or not; what comes above that stays on the run alone."""
HOUR_US = 3600 * SECOND_US


class NoticeSender(Protocol):
    """See core.notices.Notices.send."""

    def __call__(self, key: str, to: Recipient, message: Message) -> Awaitable[bool]:
        """Tell it, once for each key."""
        ...


def is_told(notify: Notify, status: RunStatus, failures: int) -> bool:
    """Whether an end is told. Of failures in a row the first is, then the second, fourth, eighth …"""
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


def told_at(hours: QuietHours | None, now: int, timezone: str) -> int:
    """When something is told that happened now: after the quiet hours, if these are such."""
    if hours is None:
        return now
    moment = datetime.fromtimestamp(now / SECOND_US, ZoneInfo(timezone))
    if not hours.cover(moment.hour * 60 + moment.minute):
        return now
    end = moment.replace(
        hour=hours.end_minute // 60, minute=hours.end_minute % 60, second=0, microsecond=0, fold=0
    )
    if end <= moment:
        end += timedelta(days=1)
    return max(now, int(end.timestamp() * SECOND_US))


class Telling:
    """Hands notices over that are due. What was handed over goes out, however often the hub is killed."""

    def __init__(self, store: Store, send: NoticeSender, own_threads: OwnThreads, clock: Clock) -> None:
        self._store = store
        self._own_threads = own_threads
        self._send = send
        self._clock = clock

    async def tell_due(self) -> None:
        """Everything that is due now. Raises StoreUnavailable."""
        for notice in await self._store.due_notices(self._clock.now()):
            sent = not await self._too_many(notice.routine_id) and await self._tell(notice)
            await self._store.settle_notice(notice.run_id, sent=sent)

    async def _tell(self, notice: DueNotice) -> bool:
        heading, _, text = notice.text.partition("\n\n")
        blocks: tuple[Block, ...] = (Plain(heading), Markdown(text)) if text else (Plain(heading),)
        offered = grants_offered(notice.missing_grants)
        if offered:
            blocks = (*blocks, Plain(MISSING), *(Code(as_seen(grant)) for grant in offered))
        if len(offered) < len(notice.missing_grants):
            blocks = (*blocks, Plain(MISSING_TOO_LONG))
        labels = (*MENU, ALLOW) if offered else MENU
        choices = tuple(Choice(label) for label in labels) if notice.menu_id else ()
        message = Message(blocks, choices, notice.menu_id)
        to = await self._recipient(notice)
        try:
            await self._send(f"routine:{notice.run_id}", to, message)
        except NobodyToTell as error:
            logger.warning(
                "nobody can be told of run %s of %s: %s", notice.run_id, notice.routine_name, error
            )
        except StoreError:
            raise
        except Exception:  # a defect met by one notice: the others go out
            logger.exception("run %s could not be told to %s", notice.run_id, to)
        else:
            return True
        return False

    async def _recipient(self, notice: DueNotice) -> Recipient:
        """Where the routine says, then wherever its owner is."""
        notify = _notify(notice)
        tried = _recipients(notify, notice)
        own = await self._own_threads.of(notice, InOrder(tried)) if notify.own_thread else None
        return InOrder(tried if own is None else (own, *tried))

    async def _too_many(self, routine_id: str) -> bool:
        told = await self._store.notices_sent(routine_id, self._clock.now() - HOUR_US)
        if told < MOST_AN_HOUR:
            return False
        logger.warning("routine %s told its owner %d times within an hour", routine_id, told)
        return True


def _notify(notice: DueNotice) -> Notify:
    try:
        return read_text(notice.definition).notify
    except ValueError:
        return Notify()


def _recipients(notify: Notify, notice: DueNotice) -> tuple[Recipient, ...]:
    """Where the routine says, then where it was made, then wherever its owner is."""
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
