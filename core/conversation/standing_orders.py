"""`/approvals` and `/grants`: what a person lays down in a chat about being asked."""

from dataclasses import replace

from core.approvals import (
    MOST_LOOP_S,
    MOST_ROUNDS,
    MOST_TOOLS,
    SETTINGS,
    UNSAID,
    ApprovalSettings,
    Preset,
    looser,
)
from core.consent import card_texts
from core.consent.laws import ConsentLaws
from core.conversation.verdicts import refused
from core.messages import plain
from core.prompts import Grant
from core.store.accept import AcceptView, Survey, Verdict
from core.store.effects import RevokeGrant, Say, SetApprovals

EVERYWHERE = "all"
BACK = "default"
_LIMITS = {
    "rounds": ("max_rounds", MOST_ROUNDS),
    "tools": ("max_tools", MOST_TOOLS),
    "seconds": ("loop_timeout_s", MOST_LOOP_S),
}
SHORT_ID_CHARS = 8
"""So much of a grant's id is shown, and enough to name it: its random end."""


def approvals(words: tuple[str, ...], view: AcceptView, laws: ConsentLaws) -> Verdict:
    """`/approvals`, alone or with what is to hold from now on."""
    survey = view.survey or Survey()
    everywhere = words[:1] == (EVERYWHERE,)
    wish = words[1:] if everywhere else words
    if not words:
        return _said("command: /approvals", _told(view, survey, laws))
    if not everywhere and view.thread is None:
        return refused("no conversation yet", card_texts.APPROVALS_NO_THREAD)
    was = survey.standing.person if everywhere else survey.standing.thread
    now = _wished(wish, was)
    if now is None:
        return refused("no such setting", card_texts.approvals_usage(tuple(Preset)))
    ceiling = laws.ceiling_of(view.principal)
    for name in SETTINGS:
        if getattr(now, name) != getattr(was, name) and looser(now, ceiling, name):
            return refused("looser than the policy", card_texts.approvals_ceiling(getattr(ceiling, name)))
    thread_id = None if everywhere or view.thread is None else view.thread.id
    standing = replace(survey.standing, **{"person" if everywhere else "thread": now})
    told = _told(view, replace(survey, standing=standing), laws)
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
        case _:
            return None


def _told(view: AcceptView, survey: Survey, laws: ConsentLaws) -> str:
    held = laws.in_force(view.principal, survey.standing)
    return card_texts.approvals_told(
        held.preset,
        held.limits.max_rounds if held.preset is not Preset.AUTO else None,
        held.limits.max_tools if held.preset is not Preset.AUTO else None,
        held.limits.loop_timeout_s,
    )


def grants(words: tuple[str, ...], view: AcceptView) -> Verdict:
    """`/grants`, `/grants revoke ID`, `/grants revoke all`: a person's own."""
    own = (view.survey or Survey()).grants
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
    lines = (
        card_texts.grant_line(
            grant.tool, grant.pattern, grant.id[-SHORT_ID_CHARS:], everywhere=grant.thread_id is None
        )
        for grant in own
    )
    return "\n".join([*lines, "", card_texts.GRANTS_USAGE])


def progress(view: AcceptView, laws: ConsentLaws) -> str:
    """How much the turn that runs has used, in words; empty before its first round of tools."""
    survey = view.survey
    if survey is None or survey.used is None or not survey.used.rounds:
        return ""
    held = laws.in_force(view.principal, survey.standing)
    counted = held.preset is not Preset.AUTO
    return card_texts.loop_progress(
        survey.used.rounds,
        held.limits.max_rounds if counted else None,
        survey.used.tools_run,
        held.limits.max_tools if counted else None,
    )


def _said(outcome: str, word: str) -> Verdict:
    return Verdict(outcome, (Say(plain(word)),))
