"""Extensions: one row for each name in the hub, changed by its owner alone, recorded in the audit."""

import json

import pytest

from core.extension import MAX_OF_ONE_PERSON, Extension, ExtensionChange, ExtensionRefused
from core.gates import GateKind
from core.store.rows import CallState
from core.tool import Requirement
from tests.contracts.store.bench import Bench

FILES = Extension("files", "ada", ("files", "a b"), secrets={"KEY": "key"}, requirement=Requirement.NEVER)


async def test_an_extension_belongs_to_its_owner_and_its_name_is_taken_for_everyone(world: Bench) -> None:
    await world.say("hello")
    store = world.store.extensions
    await store.put_extension(FILES, "ada")
    (kept,) = await store.extensions()
    assert kept.same_server(FILES)
    assert (kept.enabled, kept.changed_at) == (True, world.clock.now())
    assert not await store.change_extension("files", "ben", ExtensionChange.REMOVE, "ben")
    assert await store.change_extension("files", "ada", ExtensionChange.DISABLE, "ada")
    assert [one.enabled for one in await store.extensions()] == [False]
    await store.put_extension(Extension("files", "ada", url="https://files.example"), "ada")
    (replaced,) = await store.extensions()
    assert (replaced.enabled, replaced.shown) == (True, "https://files.example")
    for number in range(MAX_OF_ONE_PERSON - 1):
        await store.put_extension(Extension(f"more{number}", "ada", ("x",)), "ada")
    with pytest.raises(ExtensionRefused, match="at most"):
        await store.put_extension(Extension("one-more", "ada", ("x",)), "ada")
    assert await store.change_extension("files", "ada", ExtensionChange.REMOVE, "ada")
    assert "files" not in {one.name for one in await store.extensions()}
    said = [
        (row.kind, json.loads(row.detail)["change"]) for row in await world.store.audit.audit_of(["files"])
    ]
    assert said == [("extension", word) for word in ("add", "disable", "replace", "remove")]


async def test_of_a_turns_calls_the_one_that_needs_a_sign_in_waits_alone(world: Bench) -> None:
    start = await world.turn()
    one, _ = await world.call(start, "shell", "http")
    gate = world.gate(start, one, kind=GateKind.AUTH)
    await world.store.sign_ins.ask_to_sign_in(gate, [world.card(gate)], None)
    assert await world.states(start) == [CallState.WAITING, CallState.INTENT]
