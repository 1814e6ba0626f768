"""Prompts that need no judgement to be worded."""

from core.clock import SECOND_US
from core.consent import card_texts
from core.ids import Ids
from core.prompts import Option, Options, Prompt, PromptKind, VoteRule
from core.store.rows import CallRow

UNKNOWN_EXPIRES_AFTER_S = 30 * 86_400
REMINDED_BEFORE_S = 3_600
"""People are reminded so long before a prompt expires; of a short-lived one when a quarter of its time is
left."""


def reminded_at(created_at: int, expires_at: int) -> int:
    """When people are reminded of a prompt; microseconds UTC."""
    return expires_at - min(REMINDED_BEFORE_S * SECOND_US, (expires_at - created_at) // 4)


def unknown_outcome_prompt(
    call: CallRow, detail: str, thread_id: str, requester_id: str, now: int, ids: Ids
) -> Prompt:
    """Asks what became of a call whose outcome was not recorded. The requester or an owner answers.

    `detail`: its arguments as the card shows them on which somebody agrees to it.
    """
    expires_at = now + UNKNOWN_EXPIRES_AFTER_S * SECOND_US
    return Prompt(
        id=ids.prompt_id(),
        kind=PromptKind.UNKNOWN_OUTCOME,
        thread_id=thread_id,
        turn_id=call.turn_id,
        call_id=call.call_id,
        requester_id=requester_id,
        title=card_texts.unknown_title(call.tool),
        detail=detail,
        offer=Options((Option.HAPPENED, Option.RETRY, Option.SKIP)),
        rule=VoteRule(),
        binding=call.binding or "",
        created_at=now,
        expires_at=expires_at,
        remind_at=reminded_at(now, expires_at),
        tool=call.tool,
    )
