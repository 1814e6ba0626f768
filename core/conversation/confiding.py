"""Credentials that a person was asked for: their next message goes into the vault, and nowhere else.

Judged inside the transaction that accepts the message, on the message as it was written. Commands stay
commands. Whatever else comes is taken to be the credential, or is withheld where that is in doubt: better a
message that has to be written again than a password in the journal.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

from core.clock import SECOND_US
from core.consent import card_texts
from core.consent.cards import settled_card
from core.consent.voting import may_decide
from core.conversation import credential_texts
from core.conversation.submission import BareAnswer, LetPersonIn, Submission, UnknownCommand, UserInput
from core.errors import HubError
from core.messages import ChoiceAnswer, InboundMessage, plain
from core.prompts import Answer, Option, Prompt, PromptState, Replies, Wrote
from core.store.accept import ASKED_FOR, AcceptView, Verdict
from core.store.effects import (
    ClosePrompt,
    Effect,
    KeepSecrets,
    Say,
    TakeAwayMessage,
)
from core.store.kept import SealedSecret
from core.users import Role

WAITS_US = 300 * SECOND_US
"""What is written later than this after the question is not taken for the credential."""
VALUE_LIMIT_BYTES = 8 * 1024
"""As much as the vault takes of one."""

Seal = Callable[[str, str], SealedSecret]
"""Seals a value under a name. May take as long as writing a file; raises HubError where it cannot."""

logger = logging.getLogger(__name__)


class Confiding:
    """Judges what may be a credential that was asked for. `written`: the event as it came, where something
    was taken out of it since."""

    def __init__(self, seal: Seal | None, written: InboundMessage | ChoiceAnswer | None = None) -> None:
        self._seal = seal
        self._written = written

    def message(self, event: InboundMessage, submission: Submission, view: AcceptView) -> Verdict | None:
        """What follows from a message; None if it is none of ours."""
        on = next((one for one in view.open_prompts if _name_in(one.prompt) is not None), None)
        if on is None or may_decide(on, view.principal) is not None:
            return None
        if not isinstance(submission, UserInput | BareAnswer | LetPersonIn | UnknownCommand):
            return None
        if isinstance(submission, BareAnswer | LetPersonIn) and submission.command:
            return None
        if view.replied is not None and view.replied.prompt.id != on.prompt.id:
            return None
        shown = [card for card in view.cards if card.prompt_id == on.prompt.id]
        if any(event.order_key <= card.order_key for card in shown) and event.reply_to is None:
            return None  # certainly written before the question was there
        if not shown:
            return _withheld("in doubt", credential_texts.IN_DOUBT)
        written = self._written if isinstance(self._written, InboundMessage) else event
        return self._given(on.prompt, written.text, written.sent_at, view)

    def form(self, event: ChoiceAnswer, view: AcceptView) -> Verdict | None:
        """What follows from words handed in with a press on the card; None if they are none of ours."""
        on = view.prompt
        if on is None or _name_in(on.prompt) is None or may_decide(on, view.principal) is not None:
            return None
        written = self._written if isinstance(self._written, ChoiceAnswer) else event
        verdict = self._given(on.prompt, written.form or "", written.sent_at, view)
        said = [effect for effect in verdict.effects if isinstance(effect, Say)]
        words = "".join(block.text for effect in said for block in effect.message.blocks)
        kept = tuple(e for e in verdict.effects if not isinstance(e, Say | TakeAwayMessage))
        closed = any(isinstance(effect, KeepSecrets) for effect in kept)
        outcome = f"answer: {on.prompt.id}" if closed else verdict.outcome
        return replace(verdict, outcome=outcome, effects=kept, answer=words or None)

    def _given(self, prompt: Prompt, text: str, sent_at: int, view: AcceptView) -> Verdict:
        value, name = text.strip(), _name_in(prompt) or ""
        if not value or len(value.encode(errors="replace")) > VALUE_LIMIT_BYTES:
            return _withheld("unusable", credential_texts.UNUSABLE)
        if sent_at - prompt.created_at > WAITS_US:
            closes = _close(prompt, Option.SKIP, card_texts.EXPIRED_QUESTION)
            return _withheld("too late", credential_texts.TOO_LATE, closes)
        sealed = self._sealed(name, value) if view.principal.role is Role.OWNER else None
        if sealed is None:
            return _withheld("not kept", credential_texts.NOT_KEPT)
        told = credential_texts.kept(name)
        closes = _close(prompt, Wrote(credential_texts.in_its_place(name)), told)
        return _withheld(f"kept for {prompt.id}", told, KeepSecrets((sealed,)), closes)

    def _sealed(self, name: str, value: str) -> SealedSecret | None:
        if self._seal is None:
            return None
        try:
            return self._seal(name, value)
        except HubError as error:
            logger.warning("a credential that was asked for could not be kept: %s", error)
            return None


def _name_in(prompt: Prompt) -> str | None:
    """Under which name the credential is kept that an open prompt asks for; None if it asks for none."""
    open_ = prompt.state is PromptState.OPEN
    return prompt.offer.secret if open_ and isinstance(prompt.offer, Replies) else None


def _close(prompt: Prompt, outcome: Answer, text: str) -> ClosePrompt:
    return ClosePrompt(prompt.id, outcome, text, settled_card(prompt, text))


def _withheld(what: str, told: str, *effects: Effect) -> Verdict:
    """Nothing of it is kept with the message, which is taken away where that can be."""
    away = TakeAwayMessage(credential_texts.DELETE_YOUR_MESSAGE)
    return Verdict(f"{ASKED_FOR}{what}", (*effects, Say(plain(told)), away), withheld=True)
