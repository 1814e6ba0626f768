"""Texts that answer a prompt: which of them do, and what they say.

A text is judged once, inside the transaction that accepts it. It answers only the one prompt that is open in
its thread, of somebody who may answer that, and only if it was written after the card or replies to it.
Anything else is a text like any other, for ever.
"""

from dataclasses import dataclass
from typing import assert_never

from core.consent import card_texts
from core.consent.voting import may_decide
from core.conversation.submission import BareAnswer
from core.messages import InboundMessage, plain
from core.prompts import Answer, Chose, Option, Prompt, PromptKind, Replies, Wrote
from core.store.accept import AcceptView
from core.store.effects import Effect, Say
from core.store.rows import PromptView

_WORDS = frozenset({Option.APPROVE, Option.DENY, Option.ALWAYS})


@dataclass(frozen=True, slots=True)
class Replied:
    """A question, and what a text says to it."""

    on: PromptView
    answer: Answer


def decided_by_word(event: InboundMessage, word: BareAnswer, view: AcceptView) -> PromptView | None:
    """The prompt that `yes`, `no` or `always` decides. Nobody agrees to what was changed after they wrote."""
    on = _asked_before(event, view)
    if word.option not in _WORDS or on is None or not on.prompt.takes(Option.APPROVE):
        return None
    return on if word.option is Option.DENY or on.prompt.was_asked_at(event.sent_at) else None


def replied_by_text(event: InboundMessage, view: AcceptView) -> Replied | None:
    """The question that a text answers, if it takes any words. What brings files is more than an answer."""
    if event.attachments or not event.text.strip():
        return None
    on = _asked_before(event, view)
    if on is None or not on.prompt.takes(Wrote(event.text)):
        return None
    return Replied(on, reply_in_words(on.prompt, event.text))


def reply_in_words(prompt: Prompt, text: str) -> Chose | Wrote:
    """One of the question's own answers where the text is worded like one, else the words themselves."""
    said = text.strip()
    labels = prompt.offer.labels if isinstance(prompt.offer, Replies) else ()
    for index, label in enumerate(labels):
        if label.casefold() == said.casefold():
            return Chose(index, label)
    return Wrote(said)


def notice_while_asked(view: AcceptView) -> tuple[Effect, ...]:
    """One notice for the first text that queues up behind a prompt."""
    if view.waiting or not view.open_prompts:
        return ()
    prompt = view.open_prompts[0].prompt
    if prompt.kind is PromptKind.QUESTION:
        return (Say(plain(card_texts.waits_for_answer(prompt.title))),)
    by_word = prompt.id if prompt.takes(Option.APPROVE) else None
    return (Say(plain(card_texts.waits_for_decision(prompt.title, by_word))),)


def why_undecided(view: AcceptView) -> str:
    """What to say to a `/approve` or `/deny` that decided nothing."""
    waiting = [on.prompt for on in view.open_prompts]
    if not waiting:
        return card_texts.NOTHING_WAITS
    if any(prompt.kind is PromptKind.QUESTION for prompt in waiting):
        return card_texts.ANSWER_THE_QUESTION
    if any(prompt.takes(Option.APPROVE) for prompt in waiting):
        return card_texts.SAY_WHICH
    return card_texts.PRESS_A_BUTTON


def outcome_line(answer: Answer, name: str) -> str:
    """How a prompt ended, as its cards and late answers tell."""
    match answer:
        case Option():
            return card_texts.outcome_line(answer, name)
        case Chose(_, label):
            return card_texts.chosen_line(label, name)
        case Wrote(text):
            return card_texts.written_line(text, name)
        case _:
            assert_never(answer)


def _asked_before(event: InboundMessage, view: AcceptView) -> PromptView | None:
    """The prompt whose card is replied to, else the only one that is open here, if the writer may decide it
    and had been shown it."""
    if view.replied is not None:
        return view.replied if may_decide(view.replied, view.principal) is None else None
    if len(view.open_prompts) != 1:
        return None
    on = view.open_prompts[0]
    if may_decide(on, view.principal) is not None:
        return None
    for card in view.cards:
        if card.prompt_id != on.prompt.id:
            continue
        if event.order_key > card.order_key or (event.reply_to is not None and event.reply_to in card.refs):
            return on
    return None
