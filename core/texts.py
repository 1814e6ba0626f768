"""The hub's own texts to people, by name. They ship in English.

Texts of a single subject are elsewhere: core.consent.card_texts, core.people.pairing_texts and
core.inbound.routine_texts.
"""

from collections.abc import Sequence

from core.messages import Attachment, size_in_words

COMMANDS: tuple[tuple[str, str], ...] = (
    ("new", "start a new conversation"),
    ("stop", "stop what is running here"),
    ("status", "what is going on here"),
    ("approve", "approve a waiting call: /approve ID; the owner lets people in: /approve CHANNEL CODE"),
    ("approvals", "how much I ask you here: /approvals manual, whitelist, auto_loop or auto"),
    ("grants", "what I may do without asking; /grants revoke ID takes it back"),
    ("deny", "deny a waiting call: /deny ID"),
    ("pause", "pause all tools at once (owner only)"),
    ("unpause", "let tools run again (owner only)"),
    ("timezone", "your time zone: /timezone Europe/Berlin sets it, /timezone default clears it"),
    ("link", "use me from another account of yours too"),
    ("help", "what I understand"),
)
"""The commands offered in each platform's own menu, with their descriptions."""

ONLY_OWNER_PAUSES = "Only the owner can pause and unpause tools."
TOOLS_PAUSED = "All tools are paused. Use /unpause to continue."
TOOLS_UNPAUSED = "Tools can run again."
RESUME_NOT_YET = "To let tools run again, use /unpause."
WELCOME = (
    "Hello. Write to me and I will answer; when something I want to do needs your consent, "
    "I show buttons first. /help lists the commands."
)
NEW_THREAD = "A new conversation. What was said before stays in the old one."
NOTHING_TO_STOP = "Nothing is running here."
TOO_MANY_MESSAGES = "You are writing faster than I may answer. I did not take this message; try in a minute."
TOO_MANY_PRESSES = "Too many presses that decide nothing. Try again in a minute."
NOT_UNDERSTOOD = "I can make nothing of this ({kind}). Write to me in words, or send it as a file."
NOT_NOW = "I cannot take this right now. Please try again in a moment."
COMMAND_TAKEN = "Understood."
EDIT_LABEL = "Edit…"
CRASHED = (
    "I set your message aside: working on it made me crash three times in a row. "
    "Please send it again in other words, or tell my operator."
)

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
    """Return the commands, one per line."""
    lines = [f"/{name} — {description}" for name, description in COMMANDS]
    return "\n".join([*lines, "", "Anything else you write goes to the assistant."])


def unknown_command(name: str) -> str:
    """Return the answer to a command that does not exist."""
    return f"I don't know /{name}. /help lists what I understand."


def timezone(own: str | None, hubs: str) -> str:
    """Return the description of a person's time zone. `hubs`: the zone of people who chose none."""
    if own is None:
        return f"You use the hub's time zone, {hubs}. Set your own with /timezone Europe/Berlin."
    return f"Your time zone is {own}. The hub's is {hubs}; /timezone default switches back to it."


def unknown_timezone(wanted: str, near: Sequence[str]) -> str:
    """Return the refusal of a time zone that does not exist. `near`: similar names."""
    if near:
        advice = f"Did you mean {' or '.join(near)}?"
    else:
        advice = "Write a name such as Europe/Berlin or America/New_York."
    return f"I don't know the time zone {wanted[:60]}. {advice}"


def stopped(dropped: int) -> str:
    """Return the confirmation of `/stop`. `dropped`: the number of waiting messages dropped with it."""
    if dropped == 0:
        return "Stopped."
    return f"Stopped. {count(dropped, 'waiting message')} dropped."


def left_running(tool: str) -> str:
    """Return the notice that a stopped turn's tool could not be ended."""
    return f"I could not end {tool}. It may still take effect: look at what it was to change."


def credential_taken(kept: Sequence[str]) -> str:
    """Return the immediate answer to a person who wrote a credential. `kept`: its names in the vault
    now."""
    said = "That looked like a password or key, so I took it out before anything else could see it."
    if not kept:
        return f"{said} I kept nothing of it. Please delete your message, too."
    names = ", ".join(kept)
    return f"{said} It is in the vault now, as {names}. Please delete your message, too."


def too_many_waiting(limit: int) -> str:
    """Return the refusal of a message when too many wait."""
    wait = "1 message waits" if limit == 1 else f"{limit} messages wait"
    return f"I am still busy and already {wait} here. I did not take this one; send it later."


def files_too_large(files: Sequence[Attachment]) -> str:
    """Return the notice about files too large to fetch; each has a limit."""
    names = ", ".join(f"“{file.name[:60]}” ({size_in_words(file.size_bytes)})" for file in files)
    limit = size_in_words(min(file.limit_bytes or 0 for file in files))
    return f"Too large for me: {names}. Here I can read files of up to {limit}."


def status(
    state: str, running_s: int | None, waiting: int, open_titles: Sequence[str], progress: str = ""
) -> str:
    """Return a thread's status, for people. `progress`: see loop_progress."""
    lines = [state if running_s is None else f"{state} (for {running_s} s)."]
    if progress:
        lines.append(progress)
    if waiting:
        lines.append(f"{count(waiting, 'message')} waiting.")
    lines += [f"Waiting for you: {title}" for title in open_titles]
    return "\n".join(lines)


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


STATUS_IDLE = "Nothing is running here."
STATUS_RUNNING = "I am working on your message"
STATUS_WAITING = "I am waiting for an answer."
