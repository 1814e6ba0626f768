"""Asking for consent and answering: what people see of a card, press, and are told."""

from core.consent import card_texts
from tests.crash.mortal import LIMIT_S, OWNER, TOKEN, MortalHub
from tests.simulators.telegram.state import CallbackQuery
from tests.simulators.telegram.world import Message

ASKED = "Run `"
APPROVED, DENIED = card_texts.outcome_line("approve", "owner"), card_texts.outcome_line("deny", "owner")


def lines(town: MortalHub) -> list[str]:
    """Return what tools wrote."""
    out = town.workspace / "out"
    return out.read_text().split() if out.exists() else []


def data_of(card: Message, button: int) -> str:
    """Return what a button sends when it is pressed."""
    assert card.keyboard is not None
    return [one["callback_data"] for row in card.keyboard["inline_keyboard"] for one in row][button]


async def answer_to(town: MortalHub, press: CallbackQuery) -> str:
    """Return what the person who pressed is told."""
    answered = await town.telegram.wait_callback_answer(press.id, timeout_s=LIMIT_S)
    assert len(answered.answers) == 1
    return answered.answers[0]["text"]


async def cards(town: MortalHub, count: int, chat_id: int = OWNER) -> list[Message]:
    """Copies of an open card of the first bot, once there are so many."""

    def shown() -> list[Message]:
        found = [m for m in town.telegram.bot_messages(chat_id, TOKEN) if m.keyboard and ASKED in m.text]
        return found if len(found) >= count else []

    return await town.telegram.wait_for(shown, LIMIT_S)


def done(town: MortalHub, chat_id: int) -> list[Message]:
    """The first bot's answers after a tool."""
    return [m for m in town.telegram.bot_messages(chat_id, TOKEN) if m.text.startswith("Done:")]
