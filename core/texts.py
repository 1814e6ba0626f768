"""Every sentence the hub itself says to people, by name. English is what ships; one place to translate."""

from collections.abc import Sequence

from core.inputs import size_in_words
from core.messages import Attachment

COMMANDS: tuple[tuple[str, str], ...] = (
    ("new", "start a new conversation"),
    ("stop", "stop what is running here"),
    ("status", "what is going on here"),
    ("approve", "approve a waiting call: /approve ID; the owner lets people in: /approve CHANNEL CODE"),
    ("approvals", "how much I ask you here: /approvals manual, whitelist, auto_loop or auto"),
    ("grants", "what I may do without asking; /grants revoke ID takes it back"),
    ("deny", "deny a waiting call: /deny ID"),
    ("pause", "the owner stops all tools at once"),
    ("resume", "the owner lets tools run again"),
    ("link", "use me from another account of yours too"),
    ("help", "what I understand"),
)
"""The commands offered in each platform's own menu, with their descriptions."""

ONLY_OWNER_HALTS = "Only the owner of this assistant can stop and resume its tools."
TOOLS_HALTED = "All tools are stopped. /resume lets them run again."
TOOLS_RESUMED = "Tools run again."
WELCOME = (
    "Hello. Write to me and I will answer; when something I want to do needs your consent, "
    "I show buttons first. /help lists the commands."
)
NEW_THREAD = "A new conversation. What was said before stays in the old one."
NOTHING_TO_STOP = "Nothing is running here."
NOTHING_WAITS = "Nothing is waiting for an answer here."
NO_SUCH_PROMPT = "I know no question with that id."
NOT_PAIRED = "This assistant is private. Ask its owner to let you in."
NOT_ALLOWED_HERE = "You are not allowed to decide this."
NOT_YOUR_QUESTION = "This question is for somebody else."
ANSWER_THE_QUESTION = (
    "That is no answer to this question: press one of its buttons, or write what it asks for."
)
TRY_LATER = "This assistant is private, and many people are asking to be let in. Please try again later."
YOU_ARE_IN = "You are in. Write to me and I will answer; /help lists the commands."
NOT_LET_IN = "The owner of this assistant did not let you in."
ONLY_OWNER_LETS_IN = "Only the owner of this assistant can let people in."
UNKNOWN_CODE = "I know no such code. Codes are good for 15 minutes and for one use."
CODE_USED = "This code was used already. Ask for a new one."
CODE_EXPIRED = "This code is no longer good. Ask for a new one."
TOO_MANY_CODES = "Too many wrong codes. Please try again in a quarter of an hour."
NO_SUCH_REQUEST = "Nobody waits under that id."
OWNER_KNOWN = "There is an owner already. Let this account in as a member, or as yourself."
KNOWN_ALREADY = (
    "This account is known here already, and a code cannot change whose it is. "
    "Send the code from the account you want to add."
)
GUESTS_CANNOT_LINK = "Only people who were let in by the owner can add an account."
CODES_IN_PRIVATE = "Codes are for private conversations. Write /link to me alone."
TOO_MANY_MESSAGES = "You are writing faster than I may answer. I did not take this message; try in a minute."
NOT_NOW = "I cannot take this right now. Please try again in a moment."
COMMAND_TAKEN = "Understood."
REQUESTER_EXCLUDED = "Someone else has to decide this: the one who asked may not."
EDIT_NEEDS_APPROVAL = "Arguments can be changed by who agrees to them only."
EDIT_LABEL = "Edit…"
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
ALREADY_VOTED = "Your answer is already counted."
STOPPED_CARD = "Stopped."
EXPIRED_CARD = "Nobody answered in time: not approved."
EXPIRED_QUESTION = "Nobody answered in time."
CRASHED = (
    "I set your message aside: working on it made me crash three times in a row. "
    "Please send it again in other words, or tell my operator."
)
APPROVALS_NO_THREAD = "There is no conversation here yet. Write to me first, or say /approvals all …"
NO_GRANTS = "You have granted nothing: I ask you about everything that needs it."
GRANTS_USAGE = "/grants revoke ID takes one back, /grants revoke all takes back every one."
NO_SUCH_GRANT = "You have no grant with that id. /grants lists them."
ALWAYS_NOT_OFFERED = 'This can only be approved one at a time; "always" is not offered.'

MODEL_UNREACHABLE = "The language model cannot be reached right now. Please try again in a moment."
MODEL_KEY_REJECTED = "The language model refuses my key. My operator has to look at the configuration."
MODEL_REFUSED = "The language model refused this request. Try again in other words, or start over with /new."
MODEL_BROKE_OFF = "The language model's reply broke off. Please try again."
CONTEXT_TOO_LONG = (
    "This conversation has become too long for the model. Send a shorter message, or start over with /new."
)
ALLOWANCE_USED_UP = "That was all I can do for guests today. Please come back tomorrow."
EMPTY_REPLY = "I have nothing to say to that. Could you put it differently?"
INTERNAL_FAILURE = "Something went wrong on my side; nothing else was done. Reference: {reference}"


def help_text() -> str:
    """The commands, one a line."""
    lines = [f"/{name} — {description}" for name, description in COMMANDS]
    return "\n".join([*lines, "", "Anything else you write goes to the assistant."])


def ask_owner(channel: str, code: str) -> str:
    """A stranger's code, and what the owner does with it."""
    return (
        "This assistant is private. Its owner can let you in, with this code:\n"
        f"{code}\n"
        f"They write to me: /approve {channel} {code}\n"
        f"or run: hubbub pair approve {code}\n"
        "It is good for 15 minutes."
    )


def let_in(name: str, role: str) -> str:
    """Told to the owner who let somebody in, or joined an account of their own."""
    return f"{name} is in, as {'yourself' if role == 'owner' else 'a member'}."


def link_code(code: str) -> str:
    """A person's code for another account of theirs."""
    return (
        f"Send me this from your other account: /link {code}\n"
        "It is good for 15 minutes and one use. Whoever sends it is you to me, so give it to nobody."
    )


def linked(name: str) -> str:
    """Told to an account that was joined to a person."""
    return f"This account is yours too now: you are {name} here."


def link_used(name: str, channel: str) -> str:
    """Told to the account that made the code."""
    return f"Your code was used: {name} on {channel} is one of your accounts now."


def unknown_channel(name: str) -> str:
    """An answer to somebody who lets in a stranger of a channel that does not exist."""
    return f"I have no channel called {name}."


def unknown_command(name: str) -> str:
    """An answer to a command that does not exist."""
    return f"I don't know /{name}. /help lists what I understand."


def stopped(dropped: int) -> str:
    """Acknowledges `/stop`; `dropped` waiting messages are gone with it."""
    if dropped == 0:
        return "Stopped."
    return f"Stopped. {_count(dropped, 'waiting message')} dropped."


def credential_taken(kept: Sequence[str]) -> str:
    """Said at once to who wrote a credential; `kept`: the names under which it is in the vault now."""
    said = "That looked like a password or key, so I took it out before anything else could see it."
    if not kept:
        return f"{said} I kept nothing of it. Please delete your message, too."
    names = ", ".join(kept)
    return f"{said} It is in the vault now, as {names}. Please delete your message, too."


SEND_CREDENTIAL = (
    "Your next message is taken for it, within five minutes: it goes into the vault, and neither the model "
    "nor a log sees it."
)


def too_many_waiting(limit: int) -> str:
    """Refuses a message aloud when too many wait."""
    wait = "1 message waits" if limit == 1 else f"{limit} messages wait"
    return f"I am still busy and already {wait} here. I did not take this one; send it later."


def files_too_large(files: Sequence[Attachment]) -> str:
    """Of files that cannot be fetched; each has a limit."""
    names = ", ".join(f"“{file.name[:60]}” ({size_in_words(file.size_bytes)})" for file in files)
    limit = size_in_words(min(file.limit_bytes or 0 for file in files))
    return f"Too large for me: {names}. Here I can read files of up to {limit}."


def waits_for_decision(title: str, prompt_id: str) -> str:
    """Said once when text arrives while a call waits for a person."""
    return (
        f"Your message is queued: I am waiting for a decision on: {title}\n"
        f"Answer with its buttons, or /approve {prompt_id} or /deny {prompt_id}; /stop gives up."
    )


def waits_for_answer(title: str) -> str:
    """Said once when text arrives that is no answer to the question that waits."""
    return (
        f"Your message is queued: I am waiting for your answer to: {title}\n"
        "Answer with its buttons, or as it says; /stop gives up."
    )


def answer_in_words(*, choices: bool) -> str:
    """Below a question that takes any words."""
    return f"{'Choose, or write' if choices else 'Write'} to me: your next message is the answer."


def status(
    state: str, running_s: int | None, waiting: int, open_titles: Sequence[str], progress: str = ""
) -> str:
    """What goes on in a thread, for people. `progress`: see loop_progress."""
    lines = [state if running_s is None else f"{state} (for {running_s} s)."]
    if progress:
        lines.append(progress)
    if waiting:
        lines.append(f"{_count(waiting, 'message')} waiting.")
    lines += [f"Waiting for you: {title}" for title in open_titles]
    return "\n".join(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


STATUS_IDLE = "Nothing is running here."
STATUS_RUNNING = "I am working on your message"
STATUS_WAITING = "I am waiting for an answer."


FILE_CHANGED = "It was agreed to before; a file that it changes or runs is not the same any more."
CALL_CHANGED = "It was agreed to before, but not with these arguments, or not here."


def approval_title(tool: str, reason: str) -> str:
    """Headline of an approval card; `reason`: why a person is asked."""
    return f"May I run {tool}?\n{reason}" if reason else f"May I run {tool}?"


def joint_title(count: int) -> str:
    """Headline of a card about several calls."""
    return f"May I run these {count} calls?"


def joint_heading(number: int, tool: str, reason: str) -> str:
    """Above the arguments of one of them; `reason`: why a person is asked."""
    return f"{number}. {tool}: {reason}" if reason else f"{number}. {tool}"


def unknown_title(tool: str) -> str:
    """Headline when a call's outcome is unknown after a crash."""
    return f"I was interrupted while running {tool} and don't know whether it took effect."


def approvals_told(preset: str, rounds: int | None, tools: int | None, seconds: int) -> str:
    """What holds in a conversation; None: no limit."""
    told = {
        "manual": "I ask you before every tool.",
        "whitelist": "I ask you before every tool that is not on the list and that you have not granted.",
        "auto_loop": "I run tools by myself; I ask about dangerous ones, and whether to go on.",
        "auto": "I run tools by myself; I ask about dangerous ones, and if it takes long.",
    }
    limits = f"{seconds} s"
    if rounds is not None and tools is not None:
        limits = f"{_count(rounds, 'round')}, {_count(tools, 'tool')}, {seconds} s"
    return (
        f"Here it is {preset}: {told[preset]}\nAfter {limits} of one turn I ask whether to go on.\n"
        "What always needs your word, I ask about in any case."
    )


def approvals_usage(presets: Sequence[str]) -> str:
    """An answer to settings that do not exist."""
    return (
        f"Write /approvals and one of {', '.join(presets)} or default; or a limit, such as"
        " /approvals rounds 10 (rounds, tools, seconds). /approvals all … holds in all your conversations."
    )


def approvals_ceiling(allowed: object) -> str:
    """An answer to settings that are looser than the operator allows."""
    return f"That is more than I am allowed here; {allowed} is the most."


def grant_line(tool: str, pattern: str | None, short_id: str, *, everywhere: bool) -> str:
    """One grant in a list."""
    where = "everywhere" if everywhere else "one conversation"
    return f"{tool}: {pattern or 'every call'} ({where}), {short_id}"


def grants_revoked(count: int) -> str:
    """Acknowledges that grants were taken back."""
    return (
        "Taken back: I will ask again." if count == 1 else f"{count} grants are taken back: I will ask again."
    )


def loop_progress(rounds: int, max_rounds: int | None, tools: int, max_tools: int | None) -> str:
    """How far a turn's run of tools has come; None: no limit."""
    of_rounds = "" if max_rounds is None else f" of {max_rounds}"
    of_tools = "" if max_tools is None else f" of {max_tools}"
    return f"Round {rounds}{of_rounds}, {tools}{of_tools} tools."


def continue_title(reason: str) -> str:
    """Headline of a continue prompt; `reason` is a budget_* sentence."""
    return f"{reason} Shall I go on?"


def budget_rounds(rounds: int) -> str:
    """The round limit was reached."""
    return f"I have used {_count(rounds, 'round')} of tools on this."


def budget_tools(calls: int) -> str:
    """The call limit was reached."""
    return f"I have run {_count(calls, 'tool')} on this."


def budget_time(seconds: int) -> str:
    """The time limit was reached."""
    return f"I have worked on this for {seconds} s."


def outcome_line(option: str, name: str) -> str:
    """Written on a settled card and told to late voters."""
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
    """The same, of a question's own answers."""
    return f"{name} chose: {label}"


def written_line(text: str, name: str) -> str:
    """The same, of words; a long text is cut, it stands in the conversation anyway."""
    line = " ".join(text.split())
    return f"{name} answered: {line if len(line) <= SHOWN_ANSWER_CHARS else f'{line[:SHOWN_ANSWER_CHARS]}…'}"


def have_to_agree(quorum: int) -> str:
    """On a card that one person alone does not settle."""
    return f"{quorum} people have to agree."


def still_waiting(asked: str, left_s: int, *, consent: bool) -> str:
    """The one reminder of a prompt before it expires; `asked`: its headline."""
    if left_s < 120:
        left = f"{left_s} s"
    else:
        left = f"{left_s // 60} min" if left_s < 7200 else f"{left_s // 3600} h"
    then = "it counts as not approved" if consent else "I stop waiting"
    return f"Still waiting for you: {asked}\nIn {left} {then}."


def escalated(asked: str, names: Sequence[str]) -> str:
    """Told where something was asked that nobody decided for a while; `names`: whom it was put to then."""
    who = ", ".join(names) or "others"
    headline = asked.partition("\n")[0]
    return f"Nobody has decided yet: {headline}\nI have asked {who}, too."


def edited_line(outcome: str) -> str:
    """Written on a settled card whose call was changed by who agreed to it."""
    return f"{outcome}, edited"


def vote_counted(missing: int) -> str:
    """A vote counts, but more are needed."""
    return f"Counted. {missing} more needed."


def already_settled(outcome_text: str) -> str:
    """Told to someone who answers a settled prompt."""
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
"""Where several calls are asked about together."""
