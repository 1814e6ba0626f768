"""Looking for a message whose sending was never answered, judged by what a simulated Telegram was asked.

The hub's second passes in 20 ms here.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from channels.telegram.addresses import Timeouts
from channels.telegram.channel import TelegramChannel
from channels.telegram.interrupted_sends import UNREADABLE, Part, buttons_of, comes_first, rivals
from channels.telegram.outbound import FILE
from core.messages import Address, Choice, Code, File, Markdown, Message, MessageRef, Plain, plain
from core.ports import KnownMessage, OutboxRow, PostContext, Posted, SendState, Uncertain
from tests.clock import HastyClock
from tests.harness.channel_bench import SPEED, channel, simulated_telegram
from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.people_files import PHOTO
from tests.simulators.telegram.world import Message as Seen

pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")

SECOND = 1_000_000
ASKED = 1_000_000 * SECOND
CARD = Message((Plain("Run it?"),), (Choice("Approve"), Choice("Deny")), "7Q2M9ZK4XA")
OTHER_CARD = replace(CARD, blocks=(Plain("Run that?"),), gate_id="8Q2M9ZK4XB")
LONG = plain("first " + "x" * 4090 + " second part")


def row(
    message: Message,
    row_id: int = 5,
    to: str = "7",
    state: SendState = SendState.AMBIGUOUS,
    refs: Sequence[str] = (),
    repeats: int = 0,
) -> OutboxRow:
    known = tuple(MessageRef(ref) for ref in refs)
    return OutboxRow(row_id, "tg", Address(to), message, state, f"n{row_id}", known, repeats=repeats)


def known(number: int, chat: str = "7", taken_at: int = ASKED) -> KnownMessage:
    return KnownMessage(Address(chat), f"{number:020d}", taken_at)


def open_row(other: OutboxRow) -> Uncertain:
    return Uncertain(other, ASKED, open=True)


@dataclass
class Search:
    """A bot with a request that went unanswered. `around`: what the store says of it, when it is asked."""

    sim: TelegramSimulator
    channel: TelegramChannel
    around: PostContext = field(default_factory=lambda: PostContext(row(plain("")), ASKED))
    looks: int = 0

    async def shows(self, message: Message, to: str = "7", part: int = 0) -> Seen:
        """The bot has sent this; what is known of it is another matter."""
        payload = self.channel.render(message)[part]
        posted = await self.channel.post(Address(to), payload, nonce="n")
        chat_id, _, message_id = posted.ref.partition(":")
        return self.sim.message(int(chat_id), int(message_id))

    async def find(self, lost: OutboxRow, **more: object) -> Posted | None:
        self.around = replace(self.around, row=lost, **more)
        payload = self.channel.render(lost.message)[len(lost.refs)]

        async def look() -> PostContext:
            self.looks += 1
            return self.around

        return await self.channel.recover_post(lost.address, payload, lost.nonce, look)

    def asked(self) -> list[int]:
        """The ids that were tried, in order."""
        return [int(r.params["message_id"]) for r in self.sim.requests("editMessageReplyMarkup")]

    def spent(self) -> int:
        return len([r for r in self.sim.requests() if r.method.startswith("editMessage")])


@asynccontextmanager
async def open_search(files: Path | None = None, **timeouts: float) -> AsyncIterator[Search]:
    async with simulated_telegram() as sim:
        sim.user_sends_text(7, "hi")  # message 1
        stage = Search(sim, channel(sim, HastyClock(SPEED), timeouts=Timeouts(**timeouts), files=files))  # type: ignore[arg-type]
        stage.around = replace(stage.around, earlier=(known(1),))
        try:
            yield stage
        finally:
            await stage.channel.close()


def ref(message: Seen) -> str:
    return f"{message.chat.id}:{message.id}"


# --- what is found --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message, part",
    [
        (plain("hello"), 0),
        (Message((Markdown("**so** it is: `1 + 1`, https://example.org"), Code("print(1)", "python"))), 0),
        (LONG, 1),
        (CARD, 0),
        (Message((), files=(File("a.txt", "a.txt", "text/plain"),)), 0),
        (Message((), files=(File("a.jpg", "a.jpg", "image/jpeg"),)), 0),
        (replace(plain("an answer"), reply_to=MessageRef("7:1")), 0),
    ],
    ids=["text", "entities", "part", "card", "document", "photo", "reply"],
)
async def test_a_delivered_message_is_found_unchanged(tmp_path: Path, message: Message, part: int) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    (tmp_path / "a.jpg").write_bytes(PHOTO)
    message = replace(message, files=tuple(replace(f, path=str(tmp_path / f.path)) for f in message.files))
    async with open_search(tmp_path) as stage:
        stage.sim.user_sends_text(8, "in between")
        shown = await stage.shows(message, part=part)
        found = await stage.find(row(message, refs=["7:1"] * part))
        assert found == Posted(MessageRef(ref(shown)), f"{shown.id:020d}")
        assert (shown.history, stage.spent()) == ([], 3)


async def test_a_lost_preview_is_found_and_shows_a_placeholder() -> None:
    async with open_search() as stage:
        shown = await stage.shows(plain("words so far"))
        lost = row(plain("…"), state=SendState.STREAMING)
        found = await stage.find(lost)
        assert found is not None
        assert (found.ref, shown.text) == (ref(shown), "…")


async def test_a_lost_message_is_searched_with_twelve_requests() -> None:
    async with open_search() as stage:
        assert await stage.find(row(plain("hello"))) is None
        assert stage.spent() <= 12
        assert stage.asked() == list(range(2, 2 + stage.spent()))


async def test_a_probe_needs_a_spare_request_to_restore_buttons() -> None:
    async with open_search() as stage:
        for _ in range(11):
            stage.sim.user_sends_text(8, "in between")
        other = await stage.shows(OTHER_CARD)
        repeated = row(OTHER_CARD, 3, state=SendState.SENT, refs=["7:1"], repeats=1)
        stray = Uncertain(repeated, ASKED - 10_000 * SECOND, open=False)
        assert await stage.find(row(CARD), uncertain=(stray,)) is None
        assert (stage.spent(), other.history) == (11, [])


async def test_without_an_earlier_message_nothing_is_probed() -> None:
    async with open_search() as stage:
        assert await stage.find(row(plain("hello")), earlier=()) is None
        assert stage.spent() == 0


async def test_requests_come_at_the_pace_of_messages() -> None:
    async with open_search(probe_pace_s=2) as stage:
        await stage.shows(plain("elsewhere"), "7")
        await stage.find(row(Message((), files=(File("a", "a", "text/plain"),))))
        times = [r.received_at for r in stage.sim.requests() if r.method.startswith("editMessage")]
        assert all(later - earlier >= 0.035 for earlier, later in itertools.pairwise(times))


# --- which ids are tried --------------------------------------------------------------------------------


async def test_ids_of_known_messages_are_not_probed() -> None:
    async with open_search() as stage:
        mine = await stage.shows(plain("hello"))
        stage.sim.user_sends_text(8, "hi")
        theirs = await stage.shows(plain("hello"), "8")
        stage.sim.user_sends_text(9, "from somebody else")
        lost = await stage.shows(plain("hello"))
        found = await stage.find(
            row(plain("hello")),
            shown=frozenset({MessageRef(ref(mine)), MessageRef(ref(theirs))}),
            later=(known(3, "8"), known(5, "9")),
        )
        assert found is not None
        assert (found.ref, stage.asked()) == (ref(lost), [lost.id])


async def test_a_supergroup_has_its_own_sequence_of_ids() -> None:
    async with open_search() as stage:
        group = str(stage.sim.create_supergroup("Team", [7, 8]).id)
        stage.sim.user_sends_text(8, "hi", chat_id=int(group))
        newest = max(message.id for message in stage.sim.messages(int(group)))
        stage.sim.user_sends_text(8, "the bot cannot change this", chat_id=int(group))
        lost = await stage.shows(plain("hello"), group)
        found = await stage.find(
            row(plain("hello"), to=group),
            earlier=(known(1), known(70), known(newest, group)),
            shown=frozenset({MessageRef(f"7:{lost.id}")}),
        )
        assert found is not None
        assert stage.asked() == [newest + 1, newest + 2]


async def test_private_chats_and_groups_share_one_sequence_of_ids() -> None:
    async with open_search() as stage:
        group = str(stage.sim.create_group("Friends", [7, 8]).id)
        lost = await stage.shows(plain("hello"), group)
        assert await stage.find(row(plain("hello"), to=group), earlier=(known(1), known(lost.id - 1, "8")))
        assert stage.asked() == [lost.id]


async def test_nothing_is_tried_beyond_what_is_known_to_be_later() -> None:
    async with open_search() as stage:
        much_later = ASKED + 1_000 * SECOND
        in_doubt = ASKED + (30 + 60) * SECOND  # accepted in time, by a clock that is a minute ahead
        later = (known(4, "8", in_doubt), known(6, "8", much_later))
        edited = KnownMessage(Address("8"), f"{3:020d}.e", much_later)  # an old message, edited now
        assert await stage.find(row(plain("hello")), later=(*later, edited)) is None
        assert stage.asked() == [2, 5]


# --- what is met on the way -----------------------------------------------------------------------------


async def test_a_message_of_another_kind_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"text")
    file = Message((), files=(File(str(tmp_path / "a.txt"), "a.txt", "text/plain"),))
    async with open_search(tmp_path) as stage:
        passed = await stage.shows(file)
        lost = await stage.shows(plain("hello"))
        found = await stage.find(row(plain("hello")))
        assert found is not None
        assert (found.ref, passed.history) == (ref(lost), [])


@pytest.mark.parametrize("own, met", [(plain("hello"), CARD), (CARD, plain("hello")), (CARD, OTHER_CARD)])
async def test_another_message_gets_its_buttons_back_and_ends_the_search(own: Message, met: Message) -> None:
    """It was sent twice long ago, and its second copy came late."""
    async with open_search() as stage:
        other = await stage.shows(met)
        buttons = other.keyboard
        await stage.shows(own)
        repeated = row(met, 3, state=SendState.SENT, refs=["7:1"], repeats=1)
        stray = Uncertain(repeated, ASKED - 10_000 * SECOND, open=False)
        assert await stage.find(row(own), uncertain=(stray,)) is None
        assert (other.keyboard, other.text) == (buttons, other.history[0]["content"]["text"])
        assert stage.spent() == 2


@pytest.mark.parametrize("kind", ["rate_limit", "drop", "server_error"])
async def test_another_message_gets_its_buttons_back_although_that_fails_at_first(kind: str) -> None:
    async with open_search() as stage:
        other = await stage.shows(OTHER_CARD)
        buttons = other.keyboard
        stage.sim.fail(kind, method="editMessageReplyMarkup", when="before", skip=1, count=1, retry_after_s=1)
        repeated = row(OTHER_CARD, 3, state=SendState.SENT, refs=["7:1"], repeats=1)
        stray = Uncertain(repeated, ASKED - 10_000 * SECOND, open=False)
        assert await stage.find(row(CARD), uncertain=(stray,)) is None
        assert (other.keyboard, other.text, stage.spent()) == (buttons, "Run that?", 3)


async def test_a_probe_leaves_an_unknown_message_without_buttons() -> None:
    async with open_search() as stage:
        other = await stage.shows(plain("hello"))
        assert await stage.find(row(CARD)) is None
        assert other.keyboard is None


# --- other rows of the chat -----------------------------------------------------------------------------


@asynccontextmanager
async def open_forum() -> AsyncIterator[tuple[Search, str, str]]:
    """Two topics of one chat, in which two answers were cut off at the same time."""
    async with open_search() as stage:
        stage.sim.user_sends_text(8, "hi")
        forum = stage.sim.create_supergroup("Forum", [7, 8], is_forum=True)
        first, second = (stage.sim.topic_created(forum.id, name).id for name in ("one", "two"))
        newest = max(message.id for message in stage.sim.messages(forum.id))
        stage.around = replace(stage.around, earlier=(known(newest, str(forum.id)),))
        yield stage, f"{forum.id}:{first}", f"{forum.id}:{second}"


A, B = plain("the answer in topic one"), plain("the answer in topic two")


async def test_a_message_of_another_open_row_is_neither_taken_nor_changed() -> None:
    async with open_forum() as (stage, one, two):
        other = await stage.shows(B, two)
        assert await stage.find(row(A, 5, one), uncertain=(open_row(row(B, 6, two)),)) is None
        assert (other.text, other.history) == (B.blocks[0].text, [])


async def test_a_message_in_another_topic_is_not_the_one() -> None:
    async with open_forum() as (stage, one, two):
        await stage.shows(B, two)
        assert await stage.find(row(A, 5, one)) is None


async def test_messages_of_other_people_are_not_probed() -> None:
    async with open_search() as stage:
        stage.sim.user_sends_text(8, "in between")
        other = await stage.shows(B)
        searching = asyncio.create_task(stage.find(row(A)))
        while not stage.looks:  # noqa: ASYNC110 - the search tells nobody
            await asyncio.sleep(0)
        stage.around = replace(stage.around, shown=frozenset({MessageRef(ref(other))}))
        assert await searching is None
        assert stage.asked()[0] == other.id - 1
        assert other.id not in stage.asked()


async def test_of_two_open_rows_each_finds_its_own() -> None:
    async with open_forum() as (stage, one, two):
        shown = {two: await stage.shows(B, two), one: await stage.shows(A, one)}
        first = await stage.find(row(A, 5, one), uncertain=(open_row(row(B, 6, two)),))
        assert first is not None
        assert (first.ref, shown[two].history) == (ref(shown[one]), [])
        second = await stage.find(row(B, 6, two), uncertain=(), shown=frozenset({first.ref}))
        assert second is not None
        assert second.ref == ref(shown[two])
        assert [message.text for message in shown.values()] == [B.blocks[0].text, A.blocks[0].text]


async def test_two_open_rows_of_a_chat_are_looked_for_in_order() -> None:
    async with open_forum() as (stage, one, two):
        shown = {one: await stage.shows(A, one), two: await stage.shows(B, two)}
        lost_first, lost_second = row(A, 5, one), row(B, 6, two)
        stage.around = replace(stage.around, uncertain=(open_row(lost_first),))
        second = asyncio.create_task(stage.find(lost_second))
        while stage.looks < 3:
            await asyncio.sleep(0)
            assert stage.spent() == 0
        stage.around = replace(stage.around, uncertain=(), shown=frozenset({MessageRef(ref(shown[one]))}))
        found = await second
        assert found is not None
        assert (found.ref, shown[one].history) == (ref(shown[two]), [])


@pytest.mark.parametrize(
    "own, others",
    [
        (A, [B, plain("a third one")]),
        (A, [A]),
        (Message((), files=(File("a", "a", "text/plain"),)), [Message((), files=(File("b", "b", "a/b"),))]),
    ],
    ids=["several", "the same words", "files"],
)
async def test_ambiguous_messages_are_not_probed(own: Message, others: list[Message]) -> None:
    async with open_forum() as (stage, one, two):
        open_rows = tuple(open_row(row(other, 6 + n, two)) for n, other in enumerate(others))
        assert await stage.find(row(own, 5, one), uncertain=open_rows) is None
        assert stage.spent() == 0


async def test_a_duplicate_that_arrived_late_is_skipped() -> None:
    """An earlier answer was repeated; its first copy came after that."""
    async with open_search() as stage:
        stray = await stage.shows(A)
        lost = await stage.shows(B)
        repeated = Uncertain(row(A, 3, state=SendState.SENT, refs=["7:1"], repeats=1), ASKED, open=False)
        found = await stage.find(row(B), uncertain=(repeated,))
        assert found is not None
        assert (found.ref, lost.text, stray.history) == (ref(lost), B.blocks[0].text, [])


def drawn(message: Message) -> list[dict[str, Any]]:
    """What of a message tells it apart."""
    if message.files:
        return [{FILE: message.files[0].name}]
    said = {"text": getattr(message.blocks[0], "text", "")}
    return [said | ({"reply_markup": message.gate_id} if message.gate_id else {})]


TAKEN_US = 10 * SECOND
LONG_AGO = ASKED - 1_000 * SECOND
FILE_A = Message((), files=(File("a", "a", "text/plain"),))
IN_7 = "7:70"
STREAMED, UNDER_WAY, OVER = SendState.STREAMING, SendState.SENDING, SendState.SENT


def met(message: Message, *more: object, asked: int = ASKED, opened: bool = False, **of: object) -> Uncertain:
    return Uncertain(row(message, *more, **of), asked, open=opened)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "own, other, found",
    [
        (row(A, to=IN_7), met(B, 4, "8", opened=True), []),
        (row(A, to=IN_7), met(B, 4, "7:71", opened=True), [drawn(B)[0]]),
        (row(A, to=IN_7), met(B, 9, "7:71"), [drawn(B)[0]]),
        (row(A, to=IN_7), met(B, 4, "7:71", asked=LONG_AGO, opened=True), [drawn(B)[0]]),
        (row(A, to=IN_7), met(B, 4, "7:71", asked=LONG_AGO, state=UNDER_WAY), [drawn(B)[0]]),
        (row(A, to=IN_7), met(B, 4, "7:71", asked=LONG_AGO, state=OVER), []),
        (row(A, to=IN_7), met(B, 4, "7:71", asked=ASKED - 2 * TAKEN_US, state=OVER), [drawn(B)[0]]),
        (row(A, to=IN_7), met(B, 4, "7:71", asked=ASKED - 2 * TAKEN_US - 1, state=OVER), []),
        (row(A, to=IN_7), met(B, 4, IN_7, state=OVER), [drawn(B)[0]]),
        (row(A, to=IN_7), met(B, 6, IN_7, state=OVER), []),
        (row(A, to=IN_7, state=STREAMED), met(B, 6, IN_7, state=OVER), [drawn(B)[0]]),
        (row(A, to=IN_7), met(B, 4, IN_7, state=STREAMED), []),
        (row(A, to=IN_7), met(B, 4, "7:71", state=STREAMED), [UNREADABLE]),
        (row(CARD, to=IN_7), met(B, 4, "7:71", state=STREAMED), [{}]),
        (row(FILE_A, to=IN_7), met(B, 4, "7:71", state=STREAMED), []),
        (row(FILE_A, to=IN_7), met(B, 4, "7:71", opened=True), []),
        (row(FILE_A, to=IN_7), met(CARD, 4, "7:71", opened=True), [drawn(CARD)[0]]),
        (row(FILE_A, to=IN_7), met(FILE_A, 4, IN_7, opened=True), [UNREADABLE]),
        (row(A, to=IN_7), met(A, 4, IN_7, opened=True), []),
        (row(A, to=IN_7), met(A, 4, "7:71", opened=True), [UNREADABLE]),
        (row(A, to=IN_7), met(B, 4, "7:71", refs=["7:1"], opened=True), []),
    ],
)
def test_which_other_messages_may_be_met(own: OutboxRow, other: Uncertain, found: list[object]) -> None:
    if other.row.refs:  # its only part is known
        other = replace(other, parts=())
    around = PostContext(own, ASKED, earlier=(known(1),), uncertain=(other,))
    known_as = rivals(own.address, Part.of(drawn(own.message)[0]), around, TAKEN_US, drawn)
    assert [None if part is None else part.content for part in known_as] == found


@pytest.mark.parametrize(
    "other, waits",
    [
        (met(B, 4, "7:71", opened=True), True),
        (met(B, 6, "7:71", opened=True), False),
        (met(B, 6, "7:71", opened=True, state=STREAMED), True),
        (met(B, 4, "7:71"), False),
        (met(B, 4, IN_7, opened=True), False),
        (met(B, 4, "8", opened=True), False),
    ],
)
def test_only_earlier_open_rows_of_the_chat_are_waited_for(other: Uncertain, waits: bool) -> None:
    around = PostContext(row(A, to=IN_7), ASKED, earlier=(known(1),), uncertain=(other,))
    assert comes_first(Address(IN_7), around) is waits


@pytest.mark.parametrize(
    "text, buttons", [("Run it?", CARD.gate_id), ("Run that?", OTHER_CARD.gate_id), ("Run all?", None)]
)
def test_the_buttons_put_back_are_the_messages_own(text: str, buttons: str | None) -> None:
    elsewhere = replace(CARD, blocks=(Plain("Run all?"),))
    cards = (met(CARD, 3, "7:71"), met(OTHER_CARD, 4, IN_7), met(elsewhere, 2, "8"))
    around = PostContext(row(A, to=IN_7), ASKED, uncertain=cards)
    assert buttons_of(Address(IN_7), text, around, drawn) == buttons


# --- troubles -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, waits_s", [("rate_limit", 15), ("drop", 1), ("server_error", 1)])
async def test_a_request_that_fails_is_made_again(kind: str, waits_s: float) -> None:
    async with open_search() as stage:
        shown = await stage.shows(plain("hello"))
        stage.sim.fail(kind, method="editMessageReplyMarkup", count=1, retry_after_s=15)
        found = await stage.find(row(plain("hello")))
        assert found is not None
        assert (found.ref, stage.asked()) == (ref(shown), [shown.id, shown.id])
        first, again = [r.received_at for r in stage.sim.requests("editMessageReplyMarkup")]
        assert again - first >= 0.9 * waits_s / SPEED


@pytest.mark.parametrize("kind, counts", [("rate_limit", True), ("drop", True), ("server_error", False)])
async def test_only_requests_that_an_outage_refused_are_not_counted(kind: str, counts: bool) -> None:
    async with open_search() as stage:
        shown = await stage.shows(plain("hello"))
        stage.sim.fail(kind, method="editMessageReplyMarkup", count=13, retry_after_s=1)
        found = await stage.find(row(plain("hello")))
        assert (found is None, stage.asked()) == (counts, [shown.id] * (11 if counts else 14))
