"""How journal entries read to any model: the words around what people, tools and the hub said."""

from core.names import quoted
from core.transcript import Note, OperatorSaid, ResultStatus, Summary, ToolResult, UserSaid

NO_OUTCOME = "No recorded outcome: it is not known whether this call was run."

_STATUS_WORDS = {
    ResultStatus.ERROR: "Error",
    ResultStatus.DENIED: "Denied, the call was not run",
    ResultStatus.CANCELLED: "Cancelled, the call did not finish",
    ResultStatus.SKIPPED: "Skipped, the call was not run",
    ResultStatus.UNKNOWN: "Outcome unknown, the call may or may not have taken effect",
}


def user_text(said: UserSaid) -> str:
    """A person's words, with the speaker's name on one line before them where several speak."""
    text = said.text or "(a message without text)"
    return f"{quoted(said.sender)}: {text}" if said.sender else text


def note_text(note: Note) -> str:
    """A note of the hub inside the conversation, told apart from what people wrote."""
    return f"[Note from the hub, not from a person: {note.text}]"


def operator_text(said: OperatorSaid) -> str:
    """What a person told the others in the model's place: it is said, and the model did not say it."""
    return f"[Note from the hub: {quoted(said.by)} answered here in your place: {said.text}]"


def summary_text(summary: Summary) -> str:
    """What stands for the older part of the conversation."""
    return f"[Summary of the conversation so far, made by the hub]\n{summary.text}"


def result_text(result: ToolResult | None) -> str:
    """A call's outcome. Only `ok` stands bare; None, a call whose outcome is missing, is said to be so."""
    if result is None:
        return NO_OUTCOME
    if result.status is ResultStatus.OK:
        return result.text or "(no output)"
    words = _STATUS_WORDS[result.status]
    return f"{words}: {result.text}" if result.text else f"{words}."
