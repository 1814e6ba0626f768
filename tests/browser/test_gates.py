"""Open gates in the console: answers of two at one instant, of somebody who could not see that it
was settled, in words, before the question; and a credential that is asked for."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, expect

from bot.config.keys import VaultKeyRing
from core.store.sqlite.offline import sealed_in
from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console, press
from tests.browser.cutting import way_to
from tests.harness.process import HubProcess, running_hub
from tests.scenarios.test_leaks import traces
from tests.simulators.model import Hold, ModelSimulator

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(180),
]

MODEL = 'provider = "openai"\nmodel = "sim-1"\nbase_url = "{url}"\napi_key = "k"'
RUN = "please run: echo line >> out"
TWO = "please run: echo one >> out\nplease run: echo two >> out"
UNREACHED = ("ERR_", "Failed to fetch", "Failed to load resource")
"""What a browser says of a hub it cannot reach."""
SHOWN = """
(words) => new MutationObserver(() => (window.shown ||= document.body.textContent.includes(words)))
  .observe(document.body, {subtree: true, childList: true, characterData: true})
"""
"""Watches whether words are seen on the page, be it for a moment."""
SETTLED = "status of 409"
"""What a browser says of an answer to what is settled."""
PASSWORD = "correct horse-battery 7 Staple"
"""Has no shape that anything could be recognised by."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def model() -> AsyncIterator[ModelSimulator]:
    """One model for all."""
    async with ModelSimulator(api_key="k", models=("sim-1",)) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hub(model: ModelSimulator, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[HubProcess]:
    """One hub for all: each test has tabs and conversations of its own."""
    directory = tmp_path_factory.mktemp("hub")
    async with running_hub(directory, model=MODEL.format(url=model.openai_base_url)) as running:
        yield running


@pytest.fixture
def out(hub: HubProcess) -> Iterator[Path]:
    """Return what calls write to; gone after each test."""
    path = hub.directory / "workspace" / "out"
    yield path
    path.unlink(missing_ok=True)


def lines(out: Path) -> list[str]:
    return out.read_text().split() if out.exists() else []


def kept(hub: HubProcess) -> dict[str, str]:
    """The vault, opened."""
    keys = VaultKeyRing(hub.directory / "data", {}).keys()
    assert keys is not None
    return {one.name: keys.open(one) for one in sealed_in(hub.directory / "data" / "hub.db")}


async def test_simultaneous_opposite_answers_have_one_outcome(
    browser: Browser, hub: HubProcess, out: Path, complaints: Complaints
) -> None:
    async with tab(browser, complaints) as first, tab(browser, complaints) as second:
        one, other = Console(first, hub.url), Console(second, hub.url)
        for each in (one, other):
            await each.log_in(await hub.link())
        thread = await one.say_in_a_new_thread(RUN)
        await other.open(f"chat/{thread}")
        for each in (one, other):
            await expect(each.card()).to_contain_text("echo line")
        buttons = [await one.button_in_hand("Approve"), await other.button_in_hand("Deny")]
        await asyncio.gather(*map(press, buttons))
        for each in (one, other):
            await each.sees("Done:")
            await expect(each.card()).to_have_count(0)
        told = await one.outcome().locator("span").text_content()
        assert told in {"Approved by you", "Denied by you"}
        await expect(other.outcome()).to_contain_text(told)
        assert lines(out) == (["line"] if told.startswith("Approved") else [])
    assert complaints.but(SETTLED) == []


async def test_a_late_press_shows_who_decided(
    browser: Browser, hub: HubProcess, out: Path, complaints: Complaints
) -> None:
    async with (
        way_to(hub.url) as way,
        tab(browser, complaints) as blind,
        tab(browser, complaints) as seeing,
    ):
        late, early = Console(blind, way.url), Console(seeing, hub.url)
        await late.log_in(await hub.link(through=way.url))
        await early.log_in(await hub.link())
        thread = await late.say_in_a_new_thread(RUN)
        await early.open(f"chat/{thread}")
        await expect(late.card()).to_contain_text("echo line")

        async def refused(route: Route) -> None:
            await route.abort()

        await blind.route("**/api/events*", refused)
        # Mended only then: a browser repeats by itself a request that is cut off on a kept connection.
        way.cut()
        await expect(blind.get_by_text("Not connected.")).to_be_visible()
        way.mend()
        await early.decide("Approve")
        await early.sees("Done:")
        await expect(late.card()).to_be_visible()
        await late.decide("Deny")
        await expect(late.outcome()).to_contain_text("Approved by you")
        await expect(late.card()).to_have_count(0)
        assert lines(out) == ["line"]
        await blind.unroute("**/api/events*")
        await late.sees("Done:")
        await expect(early.outcome()).to_contain_text("Approved by you")
        assert lines(out) == ["line"]
    assert complaints.but(*UNREACHED, SETTLED) == []


async def test_a_bare_yes_decides_the_only_open_gate_and_is_text_with_two(
    console: Console, out: Path, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread(TWO)
    await console.decide("One by one")
    cards = console.page.locator("article.approval:not(.closed)")
    await expect(cards).to_have_count(2)
    await console.say("yes")
    await console.sees("Your message is queued", "notice")
    await expect(cards).to_have_count(2)
    assert lines(out) == []
    await cards.last.get_by_role("button", name="Deny").click()
    await expect(cards).to_have_count(1)
    await console.say("yes")
    await console.sees("Done:")
    await expect(cards).to_have_count(0)
    assert lines(out) == ["one"]
    await console.sees("You said: yes")
    assert complaints.lines == []


async def test_a_yes_sent_before_the_question_is_not_an_answer(
    console: Console, model: ModelSimulator, out: Path, complaints: Complaints
) -> None:
    model.fault(Hold())
    await console.say_in_a_new_thread(RUN)
    await expect(console.page.locator(".message.live")).to_be_visible()
    await console.say("yes")
    waiting = console.page.locator(".message.sending")
    await expect(waiting).to_contain_text("queued")
    model.release()
    await expect(console.card()).to_contain_text("echo line")
    await expect(waiting).to_contain_text("yes")
    await console.say("what else?")
    await expect(waiting).to_have_count(2)
    await expect(waiting.last).to_contain_text("queued")  # what is being posted goes with the page
    await console.reload()
    await expect(waiting).to_contain_text(["yes", "what else?"])
    await expect(waiting.last).to_contain_text("queued")
    await expect(console.card()).to_be_visible()
    assert lines(out) == []
    await console.decide("Deny")
    await console.sees("what else?")
    await expect(console.outcome()).to_contain_text("Denied by you")
    assert await console.messages("user").locator("p").all_text_contents() == [RUN, "yes", "what else?"]
    await expect(waiting).to_have_count(0)
    assert lines(out) == []
    assert complaints.lines == []


@pytest.mark.parametrize("where", ["message", "card"])
async def test_a_credential_is_stored_only_in_the_vault(
    console: Console, hub: HubProcess, model: ModelSimulator, complaints: Complaints, where: str
) -> None:
    """Typed as the next message, or on the card."""
    page = console.page
    wanted = {"name": f"garden-{where}", "purpose": "to read the sensors"}
    await console.say_in_a_new_thread(f"please call: tool_auth {json.dumps(wanted)}")
    await expect(console.card()).to_contain_text("the model and the logs don't see it")
    await page.evaluate(SHOWN, PASSWORD)
    if where == "message":
        await console.say(PASSWORD)
    else:
        field = console.card().get_by_label("Your answer")
        await expect(field).to_have_attribute("type", "password")
        await field.fill(PASSWORD)
        await console.card().get_by_role("button", name="Answer", exact=True).click()
    await expect(console.outcome()).to_be_visible()
    await console.sees("Done:")
    assert not await page.evaluate("() => window.shown")
    assert PASSWORD not in json.dumps(await page.evaluate("() => [{...sessionStorage}, {...localStorage}]"))
    await console.reload()
    await console.sees("Done:")
    await expect(page.locator("body")).not_to_contain_text(PASSWORD)
    assert traces(hub.directory, PASSWORD) == []
    assert not [one for one in model.log.all() if PASSWORD in json.dumps(one.body)]
    assert kept(hub)[wanted["name"]] == PASSWORD
    assert complaints.lines == []
