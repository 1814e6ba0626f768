"""Permanent grants and settings of tools."""

from dataclasses import replace

from core.gates import Grant, GrantScope, ToolSetting
from core.store.effects import RecordGrant
from core.store.facets import ToolSettingRow
from core.store.routine_rows import RoutineText
from tests.contracts.store.bench import ADA, BEN, Bench


async def test_a_setting_holds_until_it_is_changed_or_removed(world: Bench) -> None:
    store = world.store
    for person in (ADA, BEN):
        await store.people.ensure_user(person.user_id, person.role, person.name)
    assert await store.consents.set_tool_setting("ada", "shell", ToolSetting.DISABLED)
    assert await store.consents.set_tool_setting("ada", "http", ToolSetting.ASK_EACH_TIME)
    for tool in ("http", "shell"):
        assert await store.consents.set_tool_setting("ben", tool, ToolSetting.ALWAYS_ALLOW)
    now = world.clock.now()
    http = ToolSettingRow("ada", "http", ToolSetting.ASK_EACH_TIME, now)
    shell = ToolSettingRow("ada", "shell", ToolSetting.DISABLED, now)
    bens = [ToolSettingRow("ben", tool, ToolSetting.ALWAYS_ALLOW, now) for tool in ("http", "shell")]
    assert await store.consents.tool_settings("ada") == [http, shell]
    assert await store.consents.tool_settings(None) == [http, shell, *bens]
    world.clock.advance(1)
    assert await store.consents.set_tool_setting("ada", "shell", ToolSetting.ALWAYS_ALLOW)
    assert await store.consents.set_tool_setting("ada", "http", None)
    (changed,) = await store.consents.tool_settings("ada")
    assert changed == ToolSettingRow("ada", "shell", ToolSetting.ALWAYS_ALLOW, world.clock.now())
    assert await store.consents.tool_settings("ben") == bens


async def test_an_unknown_person_cannot_be_impersonated(world: Bench) -> None:
    assert not await world.store.consents.set_tool_setting("nobody", "shell", ToolSetting.DISABLED)
    assert await world.store.consents.tool_settings(None) == []


async def test_a_turn_loads_the_tools_its_person_has_disabled(world: Bench) -> None:
    await world.store.people.ensure_user("ada", ADA.role, ADA.name)
    await world.store.people.ensure_user("ben", BEN.role, BEN.name)
    await world.store.consents.set_tool_setting("ada", "shell", ToolSetting.DISABLED)
    await world.store.consents.set_tool_setting("ada", "http", ToolSetting.ASK_EACH_TIME)
    await world.store.consents.set_tool_setting("ben", "time", ToolSetting.DISABLED)
    start = await world.turn()
    assert start.disabled == {"shell"}
    standing = await world.store.consents.standing("ada", start.thread.id)
    assert standing.settings == {"shell": ToolSetting.DISABLED, "http": ToolSetting.ASK_EACH_TIME}
    assert standing.disabled == {"shell"}
    await world.store.consents.set_tool_setting("ada", "time", ToolSetting.DISABLED)
    assert (await world.store.recovery.resume_turn(start.turn_id)).disabled == {"shell", "time"}


async def test_a_routine_loses_a_grant_in_a_version_of_its_own(world: Bench) -> None:
    """Who edits an earlier one does not bring it back."""
    await world.turn()
    text = RoutineText("watch", "manual", '{"action": {"grants": ["shell ls", "shell pwd"]}}', 0)
    row = await world.store.routines.save_routine(world.ids.row_id(), "ada", text, None)
    assert row is not None
    taken, kept = await world.store.consents.grants("ada")
    assert await world.store.consents.revoke_grant(taken.id, by="ada")
    assert await world.store.consents.grants("ada") == [replace(kept, created_at=world.clock.now())]
    assert await world.store.routines.rewrite_routine(row.id, text, version=row.version) is None


async def test_the_grants_of_all_people_are_listed(world: Bench) -> None:
    await world.turn()
    await world.turn(by=BEN, scope="of ben")
    grants = [
        Grant(f"g{who}", who, "shell", None, GrantScope.USER, None, "ada", world.clock.now())
        for who in ("ada", "ben")
    ]
    await world.rule(*(RecordGrant(grant) for grant in grants))
    assert await world.store.consents.grants(None) == grants
    assert await world.store.consents.grants("ben") == grants[1:]


async def test_a_grant_replaces_an_equal_one_only_in_the_same_conversation(
    world: Bench,
) -> None:
    here, there = (await world.turn()).thread.id, (await world.turn(scope="another")).thread.id
    places = {"old": here, "there": there, "here": here, "anywhere": None, "again": None}
    for name, thread_id in places.items():
        scope = GrantScope.USER if thread_id is None else GrantScope.THREAD
        await world.rule(RecordGrant(Grant(name, "ada", "shell", "ls", scope, thread_id, "ada", 1)))
    assert [one.id for one in await world.store.consents.grants("ada")] == ["again", "here", "there"]
