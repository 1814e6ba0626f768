"""Credentials that somebody wrote into a conversation: taken out before anything of the message is kept.

What stood there is then nowhere but, if the owner wrote it, in the vault, sealed, in the transaction that
takes the message. Others have no vault: of theirs nothing is kept at all.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core import texts
from core.conversation.confiding import Confiding, Seal
from core.errors import HubError
from core.ids import Ids
from core.messages import ChoiceAnswer, InboundEvent, InboundMessage, plain
from core.off_loop import off_loop
from core.safety.leaks import Leak, LeakDetector, replaced
from core.store.accept import (
    AcceptView,
    Admission,
    Judge,
    Verdict,
)
from core.store.effects import KeepSecrets, Say
from core.store.kept import SealedSecret
from core.users import Identity, Role

MOST_KEPT = 5
"""Of one message. More of them are no slip of a hand."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """An event without the credentials in it, and these, sealed. `written`: as it came."""

    event: InboundEvent
    written: InboundMessage | ChoiceAnswer
    sealed: tuple[SealedSecret, ...] = ()


class InboundCredentials:
    """Takes credentials out of what people write."""

    def __init__(self, leaks: LeakDetector, seal: Seal | None, ids: Ids) -> None:
        self._leaks = leaks
        self._seal = seal
        self._confiding = Confiding(seal)
        self._ids = ids

    def confiding(self, taken: Taken | None) -> Confiding:
        """What judges credentials that a person was asked for."""
        return self._confiding if taken is None else Confiding(self._seal, taken.written)

    async def take_out(self, event: InboundEvent) -> Taken | None:
        """The event as it may be kept; None for nearly every one: there is nothing to be taken out."""
        match event:
            case InboundMessage(text=text):
                leaks = await off_loop(len(text), lambda: self._leaks.find(text))
                if not leaks:
                    return None
                clean = replace(event, text=replaced(text, leaks, _mark))
                sealed = await self._sealed(text, leaks) if event.edits is None else ()
                return Taken(clean, event, sealed)
            case ChoiceAnswer(form=str() as form):
                leaks = await off_loop(len(form), lambda: self._leaks.find(form))
                clean = replace(event, form=replaced(form, leaks, _mark))
                return Taken(clean, event) if leaks else None
            case _:
                return None

    async def _sealed(self, text: str, leaks: Sequence[Leak]) -> tuple[SealedSecret, ...]:
        seal = self._seal
        if seal is None:
            return ()
        named = [
            (f"{leak.kind}-{self._ids.code().lower()}", text[leak.start : leak.end])
            for leak in leaks[:MOST_KEPT]
            if leak.kind != "known"  # it is the hub's own: it is kept where the configuration has it
        ]
        try:
            return await asyncio.to_thread(lambda: tuple(seal(name, value) for name, value in named))
        except HubError as error:
            logger.warning("a credential from a conversation could not be kept: %s", error)
            return ()


class CredentialJudge:
    """Judges an event from which credentials were taken, as `judge` does; the owner's are kept, and told."""

    def __init__(self, judge: Judge, taken: Taken) -> None:
        self._judge = judge
        self._taken = taken

    @property
    def prompt_id(self) -> str | None:
        """See Judge."""
        return self._judge.prompt_id

    @property
    def routine_ids(self) -> Sequence[str]:
        """See Judge."""
        return self._judge.routine_ids

    def admit(self, event: InboundEvent, identity: Identity | None) -> Admission:
        """See Judge."""
        return self._judge.admit(event, identity)

    def decide(self, event: InboundEvent, view: AcceptView) -> Verdict:
        """See Judge."""
        verdict = self._judge.decide(event, view)
        if verdict.withheld:
            return verdict  # it was asked for, and kept as such
        kept = self._taken.sealed if view.principal.role is Role.OWNER else ()
        told = Say(plain(texts.credential_taken([secret.name for secret in kept])))
        keep = (KeepSecrets(kept),) if kept else ()
        return replace(verdict, effects=(*verdict.effects, *keep, told))


def _mark(leak: Leak) -> str:
    return f"[{leak.kind} removed]"
