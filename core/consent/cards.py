"""Prompts as messages: what a person is shown while a prompt is open, and once it is settled."""

from collections.abc import Sequence
from typing import assert_never

from core import texts
from core.clock import SECOND_US
from core.consent.forms import lines_of
from core.messages import Block, Choice, Code, FormField, Message, Plain, plain
from core.prompts import Option, Options, Prompt, PromptKind, Replies

DETAIL_LIMIT_CHARS = 2_000
"""Longer details are cut on the card: it must fit one message of every platform with its buttons."""


def open_card(prompt: Prompt, *, editable: bool = False) -> Message:
    """The card with one choice for each answer it shows, in order. `editable`: the call's arguments can be
    changed on it."""
    quorum = prompt.rule.quorum
    lines = [texts.have_to_agree(quorum)] if quorum > 1 and prompt.kind is not PromptKind.QUESTION else []
    lines += [typed] if (typed := _typed(prompt)) else []
    footer: tuple[Block, ...] = (Plain("\n".join(lines)),) if lines else ()
    choices = tuple(Choice(label) for label in _labels(prompt))
    return Message(blocks=(*_body(prompt), *footer), choices=choices, prompt_id=prompt.id, editable=editable)


def form_message(prompt: Prompt, fields: Sequence[FormField]) -> Message:
    """Asks for a call's arguments, where no form can be shown."""
    return Message(
        blocks=(Plain(texts.FILL_IN), Code(lines_of(fields))),
        prompt_id=prompt.id,
    )


def reminder(prompt: Prompt, now: int) -> Message:
    """What people are told who have seen the card and not answered; `now`: microseconds UTC."""
    left_s = max(0, prompt.expires_at - now) // SECOND_US
    asked = prompt.title.partition("\n")[0]
    text = texts.still_waiting(asked, left_s, consent=prompt.kind is PromptKind.APPROVAL)
    return plain("\n".join(line for line in (text, _typed(prompt)) if line))


def expired_text(prompt: Prompt) -> str:
    """How a prompt that nobody answered in time ended."""
    return texts.EXPIRED_CARD if isinstance(prompt.offer, Options) else texts.EXPIRED_QUESTION


def _labels(prompt: Prompt) -> tuple[str, ...]:
    match prompt.offer:
        case Options(options):
            return tuple(texts.OPTION_LABELS[option] for option in options)
        case Replies(labels):
            return labels
        case _:
            assert_never(prompt.offer)


def _typed(prompt: Prompt) -> str:
    """How it can be answered in words; empty if it cannot."""
    match prompt.offer:
        case Options(options):
            return f"or type /approve {prompt.id} or /deny {prompt.id}" if Option.APPROVE in options else ""
        case Replies(labels, free_text):
            return texts.answer_in_words(choices=bool(labels)) if free_text else ""
        case _:
            assert_never(prompt.offer)


def settled_card(prompt: Prompt, outcome_text: str) -> Message:
    """The same card without choices, saying how it ended."""
    return Message(blocks=_body(prompt), prompt_id=prompt.id, outcome=outcome_text)


def _body(prompt: Prompt) -> tuple[Block, ...]:
    title: tuple[Block, ...] = (Plain(prompt.title),)
    if not prompt.detail:
        return title
    detail = prompt.detail
    if len(detail) > DETAIL_LIMIT_CHARS:
        detail = f"{detail[:DETAIL_LIMIT_CHARS]}\n… ({len(detail)} characters in all)"
    return (*title, Code(detail))
