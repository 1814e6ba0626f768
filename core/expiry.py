"""Prompts do not wait for ever: others are asked, too, people are reminded once, and past their time they
count as not approved. All of it is in the store, so a restart changes nothing."""

import logging
from collections.abc import Callable
from dataclasses import replace

from core.actors import ThreadActors
from core.clock import Clock
from core.consent import card_texts
from core.consent.cards import expired_text, reminder, settled_card
from core.conversation.elsewhere import Elsewhere
from core.errors import StoreUnavailable
from core.ids import Ids
from core.messages import plain
from core.ports import OutboxListener, OutboxRow
from core.prompts import Prompt
from core.store.base import Store
from core.store.rows import Draft, PromptView

logger = logging.getLogger(__name__)

CHECK_EVERY_S = 5.0


class PromptExpiry:
    """Looks after prompts that nobody answers; closes expired ones and lets their turns go on. `editable`:
    whether a prompt's call can be changed on its card."""

    def __init__(
        self,
        store: Store,
        actors: ThreadActors,
        listener: OutboxListener,
        clock: Clock,
        elsewhere: Elsewhere,
        ids: Ids,
        editable: Callable[[Prompt], bool],
    ) -> None:
        self._store = store
        self._actors = actors
        self._listener = listener
        self._clock = clock
        self._elsewhere = elsewhere
        self._ids = ids
        self._editable = editable

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            try:
                await self.expire()
                await self.remind()
                await self.escalate()
            except StoreUnavailable:
                pass  # said by the store already; the next look finds the same prompts
            except Exception:
                # A defect met by one look must not end the hub: the prompts wait for the next.
                logger.exception("looking for expired prompts failed")
            await self._clock.sleep(CHECK_EVERY_S)

    async def expire(self) -> None:
        """Close what has expired by now."""
        expired = await self._store.expire_prompts(
            self._clock.now(), expired_text, lambda prompt: settled_card(prompt, expired_text(prompt))
        )
        self._send(expired.outbox)
        for start in expired.started:
            self._actors.start(start)

    async def remind(self) -> None:
        """Remind people of what is about to expire."""
        now = self._clock.now()
        self._send(await self._store.remind_prompts(now, lambda prompt: reminder(prompt, now)))

    async def escalate(self) -> None:
        """Ask others, too, about what nobody decided for a while."""
        for view in await self._store.prompts_to_escalate(self._clock.now()):
            prompt, thread = view.prompt, view.thread
            asked = replace(prompt, rule=replace(prompt.rule, escalated=True))
            cards = await self._elsewhere.direct(
                asked, prompt.rule.escalate_to, thread, editable=self._editable(prompt)
            )
            told = Draft(
                thread.channel,
                thread.address,
                plain(card_texts.escalated(prompt.title, await self._names(view))),
                self._ids.row_id(),
            )
            self._send(await self._store.escalate_prompt(prompt.id, cards, told))

    async def _names(self, view: PromptView) -> list[str]:
        found = [await self._store.user(user_id) for user_id in view.prompt.rule.escalate_to]
        return [user.name for user in found if user is not None]

    def _send(self, rows: tuple[OutboxRow, ...]) -> None:
        if rows:
            self._listener.outbox_ready(rows)
