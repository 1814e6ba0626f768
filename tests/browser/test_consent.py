"""Consent at the console: several calls on one card, what was changed, what was cut off, what was granted."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.harness.process import HubProcess, hubbub, running_hub
from tests.patience import PATIENCE_S
from tests.simulators.model import ModelSimulator

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

TWO = "please run: echo one >> out\nplease run: echo two >> out"
MODEL = """provider = "openai"
model = "sim-1"
base_url = "{url}"
api_key = "k"
"""
LIMIT_S = PATIENCE_S


@pytest_asyncio.fixture(loop_scope="session")
async def simulated(tmp_path: Path) -> AsyncIterator[HubProcess]:
    """A hub whose model asks for several calls at once."""
    async with (
        ModelSimulator(api_key="k", models=("sim-1",)) as model,
        running_hub(tmp_path, model=MODEL.format(url=model.openai_base_url)) as running,
    ):
        yield running


def lines(hub: HubProcess) -> list[str]:
    out = hub.directory / "workspace" / "out"
    return out.read_text().split() if out.exists() else []


async def test_several_calls_are_approved_together_or_one_by_one(
    browser: Browser, simulated: HubProcess, complaints: Complaints
) -> None:
    async with tab(browser, complaints) as page:
        console = Console(page, simulated.url)
        await console.log_in(await simulated.link())
        await console.say_in_a_new_thread(TWO)
        await expect(console.card()).to_contain_text("Run these 2 calls?")
        for words in ("1. shell", "echo one >> out", "2. shell", "echo two >> out"):
            await expect(console.card()).to_contain_text(words)
        await expect(console.card().get_by_role("button", name="Edit…")).to_have_count(0)
        await console.decide("Approve all")
        await console.sees("Done:")
        assert lines(simulated) == ["one", "two"]

        await console.say(TWO)
        await console.decide("One by one")
        await expect(page.locator("article.approval:not(.closed)")).to_have_count(2)
        await console.decide("Deny")
        await expect(page.locator("article.approval:not(.closed)")).to_have_count(1)
        card = console.card()
        await card.get_by_role("button", name="Edit…").click()
        await card.get_by_label("command").fill("echo changed >> out")
        await card.get_by_role("button", name="Approve as edited").click()
        await expect(console.messages("assistant").filter(has_text="Done:")).to_have_count(2)
        assert lines(simulated) == ["one", "two", "changed"]
    assert complaints.lines == []


async def test_after_an_edit_the_card_shows_the_edited_and_the_requested_call(
    console: Console, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread("run: touch as-asked")
    steps = console.page.locator(".step-body")
    card = console.card()
    await expect(card).to_contain_text("Run touch as-asked?")
    await card.get_by_role("button", name="Edit…").click()
    await card.get_by_label("command").fill("touch as-edited")
    await card.get_by_role("button", name="Approve as edited").click()
    given, asked = (steps.get_by_label(f"Code, {label}") for label in ("arguments", "requested"))
    await expect(given).to_contain_text("touch as-edited")
    await expect(asked).to_contain_text("touch as-asked")
    await console.sees("I ran")
    await console.reload()
    await expect(given).to_contain_text("touch as-edited")
    await expect(asked).to_contain_text("touch as-asked")
    assert complaints.lines == []


async def test_a_grant_is_listed_and_revoked(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    made = hub.directory / "workspace" / "made"
    await console.say_in_a_new_thread("run: touch made")
    await console.decide("Always allow")
    await console.sees("I ran")
    await console.say("run: touch made")
    await expect(console.messages("assistant").filter(has_text="I ran")).to_have_count(2)
    made.unlink()
    events = console.page.locator(".event")
    under = "shell ran without asking, under a grant: touch with the options listed as safe, everywhere"
    await console.open("why")
    await expect(events.first).to_contain_text(re.compile(rf"{under}\. Given by you .*, \d{{4}}, \d"))
    await expect(events.last).to_contain_text("Always allowed by you")
    await expect(events.last).not_to_contain_text("under a grant")
    key = await events.first.locator(".event-key").inner_text()
    told = await hubbub(hub.directory, "why", key)
    assert f"{under}; given then by owner" in told.out
    await console.open("approvals/grants")
    grant = console.page.locator("article.grant")
    await expect(grant).to_contain_text("shell: touch with the options listed as safe")
    await expect(grant).to_contain_text("everywhere")
    await grant.get_by_role("button", name="Revoke").click()
    await expect(grant).to_have_count(1)
    await grant.get_by_role("button", name="Revoke shell: touch with the options listed as safe?").click()
    await expect(grant).to_have_count(0)
    await expect(console.page.get_by_text("There are no grants.")).to_be_visible()
    await console.open("why")
    await expect(events.first.get_by_text(under)).to_be_visible()
    await console.say_in_a_new_thread("run: touch made")
    await console.decide("Deny")
    await expect(console.outcome()).to_contain_text("Denied by you")
    assert not made.exists()
    assert complaints.lines == []


@pytest.mark.parametrize("label, times", [("It happened", 1), ("Run it again", 2), ("Skip", 1)])
async def test_an_unknown_outcome_is_resolved_in_the_console(
    console: Console, hub: HubProcess, label: str, times: int
) -> None:
    workspace = hub.directory / "workspace"
    os.mkfifo(workspace / "gate")
    await console.say_in_a_new_thread("run: echo one >> out; cat gate")
    await console.decide("Approve")
    async with asyncio.timeout(LIMIT_S):
        while not lines(hub):  # noqa: ASYNC110 - the file tells nobody
            await asyncio.sleep(0.02)
    await hub.restart()
    (workspace / "gate").unlink()
    (workspace / "gate").write_text("")
    await expect(console.card()).to_contain_text("I was interrupted while running shell")
    await console.decide_when_reached(label)
    await expect(console.outcome()).to_contain_text("by you")
    await expect(console.card()).to_have_count(0)
    async with asyncio.timeout(LIMIT_S):
        while len(lines(hub)) != times:  # noqa: ASYNC110 - the file tells nobody
            await asyncio.sleep(0.02)
