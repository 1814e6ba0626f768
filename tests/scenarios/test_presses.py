"""Opposite presses of one card at the same moment, on Slack and Discord: one outcome, and it is the one that
is carried out."""

import random
from collections import Counter
from pathlib import Path

from tests.harness import discord_hub, slack_hub
from tests.harness.discord_hub import DiscordHub, open_discord_hub
from tests.harness.slack_hub import SlackHub, open_slack_hub
from tests.plugins.profile import Profile
from tests.plugins.proof import ProofRecord

APPROVE, DENY = 0, 1
ROUNDS = 25
"""The shell runs 30 times a minute."""


def judge(files: Path, name: str, card: str) -> bool:
    """Return what the card says is what was done; whether that was to run it."""
    approved, denied = card.count("Approved by"), card.count("Denied by")
    assert approved + denied == 1, card
    out = files / "out"
    assert (out.read_text().split() if out.exists() else []).count(name) == approved
    return approved == 1


async def round_on_slack(place: SlackHub, number: int, rng: random.Random) -> bool:
    slack, me, here = place.slack, slack_hub.OWNER, place.direct()
    slack.user_sends_text(me, f"please run: echo round-{number} >> out")
    card = await place.card(here)
    buttons = [APPROVE, DENY]
    rng.shuffle(buttons)
    presses = [slack.user_presses_button(me, here, card.ts, button) for button in buttons]
    for press in presses:
        assert (await slack.wait_settled(press.id, slack_hub.LIMIT_S)).state == "acked"
    await slack.wait_for(lambda: not slack.look(card).buttons, slack_hub.LIMIT_S)
    await place.model.wait_requests(2 * number, state="answered", timeout_s=slack_hub.LIMIT_S)
    return judge(place.workspace, f"round-{number}", slack.look(card).text)


async def round_on_discord(place: DiscordHub, number: int, rng: random.Random) -> bool:
    discord, me = place.discord, discord_hub.OWNER
    discord.user_sends_text(me, f"please run: echo round-{number} >> out")
    card = await place.card(place.direct())
    buttons = [APPROVE, DENY]
    rng.shuffle(buttons)
    presses = [discord.user_presses_button(me, card.id, button) for button in buttons]
    for press in presses:
        assert (await discord.wait_interaction(press.id, discord_hub.LIMIT_S)).failure is None
    await discord.wait_for(lambda: not card.buttons(), discord_hub.LIMIT_S)
    await place.model.wait_requests(2 * number, state="answered", timeout_s=discord_hub.LIMIT_S)
    return judge(place.workspace, f"round-{number}", card.text)


async def test_on_slack_one_of_two_opposite_presses_counts(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    rng, rounds = random.Random(profile.seed), profile.pick(test=3, proof=ROUNDS)
    async with open_slack_hub(tmp_path) as place:
        won = Counter([await round_on_slack(place, number, rng) for number in range(1, rounds + 1)])
        assert place.model.log.taken == 2 * rounds
    proof_record("presses", on_slack=rounds, approved=won[True], denied=won[False])


async def test_on_discord_one_of_two_opposite_presses_counts(
    tmp_path: Path, profile: Profile, proof_record: ProofRecord
) -> None:
    rng, rounds = random.Random(profile.seed), profile.pick(test=3, proof=ROUNDS)
    async with open_discord_hub(tmp_path) as place:
        won = Counter([await round_on_discord(place, number, rng) for number in range(1, rounds + 1)])
        assert place.model.log.taken == 2 * rounds
    proof_record("presses", on_discord=rounds, approved=won[True], denied=won[False])
