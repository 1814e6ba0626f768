"""Prompts that need no judgement to be worded."""

from core import texts
from core.clock import SECOND_US
from core.ids import Ids
from core.prompts import Option, Options, Prompt, PromptKind, VoteRule
from core.store.rows import CallRow

UNKNOWN_EXPIRES_AFTER_S = 30 * 86_400


def unknown_outcome_prompt(call: CallRow, thread_id: str, requester_id: str, now: int, ids: Ids) -> Prompt:
    """Asks what became of a call whose outcome was not recorded. The requester or an owner answers."""
    return Prompt(
        id=ids.prompt_id(),
        kind=PromptKind.UNKNOWN_OUTCOME,
        thread_id=thread_id,
        turn_id=call.turn_id,
        call_id=call.call_id,
        requester_id=requester_id,
        title=texts.unknown_title(call.tool),
        detail=call.arguments,
        offer=Options((Option.HAPPENED, Option.RETRY, Option.SKIP)),
        rule=VoteRule(),
        binding=call.binding or "",
        created_at=now,
        expires_at=now + UNKNOWN_EXPIRES_AFTER_S * SECOND_US,
        tool=call.tool,
    )
