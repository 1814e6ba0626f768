"""Credentials that were asked for: which message is one, and that nothing of it is kept but in the vault."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from core.errors import VaultError
from core.gates import Chose, Option, Replies, Wrote
from core.inbound import credentials
from core.inbound.credentials import VALUE_LIMIT_BYTES, WAITS_US, CredentialCapture, InboundCredentials
from core.messages import MessageRef
from core.safety.leaks import LeakDetector
from core.store.facets import SealedSecret
from tests.core.inbound.front import OWNER_ACCOUNT, Front
from tests.core.inbound.test_answers import CARD, CARD_AT, Asked
from tests.upgrade.stored import dump

SECRET = Replies(("Cancel",), free_text=True, secret="garden")
PASSWORD = "swordfish 12"
PROMPT = "0123456789"
THEIRS = MessageRef("theirs")


def seal(name: str, value: str) -> SealedSecret:
    return SealedSecret(name, "key-1", value.encode()[::-1], 5)


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    opened = await Front.open(tmp_path, owners=(OWNER_ACCOUNT, "second"))
    opened.confiding = CredentialCapture(seal)
    yield opened
    await opened.store.close()
    assert not written_down(tmp_path, PASSWORD)


def written_down(directory: Path, text: str) -> bool:
    """Return whether it is anywhere in the database, as it is."""
    return text in dump(directory / "hub.db")


async def kept(front: Front) -> dict[str, str]:
    return {one.name: one.sealed[::-1].decode() for one in await front.store.secrets.secrets()}


async def test_the_next_message_goes_into_the_vault_and_the_turn_continues(
    front: Front, tmp_path: Path
) -> None:
    asked = await Asked.open(front, SECRET)
    accepted = await front.says(OWNER_ACCOUNT, f"  {PASSWORD}\n", order=CARD_AT + 1, ref=THEIRS)
    assert accepted.outcome == f"credential: stored for {PROMPT}"
    assert accepted.started is not None
    assert await kept(front) == {"garden": PASSWORD}
    assert await asked.answer() == Wrote("[stored in the vault as garden]")
    assert front.heard(OWNER_ACCOUNT)[-1] == "Stored in the vault as garden."
    assert not written_down(tmp_path, PASSWORD)


@pytest.mark.parametrize("text", [f"/{PASSWORD}", "yes", "no", "/open", f"approve {PASSWORD}"])
async def test_any_text_except_a_command_is_the_credential(front: Front, text: str) -> None:
    await Asked.open(front, SECRET)
    await front.says(OWNER_ACCOUNT, text, order=CARD_AT + 1)
    assert await kept(front) == {"garden": text}


@pytest.mark.parametrize("by_card", [False, True])
async def test_a_credential_that_looks_like_one_is_stored_as_it_was_written(
    front: Front, tmp_path: Path, *, by_card: bool
) -> None:
    key = "sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    front.masking = InboundCredentials(LeakDetector(), seal, front.ids)
    await Asked.open(front, SECRET)
    if by_card:
        await front.presses(OWNER_ACCOUNT, PROMPT, 1, form=key)
    else:
        await front.says(OWNER_ACCOUNT, f" {key}", order=CARD_AT + 1)
    assert await kept(front) == {"garden": key}
    assert not written_down(tmp_path, key)


async def test_of_many_credentials_in_a_message_none_stays_in_it(front: Front, tmp_path: Path) -> None:
    keys = ["sk_" + "live_" + f"4eC39HqLyjWDarjtT1zdp7d{number}" for number in range(8)]
    front.masking = InboundCredentials(LeakDetector(), seal, front.ids)
    await front.says(OWNER_ACCOUNT, " and ".join(keys))
    assert not [key for key in keys if written_down(tmp_path, key)]


async def test_a_credential_in_words_handed_in_with_a_card_does_not_stay(
    front: Front, tmp_path: Path
) -> None:
    key = "sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    front.masking = InboundCredentials(LeakDetector(), seal, front.ids)
    asked = await Asked.open(front, Replies(("red",), free_text=True))
    await front.presses(OWNER_ACCOUNT, PROMPT, 1, form=f"try {key}")
    answer = await asked.answer()
    assert isinstance(answer, Wrote)
    assert answer.text.startswith("try [")
    assert not written_down(tmp_path, key)


@pytest.mark.parametrize("command", ["/status", "/help", "/yes", "/approve abcdefghjk"])
async def test_commands_are_not_credentials(front: Front, command: str) -> None:
    asked = await Asked.open(front, SECRET)
    accepted = await front.says(OWNER_ACCOUNT, command, order=CARD_AT + 1)
    assert not accepted.outcome.startswith("credential")
    assert await kept(front) == {}
    assert await asked.answer() is None


async def test_a_message_from_before_the_card_is_a_message(front: Front) -> None:
    await Asked.open(front, SECRET)
    assert (await front.says(OWNER_ACCOUNT, "and hurry", order=CARD_AT - 1)).outcome == "waiting"


async def test_a_credential_of_uncertain_order_is_not_stored(front: Front) -> None:
    asked = await Asked.open(front, SECRET, shown=False)
    accepted = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 1)
    assert accepted.outcome == "credential: in doubt"
    assert front.heard(OWNER_ACCOUNT)[-1] == credentials.IN_DOUBT
    assert await kept(front) == {}
    assert await asked.answer() is None


@pytest.mark.parametrize("text", ["", " \n", "x" * (VALUE_LIMIT_BYTES + 1), "ä" * 5000])
async def test_a_credential_too_large_for_the_vault_is_requested_again(front: Front, text: str) -> None:
    await Asked.open(front, SECRET)
    accepted = await front.says(OWNER_ACCOUNT, text, order=CARD_AT + 1)
    assert accepted.outcome == "credential: unusable"
    await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 2)
    assert await kept(front) == {"garden": PASSWORD}


async def test_a_late_credential_ends_the_request(front: Front) -> None:
    asked = await Asked.open(front, SECRET)
    front.clock.at += WAITS_US + 1
    accepted = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 1)
    assert accepted.outcome == "credential: too late"
    assert accepted.started is not None
    assert await asked.answer() is Option.SKIP
    assert await kept(front) == {}


async def test_a_vault_that_stores_nothing_keeps_the_request_open(front: Front) -> None:
    def refuse(name: str, value: str) -> SealedSecret:
        raise VaultError("the vault's key is missing")

    asked = await Asked.open(front, SECRET)
    front.confiding = CredentialCapture(refuse)
    accepted = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 1)
    assert accepted.outcome == "credential: not stored"
    assert front.heard(OWNER_ACCOUNT)[-1] == credentials.NOT_KEPT
    assert await asked.answer() is None


async def test_a_credential_handed_in_with_the_card_is_stored_too_and_a_press_cancels(front: Front) -> None:
    asked = await Asked.open(front, SECRET)
    accepted = await front.presses(OWNER_ACCOUNT, PROMPT, 1, form=PASSWORD)
    assert accepted.outcome == f"answer: {PROMPT}"
    assert accepted.answer == "Stored in the vault as garden."
    assert await kept(front) == {"garden": PASSWORD}
    assert await asked.answer() == Wrote("[stored in the vault as garden]")


async def test_the_button_cancels_the_request(front: Front) -> None:
    asked = await Asked.open(front, SECRET)
    await front.presses(OWNER_ACCOUNT, PROMPT, 0)
    assert await asked.answer() == Chose(0, "Cancel")
    assert (await front.says(OWNER_ACCOUNT, "hello", order=CARD_AT + 1)).outcome == "waiting"


async def test_another_person_cannot_give_the_credential(front: Front) -> None:
    """Neither in words of their own conversation, nor on the card."""
    asked = await Asked.open(front, SECRET)
    accepted = await front.presses("stranger", PROMPT, 1, form=PASSWORD)
    assert accepted.started is None
    await front.says("stranger", PASSWORD, order=CARD_AT + 1)
    assert await kept(front) == {}
    assert await asked.answer() is None


async def test_a_correction_of_the_credential_is_not_stored(front: Front, tmp_path: Path) -> None:
    await Asked.open(front, SECRET)
    await front.says(OWNER_ACCOUNT, "not this", order=CARD_AT + 1)
    given = f"chat:{front.said}"
    accepted = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 1, edits=given)
    assert accepted.outcome == "ignored: edited when no longer queued"
    assert not written_down(tmp_path, PASSWORD)


async def test_the_message_is_deleted_or_its_writer_is_asked_to_delete_it(front: Front) -> None:
    await Asked.open(front, SECRET)
    accepted = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 1, ref=THEIRS, reply_to=CARD)
    (away,) = [row for row in accepted.outbox if not row.message.blocks]
    assert away.edit_of is not None
    assert await front.store.outbox.sent_refs(away.edit_of) == (THEIRS,)
    (said,) = await front.store.outbox.fail_outbox(away.id, "the platform keeps it")
    assert said.address == away.address
    assert await front.store.outbox.fail_outbox(away.id, "again") == ()
    front.sent.rows.append(said)
    assert front.heard(OWNER_ACCOUNT)[-1] == credentials.DELETE_YOUR_MESSAGE
