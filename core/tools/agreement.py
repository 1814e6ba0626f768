"""Whether what a person agreed to is what would run now."""

from core.consent import card_texts
from core.consent.binding import same_binding
from core.prompts import Option
from core.store.rows import CallRow, CallState

_AGREED = frozenset({Option.APPROVE, Option.ALWAYS, Option.SESSION})


def agreed(call: CallRow, binding: str) -> bool:
    """Whether a person agreed to this very call: the same arguments and files, for the same person, here."""
    if call.answer is Option.RETRY and call.state is CallState.UNKNOWN:
        return True
    if call.answer not in _AGREED or call.binding is None:
        return False
    return same_binding(call.binding, binding)


def outdated(call: CallRow, binding: str) -> str:
    """Why what a person agreed to doesn't cover the call any more; empty where nobody did."""
    if call.answer not in _AGREED or call.binding is None:
        return ""
    same_call = same_binding(call.binding.partition(".")[0], binding.partition(".")[0])
    return card_texts.FILE_CHANGED if same_call else card_texts.CALL_CHANGED
