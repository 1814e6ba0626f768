"""`/verbose`, `/model` and `/think` in a chat: set how a conversation's runs go, typed or pressed."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from core import texts
from core.events import Verbosity
from core.inbound import thread_commands
from core.people.access import ChannelAccess, DirectMode
from core.users import UNSET, ModelChoice, Role, Thinking, ThreadSettings
from tests.contracts.store.bench import text_of
from tests.core.inbound.front import OWNER, OWNER_ACCOUNT, Front

MODELS = {"main": "gpt-5", "Big": "claude"}
SET = [
    *((f"/verbose {one.value.upper()}", ThreadSettings(one), texts.verbosity(one)) for one in Verbosity),
    ("/model big", ThreadSettings(chosen=ModelChoice("Big")), "✓ Big (chosen here)"),
    (
        "/think HIGH",
        ThreadSettings(chosen=ModelChoice(None, Thinking.HIGH)),
        "effort high here (chosen here)",
    ),
    ("/think off", ThreadSettings(chosen=ModelChoice(None, Thinking.OFF)), "effort off here (chosen here)"),
    ("/think default", UNSET, "as configured here"),
]


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    opened = await Front.open(tmp_path, rules=ChannelAccess(DirectMode.OPEN), models=MODELS)
    yield opened
    await opened.store.close()


async def told(front: Front, words: str, person: str = OWNER_ACCOUNT) -> str:
    accepted = await front.says(person, words)
    return "\n".join(text_of(row.message) for row in accepted.outbox)


async def kept(front: Front) -> list[ThreadSettings]:
    return [thread.settings for thread in await front.store.threads.threads(10)]


@pytest.mark.parametrize("words, settings, said", SET)
async def test_a_setting_is_stored_and_confirmed(
    front: Front, words: str, settings: ThreadSettings, said: str
) -> None:
    await front.says(OWNER_ACCOUNT, "hello")
    assert said in await told(front, words)
    assert await kept(front) == [settings]
    assert said in await told(front, words.split()[0])


def test_each_verbosity_says_what_is_shown_and_how_to_change_it() -> None:
    said = {chosen: texts.verbosity(chosen) for chosen in Verbosity}
    assert "answers only" in said[Verbosity.OFF]
    assert "steps" in said[Verbosity.ON]
    assert "details of failures" in said[Verbosity.FULL]
    assert all("/verbose" in one for one in said.values())
    assert {"verbose", "model", "think"} <= {name for name, _ in texts.COMMANDS}


async def test_settings_do_not_overwrite_each_other_and_hold_only_in_their_conversation(front: Front) -> None:
    for person in (OWNER_ACCOUNT, "gus"):
        await front.says(person, "hello")
    for words in ("/verbose on", "/model Big", "/think high"):
        await told(front, words)
    await told(front, "/verbose full", "gus")
    chosen = ModelChoice("Big", Thinking.HIGH)
    assert sorted(await kept(front), key=str) == sorted(
        [ThreadSettings(Verbosity.ON, chosen), ThreadSettings(Verbosity.FULL)], key=str
    )
    assert "Chosen: model Big first, thinking high." in await told(front, "/status")
    assert "Chosen" not in await told(front, "/status", "gus")


@pytest.mark.parametrize(
    "words", ["/verbose loud", "/verbose on please", "/model third", "/think more", "/think 1"]
)
async def test_other_words_change_nothing(front: Front, words: str) -> None:
    await front.says(OWNER_ACCOUNT, "hello")
    assert "Type /" in await told(front, words)
    assert await kept(front) == [UNSET]


@pytest.mark.parametrize("words", ["/verbose on", "/model Big", "/think low"])
async def test_without_a_conversation_nothing_is_set(front: Front, words: str) -> None:
    name = words.split()[0][1:]
    assert await told(front, words) == thread_commands.NO_THREAD.format(name=name)
    assert await told(front, f"/{name}")


@pytest.mark.parametrize("words", ["/model", "/model Big", "/think high"])
async def test_guests_choose_no_model(front: Front, words: str) -> None:
    await front.says("gus", "hello")
    assert await told(front, words, "gus") == thread_commands.NOT_FOR_GUESTS
    assert await kept(front) == [UNSET]


async def test_without_a_choice_the_configured_order_holds(front: Front) -> None:
    await front.says(OWNER_ACCOUNT, "hello")
    assert await told(front, "/model default") == thread_commands.MODELS_AS_CONFIGURED


async def test_what_the_owner_set_for_a_person_holds_until_they_choose(front: Front) -> None:
    await front.says(OWNER_ACCOUNT, "hello")
    wished = ModelChoice("Big", Thinking.LOW)
    await front.store.people.set_preferences(OWNER.user_id, lambda was: replace(was, chosen=wished))
    assert "✓ Big (set for you by the owner): claude" in await told(front, "/model")
    assert "effort low here (set for you by the owner)" in await told(front, "/think")
    assert await told(front, "/model main") == "✓ main (chosen here)"
    assert "✓ main (chosen here): gpt-5\nBig: claude" in await told(front, "/model")
    assert await told(front, "/model default") == "✓ Big (set for you by the owner)"
    await front.says(OWNER_ACCOUNT, "/model main")
    assert "Chosen: model main first, thinking low." in await told(front, "/status")


async def test_a_model_that_is_gone_is_named(front: Front) -> None:
    await front.says(OWNER_ACCOUNT, "hello")
    gone = ModelChoice("old")
    await front.store.people.set_preferences(OWNER.user_id, lambda was: replace(was, chosen=gone))
    assert "The chosen model old is not configured any more" in await told(front, "/model")


@pytest.mark.parametrize(
    "command, labels, chosen",
    [
        ("/model", ["main", "Big", "✓ default"], ModelChoice("Big")),
        ("/think", ["off", "low", "medium", "high", "✓ default"], ModelChoice(None, Thinking.LOW)),
    ],
)
async def test_a_button_sets_it_once_and_only_for_its_own_conversation(
    front: Front, command: str, labels: list[str], chosen: ModelChoice
) -> None:
    """Another person who sees the buttons, the owner of the hub too, chooses nothing with them."""
    await front.store.people.ensure_user("mia", Role.MEMBER, "Mia")
    await front.store.people.link_account("mia", "chat", "m", "Mia")
    for person in ("m", OWNER_ACCOUNT, "gus"):
        await front.says(person, "hello")
    (row,) = (await front.says("m", command)).outbox
    menu_id = row.message.gate_id or ""
    assert [choice.label for choice in row.message.choices] == labels
    for person in (OWNER_ACCOUNT, "gus"):
        assert (await front.presses(person, menu_id, 1)).outcome == "refused: no such request"
    assert await kept(front) == [UNSET] * 3

    pressed = await front.presses("m", menu_id, 1)
    assert (pressed.outcome, pressed.answer) == (f"command: {command}", f"M: {command} {labels[1]}")
    assert ThreadSettings(chosen=chosen) in await kept(front)
    changed = next(row.message for row in pressed.outbox if row.edit_of is not None)
    assert (changed.choices, changed.outcome) == ((), f"M: {command} {labels[1]}")

    again = await front.presses("m", menu_id, 0)
    assert (again.outcome, again.answer) == ("ignored: said before", f"M: {command} {labels[1]}")
    assert ThreadSettings(chosen=chosen) in await kept(front)
    assert (await front.presses("m", menu_id, 7)).outcome == "refused: no such request"
