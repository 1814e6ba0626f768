"""Audit records: written in the transaction they describe, and none for a plain conversation."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.approvals import ApprovalSettings, Preset
from core.errors import StaleTurn
from core.gates import Grant, GrantScope, Option, ToolSetting
from core.messages import plain
from core.store.effects import (
    CastVote,
    CloseGate,
    EditCall,
    EditedCall,
    PauseTools,
    RecordGrant,
    SetSecrets,
)
from core.store.facets import SealedSecret
from core.store.port import KeyKind
from core.store.rows import AuditRow, TurnState
from core.tool import Effect
from core.transcript import ResultStatus, ToolResult
from core.users import Role
from tests.contracts.store.bench import BEN, CHANNEL, Bench


async def about(world: Bench, *subjects: str) -> Sequence[AuditRow]:
    return await world.store.audit.audit_of(subjects)


async def kinds(world: Bench, *subjects: str) -> list[tuple[str, str | None]]:
    return [(row.kind, row.actor) for row in await about(world, *subjects)]


async def head(world: Bench) -> int:
    """How many records there are, once all are chained."""
    text, more = await world.store.audit.link_audit(1000)
    assert not more
    return 0 if text is None else int(text.partition(":")[0])


async def test_a_conversation_without_tools_leaves_no_record(world: Bench) -> None:
    await world.finish(await world.turn())
    before = await head(world)
    start = await world.turn("how are you")
    await world.finish(start, "fine", world.draft("fine"))
    await world.say("good")
    assert await head(world) == before


async def test_a_call_is_recorded_from_the_question_to_its_end(world: Bench) -> None:
    start = await world.turn(by=BEN)
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id)
    await world.rule(CastVote(gate.id, Option.APPROVE))
    await world.rule(CloseGate(gate.id, Option.APPROVE, "approved", plain("approved")))
    assert await world.store.turns.mark_running(start.turn_id, call_id, lambda *_: None) is None
    result = ToolResult(call_id, ResultStatus.OK, "the output is nowhere in the audit")
    await world.store.turns.finish_calls(start.turn_id, [result])
    rows = await about(world, gate.id, call_id)
    assert [(row.kind, row.actor) for row in rows] == [
        ("asked", "ben"),
        ("vote", "ada"),
        ("vote", "ada"),
        ("decided", "ada"),
        ("started", "ben"),
        ("ended", "ben"),
    ]
    asked, *_, decided, started, ended = (json.loads(row.detail) for row in rows)
    assert (asked["call"], asked["tool"], asked["binding"]) == (call_id, "shell", gate.binding)
    assert (decided["outcome"], decided["call"]) == ("approve", call_id)
    assert started["arguments"] == ended["arguments"]
    assert ended["status"] == "ok"
    assert {row.thread_id for row in rows} == {start.thread.id}
    assert "the output" not in "".join(row.detail for row in rows)


async def test_unmarked_and_refused_calls_are_recorded_once(world: Bench) -> None:
    start = await world.turn()
    first, second = await world.call(start, "time", "http", effect=Effect.NONE)
    at = world.clock.now()
    await world.store.turns.finish_calls(
        start.turn_id, [ToolResult(first, ResultStatus.OK, "noon")], started_at=at
    )
    refused = ToolResult(second, ResultStatus.DENIED, "http is disabled.")
    await world.store.turns.finish_calls(start.turn_id, [refused])
    ran, denied = [json.loads(row.detail) for row in await about(world, first, second)]
    assert (ran["tool"], ran["started_at"], ran["status"]) == ("time", at, "ok")
    assert (denied["started_at"], denied["said"]) == (None, "http is disabled.")


async def test_a_call_that_ends_with_its_turn_is_recorded(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    await world.finish(start, None)
    (row,) = await about(world, call_id)
    assert (row.kind, json.loads(row.detail)["status"]) == ("ended", "cancelled")


@pytest.mark.parametrize("state", [TurnState.FAILED, TurnState.STOPPED])
async def test_notices_of_turns_without_an_answer_are_recorded(world: Bench, state: TurnState) -> None:
    start = await world.turn()
    await world.call(start)
    await world.finish(start, None, world.draft("it went wrong"), state=state)
    (row,) = await about(world, start.turn_id)
    assert (row.kind, json.loads(row.detail)["state"]) == ("answered", state.value)
    assert len(json.loads(row.detail)["outbox"]) == 1


async def test_an_edit_is_recorded_with_a_hash_of_the_edited_call(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id)
    edited = EditedCall(gate, gate.binding, '{"token": "hunter2"}')
    await world.rule(EditCall(edited, None))
    row = (await about(world, gate.id))[-1]
    assert (row.kind, row.actor) == ("edited", "ada")
    assert len(json.loads(row.detail)["arguments"]) == 64
    assert "hunter2" not in row.detail


async def test_the_record_of_an_edited_call_shows_what_ran(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    gate = await world.ask(start, call_id)
    edited = EditedCall(gate, gate.binding, '{"command": "ls"}')
    close = CloseGate(gate.id, Option.APPROVE, "approved", plain("approved"))
    await world.rule(EditCall(edited, None), close)
    assert await world.store.turns.mark_running(start.turn_id, call_id, lambda *_: None) is None
    await world.store.turns.finish_calls(start.turn_id, [ToolResult(call_id, ResultStatus.OK, "done")])
    said = {row.kind: json.loads(row.detail) for row in await about(world, gate.id, call_id)}
    assert said["edited"]["arguments"] == said["started"]["arguments"] == said["ended"]["arguments"]


async def test_rolled_back_changes_leave_no_record(world: Bench) -> None:
    start = await world.turn()
    (call_id,) = await world.call(start)
    result = ToolResult(call_id, ResultStatus.OK, "done")
    await world.store.turns.finish_calls(start.turn_id, [result])
    before = await head(world)
    with pytest.raises(StaleTurn):
        await world.store.turns.finish_calls(start.turn_id, [result])
    assert await head(world) == before


async def test_permanent_grants_are_recorded_with_who_gave_them(world: Bench) -> None:
    store, start = world.store, await world.turn()
    grant = Grant("g1", "ada", "shell", "ls", GrantScope.USER, None, "ada", world.clock.now())
    await world.rule(RecordGrant(grant))
    await store.consents.revoke_grant("g1", by="ada")
    await store.consents.revoke_grant("g1", by="ada")
    await store.consents.set_tool_setting("ada", "http", ToolSetting.DISABLED, by="ada")
    await store.consents.set_person_approvals("ada", ApprovalSettings(Preset.MANUAL))
    await store.consents.set_thread_approvals(start.thread.id, ApprovalSettings(Preset.AUTO), by="ada")
    assert await kinds(world, "g1") == [("granted", "ada"), ("grant_revoked", "ada")]
    await store.people.ensure_user(BEN.user_id, BEN.role, BEN.name)
    await world.rule(RecordGrant(replace(grant, id="g2", user_id="ben")))
    await store.consents.revoke_grant("g2", by="ada")
    assert (await kinds(world, "g2"))[-1] == ("grant_revoked", "ada"), "who did it, not whose it was"
    assert await kinds(world, "http") == [("tool_setting", "ada")]
    assert await kinds(world, "ada", start.thread.id) == [("approvals", "ada")] * 2


async def test_pausing_secrets_and_logins_are_recorded(world: Bench) -> None:
    store, sealed = world.store, SealedSecret("token", "key-1", b"sealed", world.clock.now())
    await world.rule(PauseTools(paused=True))
    await store.kill_switch.pause_tools("ada", paused=True)
    await store.kill_switch.pause_tools("ada", paused=False)
    await world.rule(SetSecrets((sealed,)))
    await store.secrets.drop_secret("token", by="ben")
    await store.keys.keep_key("hash", KeyKind.SESSION, "ada", None)
    await store.keys.drop_key("hash")
    await store.keys.keep_key("hash", KeyKind.TOKEN, "ada", None)
    await store.keys.drop_keys_of("ada", KeyKind.TOKEN)
    await store.keys.keep_key("hash", KeyKind.INVITATION, "ada", world.clock.now() + 1, by="ben")
    assert await store.keys.redeem_invitation("hash", "session", world.clock.now() + 1)
    assert not await store.keys.redeem_invitation("hash", "another", world.clock.now() + 1)
    assert await kinds(world, "tools") == [("paused", "ada"), ("resumed", "ada")]
    assert await kinds(world, "token") == [("secret_set", "ada"), ("secret_deleted", "ben")]
    own = [(kind, "ada") for kind in ("login", "logout", "token_made")]
    end = [("tokens_revoked", None), ("invited", "ben"), ("login", "ada")]
    assert await kinds(world, "ada") == [*own, *end]


async def test_accounts_and_roles_are_recorded(world: Bench) -> None:
    store = world.store
    await store.people.ensure_user("ada", Role.OWNER, "Ada")
    await store.people.ensure_user("eve", Role.GUEST, "Eve")
    await store.people.ensure_user("eve", Role.MEMBER, "Eve")
    await store.people.ensure_user("eve", Role.MEMBER, "Eva")
    await store.people.link_account("eve", CHANNEL, "7", "Eve", by="ada")
    await store.people.revoke_account(CHANNEL, "7", by="ada")
    await store.people.revoke_account(CHANNEL, "7", by="ada")
    assert await kinds(world, "eve") == [("role", None)]
    assert await kinds(world, f"{CHANNEL}:7") == [("linked", "ada"), ("account_revoked", "ada")]
    await world.say(by=BEN)
    await world.say(by=BEN)
    assert await kinds(world, "ben", f"{CHANNEL}:ben") == [("role", None), ("account", None)]


async def test_the_operators_rules_are_recorded_when_they_change(world: Bench) -> None:
    assert await world.store.audit.record_policy({"preset": "auto", "whitelist": ["a", "b"]})
    assert not await world.store.audit.record_policy({"whitelist": ["a", "b"], "preset": "auto"})
    assert await world.store.audit.record_policy({"preset": "manual"})
    assert await world.store.audit.record_policy({"preset": "auto", "whitelist": ["a", "b"]})


async def test_the_oldest_records_are_dropped_first(world: Bench) -> None:
    for _ in range(3):
        await world.rule(PauseTools(paused=True), PauseTools(paused=False))
    count = await head(world)
    world.clock.advance(10)
    await world.rule(PauseTools(paused=True))
    assert await world.store.audit.prune_audit(world.clock.now() - 1, 4) == 4
    assert await world.store.audit.prune_audit(world.clock.now() - 1, 100) == count - 4
    assert await world.store.audit.prune_audit(world.clock.now() + 1, 100) == 0, "what is not chained stays"
    rows = await about(world, "tools", "4", str(count))
    assert [row.kind for row in rows] == ["paused", "pruned", "pruned"]
    assert [(row.writer, row.number) for row in rows] == [(0, count + 1), (0, count + 2), (0, count + 3)]
