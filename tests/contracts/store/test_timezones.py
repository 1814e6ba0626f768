"""The time zones people choose."""

from dataclasses import replace

from core.store.effects import SetTimezone
from tests.contracts.store.bench import ADA, BEN, Bench


async def test_a_time_zone_is_kept_until_it_is_changed_or_cleared(world: Bench) -> None:
    store = world.store
    for person in (ADA, BEN):
        await store.people.ensure_user(person.user_id, person.role, person.name)
    assert (await store.people.preferences("ada")).timezone is None
    assert await store.people.set_preferences("ada", lambda was: replace(was, timezone="Europe/Berlin"))
    assert (await store.people.preferences("ada")).timezone == "Europe/Berlin"
    assert {person.user.user_id: person.preferences.timezone for person in await store.people.people()} == {
        "ada": "Europe/Berlin",
        "ben": None,
    }
    await store.people.ensure_user("ada", ADA.role, "Ada again")
    assert (await store.people.preferences("ada")).timezone == "Europe/Berlin"
    assert await store.people.set_preferences("ada", lambda was: replace(was, timezone=None))
    assert (await store.people.preferences("ada")).timezone is None


async def test_unknown_people_have_no_time_zone(world: Bench) -> None:
    assert not await world.store.people.set_preferences("nobody", lambda was: replace(was, timezone="UTC"))
    assert (await world.store.people.preferences("nobody")).timezone is None


async def test_a_command_sets_that_of_its_writer_alone(world: Bench) -> None:
    await world.turn()
    await world.turn(by=BEN, scope="of ben")
    await world.rule(SetTimezone("Asia/Tokyo"))
    zones = {person.user.user_id: person.preferences.timezone for person in await world.store.people.people()}
    assert sorted(zones.items(), key=str) == [("ada", "Asia/Tokyo"), ("ben", None)]
