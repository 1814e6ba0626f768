"""What commands mean: they take effect where the event is accepted, and never wait behind a turn."""

from typing import assert_never

from core import texts
from core.clock import SECOND_US
from core.consent import card_texts
from core.consent.laws import ConsentLaws
from core.conversation import pairing_texts
from core.conversation.standing_orders import approvals, grants, progress
from core.conversation.submission import (
    Approvals,
    Grants,
    Help,
    NewThread,
    Start,
    Status,
    UnknownCommand,
)
from core.conversation.verdicts import refused
from core.ids import Ids, is_code, normalise_code
from core.messages import plain
from core.store.accept import AcceptView, Verdict
from core.store.effects import HaltTools, RebindThread, Say, StopThread
from core.store.rows import TurnState
from core.users import Role

Command = NewThread | Status | Approvals | Grants | Start | Help | UnknownCommand


def command(submission: Command, view: AcceptView, laws: ConsentLaws, ids: Ids, now: int) -> Verdict:
    """What follows from a command that concerns this conversation alone, or nobody."""
    match submission:
        case Approvals(words):
            return approvals(words, view, laws)
        case Grants(words):
            return grants(words, view)
        case NewThread():
            effects = (RebindThread(ids.row_id()), Say(plain(texts.NEW_THREAD)))
            return Verdict("command: /new", effects)
        case Status():
            paused = view.survey is not None and view.survey.paused
            told = _status(view, laws, now)
            told = f"{texts.TOOLS_HALTED}\n{told}" if paused else told
            return Verdict("command: /status", (Say(plain(told)),))
        case Start(code) if is_code(normalise_code(code)):
            return refused("known already", pairing_texts.KNOWN_ALREADY)
        case Start():
            return Verdict("command: /start", (Say(plain(texts.WELCOME)),))
        case Help():
            return Verdict("command: /help", (Say(plain(texts.help_text())),))
        case UnknownCommand(name):
            return _not_a_command(name)
        case _:
            assert_never(submission)


def _status(view: AcceptView, laws: ConsentLaws, now: int) -> str:
    titles = [open_prompt.prompt.title for open_prompt in view.open_prompts]
    state = view.thread.active_turn_state if view.thread is not None else None
    if state is TurnState.RUNNING and view.running_since is not None:
        running_s = max(0, now - view.running_since) // SECOND_US
        used = progress(view, laws)
        return texts.status(texts.STATUS_RUNNING, running_s, view.waiting, titles, used)
    word = texts.STATUS_WAITING if state is TurnState.WAITING else texts.STATUS_IDLE
    return texts.status(word, None, view.waiting, titles)


def _not_a_command(name: str) -> Verdict:
    from core.conversation.command_texts import usage  # most commands are written as they should be

    how = usage(name)
    if how is None:
        return refused("unknown command", texts.unknown_command(name))
    return refused(f"/{name} is not written so", how)


def halt(view: AcceptView, *, halted: bool) -> Verdict:
    """All tools of everybody, at once."""
    if view.principal.role is not Role.OWNER:
        return refused("only the owner stops tools", texts.ONLY_OWNER_HALTS)
    word = texts.TOOLS_HALTED if halted else texts.TOOLS_RESUMED
    return Verdict(f"command: /{'pause' if halted else 'resume'}", (HaltTools(halted), Say(plain(word))))


def stop(view: AcceptView) -> Verdict:
    """What runs here ends, and what waits is dropped."""
    if not runs(view):
        return Verdict("command: /stop", (Say(plain(texts.NOTHING_TO_STOP)),))
    said = Say(plain(texts.stopped(view.waiting)))
    return Verdict("command: /stop", (StopThread(card_texts.STOPPED_CARD), said))


def runs(view: AcceptView) -> bool:
    """Whether there is anything to stop here."""
    return view.waiting > 0 or (view.thread is not None and view.thread.active_turn_id is not None)
