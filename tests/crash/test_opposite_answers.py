"""One person, two accounts, opposite answers at the same moment: one outcome, and both are told."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from core.consent import card_texts
from tests.crash.asking import APPROVED, DENIED, answer_to, cards, data_of, done, lines
from tests.crash.mortal import APPROVE, DENY, LIMIT_S, OWNER, TOKEN, MortalHub, Setup, open_mortal_hub
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord
from tests.simulators.telegram.state import CallbackQuery
from tests.simulators.telegram.world import Chat, Message

SECOND_TOKEN, OTHER_ACCOUNT = "654321:BBB", 8
OFTEN = "[approvals]\nshell_per_minute = 1000\nshell_per_hour = 1000\n"
"""More calls are approved here within a minute than a person's usual limit lets through."""
ONE_BOT = Setup(owners=(f"telegram:{OWNER}", f"telegram:{OTHER_ACCOUNT}"), groups="addressed", extra=OFTEN)
TWO_BOTS = Setup(
    owners=(f"telegram:{OWNER}", f"second:{OTHER_ACCOUNT}"),
    bots={"telegram": TOKEN, "second": SECOND_TOKEN},
    extra=OFTEN,
)

Act = Callable[[], object]


async def together(*acts: Act) -> list[object]:
    """Several people act, released by a barrier, in the order given as far as there is one."""
    barrier = asyncio.Barrier(len(acts))

    async def act(what: Act) -> object:
        await barrier.wait()
        return what()

    return await asyncio.gather(*map(act, acts))


async def rest(town: MortalHub, chat_id: int, card: Message, rounds: int) -> None:
    """Until the round is over: so many answers, and the card is settled."""
    await town.telegram.wait_for(lambda: len(done(town, chat_id)) == rounds and not card.keyboard, LIMIT_S)


def judge(town: MortalHub, name: str, card: Message, approver: str, denier: str) -> bool:
    """One outcome, on the card, in the file and in what both are told; whether it was approved."""
    approved = approver == APPROVED
    assert (approver, denier) == (
        (APPROVED, card_texts.already_settled(APPROVED))
        if approved
        else (card_texts.already_settled(DENIED), DENIED)
    )
    assert (APPROVED in card.text, DENIED in card.text) == (approved, not approved)
    assert lines(town).count(name) == int(approved)
    return approved


async def press_both(town: MortalHub, group: Chat, number: int, rng: random.Random) -> bool:
    """A card in a group of both accounts, pressed by both."""
    telegram, name = town.telegram, f"round-{number}"
    bot = telegram.bot(TOKEN).user.username
    telegram.user_sends_text(OWNER, f"@{bot} please run: echo {name} >> out", chat_id=group.id)
    (card,) = await cards(town, 1, group.id)
    acts: list[Act] = [
        lambda: telegram.user_presses_button(OWNER, card.id, APPROVE, chat_id=group.id),
        lambda: telegram.user_presses_button(OTHER_ACCOUNT, card.id, DENY, chat_id=group.id),
    ]
    rng.shuffle(acts)
    presses = [press for press in await together(*acts) if isinstance(press, CallbackQuery)]
    told = {press.user_id: await answer_to(town, press) for press in presses}
    await rest(town, group.id, card, number)
    return judge(town, name, card, told[OWNER], told[OTHER_ACCOUNT])


async def press_and_type(town: MortalHub, number: int, rng: random.Random) -> bool:
    """A card in one bot's chat is approved there and denied by its id in another bot's."""
    telegram, name = town.telegram, f"round-{number}"
    telegram.user_sends_text(OWNER, f"please run: echo {name} >> out", bot=TOKEN)
    (card,) = await cards(town, 1)
    gate_id = data_of(card, DENY).split(":")[1]
    acts: list[Act] = [
        lambda: telegram.user_presses_button(OWNER, card.id, APPROVE, bot=TOKEN),
        lambda: telegram.user_sends_text(OTHER_ACCOUNT, f"/deny {gate_id}", bot=SECOND_TOKEN),
    ]
    rng.shuffle(acts)
    (press,) = [act for act in await together(*acts) if isinstance(act, CallbackQuery)]
    told = await answer_to(town, press)
    typed = await telegram.wait_bot_messages(OTHER_ACCOUNT, number, SECOND_TOKEN, timeout_s=LIMIT_S)
    assert len(typed) == number
    await rest(town, OWNER, card, number)
    return judge(town, name, card, told, typed[-1].text)


async def test_of_opposite_buttons_of_one_card_one_counts(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    rng, rounds = random.Random(profile.seed), profile.pick(test=10, ci=20, proof=200)
    async with open_mortal_hub(tmp_path, ONE_BOT) as town:
        town.telegram.add_user(OTHER_ACCOUNT)
        group = town.telegram.create_group("both of us", [OWNER, OTHER_ACCOUNT])
        await town.start()
        won = Counter([await press_both(town, group, number, rng) for number in range(1, rounds + 1)])
    print(f"{rounds} times opposite buttons: approved {won[True]}, denied {won[False]}")
    proof_record("crash", opposite_presses=rounds, approved=won[True], denied=won[False])


async def test_of_a_button_and_the_opposite_words_to_another_bot_one_counts(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    """Two bots are polled beside each other: no platform and no lane puts these answers in order."""
    rng, rounds = random.Random(profile.seed), profile.pick(test=10, ci=20, proof=200)
    async with open_mortal_hub(tmp_path, TWO_BOTS) as town:
        town.telegram.add_user(OTHER_ACCOUNT)
        await town.start()
        for token in TWO_BOTS.bots.values():
            await town.telegram.wait_polling(token, timeout_s=LIMIT_S)
        won = Counter([await press_and_type(town, number, rng) for number in range(1, rounds + 1)])
    print(f"{rounds} times opposite answers to two bots: approved {won[True]}, denied {won[False]}")
    proof_record("crash", opposite_answers=rounds, approved=won[True], denied=won[False])
