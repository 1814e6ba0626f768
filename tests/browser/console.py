"""A person at the console: what they do with keyboard and mouse, and what they see."""

import re
from typing import Any

from playwright.async_api import ElementHandle, Locator, Page, expect

ANYTHING = re.compile(r"\S")


class Console:
    """The console in one browser tab. Locators wait until what they name is seen."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url

    # --- going somewhere ----------------------------------------------------------------------------------

    async def log_in(self, link: str) -> None:
        """Open a login link; the console comes up."""
        await self.page.goto(link)
        await expect(self.page.get_by_role("navigation", name="Pages")).to_be_visible()

    async def open(self, where: str) -> None:
        """Go to a place of the console, as with a bookmark."""
        await self.page.goto(f"{self.url}/#/{where}")

    async def reload(self) -> None:
        """Load the page anew."""
        await self.page.reload()

    @property
    def thread_id(self) -> str:
        """The conversation that is open."""
        found = re.search(r"#/(?:chat|threads)/([0-9a-f-]{32,36})$", self.page.url)
        assert found, self.page.url
        return found.group(1)

    async def in_a_thread(self) -> str:
        """The conversation that is open, once one is."""
        await self.page.wait_for_url(re.compile(r"#/chat/[0-9a-f-]{32,36}$"))
        return self.thread_id

    # --- writing and deciding -----------------------------------------------------------------------------

    @property
    def field(self) -> Locator:
        """Return where messages are written."""
        return self.page.locator(".composer textarea")

    async def say(self, text: str) -> None:
        """Write and send a message."""
        await self.field.fill(text)
        await self.field.press("Enter")

    async def say_in_a_new_thread(self, text: str) -> str:
        """Begin a conversation; its id."""
        await self.open("chat/new")
        await self.say(text)
        return await self.in_a_thread()

    async def files_are_there(self, count: int) -> None:
        """So many files are attached, and the hub has them all."""
        await expect(self.page.locator(".chip")).to_have_count(count)
        await expect(self.page.locator(".chip[aria-busy=true]")).to_have_count(0)

    def card(self, gate_id: str = "") -> Locator:
        """A question; without an id the first that is open."""
        if gate_id:
            return self.page.locator(f'article.approval[data-gate="{gate_id}"]')
        return self.page.locator("article.approval:not(.closed)").first

    def outcome(self) -> Locator:
        """Return what became of the last question."""
        return self.page.locator("article.approval.closed .outcome").last

    async def decide(self, label: str) -> None:
        """Press a button of the open question."""
        await self.card().get_by_role("button", name=label, exact=True).click()

    async def button_in_hand(self, label: str) -> ElementHandle:
        """A button of the open question, to be pressed with `press` even if the card closes meanwhile."""
        return await self.card().get_by_role("button", name=label, exact=True).element_handle()

    # --- seeing -------------------------------------------------------------------------------------------

    def messages(self, kind: str = "") -> Locator:
        """Return what was said, in order: user, assistant, operator, notice."""
        return self.page.locator(f".feed-items .message{'.' + kind if kind else ''}")

    async def sees(self, text: str, kind: str = "assistant") -> None:
        """A message with this text comes up."""
        await expect(self.messages(kind).filter(has_text=text).last).to_be_visible()

    async def hears(self, text: str) -> None:
        """A toast or a state on the page said so, be it gone by now."""
        await self.page.wait_for_function("(text) => window.said.some((one) => one.includes(text))", arg=text)

    async def feed(self) -> list[dict[str, Any]]:
        """Position and text of every message shown, in the order shown."""
        shown: list[dict[str, Any]] = await self.page.evaluate(
            "() => [...document.querySelectorAll('.feed-items .message[data-seq]')]"
            ".map((one) => ({seq: Number(one.dataset.seq), text: one.querySelector('.prose')?.textContent}))"
        )
        return shown

    async def decide_when_reached(self, label: str) -> None:
        """Press a button of the open question until the hub, which may be starting, has taken it."""
        await expect(self.page.get_by_text("Not connected.")).to_be_hidden()
        await self.decide(label)


async def press(button: ElementHandle) -> None:
    """As a person does who is quicker than what takes the button away."""
    await button.evaluate("button => button.click()")
