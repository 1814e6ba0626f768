"""The effects of commands. They apply when the event is accepted and never wait behind a turn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import assert_never

from core import texts, users
from core.approvals import (
    MAX_LOOP_S,
    MAX_ROUNDS,
    MAX_TOOLS,
    UNSAID,
    ApprovalSettings,
    InForce,
    Preset,
)
from core.clock import SECOND_US
from core.consent import card_texts
from core.consent.rules import EffectivePolicy
from core.events import NO_MODELS, ModelTrace
from core.gates import Grant
from core.ids import Ids, is_code, normalise_code
from core.inbound.submission import (
    Approvals,
    ApprovePairing,
    Grants,
    Help,
    Search,
    Skills,
    Start,
    Status,
    ThreadSetting,
    UnknownCommand,
)
from core.inbound.thread_commands import thread_setting
from core.messages import InboundMessage, plain
from core.people import pairing
from core.people.access import Access, Console
from core.people.pairing import Claim, ClaimRules
from core.runs.workspace_texts import Skill, in_words
from core.store.accept import AcceptView, StatusSnapshot, Verdict, refused
from core.store.accounts import (
    CODE_LIFE_US,
    INVITATION_LIFE_US,
    ClaimRefused,
    MemberInvited,
    PairingApproved,
    PairingDenied,
    invitation_hash,
)
from core.store.conversations import SearchHit
from core.store.effects import (
    Effect,
    NoteWrongCode,
    OfferLink,
    PauseTools,
    RevokeGrant,
    Say,
    SetApprovals,
    SetTimezone,
    StopThread,
)
from core.store.rows import TurnState
from core.users import Principal, Role

# `/approvals` and `/grants`: the settings for approval requests that a person changes in chat.

EVERYWHERE = "all"
BACK = "default"
_LIMITS = {
    "rounds": ("max_rounds", MAX_ROUNDS),
    "tools": ("max_tools", MAX_TOOLS),
    "seconds": ("loop_timeout_s", MAX_LOOP_S),
}
_LISTS = {"whitelist": "whitelist", "dangerous": "dangerous_tools"}
NO_TOOLS = "none"
SHORT_ID_CHARS = 8
"""The number of final characters of a grant's id that are shown. They are random and enough to name
the grant."""


def approvals(words: tuple[str, ...], view: AcceptView, effective_policy: EffectivePolicy) -> Verdict:
    """Handle `/approvals`, alone or with new settings."""
    status = view.status or StatusSnapshot()
    everywhere = words[:1] == (EVERYWHERE,)
    wish = words[1:] if everywhere else words
    if not words:
        return _said("command: /approvals", _told(view, status, effective_policy))
    if not everywhere and view.thread is None:
        return refused("no conversation yet", card_texts.APPROVALS_NO_THREAD)
    was = status.standing.person if everywhere else status.standing.thread
    now = _wished(wish, was)
    if now is None:
        return refused("no such setting", card_texts.approvals_usage(tuple(Preset)))
    unknown = effective_policy.unknown_tool(now, was)
    if unknown is not None:
        return refused("no such tool", card_texts.no_such_tool(unknown))
    too_loose = effective_policy.too_loose(view.principal, now, was)
    if too_loose is not None:
        return refused("looser than the policy", card_texts.approvals_ceiling(*too_loose))
    thread_id = None if everywhere or view.thread is None else view.thread.id
    standing = replace(status.standing, **{"person" if everywhere else "thread": now})
    told = _told(view, replace(status, standing=standing), effective_policy)
    return Verdict("command: /approvals", (SetApprovals(thread_id, now), Say(plain(told))))


def _wished(words: tuple[str, ...], was: ApprovalSettings) -> ApprovalSettings | None:
    match words:
        case (word,) if word == BACK:
            return UNSAID
        case (word,) if word in set(Preset):
            return replace(was, preset=Preset(word))
        case (name, word) if name in _LIMITS:
            field, most = _LIMITS[name]
            if word == BACK:
                return replace(was, **{field: None})
            if word.isascii() and word.isdecimal() and 1 <= int(word[:9]) <= most:
                return replace(was, **{field: int(word[:9])})
            return None
        case (name, *tools) if name in _LISTS and tools:
            listed = None if tools == [BACK] else frozenset(() if tools == [NO_TOOLS] else tools)
            return replace(was, **{_LISTS[name]: listed})
        case ("timeout", tool, word):
            others = {name: limit for name, limit in (was.tool_timeouts or {}).items() if name != tool}
            if word != BACK:
                if not (word.isascii() and word.isdecimal() and 1 <= int(word[:9]) <= MAX_LOOP_S):
                    return None
                others[tool] = int(word[:9])
            return replace(was, tool_timeouts=others or None)
        case _:
            return None


def _told(view: AcceptView, status: StatusSnapshot, effective_policy: EffectivePolicy) -> str:
    held = effective_policy.in_force(view.principal, status.standing)
    return card_texts.approvals_told(
        held.preset,
        held.limits.max_rounds if held.preset is not Preset.AUTO else None,
        held.limits.max_tools if held.preset is not Preset.AUTO else None,
        held.limits.loop_timeout_s,
        (*_tools_told(held, effective_policy.configured), *card_texts.grants_counted(len(status.grants))),
    )


def _tools_told(held: InForce, configured: InForce) -> Sequence[str]:
    """Return lines on the tools for which something else than the configuration is in force."""
    timeouts = {
        tool: held.timeout_s(tool, seconds)
        for tool, seconds in held.tool_timeouts.items()
        if configured.tool_timeouts.get(tool) != seconds
    }
    return card_texts.tools_told(
        None if held.whitelist == configured.whitelist else held.whitelist,
        None if held.dangerous_tools == configured.dangerous_tools else held.dangerous_tools,
        timeouts,
    )


def grants(words: tuple[str, ...], view: AcceptView) -> Verdict:
    """Handle `/grants`, `/grants revoke ID` and `/grants revoke all` for the person's own grants."""
    own = (view.status or StatusSnapshot()).grants
    match words:
        case ():
            return _said("command: /grants", _listed(own))
        case ("revoke", word):
            gone = [grant for grant in own if word == EVERYWHERE or _names(word, grant)]
            if not gone or (word != EVERYWHERE and len(gone) > 1):
                return refused("no such grant", card_texts.NO_SUCH_GRANT)
            effects = tuple(RevokeGrant(grant.id) for grant in gone)
            return Verdict("command: /grants", (*effects, Say(plain(card_texts.grants_revoked(len(gone))))))
        case _:
            return refused("no such command", card_texts.GRANTS_USAGE)


def _names(word: str, grant: Grant) -> bool:
    plain_id = grant.id.replace("-", "")
    return len(word) >= SHORT_ID_CHARS and plain_id.endswith(word.replace("-", ""))


def _listed(own: tuple[Grant, ...]) -> str:
    if not own:
        return card_texts.NO_GRANTS
    lines = (card_texts.grant_line(grant, grant.id[-SHORT_ID_CHARS:]) for grant in own)
    return "\n".join([*lines, "", card_texts.GRANTS_USAGE])


def progress(view: AcceptView, effective_policy: EffectivePolicy) -> str:
    """Describe the budget used by the running turn. Empty before its first round of tools."""
    status = view.status
    if status is None or status.used is None or not status.used.rounds:
        return ""
    held = effective_policy.in_force(view.principal, status.standing)
    counted = held.preset is not Preset.AUTO
    return card_texts.loop_progress(
        status.used.rounds,
        held.limits.max_rounds if counted else None,
        status.used.tools_run,
        held.limits.max_tools if counted else None,
    )


def _said(outcome: str, word: str) -> Verdict:
    return Verdict(outcome, (Say(plain(word)),))


ModelsOf = Callable[[str], ModelTrace]
"""Returns the models of a run that this hub executes now, by its id."""


def no_models(run_id: str) -> ModelTrace:
    """Return no models: nothing is executed here."""
    del run_id
    return NO_MODELS


SkillsOf = Callable[[Principal], Sequence[Skill]]
"""Returns the skills that a person's runs may use."""


def no_skills(principal: Principal) -> Sequence[Skill]:
    """Return no skills: no run is started here."""
    del principal
    return ()


Command = Status | Approvals | Grants | ThreadSetting | Search | Skills | Start | Help | UnknownCommand


def command(
    submission: Command,
    view: AcceptView,
    effective_policy: EffectivePolicy,
    ids: Ids,
    now: int,
    models: ModelsOf,
    skills: SkillsOf,
    configured: Mapping[str, str],
) -> Verdict:
    """Handle a command that affects this conversation only, or nothing.

    `configured`: see `thread_setting`."""
    match submission:
        case Approvals(words):
            return approvals(words, view, effective_policy)
        case Grants(words):
            return grants(words, view)
        case ThreadSetting():
            return thread_setting(submission, view, configured, ids)
        case Search(wanted):
            return search(wanted, view)
        case Status():
            paused = view.status is not None and view.status.paused
            told = _status(view, effective_policy, now, models)
            told = f"{texts.TOOLS_PAUSED}\n{told}" if paused else told
            return Verdict("command: /status", (Say(plain(told)),))
        case Skills():
            return _said("command: /skills", texts.skills(list(in_words(skills(view.principal)))))
        case UnknownCommand(name):
            return _not_a_command(name)
        case Start(code):
            return _started(code)
        case Help():
            return _said("command: /help", texts.help_text())
        case _:
            assert_never(submission)


def _started(code: str) -> Verdict:
    if is_code(normalise_code(code)):
        return refused("already known", pairing.KNOWN_ALREADY)
    return _said("command: /start", texts.WELCOME)


def _status(view: AcceptView, effective_policy: EffectivePolicy, now: int, models: ModelsOf) -> str:
    titles = [open_gate.gate.title for open_gate in view.open_gates]
    thread = view.thread
    state = thread.active_turn_state if thread is not None else None
    snapshot = view.status or StatusSnapshot()
    context, preferences = texts.context_use(snapshot.context), snapshot.preferences
    own = preferences.chosen if thread is None else thread.settings.chosen.over(preferences.chosen)
    chosen = texts.chosen_model(own)
    if thread is not None and state is TurnState.RUNNING and view.running_since is not None:
        running_s = max(0, now - view.running_since) // SECOND_US
        trace = models(thread.active_turn_id or "")
        models_line = texts.status_models(trace, thread.settings.verbosity)
        done = progress(view, effective_policy), models_line, chosen, context
        return texts.status(texts.STATUS_RUNNING, running_s, view.waiting, titles, done)
    word = texts.STATUS_WAITING if state is TurnState.WAITING else texts.STATUS_IDLE
    return texts.status(word, None, view.waiting, titles, (chosen, context))


def _not_a_command(name: str) -> Verdict:

    how = usage(name)
    if how is None:
        return refused("unknown command", texts.unknown_command(name))
    return refused(f"/{name}: wrong arguments", how)


def timezone(wanted: str, view: AcceptView, hubs: str) -> Verdict:
    """Handle `/timezone`, alone or with a zone. `hubs`: the zone of people who chose none."""
    if not wanted:
        own = (view.status or StatusSnapshot()).preferences.timezone
        return _said("command: /timezone", texts.timezone(own, hubs))
    if wanted.lower() == BACK:
        name = None
    elif (name := users.timezone_named(wanted)) is None:
        return refused("no such time zone", texts.unknown_timezone(wanted, users.timezones_like(wanted)))
    effects = (SetTimezone(name), Say(plain(texts.timezone(name, hubs))))
    return Verdict("command: /timezone", effects)


def search(wanted: str, view: AcceptView) -> Verdict:
    """Show the results of a search in the person's own conversations."""
    return _said("command: /search", texts.found(wanted, [_found(hit) for hit in view.found]))


def _found(hit: SearchHit) -> str:
    day = datetime.fromtimestamp(hit.at // SECOND_US, UTC)
    return texts.found_line(f"{day:%Y-%m-%d}", hit.title, hit.shown)


def pause(view: AcceptView, *, paused: bool) -> Verdict:
    """Pause or unpause all tools for everyone."""
    if view.principal.role is not Role.OWNER:
        return refused("only the owner can pause tools", texts.ONLY_OWNER_PAUSES)
    if paused:
        return Verdict("command: /pause", (Say(plain(texts.TOOLS_PAUSED)),), pauses=True)
    return Verdict("command: /unpause", (PauseTools(paused=False), Say(plain(texts.TOOLS_UNPAUSED))))


def stop(view: AcceptView) -> Verdict:
    """Stop this conversation's turn and drop its waiting messages."""
    if not runs(view):
        return Verdict("command: /stop", (Say(plain(texts.NOTHING_TO_STOP)),))
    said = Say(plain(texts.stopped(view.waiting)))
    return Verdict("command: /stop", (StopThread(card_texts.STOPPED_CARD), said))


def interrupt(event: InboundMessage, view: AcceptView) -> tuple[Effect, ...]:
    """Stop what runs or waits here for a message that interrupts.

    Nothing is stopped for the later parts of an album, and a turn that waits for a person only for a message
    that says so itself."""
    running = view.thread is not None and view.thread.active_turn_state is TurnState.RUNNING
    if not (running or (event.while_busy is not None and runs(view))):
        return ()
    if event.album is not None and any(queued.album == event.album for queued in view.queued):
        return ()
    dropped = {queued.album or index: queued.beginning for index, queued in enumerate(view.queued)}
    said = Say(plain(texts.interrupted(tuple(dropped.values()))))
    return (StopThread(card_texts.STOPPED_CARD), said)


def runs(view: AcceptView) -> bool:
    """Return whether there is anything to stop here."""
    return view.waiting > 0 or (view.thread is not None and view.thread.active_turn_id is not None)


# The usage of commands, shown to people who wrote one incorrectly.

_ANSWERS = "{0} followed by the 10-character ID on the card; {0} alone if only one request is open here."
_USAGES = {
    "approve": f"Type {_ANSWERS.format('/approve')} The owner pairs people with /approve CHANNEL CODE.",
    "yes": f"Type {_ANSWERS.format('/yes')}",
    "always": f"Type {_ANSWERS.format('/always')}",
    "deny": f"Type {_ANSWERS.format('/deny')}",
    "no": f"Type {_ANSWERS.format('/no')}",
    "search": "Type /search followed by words. Filters: channel:NAME after:2026-01-31 before:2026-02-28.",
    "queue": "Type /queue followed by a message. I answer it after the current run.",
    "steer": "Type /steer followed by a message. The current run takes it into account.",
}
_ALONE = frozenset(
    {"threads", "close", "export", "skills", "help", "pause", "unpause", "resume", "redo", "retry", "clear"}
)


def usage(name: str) -> str | None:
    """Return the usage of a command that was written incorrectly, or None if there is no such command."""
    return f"/{name} takes no arguments." if name in _ALONE else _USAGES.get(name)


# Pairing other people and linking one's own accounts: the codes and commands for both.


def claimed(submission: ApprovePairing, principal: Principal, access: Access) -> str | None:
    """Return the channel of the pairing requests that an owner decides about, or None."""
    known = submission.channel in access.channels
    return submission.channel if known and principal.role is Role.OWNER else None


def approve_pairing(submission: ApprovePairing, view: AcceptView, access: Access, ids: Ids) -> Verdict:
    """Decide a pairing request for an owner. Anyone else is refused."""
    if view.claims is None:
        if view.principal.role is not Role.OWNER:
            return refused("only the owner can pair people", pairing.ONLY_OWNER_PAIRS)
        return refused("unknown channel", pairing.unknown_channel(submission.channel))
    claim = Claim(submission.code, view.principal)
    decision = ClaimRules(access, ids).judge(claim, view.claims)
    match decision:
        case PairingApproved(request, principal):
            word = pairing.approved(request.sender.name, principal.role)
            return Verdict("command: /approve", (decision, Say(plain(word))))
        case ClaimRefused(reason, word, wrong_code):
            return refused(reason, word, *((NoteWrongCode(),) if wrong_code else ()))
        case PairingDenied():
            raise TypeError("a command never denies a pairing request")
        case _:
            assert_never(decision)


def link(event: InboundMessage, code: str, view: AcceptView, ids: Ids, now: int) -> Verdict:
    """Offer a code that links another account of the same person."""
    if not event.direct:
        return refused("codes work in private conversations only", pairing.CODES_IN_PRIVATE)
    if code:
        return refused("already known", pairing.KNOWN_ALREADY)
    if view.principal.role is Role.GUEST:
        return refused("guests can't link accounts", pairing.GUESTS_CANNOT_LINK)
    offer = OfferLink(ids.code(), now + CODE_LIFE_US)
    return Verdict("command: /link", (offer, Say(plain(pairing.link_code(offer.code)))))


def invite(
    event: InboundMessage, name: str, view: AcceptView, console: Console, ids: Ids, now: int
) -> Verdict:
    """Add a member, and give the owner a link that lets them into the console."""
    if view.principal.role is not Role.OWNER:
        return refused("only the owner can invite people", pairing.ONLY_OWNER_INVITES)
    if not event.direct:
        return refused("invitations are made in private", pairing.INVITE_IN_PRIVATE)
    if not name:
        return refused("/invite: no name", pairing.INVITE_USAGE)
    if not console.url:
        return refused("no public address", pairing.INVITE_NEEDS_ADDRESS)
    code = "".join(ids.code() for _ in range(3))
    until = now + INVITATION_LIFE_US
    invited = MemberInvited(ids.row_id(), name[:200], console.channel, invitation_hash(code), until)
    said = Say(plain(pairing.invitation(invited.name, f"{console.url}#code={code}")))
    return Verdict("command: /invite", (invited, said))
