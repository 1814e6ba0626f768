"""A call that two of a team must agree to: how far they are is seen while they decide."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Route, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.cutting import way_to
from tests.harness.process import HubProcess, running_hub

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

MIA = "<b class=planted>Mia</b>"
TEAM = """
[approvals]
approvers = "team:ops"
quorum = 2
[teams.ops]
users = ["owner", {mia}]
"""


@pytest_asyncio.fixture(loop_scope="session")
async def hub(tmp_path: Path) -> AsyncIterator[HubProcess]:
    """A hub that asks a team."""
    async with running_hub(tmp_path) as running:
        yield running


async def team_of(hub: HubProcess) -> str:
    """The owner and Mia decide together from now on; her token."""
    mia = (await hub.api("POST", "/users", {"name": MIA}))["id"]
    token: str = (await hub.api("POST", "/tokens", {"user_id": mia}))["token"]
    path = hub.directory / "hubbub.toml"
    path.write_text(path.read_text() + TEAM.format(mia=json.dumps(mia)))
    await hub.restart()
    return token


async def resolve(hub: HubProcess, token: str, gate_id: str, action: str, **more: object) -> int:
    """Mia's answer, from a program; its status."""
    body = {"request_id": gate_id, "action": action, **more}
    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {token}"}) as http,
        http.post(f"{hub.url}/api/chat/gate/resolve", json=body) as answer,
    ):
        return answer.status


async def test_vote_counts_show_everywhere_until_the_quorum(
    browser: Browser, hub: HubProcess, complaints: Complaints
) -> None:
    token = await team_of(hub)
    async with tab(browser, complaints) as page, tab(browser, complaints) as second:
        console, approvals = Console(page, hub.url), Console(second, hub.url)
        for one in (console, approvals):
            await one.log_in(await hub.link())
        await approvals.open("approvals")
        await console.say_in_a_new_thread("run: touch made")
        for one in (console, approvals):
            await expect(one.card()).to_contain_text("0 of 2 approved")
        await console.decide("Approve")
        for one in (console, approvals):
            await expect(one.card()).to_contain_text("1 of 2 approved: owner")
        await expect(console.card().get_by_role("button", name="Approve")).to_have_count(0)
        await expect(console.card()).to_contain_text("You approved this. It needs more approvals.")
        made = hub.directory / "workspace" / "made"
        assert not made.exists()
        gate_id = await console.card().get_attribute("data-gate")
        assert gate_id is not None
        assert await resolve(hub, token, gate_id, "approve") == 200
        await expect(console.outcome()).to_contain_text(MIA)
        await expect(approvals.card()).to_have_count(0)
        await console.sees("I ran touch made")
        assert made.exists()
        assert await page.locator(".planted").count() == 0
    assert complaints.lines == []


async def test_an_edit_based_on_an_outdated_call_is_refused(
    browser: Browser, hub: HubProcess, complaints: Complaints
) -> None:
    token = await team_of(hub)
    async with way_to(hub.url) as way, tab(browser, complaints) as page:
        console = Console(page, way.url)
        await console.log_in(await hub.link(through=way.url))
        await console.say_in_a_new_thread("run: touch made")
        card = console.card()
        gate_id = await card.get_attribute("data-gate")
        assert gate_id is not None
        await card.get_by_role("button", name="Edit…").click()
        await card.get_by_label("command").fill("touch overwritten")

        async def refused(route: Route) -> None:
            await route.abort()

        await page.route("**/api/events*", refused)
        # Mended only then: a browser repeats by itself a request that is cut off on a kept connection.
        way.cut()
        await expect(page.get_by_text("Not connected.")).to_be_visible()
        way.mend()
        changed = {"command": "touch changed"}
        assert await resolve(hub, token, gate_id, "approve", arguments=changed) == 200
        await card.get_by_role("button", name="Approve as edited").click()
        await expect(card).to_contain_text("Open the form again")
        await expect(card).to_contain_text("touch changed")
        await page.unroute("**/api/events*", refused)
        await console.decide("Approve")
        await console.sees("I ran")
        made = {path.name for path in (hub.directory / "workspace").iterdir()}
        assert "changed" in made
        assert not made & {"overwritten", "made"}


async def test_a_shortcut_for_a_call_does_not_approve_its_edited_version(
    browser: Browser, hub: HubProcess, complaints: Complaints
) -> None:
    token = await team_of(hub)
    async with tab(browser, complaints) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.say_in_a_new_thread("run: touch made")
        card = console.card()
        gate_id = await card.get_attribute("data-gate")
        assert gate_id is not None
        await card.get_by_role("button", name="Deny").focus()
        changed = {"command": "touch changed"}
        assert await resolve(hub, token, gate_id, "approve", arguments=changed) == 200
        await expect(card).to_contain_text("touch changed")
        await expect(card).to_be_focused()
        await page.keyboard.press("Enter")
        await console.decide("Deny")
        await expect(console.outcome()).to_contain_text("Denied by you")
        assert list((hub.directory / "workspace").iterdir()) == []
    assert complaints.lines == []


async def test_one_denial_closes_the_gate(browser: Browser, hub: HubProcess, complaints: Complaints) -> None:
    token = await team_of(hub)
    async with tab(browser, complaints) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.say_in_a_new_thread("run: touch made")
        gate_id = await console.card().get_attribute("data-gate")
        assert gate_id is not None
        assert await resolve(hub, token, gate_id, "approve") == 200
        await expect(console.card()).to_contain_text(f"1 of 2 approved: {MIA}")
        await console.decide("Deny")
        await expect(console.outcome()).to_contain_text("Denied by you")
        assert not (hub.directory / "workspace" / "made").exists()
        assert await page.locator(".planted").count() == 0
    assert complaints.lines == []
