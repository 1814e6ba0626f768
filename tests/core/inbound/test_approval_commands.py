"""`/approvals`, `/grants`, `/approve ID session`: what people lay down in a chat, and what becomes of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from core.approvals import UNSAID, ApprovalSettings, Preset
from core.consent.cards import open_card
from core.gates import ConsentSettings, Gate, GateKind, Grant, GrantScope, Option, Options, VoteRule
from core.messages import Address
from core.people.access import ChannelAccess, DirectMode
from core.store.accept import Accepted
from core.store.rows import Draft, NewCall
from core.tool import Effect
from core.transcript import AssistantSaid
from tests.contracts.store.bench import text_of
from tests.core.inbound.front import CHANNEL, OWNER, OWNER_ACCOUNT, Front

GUEST = "gus"


@pytest_asyncio.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    opened = await Front.open(tmp_path, rules=ChannelAccess(DirectMode.OPEN))
    yield opened
    await opened.store.close()


async def told(front: Front, person: str, words: str) -> str:
    """Return what somebody who writes a command is told."""
    accepted = await front.says(person, words)
    return "\n".join(text_of(row.message) for row in accepted.outbox)


async def standing(front: Front) -> ConsentSettings:
    """Return what holds in the owner's conversation."""
    (thread,) = [row for row in await front.store.threads.threads(10) if row.owner_id == OWNER.user_id]
    return await front.store.consents.standing(OWNER.user_id, thread.id)


async def test_without_arguments_the_current_settings_are_shown(front: Front) -> None:
    said = await told(front, OWNER_ACCOUNT, "/approvals")
    assert "Approvals here: auto_loop" in said
    assert "After 5 rounds, 20 tool calls, 300 s in one turn I ask" in said


@pytest.mark.parametrize(
    "words,settings",
    [
        ("manual", ApprovalSettings(Preset.MANUAL)),
        ("WHITELIST", ApprovalSettings(Preset.WHITELIST)),
        ("auto", ApprovalSettings(Preset.AUTO)),
        ("rounds 10", ApprovalSettings(max_rounds=10)),
        ("tools 3", ApprovalSettings(max_tools=3)),
        ("seconds 60", ApprovalSettings(loop_timeout_s=60)),
        ("rounds 1000", ApprovalSettings(max_rounds=1000)),
        ("whitelist time, json", ApprovalSettings(whitelist=frozenset({"time", "json"}))),
        ("whitelist none", ApprovalSettings(whitelist=frozenset())),
        ("dangerous shell http echo", ApprovalSettings(dangerous_tools=frozenset({"shell", "http", "echo"}))),
        ("timeout shell 60", ApprovalSettings(tool_timeouts={"shell": 60})),
    ],
)
async def test_settings_apply_to_the_conversation_or_everywhere(
    front: Front, words: str, settings: ApprovalSettings
) -> None:
    await front.says(OWNER_ACCOUNT)
    await front.says(OWNER_ACCOUNT, f"/approvals {words}")
    assert await standing(front) == ConsentSettings(thread=settings)
    await front.says(OWNER_ACCOUNT, f"/approvals all {words}")
    assert await standing(front) == ConsentSettings(thread=settings, person=settings)
    await front.says(OWNER_ACCOUNT, "/approvals default")
    assert await standing(front) == ConsentSettings(person=settings)
    await front.says(OWNER_ACCOUNT, "/approvals all default")
    assert await standing(front) == ConsentSettings()


async def test_successive_settings_add_up(front: Front) -> None:
    await front.says(OWNER_ACCOUNT)
    said = ""
    for words in (
        *("manual", "rounds 2", "tools 9", "rounds default", "whitelist time", "whitelist default"),
        *("timeout shell 60", "timeout http 5", "timeout shell default", "dangerous none"),
    ):
        said = await told(front, OWNER_ACCOUNT, f"/approvals {words}")
    assert "Approvals here: manual" in said
    assert "After 5 rounds, 9 tool calls, 300 s" in said
    assert "\nDangerous tools: none.\nTime limits: http 5 s.\n" in said
    expected = {"dangerous_tools": frozenset[str](), "tool_timeouts": {"http": 5}}
    assert (await standing(front)).thread == ApprovalSettings(Preset.MANUAL, max_tools=9, **expected)


@pytest.mark.parametrize(
    "words",
    [
        *("careful", "manual auto", "all", "all all manual", "time 5", "rounds 5 tools 5", "rounds"),
        *("rounds 0", "rounds -1", "rounds 1001", "rounds ten", "rounds ²", "tools 10001", "seconds 86401"),
        *("dangerous", "timeout shell", "timeout shell 0", "timeout shell ten", "timeout shell 86401"),
    ],
)
async def test_anything_else_changes_nothing_and_shows_the_usage(front: Front, words: str) -> None:
    await front.says(OWNER_ACCOUNT)
    assert "Type /approvals followed by manual, " in await told(front, OWNER_ACCOUNT, f"/approvals {words}")
    assert await standing(front) == ConsentSettings()


async def test_without_a_thread_settings_apply_everywhere(front: Front) -> None:
    assert "no conversation here yet" in await told(front, OWNER_ACCOUNT, "/approvals manual")
    assert "Approvals here: manual" in await told(front, OWNER_ACCOUNT, "/approvals all manual")


@pytest.mark.parametrize("scope", ["", "all "])
@pytest.mark.parametrize(
    "words,refusal",
    [
        ("auto", "the limit is auto_loop"),
        ("rounds 6", "the limit is 5"),
        ("seconds 301", "the limit is 300"),
        ("whitelist time echo", "the limit is json, time"),
        ("dangerous http echo", "dangerous tools must include http, shell"),
        ("timeout shell 61", "the limit is shell 60 s"),
    ],
)
async def test_only_the_owner_exceeds_the_configured_policy(
    front: Front, scope: str, words: str, refusal: str
) -> None:
    await front.says(GUEST)
    said = await told(front, GUEST, f"/approvals {scope}{words}")
    assert said == f"That is not allowed here; {refusal}."
    assert "Approvals here: whitelist" in await told(front, GUEST, f"/approvals {scope}whitelist")
    assert "After 4 rounds" in await told(front, GUEST, f"/approvals {scope}rounds 4")
    for stricter in ("whitelist time", "dangerous shell http time", "timeout shell 60", "timeout echo 9"):
        assert "Approvals here" in await told(front, GUEST, f"/approvals {scope}{stricter}")
    await front.says(OWNER_ACCOUNT)
    assert "Approvals here" in await told(front, OWNER_ACCOUNT, f"/approvals {scope}{words}")


async def test_a_tool_that_does_not_exist_cannot_be_set(front: Front) -> None:
    await front.says(OWNER_ACCOUNT)
    for words in ("whitelist time shel", "dangerous shel", "timeout shel 60"):
        assert await told(front, OWNER_ACCOUNT, f"/approvals {words}") == "There is no tool named shel."
    assert await standing(front) == ConsentSettings()


# --- grants ----------------------------------------------------------------------------------------------


async def asked(front: Front, *, options: tuple[Option, ...] | None = None) -> Gate:
    """A card to the owner."""
    start = (await front.says(OWNER_ACCOUNT)).started
    assert start is not None
    call = NewCall("call-1", "shell", "{}", Effect.EFFECT)
    await front.store.turns.record_reply_and_intents(start.turn_id, AssistantSaid(""), [call])
    gate = Gate(
        id="0123456789",
        kind=GateKind.APPROVAL,
        thread_id=start.thread.id,
        turn_id=start.turn_id,
        call_id="call-1",
        requester_id=OWNER.user_id,
        title="Run `ls`?",
        detail="git status",
        offer=Options(options or (Option.APPROVE, Option.DENY, Option.ALWAYS)),
        rule=VoteRule(),
        binding="b",
        created_at=front.clock.now(),
        expires_at=front.clock.now() + 10**9,
        tool="shell",
        pattern="git status",
    )
    draft = Draft(CHANNEL, Address(OWNER_ACCOUNT), open_card(gate), "nonce", gate_id=gate.id)
    await front.store.turns.ask_person(gate, [draft])
    return gate


async def granted(front: Front) -> list[Grant]:
    return list(await front.store.consents.grants(OWNER.user_id))


@pytest.mark.parametrize("place", [None, "elsewhere"])
async def test_session_grants_for_the_conversation_of_the_request_alone(
    front: Front, place: str | None
) -> None:
    """Also when it is typed in another one."""
    gate = await asked(front)
    await front.says(OWNER_ACCOUNT, place="elsewhere")
    accepted: Accepted = await front.says(OWNER_ACCOUNT, f"/approve {gate.id} session", place=place)
    assert accepted.started is not None
    (grant,) = await granted(front)
    assert (grant.scope, grant.thread_id) == (GrantScope.THREAD, gate.thread_id)
    assert (grant.tool, grant.pattern) == ("shell", "git status")
    here = await front.store.consents.standing(OWNER.user_id, gate.thread_id)
    assert [one.id for one in here.grants] == [grant.id]
    assert (await front.store.consents.standing(OWNER.user_id, "another")).grants == ()
    (call,) = (await front.store.turns.load_turn(accepted.started)).calls
    assert call.answer is Option.SESSION


async def test_always_grants_everywhere(front: Front) -> None:
    gate = await asked(front)
    await front.says(OWNER_ACCOUNT, f"/approve {gate.id} always")
    (grant,) = await granted(front)
    assert (grant.scope, grant.thread_id) == (GrantScope.USER, None)


@pytest.mark.parametrize("written_there", [False, True])
async def test_a_decision_from_another_conversation_is_confirmed_there(
    front: Front, *, written_there: bool
) -> None:
    """Also where they never wrote before; in the card's own conversation the card shows it."""
    gate = await asked(front)
    if written_there:
        await front.says(OWNER_ACCOUNT, place="elsewhere")
    await front.says(OWNER_ACCOUNT, f"/approve {gate.id}", place="elsewhere")
    assert front.heard("elsewhere") == ["Approved by Olivia"]


@pytest.mark.parametrize("word", ["session", "always"])
async def test_without_always_there_is_no_session_grant(front: Front, word: str) -> None:
    gate = await asked(front, options=(Option.APPROVE, Option.DENY))
    assert '"Always allow" is not available' in await told(front, OWNER_ACCOUNT, f"/approve {gate.id} {word}")
    assert await granted(front) == []


async def test_grants_are_listed_and_revoked(front: Front) -> None:
    assert "You have no grants" in await told(front, OWNER_ACCOUNT, "/grants")
    gate = await asked(front)
    await front.says(OWNER_ACCOUNT, f"/approve {gate.id} session")
    (grant,) = await granted(front)
    listed = await told(front, OWNER_ACCOUNT, "/grants")
    assert listed.startswith(f"shell: git status (one conversation), {grant.id[-8:]}")
    for wrong in ("", "x", grant.id[-7:], "00000000"):
        said = await told(front, OWNER_ACCOUNT, f"/grants revoke {wrong}")
        assert "Grant revoked" not in said
        assert await granted(front) == [grant]
    assert "no grant with that ID" in await told(front, GUEST, f"/grants revoke {grant.id}")
    assert await granted(front) == [grant]
    assert "Grant revoked" in await told(front, OWNER_ACCOUNT, f"/grants revoke {grant.id[-8:]}")
    assert await granted(front) == []
    assert "no grant" in await told(front, OWNER_ACCOUNT, "/grants revoke all")


async def test_none_of_these_commands_reach_the_model(front: Front) -> None:
    start = (await front.says(OWNER_ACCOUNT)).started
    assert start is not None
    for words in ("/approvals", "/approvals manual", "/grants", "/grants revoke all", "/approvals nonsense"):
        accepted = await front.says(OWNER_ACCOUNT, words)
        assert accepted.outcome.startswith(("command: ", "refused: "))
    assert (await standing(front)).person == UNSAID
