"""Routine verdicts: messages that fire routines, and presses on their notices."""

import json
from collections.abc import Sequence

from core.clock import SECOND_US
from core.consent import card_texts
from core.ids import Ids
from core.inbound import job_commands, routine_texts
from core.lazy_dataclass import dataclass
from core.messages import ChoiceAnswer, Markdown, Message, plain
from core.routine import MAX_LISTED, ManualInput, Match, claim_key
from core.routine_json import input_to_json
from core.store.accept import AcceptView, Verdict
from core.store.effects import Effect, FireRoutine, GrantToRoutine, PauseRoutine, Say, SettleMenu
from core.store.routine_rows import MenuView, NewRun
from core.users import Principal, Role

SNOOZE_US = 10 * 60 * SECOND_US


@dataclass(frozen=True, slots=True)
class Fired:
    """The effects of routines fired by a message.

    `consumed_by`: the names of the routines that keep the message from the chat."""

    effects: tuple[Effect, ...]
    consumed_by: tuple[str, ...]

    def alone(self) -> Verdict:
        """Return the verdict on a message that only routines receive. It is acknowledged."""
        names = ", ".join(f"“{name}”" for name in self.consumed_by)
        said = Say(plain(routine_texts.consumed(names)))
        return Verdict(f"routine {', '.join(self.consumed_by)}", (*self.effects, said))


def fired_by(matches: Sequence[Match], view: AcceptView, direct: bool, ids: Ids, now: int) -> Fired:
    """Return the routines that the message fires. For those that are resting, the claim records that.

    These are the sender's own and, in a group, those of owners, who can read it. Only the sender's own
    can keep the message from the chat, and only if they really fire."""
    standing = {routine.id: routine for routine in view.routines if routine.ready}
    thread_id = None if view.thread is None else view.thread.id
    effects: list[Effect] = []
    consumed_by: list[str] = []
    for match in matches:
        routine = standing.get(match.routine_id)
        if routine is None or match.thread_id not in {None, thread_id}:
            continue
        own = routine.owner_id == view.principal.user_id
        if not own and (direct or not routine.owner_reads_groups):
            continue
        run = NewRun(
            id=ids.row_id(),
            routine_id=routine.id,
            key=claim_key(match.found),
            kind="event",
            input=input_to_json(match.found),
            due_at=now,
            content_hash=match.content_hash,
        )
        effects.append(FireRoutine(run))
        if own and match.consumes and not routine.resting:
            consumed_by.append(routine.name)
    return Fired(tuple(effects), tuple(consumed_by))


def pressed(event: ChoiceAnswer, menu: MenuView, by: Principal, ids: Ids, now: int) -> Verdict:
    """Return the verdict on a press on a notice. Buttons never expire; each press reports its effect."""
    if by.user_id != menu.owner_id and by.role is not Role.OWNER:
        return Verdict(f"refused: routine {menu.name}", answer=routine_texts.NOT_YOURS)
    outcome = f"routine {menu.name}"
    if json.loads(menu.definition)["action"]["type"] == "reminder":
        return _reminded(event, menu, by, ids, now)
    labels = routine_texts.menu(
        grants=bool(card_texts.grants_offered(menu.missing_grants)), changes=menu.changed_by is not None
    )
    label = labels[event.choice] if 0 <= event.choice < len(labels) else ""
    match label:
        case routine_texts.ALLOW:
            return _allowed(menu, by)
        case routine_texts.ACCEPT | routine_texts.REJECT if menu.changed_by:
            return job_commands.judged(menu.changed_by, label, by)
        case routine_texts.DETAILS:
            return Verdict(
                outcome,
                (Say(Message((Markdown(routine_texts.details(menu)),))),),
                answer=routine_texts.DETAILS,
            )
        case routine_texts.PAUSE if not menu.enabled:
            return Verdict(outcome, answer=routine_texts.already_paused(menu.name))
        case routine_texts.PAUSE:
            word = routine_texts.paused(menu.name)
            pause = PauseRoutine(menu.routine_id, routine_texts.PAUSED_BY_PERSON)
            return Verdict(outcome, (pause, Say(plain(word))), answer=word)
        case routine_texts.RUN_AGAIN if not menu.enabled:
            return Verdict(outcome, answer=routine_texts.cannot_run_again(menu.name))
        case routine_texts.RUN_AGAIN:
            asked = ManualInput(event.key, by.user_id)
            run = NewRun(
                id=ids.row_id(),
                routine_id=menu.routine_id,
                key=claim_key(asked),
                kind="manual",
                input=input_to_json(asked),
                due_at=now,
                heeds_guardrails=False,
            )
            return Verdict(outcome, (FireRoutine(run),), answer=routine_texts.runs_again(menu.name))
        case _:
            return Verdict(f"refused: routine {menu.name}", answer=routine_texts.NOT_YOURS)


def _reminded(event: ChoiceAnswer, menu: MenuView, by: Principal, ids: Ids, now: int) -> Verdict:
    """Return the verdict on a press on a reminder: snoozed once, and never again once it is done."""
    outcome = f"reminder {menu.name}"
    if not menu.enabled:
        return Verdict(outcome, answer=routine_texts.DONE_ALREADY)
    labels = routine_texts.REMINDER_MENU
    match labels[event.choice] if 0 <= event.choice < len(labels) else "":
        case routine_texts.SNOOZE if menu.snoozed:
            return Verdict(outcome, answer=routine_texts.SNOOZED_ALREADY)
        case routine_texts.SNOOZE:
            asked = ManualInput(f"snooze:{menu.run_id}", by.user_id)
            run = NewRun(
                id=ids.row_id(),
                routine_id=menu.routine_id,
                key=claim_key(asked),
                kind="manual",
                input=input_to_json(asked),
                due_at=now + SNOOZE_US,
                heeds_guardrails=False,
            )
            word, effect = routine_texts.SNOOZED, FireRoutine(run)
        case routine_texts.DONE:
            word, effect = routine_texts.DONE_NOW, PauseRoutine(menu.routine_id, routine_texts.DONE_BY_PERSON)
        case _:
            return Verdict(f"refused: {outcome}", answer=routine_texts.NOT_YOURS)
    return Verdict(outcome, (effect, SettleMenu(event.gate_id, word)), answer=word)


def _allowed(menu: MenuView, by: Principal) -> Verdict:
    """Return the verdict on "Allow for this routine", which grants exactly the access that the notice
    showed."""
    outcome = f"routine {menu.name}"
    if by.role is not Role.OWNER:
        return Verdict(f"refused: {outcome}", answer=card_texts.ONLY_OWNERS_ALLOW)
    page = json.loads(menu.definition)
    held = page["action"].get("grants", [])
    new = tuple(grant for grant in card_texts.grants_offered(menu.missing_grants) if grant not in held)
    if not new:
        return Verdict(outcome, answer=routine_texts.allowed_already(menu.name))
    if len(held) + len(new) > MAX_LISTED:
        return Verdict(f"refused: {outcome}", answer=routine_texts.too_many_grants(menu.name, MAX_LISTED))
    page["action"]["grants"] = [*held, *new]
    grant = GrantToRoutine(menu.routine_id, new, menu.definition, json.dumps(page, ensure_ascii=False))
    word = routine_texts.allowed(menu.name, new)
    return Verdict(outcome, (grant, Say(plain(word))), answer=word)
