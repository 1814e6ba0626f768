"""Prompts as messages: what a person is shown while a prompt is open, and once it is settled."""

from core import texts
from core.messages import Block, Choice, Code, Message, Plain
from core.prompts import Option, Prompt

DETAIL_LIMIT_CHARS = 2_000
"""Longer details are cut on the card: it must fit one message of every platform with its buttons."""


def open_card(prompt: Prompt) -> Message:
    """The card with one choice per option, in order."""
    typed = f"or type /approve {prompt.id} or /deny {prompt.id}" if Option.APPROVE in prompt.options else ""
    footer: tuple[Block, ...] = (Plain(typed),) if typed else ()
    return Message(
        blocks=(*_body(prompt), *footer),
        choices=tuple(Choice(texts.OPTION_LABELS[option]) for option in prompt.options),
        prompt_id=prompt.id,
    )


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
