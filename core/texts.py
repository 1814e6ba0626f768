"""The hub's own texts to people, by name. They ship in English.

Texts of a single subject are elsewhere: core.consent.card_texts, core.people.pairing and
core.routines.notices.
"""

from collections.abc import Collection, Mapping, Sequence

from core.errors import (
    ContextOverflow,
    ModelError,
    ModelFault,
    ModelMisconfigured,
    ModelOrderConflict,
    ModelRateLimited,
    ModelRejected,
    ModelReplyInvalid,
    ModelUnavailable,
)
from core.events import CandidateFailed, ContextUse, ModelTrace, Verbosity
from core.messages import Attachment, size_in_words
from core.users import ModelChoice

COMMANDS: tuple[tuple[str, str], ...] = (
    ("new", "start a new conversation; /new TITLE names it"),
    ("threads", "list your conversations and switch to one"),
    ("thread", "switch to a conversation: /thread ID or /thread TITLE"),
    ("rename", "give this conversation a title: /rename TITLE"),
    ("close", "close this conversation; your next message starts a new one"),
    ("export", "send you this conversation as a file"),
    ("delete", "delete this conversation for good; I ask first and offer an export"),
    ("stop", "stop the current run"),
    ("queue", "send a message for after the current run: /queue TEXT"),
    ("steer", "send a message to the current run, before its next step: /steer TEXT"),
    ("interrupt", "stop the current run and start on a message instead: /interrupt TEXT"),
    ("undo", "take back the last turn; /undo 3 takes back three"),
    ("redo", "bring back what /undo took"),
    ("retry", "answer my last message again"),
    ("resume", "go back to an earlier turn, or on with an interrupted one"),
    ("branch", "continue in a copy of this conversation; /branch 3 ends it after turn 3"),
    ("clear", "empty this conversation for good"),
    ("status", "show the current run and what is waiting"),
    ("job", "start a job in the background: /job TASK; /job --tools NAME,NAME TASK gives it more tools"),
    ("jobs", "list your jobs; /status ID shows one"),
    ("prompt", "tell a running job something: /prompt ID TEXT"),
    ("cancel", "cancel a job: /cancel ID"),
    ("approve", "approve a request: /approve ID; the owner pairs a person: /approve CHANNEL CODE"),
    ("approvals", "show or set when I ask for approval: /approvals manual, whitelist, auto_loop or auto"),
    ("grants", "list what I may do without asking; /grants revoke ID revokes a grant"),
    ("deny", "deny a request: /deny ID"),
    ("pause", "pause all tools at once (owner only)"),
    ("unpause", "let tools run again (owner only)"),
    ("timezone", "show your time zone; /timezone Europe/Berlin sets it, /timezone default clears it"),
    ("compact", "make this conversation shorter for the model: /compact, or /compact FOCUS"),
    ("verbose", "show or set how much I show of my work here: /verbose off, on or full"),
    ("model", "show the models or put one first here: /model NAME, /model default"),
    ("think", "show or set how much models think here: /think off, low, medium, high or default"),
    ("search", "search your conversations: /search WORDS, also channel:NAME after:2026-01-31"),
    ("skills", "list the skills that a message can use"),
    (
        "extensions",
        "list your extensions; /extensions enable, disable, remove or auth NAME changes one or signs in",
    ),
    ("link", "link another account of yours"),
    ("invite", "let a person use the console: /invite NAME (owner only)"),
    ("help", "list the commands"),
)
"""The commands offered in each platform's own menu, with their descriptions."""

ONLY_OWNER_PAUSES = "Only the owner can pause and unpause tools."
TOOLS_PAUSED = "All tools are paused. Use /unpause to continue."
TOOLS_UNPAUSED = "Tools can run again."
WELCOME = (
    "Hello. Send me a message and I will answer. If an action needs your approval, "
    "I show buttons first. Type /help for the commands."
)
VERBOSE_USAGE = "Type /verbose off, /verbose on or /verbose full."
_VERBOSITIES = {
    Verbosity.OFF: (
        "I show answers only here. /verbose on adds steps, command output while it runs, and model changes."
    ),
    Verbosity.ON: (
        "I show steps, command output while it runs, and model changes here."
        " /verbose full adds the details of failures."
    ),
    Verbosity.FULL: (
        "I show steps, command output while it runs, model changes and the details of failures here."
        " /verbose off hides them."
    ),
}
NOTHING_TO_STOP = "Nothing is running here."
TOO_MANY_MESSAGES = "You are sending messages too fast. I did not accept this one; try again in a minute."
TOO_MANY_PRESSES = "Too many button presses without effect. Try again in a minute."
NOT_UNDERSTOOD = "I can't read this kind of message ({kind}). Send text or a file."
NOT_NOW = "I can't accept this right now. Please try again in a moment."
COMMAND_TAKEN = "Understood."
EDIT_LABEL = "Edit…"
CRASHED = (
    "I crashed three times while processing your message, so I stopped. "
    "Please rephrase it and send it again, or contact the operator."
)

FAULTS: Mapping[ModelFault, tuple[str, str]] = {
    ModelFault.KEY: ("its API key was rejected", "Set a valid api_key in its [[models]] section."),
    ModelFault.CREDITS: (
        "its account has no credits left",
        "Add credits at the provider, or set another api_key.",
    ),
    ModelFault.UNKNOWN_MODEL: (
        "its provider doesn't know the model, or the key may not use it",
        "Correct model in its [[models]] section.",
    ),
    ModelFault.NO_TOOLS: ("it doesn't support tools", "Choose a model that does."),
    ModelFault.NO_STREAMING: (
        "its provider refuses to stream to this account",
        "Verify the account at the provider, or choose another model.",
    ),
    ModelFault.ADDRESS: (
        "its address redirects or shows a web page",
        "Correct base_url in its [[models]] section; sign in where a network asks for it.",
    ),
    ModelFault.PROGRAM: (
        "its program can't be started",
        "Install it for the hub's user, or correct command in its [[models]] section.",
    ),
    ModelFault.EXTENSION: (
        "its Python extension can't be used",
        "Install the package that provides it, or correct entry_point in its [[models]] section.",
    ),
    ModelFault.OWN_TOOLS: (
        "its program has tools of its own, which would run without approval",
        "Use a version of the program for which `hubbub doctor` reports no problem.",
    ),
}
"""The faults of a model's setup: each in words, and the fix."""

LESSON_FIXES: Mapping[str, str] = {
    "does not stream": "set stream = false in its [[models]] section, or verify the account at the provider",
    "takes no temperature": "set max_temperature = 0 in its [[models]] section",
    "takes no images": "set images = false in its [[models]] section",
    "takes no reasoning effort": 'set thinking = "off" in its [[models]] section',
    "takes no thinking": 'set thinking = "off" in its [[models]] section',
    "takes no tools": "choose a model that supports tools",
}
"""The setting for each thing a provider may refuse; others are avoided by the hub alone."""
TOOL_LEFT_OUT = (
    "The tool {tool} has failed {failures} times in a row in jobs and routines, the last time with: {error}\n"
    "Jobs and routines go without it until you run `hubbub tools reset {tool}`. Chats still have it."
)
MODEL_LEARNED = (
    "The provider of the model {model} refused a part of a request: {lessons}. I leave it out from now on, "
    "and detect it again after each start. To avoid that, {fixes}."
)

MODEL_UNREACHABLE = "I can't reach the language model right now. Please try again in a moment."
MODEL_FAULT = "The language model {model} can't answer: {fault}. {fix}"
MODEL_FAULT_FOR_OTHERS = (
    "The language model can't answer until the operator corrects its setup. Please try again later."
)
MODEL_REFUSED = "The language model rejected this request. Rephrase it, or start over with /new."
MODEL_BROKE_OFF = "The language model's reply was incomplete or unusable. Please try again."
MODEL_ORDER_CONFLICT = (
    "The language model rejected the order of this conversation's messages. Try again; if it persists, start "
    "over with /new."
)
CUT_OFF = "The answer was cut off at the output limit. Send “continue” to go on."
FILTERED = "The provider's content filter cut this answer off. Rephrase, or send “continue” to go on."
CONTEXT_TOO_LONG = (
    "This conversation is too long for the model. Send a shorter message, or start over with /new."
)
ALLOWANCE_USED_UP = "The daily limit for guests has been reached. Please try again tomorrow."
BUDGET_STOPPED = "Stopped: a budget for model calls is used up, and continuing was not approved."
EMPTY_WITH_TOOLS = "it returned neither text nor a tool call, although tools were offered"
EMPTY_TEXT = "it returned an empty reply"
EMPTY_REPLY = "The model returned an empty reply. Please rephrase your message."
INTERNAL_FAILURE = "Something went wrong and I couldn't finish. Steps already completed still apply."
REFERENCE = "{text} Reference: {reference}"
STEP_LINE = "Running {tool}…"
AGENT_FAILED = "Agent failed before reply: {reason}. Logs: hubbub logs -f · {reference}"
CONTEXT_LIMIT_RESET = (
    "This conversation exceeded the model's context limit, so I reset it. Try again. If this happens often, "
    "the operator can set agent.reserve_tokens to 4000 or more."
)
NOTHING_TO_COMPACT = "There is nothing to compact yet: the newest turns stay as they are."
COMPACTED = "Compacted. The history and exports still have all of it."
NOT_COMPACTED = (
    "I could not make a summary of the earlier turns, so nothing was left out. Try /compact again later."
)


def model_fault(model: str, fault: ModelFault) -> str:
    """Return a fault of a model's setup with its fix, for the owner."""
    said, fix = FAULTS[fault]
    return MODEL_FAULT.format(model=model, fault=said, fix=fix)


def tool_left_out(tool: str, failures: int, error: str) -> str:
    """Return that unattended runs go without a tool, and how to give it back to them, for the owner."""
    return TOOL_LEFT_OUT.format(tool=tool, failures=failures, error=error)


def model_learned(model: str, lessons: Collection[str]) -> str:
    """Return what a model's provider refused, with the settings that avoid it, for the owner. Empty if the
    hub avoids it alone."""
    fixes = [LESSON_FIXES[lesson] for lesson in lessons if lesson in LESSON_FIXES]
    if not fixes:
        return ""
    return MODEL_LEARNED.format(model=model, lessons=", ".join(lessons), fixes="; ".join(fixes))


def agent_failed(failures: Sequence[CandidateFailed], error: BaseException, reference: str) -> str:
    """Return the details of a failure: the last one of each model, in our own words."""
    last = {failure.model: failure.error for failure in failures}
    reasons = [f"{model}: {reason}" for model, reason in last.items()]
    if not reasons or not isinstance(error, ModelError):
        reasons = [f"internal error ({type(error).__name__})"]
    return AGENT_FAILED.format(reason="; ".join(reasons), reference=reference)


def model_failure(error: ModelError, faults: Mapping[str, ModelFault], *, was_reset: bool = False) -> str:
    """Return the message about a turn that no model could answer. `faults`: those of models' setups, for the
    owner; empty for other people. `was_reset`: the conversation was."""
    match error:
        case ContextOverflow():
            return CONTEXT_LIMIT_RESET if was_reset else CONTEXT_TOO_LONG
        case ModelMisconfigured():
            told = "\n".join(model_fault(model, fault) for model, fault in faults.items())
            return told or MODEL_FAULT_FOR_OTHERS
        case ModelOrderConflict():
            return MODEL_ORDER_CONFLICT
        case ModelRejected():
            return MODEL_REFUSED
        case ModelReplyInvalid():
            return MODEL_BROKE_OFF
        case _:
            return MODEL_UNREACHABLE


def without_mark(answer: str) -> str:
    """Return an answer as the model wrote it."""
    return answer.removesuffix(CUT_OFF).removesuffix(FILTERED).strip()


def model_retry(failure: CandidateFailed, verbosity: Verbosity) -> str:
    """Return the line about a model that failed during a run."""
    why = f" ({failure.error})" if verbosity is Verbosity.FULL else ""
    then = "Trying the next one" if failure.retry_in_s is None else "Trying again"
    if failure.retry_in_s is None and failure.attempt == failure.total:
        then = "It was the last one"
    return f"Model {failure.model} failed{why}. {then}."


def failure_reason(error: ModelError) -> str:
    """Return the reason for a model's failure in words, without anything its provider wrote."""
    match error:
        case ModelMisconfigured(fault=fault):
            return FAULTS[fault][0]
        case ModelRateLimited():
            return "its provider limits the rate of requests"
        case ModelUnavailable():
            return "it is not reachable, or overloaded"
        case ModelReplyInvalid():
            return "its reply broke off, or was not readable"
        case ContextOverflow():
            return "the conversation is too long for it"
        case ModelOrderConflict():
            return "it refused the order of the messages"
        case _:
            return "it refused the request"


def help_text() -> str:
    """Return the commands, one per line."""
    lines = [f"/{name} — {description}" for name, description in COMMANDS]
    return "\n".join([*lines, "", "Any other message goes to the assistant."])


def unknown_command(name: str) -> str:
    """Return the answer to a command that does not exist."""
    return f"Unknown command: /{name}. Type /help for the commands."


def timezone(own: str | None, hubs: str) -> str:
    """Return the description of a person's time zone. `hubs`: the zone of people who chose none."""
    if own is None:
        return f"You use the hub's time zone, {hubs}. Set your own with /timezone Europe/Berlin."
    return f"Your time zone is {own}. The hub's is {hubs}; /timezone default switches back to it."


def skills(lines: Sequence[str]) -> str:
    """List a person's skills, a line each."""
    if not lines:
        return (
            "There are no skills for you here. The owner adds one as skills/NAME/SKILL.md in the workspace."
        )
    return "\n".join(["A message uses these skills if it has their name or a keyword:", *lines])


def found(wanted: str, lines: Sequence[str]) -> str:
    """Return the results of a search, newest first."""
    if not lines:
        return f"I found nothing for “{wanted[:60]}”."
    return "\n\n".join(lines)


def found_line(day: str, title: str, excerpt: str) -> str:
    """Return one result of a search."""
    return f"{day} · {title or 'untitled'}\n{excerpt}"


def verbosity(chosen: Verbosity) -> str:
    """Return the description of the amount that people see of a conversation's runs."""
    return _VERBOSITIES[chosen]


def spoken(name: str, text: str) -> str:
    """Return what stands in place of a menu's choices once a person pressed one."""
    return f"{name}: {text}"


def chosen_model(chosen: ModelChoice) -> str:
    """Return the line about the model and effort chosen for a conversation; empty if none was."""
    words = chosen_words(chosen)
    return f"Chosen: {words}." if words else ""


def chosen_words(chosen: ModelChoice) -> str:
    """Return the chosen model and effort in words; empty if none was chosen."""
    parts = [] if chosen.model is None else [f"model {chosen.model} first"]
    parts += [] if chosen.thinking is None else [f"thinking {chosen.thinking}"]
    return ", ".join(parts)


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
    return f"Stopped. {count(dropped, 'queued message')} discarded."


MAX_DROPPED_NAMED = 5


def interrupted(dropped: Sequence[str]) -> str:
    """Return the notice that a message ended a run.

    `dropped`: the beginnings of the queued messages dropped with it; empty for files."""
    if not dropped:
        return "Stopped. Your new message is next."
    named = [f"“{' '.join(text.split())}”" if text.strip() else "a file" for text in dropped]
    more = len(named) - MAX_DROPPED_NAMED
    listed = ", ".join([*named[:MAX_DROPPED_NAMED], *([f"{more} more"] if more > 0 else [])])
    return f"Stopped. {count(len(dropped), 'queued message')} discarded: {listed}. Your new message is next."


def left_running(tool: str) -> str:
    """Return the notice that a stopped turn's tool could not be ended."""
    return f"I could not stop {tool}. It may still take effect: check what it was meant to change."


def credential_taken(kept: Sequence[str]) -> str:
    """Return the immediate answer to a person who wrote a credential. `kept`: its names in the vault
    now."""
    said = "Your message seemed to contain a password or key. I removed it before passing the message on."
    if not kept:
        return f"{said} I did not store it. Please delete your message as well."
    names = ", ".join(kept)
    return f"{said} I stored it in the vault as {names}. Please delete your message as well."


def too_many_waiting(limit: int) -> str:
    """Return the refusal of a message when too many wait."""
    queued = "1 message is" if limit == 1 else f"{limit} messages are"
    return (
        f"I am still busy and {queued} already queued here. I did not accept this one; send it again later."
    )


def files_too_large(files: Sequence[Attachment]) -> str:
    """Return the notice about files too large to fetch; each has a limit."""
    names = ", ".join(f"“{file.name[:60]}” ({size_in_words(file.size_bytes)})" for file in files)
    limit = size_in_words(min(file.limit_bytes or 0 for file in files))
    return f"Too large: {names}. The limit here is {limit}."


def status(
    state: str, running_s: int | None, waiting: int, open_titles: Sequence[str], progress: Sequence[str] = ()
) -> str:
    """Return a thread's status, for people. `progress`: lines about the running turn."""
    lines = [state if running_s is None else f"{state} (for {running_s} s)."]
    lines += [line for line in progress if line]
    if waiting:
        lines.append(f"{count(waiting, 'message')} queued.")
    lines += [f"Waiting for your answer: {title}" for title in open_titles]
    return "\n".join(lines)


def compacted(turns: int, before_tokens: int, after_tokens: int, *, few: bool) -> str:
    """Return the answer to `/compact`. `few`: there are no more turns than those that always stay."""
    if not turns:
        return NOTHING_TO_COMPACT if few else NOT_COMPACTED
    sizes = f"about {before_tokens:,} tokens before, {after_tokens:,} now"
    return f"Compacted {count(turns, 'turn')}: {sizes}. The history and exports still have all of it."


def context_use(used: ContextUse) -> str:
    """Return the line about how full a conversation's context is; empty if that is not known."""
    if used.window_tokens <= 0:
        return ""
    share = round(100 * used.tokens / used.window_tokens)
    return f"Context: about {used.tokens:,} of {used.window_tokens:,} tokens ({share} %)."


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def status_models(trace: ModelTrace, verbosity: Verbosity) -> str:
    """Return the line of a thread's status about the running turn's models; empty if there is none."""
    if not trace.selected:
        return ""
    told = f"Model: {trace.selected}."
    if verbosity is Verbosity.OFF or not trace.failures:
        return told
    return f"{told} {model_retry(trace.failures[-1], verbosity)}"


STATUS_IDLE = "Nothing is running here."
STATUS_RUNNING = "Working on your message"
STATUS_WAITING = "Waiting for an answer."
