"""Questions are answered where people are: in the conversation, among all approvals, on their platform."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console, press
from tests.browser.screens import barriers, misfits
from tests.harness.process import STRANGER, HubProcess, running_hub
from tests.harness.telegram_hub import LIMIT_S, OWNER
from tests.simulators.telegram import TelegramSimulator
from tests.simulators.telegram.world import Message

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.asyncio(loop_scope="session"),
]


@pytest_asyncio.fixture(loop_scope="session")
async def hub(tmp_path: Path, telegram: TelegramSimulator) -> AsyncIterator[HubProcess]:
    """A hub with that platform."""
    async with running_hub(tmp_path, telegram=telegram) as running:
        yield running


@pytest.mark.slow
async def test_a_denied_call_does_not_run(console: Console, hub: HubProcess, complaints: Complaints) -> None:
    await console.say_in_a_new_thread("run: touch made")
    await console.decide("Deny")
    await expect(console.outcome()).to_contain_text("Denied by you")
    card = console.page.locator("article.approval")
    await expect(card).not_to_have_attribute("style", re.compile("min-height: .+px"))
    await console.sees("I did not run")
    assert not (hub.directory / "workspace" / "made").exists()
    await console.open("approvals/history")
    card = console.page.locator("article.approval").first
    await expect(card).to_contain_text("Denied by you")
    await expect(card).to_contain_text(re.compile(r"Denied by you.*, \d{4}, \d+:\d\d:\d\d"))
    await card.locator("summary").click()
    await expect(card).to_contain_text("It asked because no grant covered this call of shell.")
    await expect(card).to_contain_text(re.compile(r"decided .*\d{4}, \d+:\d\d:\d\d"))
    await console.open("why?q=touch")
    event = console.page.locator(".event").first
    await expect(event).to_contain_text("? Denied by you")
    await expect(event.locator(".outcome-word")).to_have_text("answered")
    assert complaints.lines == []


@pytest.mark.slow
async def test_edited_arguments_are_the_ones_that_run(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread("run: touch as-asked")
    card = console.card()
    await card.get_by_role("button", name="Edit…").click()
    field = card.get_by_label("command")
    await expect(field).to_be_focused()
    await expect(field).to_have_value("touch as-asked")
    await field.fill("touch as-edited")
    await card.get_by_role("button", name="Approve as edited").click()
    await expect(console.outcome()).to_contain_text("by you")
    await console.sees("I ran")
    made = {path.name for path in (hub.directory / "workspace").iterdir()}
    assert "as-edited" in made
    assert "as-asked" not in made
    assert complaints.lines == []


@pytest.mark.slow
async def test_a_card_shows_the_whole_call_and_the_whole_grant(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread("run: touch \u202etxt.exe")
    card = console.card()
    await expect(card).to_contain_text("touch [U+202E]txt.exe")
    await card.get_by_role("button", name="Edit…").click()
    await expect(card.get_by_label("command")).to_have_value("touch \u202etxt.exe")
    await card.get_by_role("button", name="Cancel edit").click()
    await console.decide("Deny")
    await console.say("run: ls")
    await expect(console.card()).to_contain_text("Always allow would cover shell: ls")
    await console.decide("Deny")
    assert complaints.lines == []


@pytest.mark.slow
async def test_an_edit_that_cannot_be_run_is_refused_at_its_field(console: Console) -> None:
    await console.say_in_a_new_thread("run: ls")
    card = console.card()
    await card.get_by_role("button", name="Edit…").click()
    await card.get_by_label("command").fill("")
    await card.get_by_role("button", name="Approve as edited").click()
    await expect(
        card.get_by_role("alert").filter(has_text="command").or_(card.locator(".field .problem"))
    ).not_to_be_empty()
    await expect(card.get_by_label("command")).to_be_focused()
    await card.get_by_role("button", name="Cancel edit").click()
    await console.decide("Deny")
    await expect(console.outcome()).to_contain_text("Denied by you")


@pytest.mark.slow
async def test_a_question_is_answered_by_choice_and_in_words(
    console: Console, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread("ask: Which environment? | staging | production")
    await console.decide("production")
    await expect(console.outcome()).to_contain_text("production")
    await console.say("ask: Which colour?")
    await console.card().get_by_label("Your answer").fill("<b>blue</b>")
    await console.card().get_by_role("button", name="Answer", exact=True).click()
    await expect(console.outcome()).to_contain_text("<b>blue</b>")
    await console.sees("<b>blue</b>")
    assert complaints.lines == []


@pytest.mark.slow
async def test_a_question_of_telegram_is_answered_in_the_console_and_the_other_way(
    console: Console, telegram: TelegramSimulator, complaints: Complaints
) -> None:
    telegram.user_sends_text(OWNER, "run: ls")
    shown = await _card(telegram)
    await console.open("approvals")
    await expect(console.card()).to_contain_text("telegram")
    await console.decide("Approve")
    await telegram.wait_text(OWNER, "Approved by", timeout_s=LIMIT_S)
    await expect(console.outcome()).to_contain_text("Approved by you")
    await telegram.wait_text(OWNER, "I ran ls", timeout_s=LIMIT_S)

    telegram.user_sends_text(OWNER, "run: pwd")
    await expect(console.card()).to_contain_text("pwd")
    asked = await _card(telegram, after=shown.id)
    choice = json.dumps(asked.keyboard)
    assert "Deny" in choice
    telegram.user_presses_button(OWNER, asked.id, 1)
    await expect(console.outcome()).to_contain_text("Denied by")
    await expect(console.card()).to_have_count(0)
    assert complaints.lines == []


@pytest.mark.slow
async def test_simultaneous_opposite_answers_in_console_and_telegram_have_one_outcome(
    console: Console, telegram: TelegramSimulator, hub: HubProcess, complaints: Complaints
) -> None:
    made = hub.directory / "workspace" / "made"
    telegram.user_sends_text(OWNER, "run: touch made")
    card = await _card(telegram)
    await console.open("approvals")
    deny = await console.button_in_hand("Deny")
    telegram.user_presses_button(OWNER, card.id, 0)
    await press(deny)
    await expect(console.outcome()).to_be_visible()
    await expect(console.card()).to_have_count(0)
    outcome = await console.outcome().locator("span").text_content()
    assert outcome in {"Approved by you", "Denied by you"}
    await telegram.wait_text(OWNER, outcome.replace("you", "owner"), timeout_s=LIMIT_S)
    said = "I ran" if outcome.startswith("Approved") else "I did not run"
    await telegram.wait_text(OWNER, said, timeout_s=LIMIT_S)
    assert made.exists() is outcome.startswith("Approved")
    assert complaints.but("status of 409") == []


async def _card(telegram: TelegramSimulator, after: int = 0) -> Message:
    def cards() -> list[Message]:
        return [
            message
            for message in telegram.bot_messages(OWNER)
            if message.id > after and (message.keyboard or {}).get("inline_keyboard")
        ]

    await telegram.wait_for(cards, LIMIT_S)
    return cards()[0]


async def test_the_owner_reads_a_members_conversation_and_answers_in_it(
    console: Console, telegram: TelegramSimulator, hub: HubProcess, complaints: Complaints
) -> None:
    telegram.user_sends_text(STRANGER, "let me in")
    await console.open("channels")
    request = console.page.locator(".card").filter(has_text="Stan").first
    await request.get_by_role("button", name="Member").click()
    await telegram.wait_text(STRANGER, "You now have access.", timeout_s=LIMIT_S)
    await expect(console.page.get_by_text("No pairing requests.")).to_be_visible()

    telegram.user_sends_text(STRANGER, "what time is it")
    await console.open("threads")
    await console.page.locator(".row a").filter(has_text="what time is it").first.click()
    await console.sees("what time is it", "user")
    await console.sees("It is")
    await console.say("Time for a walk, says Olivia.")
    await console.sees("Time for a walk", "operator")
    await telegram.wait_text(STRANGER, "Time for a walk, says Olivia.", timeout_s=LIMIT_S)
    telegram.user_sends_text(STRANGER, "thank you")
    await console.sees("thank you", "user")

    await console.open("why?q=thank+you")
    await expect(console.page.locator(".event").first).to_contain_text("thank you")
    await console.page.locator(".event").first.get_by_role("link", name="Open conversation").click()
    await console.sees("thank you", "user")
    assert complaints.lines == []


FILE = """
([name, words]) => {
  const data = new DataTransfer();
  data.items.add(new File([words], name, {type: 'text/plain'}));
  return data;
}
"""

PASTE = """
(clipboardData) => document.querySelector('.composer textarea').dispatchEvent(
  new ClipboardEvent('paste', {clipboardData, bubbles: true, cancelable: true}))
"""


async def test_a_file_is_attached_by_drop_button_and_paste(
    browser: Browser, hub: HubProcess, complaints: Complaints
) -> None:
    async with tab(browser, complaints) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.open("chat/new")
        await page.locator("input[type=file]").set_input_files(
            {"name": "一份很长的名字.txt", "mimeType": "text/plain", "buffer": b"by button"}
        )
        dropped = await page.evaluate_handle(FILE, ["dropped.txt", "by drop"])
        await page.dispatch_event(".conversation", "drop", {"dataTransfer": dropped})
        pasted = await page.evaluate_handle(FILE, ["pasted.txt", "by pasting"])
        await pasted.evaluate(PASTE)
        await console.files_are_there(3)
        await expect(page.locator(".chip").nth(1)).to_contain_text("7 B")
        await expect(page.locator(".chip").last).to_contain_text("10 B")
        await console.say("here they are")
        await console.in_a_thread()
        await expect(console.messages("user").first).to_contain_text("dropped.txt")
        await expect(console.messages("user").first).to_contain_text("pasted.txt")
        await expect(console.messages("user").first).to_contain_text("一份很长的名字.txt")
    assert complaints.lines == []


@pytest.mark.slow
async def test_an_unsent_message_keeps_its_files(console: Console, complaints: Complaints) -> None:
    page = console.page
    await console.open("chat/new")
    await page.locator("input[type=file]").set_input_files(
        {"name": "kept.txt", "mimeType": "text/plain", "buffer": b"kept"}
    )
    await console.files_are_there(1)
    await page.context.set_offline(True)
    await console.say("here it is")
    await expect(page.locator(".composer .problem")).to_be_visible()
    await expect(page.locator(".chip")).to_contain_text("kept.txt")
    await expect(console.field).to_have_value("here it is")
    await page.context.set_offline(False)
    await console.field.press("Enter")
    await console.in_a_thread()
    await expect(console.messages("user").first).to_contain_text("kept.txt")
    await expect(page.locator(".chip")).to_have_count(0)
    assert complaints.but("ERR_INTERNET_DISCONNECTED", "Failed to load resource") == []


@pytest.mark.slow
async def test_decisions_are_plotted_by_day(console: Console, complaints: Complaints) -> None:
    for label in ("Approve", "Deny", "Approve"):
        await console.say_in_a_new_thread(f"run: touch {label}")
        await console.decide(label)
        await expect(console.outcome()).to_be_visible()
    for place, days in (("home", 14), ("approvals/history", 30)):
        await console.open(place)
        words = f"Decisions of the last {days} days: 2 approved, 1 not approved"
        plot = console.page.get_by_role("img", name=words)
        await expect(plot.locator(".bar.good")).to_have_count(1)
        await expect(plot.locator(".bar.bad")).to_have_count(1)
        assert await misfits(console.page) + await barriers(console.page) == []
    assert complaints.lines == []


@pytest.mark.slow
async def test_a_preset_is_tried_on_past_calls(console: Console, complaints: Complaints) -> None:
    page = console.page
    await console.say_in_a_new_thread("run: date")
    await console.decide("Approve")
    await console.open("approvals")
    await page.get_by_role("link", name="What if").click()
    await expect(page.get_by_text("0 of 1 past calls would be decided differently.")).to_be_visible()
    await page.get_by_label("Approval preset").select_option("auto")
    await expect(page.get_by_text("of 1 past calls would be decided differently.")).to_be_visible()
    assert await misfits(page) + await barriers(page) == []
    assert complaints.lines == []
