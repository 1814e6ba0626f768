"""The hub's texts about gates, grants and limits: on cards, and to the people who decide."""

from collections.abc import Collection, Mapping, Sequence
from typing import cast

from core import texts
from core.gates import Grant
from core.messages import folded

NOTHING_WAITS = "Nothing is waiting for an answer here."
NO_SUCH_GATE = "There is no request with that ID."
NOT_ALLOWED_HERE = "You are not allowed to decide this."
NOT_YOUR_QUESTION = "This question is for someone else."
ANSWER_THE_QUESTION = "That doesn't answer this question. Press one of its buttons, or type what it asks for."
PRESS_A_BUTTON = "This request has its own answers. Press one of its buttons."
SAY_WHICH = (
    "Several requests are open here, or one arrived after you wrote. Press a button, or type /approve or"
    " /deny followed by the 10-character ID on the card."
)
REQUESTER_EXCLUDED = "You made this request, so someone else must decide it."
ALREADY_VOTED = "Your answer has already been counted."
STOPPED_CARD = "Stopped."
EXPIRED_CARD = "Not approved: no answer in time."
EXPIRED_QUESTION = "No answer in time."
TOO_LATE = "This request has expired, so your answer does not count. Ask me again if you still want it."
APPROVALS_NO_THREAD = "There is no conversation here yet. Send me a message first, or use /approvals all …"
NO_GRANTS = "You have no grants: I ask about every call that needs approval."
GRANTS_USAGE = "/grants revoke ID revokes one grant; /grants revoke all revokes all of them."
NO_SUCH_GRANT = "You have no grant with that ID. Type /grants for the list."
ALWAYS_NOT_OFFERED = 'This can only be approved one call at a time; "Always allow" is not available.'
SEND_CREDENTIAL = (
    "Send the credential as your next message, within five minutes. It goes into the vault; the model and "
    "the logs don't see it."
)
SIGN_IN = "Sign in"
HAVE_CODE = "I have a code"
CANCEL = "Cancel"
HOW_TO_SIGN_IN = (
    "Press Sign in and allow access there. If your browser then shows an error, copy the address of that "
    f"page, press {HAVE_CODE} and send me the address."
)
SEND_CODE = (
    "Send the address of the page, or the code, as your next message within five minutes. I don't store it "
    "as text."
)
SIGNING_IN = "Signing in…"
NOT_SIGNED_IN = "Not signed in."


def sign_in_title(server: str, tool: str, *, again: bool = False) -> str:
    """Return the headline of a sign-in request. `again`: an earlier sign-in is no longer accepted."""
    why = f"{server} no longer accepts the earlier sign-in." if again else f"{server} asks you to sign in."
    return f"Sign in to {server}\n{why} Then I run {tool} again."


def signed_in(server: str) -> str:
    """Return the outcome of a sign-in request that succeeded."""
    return f"Signed in to {server}."


def sign_in_failed(server: str, reason: str) -> str:
    """Return the text about an attempt that failed. `reason`: a sentence."""
    return f"Signing in to {server} failed: {reason} Press {SIGN_IN} to try again."


def sign_in_wanted(server: str, by: str) -> str:
    """Return the notice after an unattended run that needed a sign-in. `by`: the tool."""
    return (
        f"{by} did not run because you are not signed in to {server}. Sign in, and the next run can use it. "
        f"If your browser then shows an error, ask me in a private conversation to sign in to {server}."
    )


def sign_in_link(server: str) -> str:
    """Return the text of the link that a person asked for."""
    return f"Sign in to {server}. The link is good once, for a day."


def sign_in_over(server: str) -> str:
    """Return the answer to a sign-in whose server, or request, was gone once the code was exchanged."""
    return (
        f"You are not signed in to {server}: the server was removed or replaced, or the request was closed."
        " Nothing is kept of it, and I revoke what I was given."
    )


def not_revoked(server: str, reason: str) -> str:
    """Return the notice after tokens could not be revoked. `reason`: a sentence."""
    return (
        f"Your sign-in to {server} is deleted here, but not revoked: {reason} Remove this hub's access at"
        f" {server} itself."
    )


def no_sign_in_page(server: str) -> str:
    """Return the reason why there is no link to sign in with."""
    return (
        f"{server} has no page to sign in at. If it wants a token, ask me in a private conversation to sign"
        f" in to {server}."
    )


def waits_for_decision(title: str, gate_id: str | None) -> str:
    """Return the notice sent once when text arrives while a call waits for approval.

    `gate_id`: the gate that can be approved by its ID, if any."""
    words = "" if gate_id is None else f", or type /approve {gate_id} or /deny {gate_id}"
    return (
        f"Your message is queued. I am waiting for a decision on: {title}\n"
        f"Use the buttons{words}. To cancel, type /stop."
    )


def waits_for_answer(title: str) -> str:
    """Return the notice sent once when a text does not answer the open question."""
    return (
        f"Your message is queued. I am waiting for your answer to: {title}\n"
        "Use the buttons, or follow the instructions on the card. To cancel, type /stop."
    )


def answer_in_words(*, choices: bool) -> str:
    """Return the hint below a question that accepts any words."""
    return f"{'Choose an option, or type' if choices else 'Type'} your answer: I use your next message."


FILE_CHANGED = "It was approved before, but a file that it changes or runs is different now."
CALL_CHANGED = "It was approved before, but the call or the tool has changed since."


MODELS_REASON_LIMIT_CHARS = 240
"""The limit on what a card quotes of a model's text."""


def approval_title(action: str, reason: str, narrative: str = "") -> str:
    """Return the headline of an approval card. `action`: the call in a few words; `reason`: why a person is
    asked; `narrative`: the text that the model wrote with the call."""
    title = f"{action}?\n{reason}" if reason else f"{action}?"
    return f"{title}{models_reason(narrative)}"


def models_reason(narrative: str) -> str:
    """Return the line of a card that quotes the model; empty if it wrote nothing."""
    quote = folded(narrative, MODELS_REASON_LIMIT_CHARS) if narrative.strip() else ""
    return f'\nThe model\'s reason: "{quote}"' if quote else ""


def left_out(count: int, of_all: int) -> str:
    """Return the line that replaces the middle of arguments too long for a card."""
    return f"⚠ {count} of {of_all} characters are not shown here. Read all of it in the console, or deny it."


def joint_title(count: int, narrative: str = "") -> str:
    """Return the headline of a card about several calls. `narrative`: the model's text with them."""
    return f"Run these {count} calls?{models_reason(narrative)}"


def joint_heading(number: int, tool: str, reason: str) -> str:
    """Return the heading above one of several calls. `reason`: why a person is asked."""
    return f"{number}. {tool}: {reason}" if reason else f"{number}. {tool}"


def unknown_title(tool: str) -> str:
    """Return the headline for a call whose outcome is unknown after a crash."""
    return f"I was interrupted while running {tool} and don't know whether it took effect."


def approvals_told(
    preset: str, rounds: int | None, tools: int | None, seconds: int, more: Sequence[str]
) -> str:
    """Return a description of the settings of a conversation. None: no limit. `more`: see `tools_told`."""
    told = {
        "manual": "I ask before every tool call.",
        "whitelist": "I ask before every tool call, unless the whitelist or a grant covers it.",
        "auto_loop": "I run tools without asking, except dangerous ones. I ask whether to continue.",
        "auto": "I run tools without asking, except dangerous ones. I ask if it takes long.",
    }
    limits = f"{seconds} s"
    if rounds is not None and tools is not None:
        limits = f"{texts.count(rounds, 'round')}, {texts.count(tools, 'tool call')}, {seconds} s"
    lines = (
        f"Approvals here: {preset}. {told[preset]}",
        f"After {limits} in one turn I ask whether to continue.",
        *more,
        "Calls that always need approval still do.",
    )
    return "\n".join(lines)


def tools_told(
    whitelist: Collection[str] | None, dangerous: Collection[str] | None, timeouts: Mapping[str, float] | None
) -> Sequence[str]:
    """Return lines on tools and their time limits, as far as they differ from the configuration. None: as
    configured."""
    lines: list[str] = []
    if whitelist is not None:
        lines.append(f"Whitelist: {', '.join(sorted(whitelist)) or 'no tools'}.")
    if dangerous is not None:
        lines.append(f"Dangerous tools: {', '.join(sorted(dangerous)) or 'none'}.")
    if timeouts:
        lines.append(f"Time limits: {_seconds(timeouts)}.")
    return lines


def approvals_usage(presets: Sequence[str]) -> str:
    """Return the answer to settings that do not exist."""
    return (
        f"Type /approvals followed by {', '.join(presets)} or default, or by a limit such as"
        " rounds 10 (rounds, tools, seconds). For tools: whitelist time json, dangerous shell http,"
        " timeout shell 60; none for no tools. /approvals all … applies to all your conversations."
    )


def approvals_ceiling(name: str, allowed: object) -> str:
    """Return the answer to a setting that is looser than allowed."""
    if name == "dangerous_tools":
        tools = ", ".join(sorted(cast("Collection[str]", allowed)))
        return f"That is not allowed here; dangerous tools must include {tools}."
    if name == "whitelist":
        allowed = ", ".join(sorted(cast("Collection[str]", allowed))) or "no tools"
    elif name == "tool_timeouts":
        allowed = _seconds(cast("Mapping[str, float]", allowed))
    return f"That is not allowed here; the limit is {allowed}."


def _seconds(timeouts: Mapping[str, float]) -> str:
    return ", ".join(f"{tool} {seconds:g} s" for tool, seconds in sorted(timeouts.items()))


def no_such_tool(name: str) -> str:
    """Return the answer to a setting for a tool that doesn't exist."""
    return f"There is no tool named {name}."


WAS_ASKED = "Before the change it was:"
WAS_ASKED_ELSEWHERE = "The console shows the call before the change."
EXACTLY_THIS = "exactly this"


def always_grants(tool: str, pattern: str | None) -> str:
    """Return the line on a card about the grant that "always" would record, worded as in the list of
    grants."""
    if pattern in (None, "*"):
        return f"Always allow would cover {tool}: every call"
    return f"Always allow would cover {tool}: {'; '.join(map(_pattern_in_words, pattern.split(chr(10))))}"


_HEX = frozenset("0123456789abcdef")
DIGEST_CHARS = 32
"""The length of the shortest digest in a pattern."""


def _pattern_in_words(pattern: str) -> str:
    """Return a pattern in words. A row of the command table means that command with the options the
    table lists; the digest of the files that a command runs is left out."""
    if pattern.startswith("@"):
        return f"{pattern[1:]} with the options listed as safe"
    # A pattern bound to the content of the files that the command runs; core.safety.shell.rating makes them.
    bound, _, rest = pattern.rpartition(" unchanged, ")
    line, _, files = bound.rpartition(" [")
    digest, end, where = rest.partition("]")
    is_digest = len(digest) >= DIGEST_CHARS and _HEX.issuperset(digest)
    if not (line and is_digest and end) or (where and not where.startswith(" [in ")):
        return pattern
    unchanged = f"{files} stays unchanged" if files else "no file that it would run appears"
    return f"{line}{where}, as long as {unchanged}"


def grant_covers(pattern: str | None) -> str:
    """Return the calls that a grant covers, in words and without digests."""
    return _pattern_in_words(pattern) if pattern else "every call"


def grant_line(grant: Grant, short_id: str) -> str:
    """Return the line of one grant in a list."""
    where = grant.subject or ("everywhere" if grant.thread_id is None else "one conversation")
    covers = grant_covers(grant.pattern)
    return f"{grant.tool}: {covers} ({where}), {short_id}"


def grants_counted(count: int) -> Sequence[str]:
    """Return the line that counts a person's grants, also of their routines and jobs; () for none."""
    return (f"{texts.count(count, 'grant')} in force: /grants lists and revokes them.",) if count else ()


def grants_revoked(count: int) -> str:
    """Return the confirmation that grants were revoked."""
    return "Grant revoked: I will ask again." if count == 1 else f"{count} grants revoked: I will ask again."


ONLY_OWNERS_ALLOW = "Only an owner can allow this."
GRANTS_SHOWN_CHARS = 1500
GRANTS_SHOWN = 5


def grants_offered(missing: Sequence[str]) -> tuple[str, ...]:
    """Return the missing grants of an unattended run that its notice shows in full, and so may offer."""
    offered, used_chars = list[str](), 0
    for grant in missing[:GRANTS_SHOWN]:
        used_chars += len(grant)
        if used_chars <= GRANTS_SHOWN_CHARS:
            offered.append(grant)
    return tuple(offered)


def loop_progress(rounds: int, max_rounds: int | None, tools: int, max_tools: int | None) -> str:
    """Return the progress of a turn's tool use. None: no limit."""
    of_rounds = "" if max_rounds is None else f" of {max_rounds}"
    of_tools = "" if max_tools is None else f" of {max_tools}"
    return f"Round {rounds}{of_rounds}, {tools}{of_tools} tool calls."


def continue_title(reason: str) -> str:
    """Return the headline of a continue gate. `reason` is a budget_* sentence."""
    return f"{reason} Shall I continue?"


def budget_title(reason: str) -> str:
    """Return the headline of a budget gate. `reason` is a sentence."""
    return f"{reason} Continue with this request?"


def budget_rounds(rounds: int) -> str:
    """Return the sentence for a reached round limit."""
    return f"I have used {texts.count(rounds, 'round')} of tool calls on this."


def budget_tools(calls: int) -> str:
    """Return the sentence for a reached call limit."""
    return f"I have made {texts.count(calls, 'tool call')} on this."


def budget_time(seconds: int) -> str:
    """Return the sentence for a reached time limit."""
    return f"I have worked on this for {seconds} s."


def outcome_line(option: str, name: str) -> str:
    """Return the outcome line of a settled card, also sent to late voters."""
    words = {
        "approve": f"Approved by {name}",
        "deny": f"Denied by {name}",
        "one_by_one": f"{name} asked to decide each call separately",
        "always": f"Always allowed by {name}",
        "session": f"Approved by {name} for this conversation",
        "happened": f"Confirmed by {name}: it happened",
        "retry": f"Run again by {name}",
        "skip": f"Skipped by {name}",
        "continue": f"Continued by {name}",
        "stop": f"Stopped by {name}",
        "signed_in": f"Signed in by {name}",
        "not_signed_in": NOT_SIGNED_IN,
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


def approvals_needed(quorum: int) -> str:
    """Return the line on a card that needs several approvals."""
    return f"{quorum} people must approve."


def still_waiting(asked: str, left_s: int, *, consent: bool) -> str:
    """Return the one reminder of a gate before it expires. `asked`: its headline."""
    if left_s < 120:
        left = f"{left_s} s"
    else:
        left = f"{left_s // 60} min" if left_s < 7200 else f"{left_s // 3600} h"
    then = "it expires and counts as not approved" if consent else "the request expires"
    return f"Still waiting for your answer: {asked}\nIn {left} {then}."


def escalated(asked: str, names: Sequence[str]) -> str:
    """Return the notice to a gate's conversation that it was escalated. `names`: the people asked
    then."""
    who = ", ".join(names) or "others"
    headline = asked.partition("\n")[0]
    return f"No decision yet: {headline}\nI have also asked {who}."


def edited_line(outcome: str) -> str:
    """Return the outcome line of a call that its approver edited."""
    return f"{outcome}, edited"


def vote_counted(missing: int) -> str:
    """Return the answer to a vote that counts when more are needed."""
    return f"Counted. {missing} more needed."


def already_settled(outcome_text: str) -> str:
    """Return the answer to a vote on a settled gate."""
    return f"Already closed: {outcome_text}"


SHOWN_ANSWER_CHARS = 150
OPTION_LABELS = {
    "approve": "Approve",
    "deny": "Deny",
    "one_by_one": "One by one",
    "always": "Always allow",
    "session": "In this conversation",
    "happened": "It happened",
    "retry": "Run it again",
    "skip": "Skip",
    "continue": "Continue",
    "stop": "Stop",
    "signed_in": "Signed in",
    "not_signed_in": "Not signed in",
}
JOINT_LABELS = {**OPTION_LABELS, "approve": "Approve all", "deny": "Deny all"}
"""The button labels of a gate about several calls."""


# Texts about editing a call before approving it.

FORM_OUTDATED = (
    "Someone changed this call after you opened the form, so your changes were not saved. Open the form "
    "again to see the current call."
)
REPLY_OUTDATED = (
    "Someone changed this call after the message you replied to, so your reply was not used. This is the "
    "current call: reply to this message."
)
EDIT_NEEDS_APPROVAL = "Only someone who can approve this call may edit it."
FILL_IN = (
    "Reply to this message with your changes, one line per argument (name: value), or with all arguments "
    "as JSON. Your reply approves the changed call."
)
NOT_SHOWN = "Some of its arguments are not shown, so it can't be edited here."
REPLY_TO_CHANGE = "Reply to my message with your changes."
EDIT_NEEDS_OTHERS = (
    "With this change, other people must decide. Deny it, and request the changed call instead."
)
CHANGED_MEANWHILE = "Someone else changed this in the meantime. Review it again."
EDIT_ONE_BY_ONE = (
    "This request covers several calls. Choose “One by one”, then edit each call on its own card."
)
NOTHING_TO_EDIT = "There are no arguments to edit."
