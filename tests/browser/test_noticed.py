"""What happens is noticed: answers, settled cards, unread conversations, toasts, notifications; and keys."""

import asyncio
import base64
import re

import pytest
from playwright.async_api import Browser, FilePayload, Route, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console
from tests.browser.screens import barriers
from tests.harness.process import HubProcess

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

ROUTINE = {
    "name": "morning",
    "trigger": {"type": "manual"},
    "action": {"type": "lightweight", "prompt": "say: good morning"},
    "guardrails": {"cooldown_s": 0},
}
NOTIFIED = """
() => {
  window.told = [];
  window.Notification = class {
    static permission = 'default';
    static async requestPermission() { return (this.permission = 'granted'); }
    constructor(title, options) { window.told.push([title, options.data.open]); }
  };
  Object.defineProperty(document, 'hidden', {get: () => window.away ?? false});
}
"""
AWAY = "(away) => { window.away = away; document.dispatchEvent(new Event('visibilitychange')); }"
KEPT = """
async () => {
  await navigator.serviceWorker.ready;
  const kept = await (await caches.open('hubbub-shell')).keys();
  return kept.map((one) => new URL(one.url).pathname);
}
"""
BEEN = """
() => {
  window.been = [];
  window.addEventListener('hashchange', () => window.been.push(location.hash));
}
"""


@pytest.fixture
def hub(newcomers_hub: HubProcess) -> HubProcess:
    """One for all."""
    return newcomers_hub


@pytest.mark.slow
async def test_commands_and_cards_work_by_keyboard_and_settled_cards_are_one_line(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    await expect(console.field).to_be_focused()
    await page.keyboard.type("/he")
    menu = page.get_by_role("listbox", name="Commands")
    await expect(menu).to_contain_text("list the commands")
    await page.keyboard.press("Tab")
    await expect(console.field).to_have_value("/help ")
    await page.keyboard.press("Enter")
    await expect(page.locator(".message.notice")).to_contain_text("/new —")

    await console.say_in_a_new_thread("run: echo $HOME https://example.org/a.")
    await expect(console.card()).to_contain_text("Run echo $HOME https://example.org/a.?")
    await expect(page.locator(".steps")).to_have_count(0)
    await page.wait_for_function(
        "() => performance.now() - Number(document.querySelector('.approval').dataset.asked) > 600"
    )
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("e")
    await console.card().get_by_label("command").fill("echo edited")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Control+Enter")
    line = page.locator(".settled-line")
    for _ in ("live", "after a reload"):
        await expect(line).to_have_text(re.compile(r"echo edited.*Approved by you, edited.*\d s"))
        await line.click()
        for label, words in (("requested", "echo $HOME"), ("arguments", "echo edited")):
            await expect(page.get_by_label(f"Code, {label}")).to_contain_text(words)
        await expect(page.locator(".approval .meta")).to_contain_text("Asked by owner on web")
        await console.reload()
        await console.sees("I ran")

    await console.say("say: frist")
    await console.sees("frist")
    await console.messages("user").last.get_by_label("Edit and send again").click()
    await expect(console.field).to_have_value("say: frist")
    await console.say("say: first")
    await console.sees("first")
    await expect(console.messages("user").filter(has_text="frist")).to_have_class(re.compile("undone"))
    await page.keyboard.press("ArrowUp")
    await expect(console.field).to_have_value("say: first")
    assert complaints.lines == []


@pytest.mark.slow
async def test_news_in_other_conversations_is_marked_unread_until_opened(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    await console.say_in_a_new_thread("say: here")
    await console.sees("here")
    await page.evaluate(NOTIFIED)
    made = await hub.api("POST", "/routines", ROUTINE)
    await page.evaluate(AWAY, True)
    await hub.api("POST", f"/routines/{made['id']}/fire")
    row = page.locator(".row").first
    await expect(row.get_by_label("Unread")).to_be_visible()
    await expect(row).to_contain_text("good morning")
    await expect(page).to_have_title("(1) Inbox · hubbub")
    await page.evaluate(AWAY, False)
    toast = page.locator(".toast")
    await toast.get_by_role("button", name="Notify me next time").click()
    await console.hears("notifies you")
    await page.evaluate(AWAY, True)
    await hub.api("POST", f"/routines/{made['id']}/fire")
    await page.wait_for_function("() => window.told.length === 1")
    title, place = (await page.evaluate("() => window.told"))[0]
    assert (title, place.startswith("#/chat/")) == ("Notices", True)
    await page.evaluate(AWAY, False)
    await row.get_by_role("link").click()
    notices = console.messages("notice").filter(has_text="good morning")
    await expect(notices).to_have_count(2)
    await expect(page).to_have_title("Inbox · hubbub")
    await expect(row.get_by_label("Unread")).to_have_count(0)
    await notices.first.get_by_role("button", name="Pause").click()
    await console.sees("morning", "notice")
    await console.open(f"routines/{made['id']}")
    await page.get_by_role("button", name="Enable").click()
    await console.hears("Routine enabled.")
    await hub.api("DELETE", f"/routines/{made['id']}")
    assert complaints.lines == []


FORMULAS = r"""Euler: $e^{i\pi} + 1 = 0$, \(\int f(x)\,dx\) and

\[
  \begin{pmatrix} a_1 & b \\ \frac{c}{2} & d \end{pmatrix}
\]

It costs $5 or $6, `$x$` is code, and $\unheard{of}$ stays.
"""


async def test_valid_formulas_are_rendered_and_invalid_ones_stay_as_text(
    console: Console, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread(f"say: {FORMULAS}")
    answer = console.messages("assistant").last
    await expect(answer.locator("math")).to_have_count(3)
    await expect(answer.locator("math").nth(1)).to_have_text("∫f(x)dx")
    await expect(answer.locator("math[display=block] mtr")).to_have_count(2)
    await expect(answer.locator("math mfrac")).to_have_text("c2")
    await expect(answer).to_contain_text("It costs $5 or $6, $x$ is code, and $\\unheard{of}$ stays.")
    assert await barriers(console.page) == []
    assert complaints.lines == []


CODE = "In colors:\n\n```python\nfor n in [1]:  # count\n    print('n')\n```\n\nSee https://example.org/a."
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.mark.slow
async def test_messages_have_colors_links_pictures_and_can_be_copied_retried_and_branched(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await console.open("chat/new")
    dot: FilePayload = {"name": "dot.png", "mimeType": "image/png", "buffer": base64.b64decode(DOT)}
    await page.locator("input[type=file]").set_input_files(dot)
    await console.files_are_there(1)
    await expect(page.locator(".chip img")).to_have_js_property("naturalWidth", 1)
    await console.say(CODE)
    first = await console.in_a_thread()
    asked, answers = console.messages("user"), console.messages("assistant")
    for look, words in {"word": "for", "number": "1", "comment": "# count", "text": "'n'"}.items():
        await expect(answers.locator(f".code-{look}").first).to_have_text(words)
    await expect(answers.get_by_role("link")).to_have_attribute("href", "https://example.org/a")
    await asked.get_by_label("Copy message").click()
    await console.hears("Copied")
    assert await page.evaluate("() => navigator.clipboard.readText()") == CODE
    await answers.get_by_role("button", name="Answer the last message again").click()
    await expect(answers).to_have_count(2)
    await expect(answers.first).to_have_class(re.compile("undone"))
    await page.locator(".conversation h2").click()
    await expect(page.get_by_label("Title")).to_be_focused()
    await page.get_by_role("button", name="Branch").click()
    await page.wait_for_url(lambda url: "#/chat/" in url and first not in url)
    await expect(answers.locator(".code-word").first).to_be_visible()
    assert complaints.lines == []


async def test_a_sentence_is_found_and_jumped_to(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    thread = await console.say_in_a_new_thread("say: the heron stands still")
    await console.sees("the heron stands still")
    for number in range(4):
        await hub.api("POST", "/chat/send", {"text": f"say: {number}" + " line\n" * 40, "thread_id": thread})
    await console.say_in_a_new_thread("say: other")
    await page.get_by_label("Search conversations").fill("where is the heron?")
    hits = page.locator(".row").filter(has_text="message")
    await expect(hits.first.locator("mark").first).to_have_text("heron")
    await expect(page.locator(".row")).to_have_count(1)  # its title has the word, too
    await hits.first.get_by_role("link").click()
    await expect(page.locator(".message.found")).to_contain_text("heron")
    await expect(page.locator(".message.found")).to_be_in_viewport()
    await expect(page.get_by_role("button", name=re.compile("Latest|new"))).to_be_visible()
    await expect(page.locator(".pane.list [aria-current=page]")).to_contain_text("message")
    await page.get_by_label("Search conversations").fill("other")
    await hits.filter(has_text="say: other").first.get_by_role("link").click()
    await expect(page.locator(".message.found")).to_contain_text("other")
    await expect(page.locator(".jump")).to_be_hidden()
    await page.locator(".feed").focus()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Always allow")
    await page.keyboard.press("Escape")
    assert complaints.lines == []


async def test_whoever_writes_elsewhere_while_a_conversation_loads_stays_there(
    console: Console, complaints: Complaints
) -> None:
    page, search = console.page, console.page.get_by_label("Search conversations")
    thread = await console.say_in_a_new_thread("say: the first")
    await console.sees("You said: say: the first")
    await console.say_in_a_new_thread("say: the second")
    await console.sees("You said: say: the second")
    written = asyncio.Event()

    async def late(route: Route) -> None:
        await written.wait()
        await route.continue_()

    await page.route(f"**/api/threads/{thread}*", late)
    await page.locator(f"a.row[href='#/chat/{thread}'], .row a[href='#/chat/{thread}']").first.click()
    await search.fill("no such")
    written.set()
    await console.sees("You said: say: the first")
    await page.keyboard.type(" words")
    await expect(search).to_have_value("no such words")
    await page.unroute(f"**/api/threads/{thread}*")
    assert complaints.lines == []


async def test_the_palette_handles_every_key_and_runs_the_selected_entry(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    option = page.get_by_role("option")
    chosen = page.get_by_role("option", selected=True)
    thread = await console.say_in_a_new_thread("say: the routes of the heron")
    await console.sees("the routes of the heron")
    await console.open("chat/new")
    await page.route("**/static/palette.js", lambda route: route.abort())  # a page that is open has it
    await page.keyboard.press("Control+k")
    combobox = page.get_by_role("combobox")
    for words, found in (
        ("backup", "System"),
        ("stop", "Pause tools"),
        ("money", "Usage"),
        ("member", "Channels"),
        ("quiet", "Settings"),
        ("rename", "Inbox"),
        ("owner", "person"),
    ):
        await combobox.fill(words)
        await expect(option.filter(has_text=found).first).to_be_visible()
    await combobox.fill("nothing of the kind")
    await expect(page.get_by_text("Nothing found.")).to_be_visible()
    await page.keyboard.press("Escape")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("rout")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.wait_for_url(re.compile("#/routines$"))
    await expect(page.get_by_role("heading", name="Routines")).to_be_attached()
    finding = asyncio.Event()

    async def held(route: Route) -> None:
        await finding.wait()
        await route.continue_()

    await page.route("**/api/search?*", held)
    await page.keyboard.press("Control+k")
    await page.keyboard.type("rout")
    await page.keyboard.press("ArrowDown")
    await expect(chosen).to_contain_text("Routines")
    pressed = await chosen.element_handle()
    finding.set()
    await expect(option.filter(has_text="the routes of the heron").first).to_be_visible()
    await expect(chosen).to_contain_text("Routines")
    assert await pressed.evaluate("(one) => one.isConnected")  # a click that has begun on it still counts
    await page.get_by_role("combobox").fill("heron")
    await option.filter(has_text="the routes of the heron").last.click()
    await page.wait_for_url(re.compile(f"#/chat/{thread}"))
    await console.sees("the routes of the heron")
    assert complaints.lines == []


async def test_navigating_away_while_a_message_is_sent_is_not_undone(
    console: Console, complaints: Complaints
) -> None:
    page = console.page
    reached, released = asyncio.Event(), asyncio.Event()

    async def held(route: Route) -> None:
        reached.set()
        await released.wait()
        await route.continue_()

    await page.route("**/api/chat/send", held)
    await console.open("chat/new")
    await console.say("say: begun and left")
    await reached.wait()
    await console.open("routines")
    await expect(page.get_by_role("heading", name="Routines")).to_be_attached()
    await page.evaluate(BEEN)
    async with page.expect_response("**/api/chat/send") as sent:
        released.set()
    await (await sent.value).finished()
    await page.get_by_role("link", name="Inbox").click()
    await page.locator(".row").filter(has_text="begun and left").first.get_by_role("link").click()
    await console.sees("begun and left")
    assert await page.evaluate("() => window.been") == ["#/chat", f"#/chat/{console.thread_id}"]
    assert complaints.lines == []


@pytest.mark.slow
async def test_the_console_opens_without_a_network_and_keeps_nothing_of_the_hub(
    browser: Browser, hub: HubProcess, complaints: Complaints
) -> None:
    async with tab(browser, complaints, worker=True) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.say_in_a_new_thread("say: a secret matter")
        await console.sees("a secret matter")
        # From here on every request of the page goes through the worker.
        await page.wait_for_function("() => navigator.serviceWorker.controller !== null")
        await console.reload()
        await console.sees("a secret matter")
        kept: list[str] = await page.evaluate(KEPT)
        assert {"/", "/static/main.js", "/static/pages/why.js"} <= set(kept)
        assert not [path for path in kept if path != "/" and not path.startswith("/static/")]
        await page.context.set_offline(True)
        await console.reload()
        await expect(page.get_by_role("heading", name="The hub does not respond")).to_be_visible()
        await page.context.set_offline(False)
        await page.get_by_role("button", name="Try again").click()
        await console.sees("a secret matter")
    assert complaints.but("ERR_INTERNET_DISCONNECTED", "Failed to load resource") == []
