"""A request for a credential is a promise to a person on a channel: no text that may be the credential is
taken as an ordinary one, whatever was done between the request and the text."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from core.consent.cards import expired_text, settled_card
from core.inbound import credentials
from core.inbound.credentials import CredentialCapture
from core.messages import Attachment
from core.people.access import ChannelAccess, GroupMode
from tests.core.inbound.front import OWNER_ACCOUNT, Front
from tests.core.inbound.test_answers import CARD, CARD_AT, Asked
from tests.core.inbound.test_credentials import PASSWORD, PROMPT, SECRET, kept, seal

PHOTO = Attachment("file-1", "photo.jpg", "image/jpeg", 1000)
Step = Callable[[Front, Asked], Awaitable[None]]


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    """Looked through at the end: the database and its log, byte by byte."""
    rules = ChannelAccess(groups=GroupMode.ALL, allow=frozenset({"mia"}))
    opened = await Front.open(tmp_path, rules=rules, owners=(OWNER_ACCOUNT, "second"))
    opened.confiding = CredentialCapture(seal)
    yield opened
    found = traces(tmp_path)
    await opened.store.close()
    assert found == []


def traces(directory: Path) -> list[str]:
    """The files in which the credential is found, as it is or as it would be in UTF-16."""
    needles = (PASSWORD.encode(), PASSWORD.encode("utf-16-le"))
    files = [path for path in directory.rglob("*") if path.is_file()]
    return [path.name for path in files if any(needle in path.read_bytes() for needle in needles)]


def command(text: str) -> Step:
    async def step(front: Front, asked: Asked) -> None:
        await front.says(OWNER_ACCOUNT, text, order=CARD_AT + 1)

    return step


async def nothing(front: Front, asked: Asked) -> None:
    pass


async def album(front: Front, asked: Asked) -> None:
    for order in (1, 2):
        await front.says(OWNER_ACCOUNT, "", order=CARD_AT + order, album="a", attachments=(PHOTO,))


async def edit(front: Front, asked: Asked) -> None:
    """Of the message that began it all."""
    accepted = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT - 2, edits="chat:1")
    assert accepted.outcome == "credential: in doubt"


async def edit_of_what_never_came(front: Front, asked: Asked) -> None:
    accepted = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT - 2, edits="chat:unknown")
    assert accepted.outcome == "credential: in doubt"


async def voice(front: Front, asked: Asked) -> None:
    await front.says(OWNER_ACCOUNT, "", order=CARD_AT + 1, not_understood="voice message")


async def expires(front: Front, asked: Asked) -> None:
    await front.store.gates.expire_gates(
        2**61, expired_text, lambda one: settled_card(one, expired_text(one))
    )


async def new_and_stop(front: Front, asked: Asked) -> None:
    """Return what is stopped is the new conversation, where nothing runs."""
    await front.says(OWNER_ACCOUNT, "/new", order=CARD_AT + 1)
    await front.says(OWNER_ACCOUNT, "/stop", order=CARD_AT + 2)


STEPS: dict[str, tuple[Step, bool]] = {
    "nothing": (nothing, True),
    "/new": (command("/new"), True),
    "/new and /stop": (new_and_stop, True),
    "/help": (command("/help"), True),
    "/status": (command("/status"), True),
    "/approve": (command("/approve 0123456789"), True),
    "/grants": (command(f"/grants {PASSWORD}"), True),
    "album": (album, True),
    "voice": (voice, True),
    "edit": (edit, True),
    "edit of what never came": (edit_of_what_never_came, True),
    "/stop": (command(f"/stop {PASSWORD}"), False),
    "expired": (expires, False),
}
"""What is done first, and whether the request is still open then."""


@pytest.mark.parametrize("reply", [True, False], ids=["reply", "no-reply"])
@pytest.mark.parametrize("name", STEPS)
async def test_the_next_text_goes_to_the_vault_or_nowhere(
    front: Front, tmp_path: Path, name: str, *, reply: bool
) -> None:
    step, still_open = STEPS[name]
    asked = await Asked.open(front, SECRET)
    await step(front, asked)
    accepted = await front.says(
        OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 9, reply_to=CARD if reply else None, attachments=(PHOTO,)
    )
    assert accepted.outcome == (
        f"credential: stored for {PROMPT}" if still_open else "credential: no longer expected"
    )
    assert await kept(front) == ({"garden": PASSWORD} if still_open else {})
    ordinary = await front.says(OWNER_ACCOUNT, "hello", order=CARD_AT + 10)
    assert not ordinary.outcome.startswith("credential")
    assert traces(tmp_path) == []


@pytest.mark.parametrize("before, direct", [(nothing, False), (expires, True), (expires, False)])
async def test_only_the_name_of_a_command_is_stored_in_groups_and_after_expiry_too(
    front: Front, tmp_path: Path, before: Step, *, direct: bool
) -> None:
    await before(front, await Asked.open(front, SECRET))
    await front.says(OWNER_ACCOUNT, f"/grants {PASSWORD}", order=CARD_AT + 1, direct=direct)
    assert traces(tmp_path) == []


@pytest.mark.parametrize("name", ["/new", "/help", "/status"])
async def test_a_command_is_answered_that_the_request_is_still_open(front: Front, name: str) -> None:
    await Asked.open(front, SECRET)
    await front.says(OWNER_ACCOUNT, name, order=CARD_AT + 1)
    assert front.heard(OWNER_ACCOUNT)[-1] == credentials.still_waited_for("garden")


async def test_stop_says_that_the_request_is_over(front: Front) -> None:
    await Asked.open(front, SECRET)
    await front.says(OWNER_ACCOUNT, "/stop", order=CARD_AT + 1)
    assert front.heard(OWNER_ACCOUNT)[-1] == credentials.ended("garden")


async def test_a_message_in_another_private_conversation_is_the_credential(front: Front) -> None:
    asked = await Asked.open(front, SECRET)
    accepted = await front.says(OWNER_ACCOUNT, PASSWORD, place="another")
    assert accepted.outcome == f"credential: stored for {PROMPT}"
    assert accepted.started is not None
    assert accepted.started.turn_id == asked.start.turn_id


async def test_in_a_group_the_message_is_withheld_with_a_notice_and_the_request_stays_open(
    front: Front,
) -> None:
    asked = await Asked.open(front, SECRET)
    accepted = await front.says(OWNER_ACCOUNT, PASSWORD, direct=False)
    assert accepted.outcome == "credential: not in private"
    assert front.heard("group")[-1] == credentials.IN_PRIVATE
    assert await asked.answer() is None


async def test_other_parts_of_the_same_message_are_withheld_too(front: Front) -> None:
    await Asked.open(front, SECRET)
    first = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 1, album="a", attachments=(PHOTO,))
    second = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 2, album="a", attachments=(PHOTO,))
    assert first.outcome == f"credential: stored for {PROMPT}"
    assert second.outcome == "credential: part of the same message"


async def test_after_cancel_only_a_reply_to_the_card_is_withheld(front: Front) -> None:
    await Asked.open(front, SECRET)
    await front.presses(OWNER_ACCOUNT, PROMPT, 0)
    replied = await front.says(OWNER_ACCOUNT, PASSWORD, order=CARD_AT + 1, reply_to=CARD)
    assert replied.outcome == "credential: no longer expected"
    assert (await front.says(OWNER_ACCOUNT, "hello", order=CARD_AT + 2)).outcome == "waiting"


async def test_a_credential_sent_after_the_request_ended_is_not_stored(front: Front) -> None:
    asked = await Asked.open(front, SECRET)
    await expires(front, asked)
    accepted = await front.presses(OWNER_ACCOUNT, PROMPT, 1, form=PASSWORD)
    assert accepted.outcome == f"refused: answer to {PROMPT}"
    assert await kept(front) == {}


async def test_the_form_accepts_nothing_from_another_person(front: Front) -> None:
    asked = await Asked.open(front, SECRET)
    accepted = await front.presses("mia", PROMPT, 1, form=PASSWORD)
    assert accepted.outcome == f"refused: answer to {PROMPT}"
    assert (await kept(front), await asked.answer()) == ({}, None)


async def test_messages_of_another_person_are_accepted_as_usual(front: Front) -> None:
    await Asked.open(front, SECRET)
    assert (await front.says("stranger", "hello")).outcome.startswith("refused")
