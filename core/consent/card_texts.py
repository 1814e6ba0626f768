"""The hub's texts about gates, grants and limits: on cards, and to the people who decide."""

from collections.abc import Sequence

from core import texts

NOTHING_WAITS = "Nothing is waiting for an answer here."
NO_SUCH_PROMPT = "I know no question with that id."
NOT_ALLOWED_HERE = "You are not allowed to decide this."
NOT_YOUR_QUESTION = "This question is for somebody else."
ANSWER_THE_QUESTION = (
    "That is no answer to this question: press one of its buttons, or write what it asks for."
)
PRESS_A_BUTTON = "What waits here has answers of its own: press one of its buttons."
SAY_WHICH = (
    "Several cards wait here, or one that came after you wrote: press a button, or write the ten characters"
    " below the card behind /approve or /deny."
)
REQUESTER_EXCLUDED = "Someone else has to decide this: the one who asked may not."
ALREADY_VOTED = "Your answer is already counted."
STOPPED_CARD = "Stopped."
EXPIRED_CARD = "Nobody answered in time: not approved."
EXPIRED_QUESTION = "Nobody answered in time."
TOO_LATE = "This request has expired, so your answer does not count. Ask me again if it is still wanted."
APPROVALS_NO_THREAD = "There is no conversation here yet. Write to me first, or say /approvals all …"
NO_GRANTS = "You have granted nothing: I ask you about everything that needs it."
GRANTS_USAGE = "/grants revoke ID takes one back, /grants revoke all takes back every one."
NO_SUCH_GRANT = "You have no grant with that id. /grants lists them."
ALWAYS_NOT_OFFERED = 'This can only be approved one at a time; "always" is not offered.'
SEND_CREDENTIAL = (
    "Your next message is taken for it, within five minutes: it goes into the vault, and neither the model "
    "nor a log sees it."
)


def waits_for_decision(title: str, gate_id: str | None) -> str:
    """Return the notice sent once when text arrives while a call waits for approval.

    `gate_id`: the gate that can be approved by its ID, if any."""
    words = "" if gate_id is None else f", or /approve {gate_id} or /deny {gate_id}"
    return (
        f"Your message is queued: I am waiting for a decision on: {title}\n"
        f"Answer with its buttons{words}; /stop gives up."
    )


def waits_for_answer(title: str) -> str:
    """Return the notice sent once when a text does not answer the open question."""
    return (
        f"Your message is queued: I am waiting for your answer to: {title}\n"
        "Answer with its buttons, or as it says; /stop gives up."
    )


def answer_in_words(*, choices: bool) -> str:
    """Return the hint below a question that accepts any words."""
    return f"{'Choose, or write' if choices else 'Write'} to me: your next message is the answer."


FILE_CHANGED = "It was agreed to before; a file that it changes or runs is not the same any more."
CALL_CHANGED = "It was agreed to before, but not with these arguments, or not here."


def approval_title(tool: str, reason: str) -> str:
    """Return the headline of an approval card. `reason`: why a person is asked."""
    return f"May I run {tool}?\n{reason}" if reason else f"May I run {tool}?"


def left_out(count: int, of_all: int) -> str:
    """Return the line that replaces the middle of arguments too long for a card."""
    return f"⚠ {count} of {of_all} characters are left out here. Read all of it in the console, or deny it."


def joint_title(count: int) -> str:
    """Return the headline of a card about several calls."""
    return f"May I run these {count} calls?"


def joint_heading(number: int, tool: str, reason: str) -> str:
    """Return the heading above one of several calls. `reason`: why a person is asked."""
    return f"{number}. {tool}: {reason}" if reason else f"{number}. {tool}"


def unknown_title(tool: str) -> str:
    """Return the headline for a call whose outcome is unknown after a crash."""
    return f"I was interrupted while running {tool} and don't know whether it took effect."


def approvals_told(preset: str, rounds: int | None, tools: int | None, seconds: int) -> str:
    """Return a description of the preset and limits of a conversation. None: no limit."""
    told = {
        "manual": "I ask you before every tool.",
        "whitelist": "I ask you before every tool that is not on the list and that you have not granted.",
        "auto_loop": "I run tools by myself; I ask about dangerous ones, and whether to go on.",
        "auto": "I run tools by myself; I ask about dangerous ones, and if it takes long.",
    }
    limits = f"{seconds} s"
    if rounds is not None and tools is not None:
        limits = f"{texts.count(rounds, 'round')}, {texts.count(tools, 'tool')}, {seconds} s"
    return (
        f"Here it is {preset}: {told[preset]}\nAfter {limits} of one turn I ask whether to go on.\n"
        "What always needs your word, I ask about in any case."
    )


def approvals_usage(presets: Sequence[str]) -> str:
    """Return the answer to settings that do not exist."""
    return (
        f"Write /approvals and one of {', '.join(presets)} or default; or a limit, such as"
        " /approvals rounds 10 (rounds, tools, seconds). /approvals all … holds in all your conversations."
    )


def approvals_ceiling(allowed: object) -> str:
    """Return the answer to settings that are looser than the admin policy allows."""
    return f"That is more than I am allowed here; {allowed} is the most."


WAS_ASKED = "Before the change it was:"
WAS_ASKED_ELSEWHERE = "The console shows what it was before the change."
EXACTLY_THIS = "exactly this"


def always_grants(tool: str, pattern: str | None) -> str:
    """Return the line on a card about the grant that "always" would record, worded as in the list of
    grants."""
    if pattern in (None, "*"):
        return f"Always would grant {tool}: every call"
    return f"Always would grant {tool}: {'; '.join(map(_pattern_in_words, pattern.split(chr(10))))}"


def _pattern_in_words(pattern: str) -> str:
    """Return a pattern in words. A row of the command table means that command with the options the
    table lists."""
    return f"{pattern[1:]} with its harmless options" if pattern.startswith("@") else pattern


def grant_line(tool: str, pattern: str | None, short_id: str, *, everywhere: bool) -> str:
    """Return the line of one grant in a list."""
    where = "everywhere" if everywhere else "one conversation"
    return f"{tool}: {_pattern_in_words(pattern) if pattern else 'every call'} ({where}), {short_id}"


def grants_revoked(count: int) -> str:
    """Return the confirmation that grants were revoked."""
    return (
        "Taken back: I will ask again." if count == 1 else f"{count} grants are taken back: I will ask again."
    )


def loop_progress(rounds: int, max_rounds: int | None, tools: int, max_tools: int | None) -> str:
    """Return the progress of a turn's tool use. None: no limit."""
    of_rounds = "" if max_rounds is None else f" of {max_rounds}"
    of_tools = "" if max_tools is None else f" of {max_tools}"
    return f"Round {rounds}{of_rounds}, {tools}{of_tools} tools."


def continue_title(reason: str) -> str:
    """Return the headline of a continue gate. `reason` is a budget_* sentence."""
    return f"{reason} Shall I go on?"


def budget_rounds(rounds: int) -> str:
    """Return the sentence for a reached round limit."""
    return f"I have used {texts.count(rounds, 'round')} of tools on this."


def budget_tools(calls: int) -> str:
    """Return the sentence for a reached call limit."""
    return f"I have run {texts.count(calls, 'tool')} on this."


def budget_time(seconds: int) -> str:
    """Return the sentence for a reached time limit."""
    return f"I have worked on this for {seconds} s."


def outcome_line(option: str, name: str) -> str:
    """Return the outcome line of a settled card, also sent to late voters."""
    words = {
        "approve": f"Approved by {name}",
        "deny": f"Denied by {name}",
        "one_by_one": f"{name} wants to be asked one by one",
        "always": f"Always approved by {name}",
        "session": f"Approved by {name} for this conversation",
        "happened": f"{name} says: it happened",
        "retry": f"{name} says: run it again",
        "skip": f"{name} says: leave it",
        "continue": f"{name} lets me go on",
        "stop": f"{name} ends it here",
    }
    return words[option]


def chosen_line(label: str, name: str) -> str:
    """Return the outcome line for one of a question's own answers."""
    return f"{name} chose: {label}"


def written_line(text: str, name: str) -> str:
    """Return the outcome line for an answer in words. A long text is cut; the conversation has it in
    full."""
    line = " ".join(text.split())
    return f"{name} answered: {line if len(line) <= SHOWN_ANSWER_CHARS else f'{line[:SHOWN_ANSWER_CHARS]}…'}"


def have_to_agree(quorum: int) -> str:
    """Return the line on a card that needs several approvals."""
    return f"{quorum} people have to agree."


def still_waiting(asked: str, left_s: int, *, consent: bool) -> str:
    """Return the one reminder of a gate before it expires. `asked`: its headline."""
    if left_s < 120:
        left = f"{left_s} s"
    else:
        left = f"{left_s // 60} min" if left_s < 7200 else f"{left_s // 3600} h"
    then = "it counts as not approved" if consent else "I stop waiting"
    return f"Still waiting for you: {asked}\nIn {left} {then}."


def escalated(asked: str, names: Sequence[str]) -> str:
    """Return the notice to a gate's conversation that it was escalated. `names`: the people asked
    then."""
    who = ", ".join(names) or "others"
    headline = asked.partition("\n")[0]
    return f"Nobody has decided yet: {headline}\nI have asked {who}, too."


def edited_line(outcome: str) -> str:
    """Return the outcome line of a call that its approver edited."""
    return f"{outcome}, edited"


def vote_counted(missing: int) -> str:
    """Return the answer to a vote that counts when more are needed."""
    return f"Counted. {missing} more needed."


def already_settled(outcome_text: str) -> str:
    """Return the answer to a vote on a settled gate."""
    return f"Already settled: {outcome_text}"


SHOWN_ANSWER_CHARS = 150
OPTION_LABELS = {
    "approve": "Approve",
    "deny": "Deny",
    "one_by_one": "One by one",
    "always": "Always",
    "session": "In this conversation",
    "happened": "It happened",
    "retry": "Run it again",
    "skip": "Leave it",
    "continue": "Go on",
    "stop": "Stop here",
}
JOINT_LABELS = {**OPTION_LABELS, "approve": "Approve all", "deny": "Deny all"}
"""The button labels of a gate about several calls."""


# Texts about editing a call before approving it.

FORM_OUTDATED = (
    "Somebody changed this call after you opened the form, so it was not taken. Open the form again: it then "
    "shows the call as it is now."
)
REPLY_OUTDATED = (
    "Somebody changed this call after what you replied to, so your reply was not taken. This is how it is "
    "now: reply to this message."
)
EDIT_NEEDS_APPROVAL = "Arguments can be changed by who agrees to them only."
FILL_IN = (
    "Reply to this message with what is to be changed, a line for each argument (name: value), or with all "
    "of it as JSON. Your reply approves the call as it is then."
)
NOT_SHOWN = "It has arguments that are not shown, so they cannot be changed here."
REPLY_TO_CHANGE = "Reply to my message with what you want changed."
EDIT_NEEDS_OTHERS = (
    "Changed like this, it is for others to decide. Deny it, and have it asked for as it should be."
)
CHANGED_MEANWHILE = "This was changed by somebody else meanwhile. Look at it again."
EDIT_ONE_BY_ONE = "This is about several calls. Choose One by one; then each can be changed on its own card."
NOTHING_TO_EDIT = "There are no arguments to change."
