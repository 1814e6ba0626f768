"""Events are shown as they happen: in every tab, after a cut or a reload, nothing missing or twice."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from tests.browser.chromium import Complaints, tab
from tests.browser.console import Console, press
from tests.browser.cutting import Way, way_to
from tests.browser.screens import barriers, misfits
from tests.harness.process import HubProcess, running_hub
from tests.plugins.profile import Profile
from tests.simulators.model import Drop, Hold, ModelSimulator, Reply, ToolCall, text, tools

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

MODEL = 'provider = "openai"\nmodel = "sim-1"\nbase_url = "{url}"\napi_key = "key"'
WORDS = " ".join(f"word{number}" for number in range(60))
CUT = ("ERR_", "Failed to fetch", "Failed to load resource")
"""What a browser says of a hub it cannot reach."""


@pytest_asyncio.fixture(loop_scope="session")
async def model() -> AsyncIterator[ModelSimulator]:
    """A model that stalls when it is told to."""
    async with ModelSimulator(api_key="key", models=("sim-1",)) as running:
        running.rule(r"tell me$", text(WORDS, chunk_chars=24))
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def hub(tmp_path: Path, model: ModelSimulator) -> AsyncIterator[HubProcess]:
    """A hub that talks to that model."""
    async with running_hub(tmp_path, model=MODEL.format(url=model.openai_base_url)) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def way(hub: HubProcess) -> AsyncIterator[Way]:
    """A way to the hub that can be cut."""
    async with way_to(hub.url) as opened:
        yield opened


async def in_order(console: Console) -> list[str]:
    """Texts of all messages; their positions only grow, so none is there twice."""
    shown = await console.feed()
    positions = [line["seq"] for line in shown]
    assert positions == sorted(set(positions))
    return [line["text"] for line in shown]


async def test_a_reply_is_seen_as_it_is_written_in_two_tabs_and_after_a_reload(
    browser: Browser, console: Console, hub: HubProcess, model: ModelSimulator, complaints: Complaints
) -> None:
    model.fault(Hold(at="mid_stream", after_events=8))
    thread = await console.say_in_a_new_thread("tell me")
    await expect(console.page.locator(".message.live")).to_contain_text("word5")
    async with tab(browser, complaints) as page:
        other = Console(page, hub.url)
        await other.log_in(await hub.link())
        await other.open(f"chat/{thread}")
        await expect(page.locator(".message.live")).to_contain_text("word5")
        await console.reload()
        await expect(console.page.locator(".message.live")).to_contain_text("word5")
        begun = await console.page.locator(".message.live p").text_content()
        assert begun
        assert WORDS.startswith(begun.strip())
        model.release()
        for one in (console, other):
            await one.sees("word59")
            await expect(one.page.locator(".message.live")).to_be_hidden()
            assert await in_order(one) == ["tell me", WORDS]
        await other.say("and again: please run: ls")
        await expect(console.card()).to_contain_text("ls")
        await console.decide("Approve")
        await expect(other.outcome()).to_contain_text("Approved by you")
        for one in (console, other):
            await one.sees("Done:")
        assert await in_order(other) == await in_order(console)
    assert complaints.lines == []


async def test_progress_of_a_tool_loop_is_shown(
    console: Console, model: ModelSimulator, complaints: Complaints
) -> None:
    look = tools(ToolCall("list_dir", {"path": "."}), ToolCall("time", {}))
    model.enqueue(look)
    model.enqueue(look)
    model.enqueue(text("that is all"), fault=Hold())
    await console.say_in_a_new_thread("look around")
    live = console.page.locator(".message.live")
    await expect(live).to_contain_text("Round 2 of 5, 4 of 20 tool calls.")
    await console.reload()
    await expect(live).to_contain_text("Round 2 of 5, 4 of 20 tool calls.")
    model.release()
    await console.sees("that is all")
    await expect(live).to_be_hidden()
    assert complaints.lines == []


async def test_a_broken_off_reply_is_replaced_and_the_requester_sees_the_failure(
    console: Console, model: ModelSimulator, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread("say: ready")
    await console.sees("ready")
    await console.say("/verbose full")
    await expect(console.page.locator(".message.notice")).to_contain_text("the details of failures here")
    live, note = (console.page.locator(f".message.live{part}") for part in ("", " .live-note"))
    first = Reply("Broken " * 20, chunk_chars=8, delay_s=0.02)
    model.enqueue(first, fault=Drop(at="mid_stream", after_events=12))
    model.enqueue(text("Whole " * 20 + "at last."), fault=Hold())
    await console.say("tell me")
    await expect(live).to_contain_text("Broken")
    await expect(note).to_have_text("Model main failed (it is not reachable, or overloaded). Trying again.")
    await console.reload()
    await expect(note).to_contain_text("Model main failed")
    await model.wait_requests(state="held")
    model.release()
    await console.sees("at last.")
    await expect(live).to_be_hidden()
    shown = [line["text"] for line in await console.feed()]
    assert shown[-2:] == ["tell me", ("Whole " * 20 + "at last.")]
    assert not any("Broken" in line for line in shown)
    assert complaints.lines == []


async def test_a_lost_connection_is_reported_and_missed_events_arrive_once(
    browser: Browser, hub: HubProcess, way: Way, complaints: Complaints, profile: Profile
) -> None:
    async with tab(browser, complaints) as page:
        console = Console(page, way.url)
        await console.log_in(await hub.link(through=way.url))
        thread = await console.say_in_a_new_thread("say: the first")
        await console.sees("the first")
        expected = ["say: the first", "the first"]
        for number in range(profile.pick(test=3, proof=20)):
            way.cut()
            await expect(page.get_by_text("Not connected.")).to_be_visible()
            said = f"say: while away {number}"
            await hub.api("POST", "/chat/send", {"text": said, "thread_id": thread})
            expected += [said, said.removeprefix("say: ")]
            again = await page.get_by_role("button", name="Try now").element_handle()
            assert again is not None
            way.mend()
            await press(again)
            await console.sees(expected[-1])
            await expect(page.get_by_text("Not connected.")).to_be_hidden()
            assert await in_order(console) == expected
    assert complaints.but(*CUT) == []


async def test_a_connection_lost_during_a_reply_or_question_loses_nothing(
    browser: Browser, hub: HubProcess, way: Way, model: ModelSimulator, complaints: Complaints
) -> None:
    async with tab(browser, complaints) as page:
        console = Console(page, way.url)
        await console.log_in(await hub.link(through=way.url))
        model.fault(Hold(at="mid_stream", after_events=8))
        thread = await console.say_in_a_new_thread("tell me")
        await expect(page.locator(".message.live")).to_contain_text("word5")
        way.cut()
        model.release()
        way.mend()
        await console.sees("word59")
        await expect(page.locator(".message.live")).to_be_hidden()
        await console.say("please run: ls")
        await expect(console.card()).to_be_visible()
        waiting = (await hub.api("GET", "/approvals?state=pending"))["approvals"]
        way.cut()
        await hub.api("POST", "/chat/gate/resolve", {"request_id": waiting[0]["gate_id"], "action": "deny"})
        way.mend()
        await expect(console.outcome()).to_contain_text("Denied by you")
        await expect(console.card()).to_have_count(0)
        await expect(page.get_by_role("button", name="Stop")).to_be_hidden()
        assert (await in_order(console))[:3] == ["tell me", WORDS, "please run: ls"]
        assert console.thread_id == thread
    assert complaints.but(*CUT) == []


async def test_a_killed_hub_comes_back_and_the_open_page_continues(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    await console.say_in_a_new_thread("please run: echo line >> out")
    await expect(console.card()).to_be_visible()
    await hub.restart()
    await console.decide_when_reached("Approve")
    await console.sees("Done:")
    await expect(console.outcome()).to_contain_text("Approved by you")
    assert (hub.directory / "workspace" / "out").read_text() == "line\n"
    assert complaints.but(*CUT) == []


async def test_a_file_that_is_sent_can_be_downloaded_and_runs_nothing(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    words = "<script>window.planted = 1</script>"
    (hub.directory / "workspace" / "report.html").write_text(words)
    await console.say_in_a_new_thread('please call: send_file {"path": "report.html"}')
    link = console.messages("notice").get_by_role("button", name="report.html")
    await expect(link).to_contain_text("35 B")
    async with console.page.expect_download() as waiting:
        await link.click()
    download = await waiting.value
    assert download.suggested_filename == "report.html"
    assert (await download.path()).read_text() == words
    assert console.thread_id
    assert await console.page.evaluate("() => window.planted") is None
    assert complaints.lines == []


async def test_the_subtasks_of_a_job_are_listed_with_their_state(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    job = await hub.api("POST", "/jobs", {"task": 'please call: delegate {"task": "say: looked"}'})
    await console.open(f"jobs/{job['id']}")
    subtasks = console.page.get_by_role("list", name="Subtasks").locator("li")
    await expect(subtasks).to_have_count(1)
    await expect(subtasks).to_contain_text("subtask done")
    await expect(subtasks).to_contain_text("looked")
    assert complaints.lines == []


async def test_a_file_of_a_job_is_downloaded_by_a_click(
    console: Console, hub: HubProcess, complaints: Complaints
) -> None:
    page = console.page
    (hub.directory / "workspace" / "report.md").write_text("blue")
    await console.say_in_a_new_thread("hello")  # the result goes there
    await console.sees("hello")
    task = 'please call: finish {"result": "Made.", "artifacts": ["report.md"]}'
    job = await hub.api("POST", "/jobs", {"task": task, "tools": ["write_file"]})
    await expect(console.messages("notice").get_by_role("button", name="report.md")).to_be_visible()
    await console.open(f"jobs/{job['id']}")
    file = page.get_by_role("list", name="Files").get_by_role("button", name="report.md")
    async with page.expect_download() as waiting:
        await file.click()
    download = await waiting.value
    assert download.suggested_filename == "report.md"
    assert (await download.path()).read_text() == "blue"
    assert complaints.lines == []


async def test_stop_ends_a_reply(console: Console, model: ModelSimulator) -> None:
    model.fault(Hold(at="mid_stream", after_events=8))
    await console.say_in_a_new_thread("tell me")
    await expect(console.page.locator(".message.live")).to_contain_text("word5")
    await console.page.get_by_role("button", name="Stop", exact=True).click()
    await console.sees("Stopped.", "notice")
    await expect(console.page.locator(".message.live")).to_be_hidden()
    await console.say("say: still here")
    await console.sees("still here")


async def test_a_suggestion_is_a_button_until_the_next_message(
    console: Console, model: ModelSimulator, complaints: Complaints
) -> None:
    model.enqueue(text('Two go.\n<suggestions>["Book the first"]</suggestions>'))
    await console.say_in_a_new_thread("trains?")
    button = console.page.get_by_role("group", name="Say").get_by_role("button", name="Book the first")
    await button.click()
    await console.sees("You said: Book the first")
    await expect(button).to_have_count(0)


async def test_send_message_below_a_job_in_a_conversation_gives_the_job_a_message(
    console: Console, model: ModelSimulator, complaints: Complaints
) -> None:
    page = console.page
    model.fault(Hold())
    await console.say_in_a_new_thread("/job count the stars")
    await model.wait_requests(state="held")
    shown = page.locator(".message.notice").filter(has_text="“count the stars” is in progress")
    await shown.get_by_role("button", name="Send message").click()
    await expect(page.locator(".composer .replying")).to_contain_text("count the stars")
    await console.say("and the moons")
    await console.sees("hears it before its next step", "notice")
    await expect(page.locator(".composer .replying")).to_be_hidden()
    model.release()
    await console.sees("completed", "notice")
    heard = [one["content"] for one in model.log[-1].body["messages"] if one["role"] == "user"]
    assert heard == ["count the stars", "and the moons"]
    assert complaints.lines == []


async def test_the_output_of_a_running_command_is_seen_with_its_time_until_the_result_is_there(
    browser: Browser, console: Console, hub: HubProcess, model: ModelSimulator, complaints: Complaints
) -> None:
    command = "for n in 1 2 3; do echo tick $n; done; while [ ! -e go ]; do sleep 0.1; done; echo tock"
    model.enqueue(tools(ToolCall("shell", {"command": command})), text("That was it."))
    await console.say_in_a_new_thread("count")
    await console.decide("Approve")
    output = console.page.get_by_role("region", name="Output so far")
    await expect(output).to_have_text("tick 1\ntick 2\ntick 3\n")
    await expect(console.page.locator(".message.live")).to_contain_text(
        re.compile(r"Running for n in 1.* \d+ s")
    )
    for width in (360, 1440):
        await console.page.set_viewport_size({"width": width, "height": 800})
        assert await misfits(console.page) == []
    assert await barriers(console.page) == []
    await console.reload()
    await expect(output).to_contain_text("tick 3")
    (hub.directory / "workspace" / "go").touch()
    await console.sees("That was it.")
    await expect(output).to_be_hidden()
    assert complaints.lines == []


async def test_the_header_shows_and_switches_the_model_and_shows_usage(
    browser: Browser, tmp_path: Path, model: ModelSimulator, complaints: Complaints
) -> None:
    prices = "input_usd_per_million = 1000\noutput_usd_per_million = 1000"
    priced = f"{MODEL.format(url=model.openai_base_url)}\n{prices}"
    second = '\n[[models]]\nname = "second"\nprovider = "demo"\n'
    async with running_hub(tmp_path, model=priced, extra=second) as hub, tab(browser, complaints) as page:
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        thread = await console.say_in_a_new_thread("tell me")
        await console.sees("word59")
        about = page.locator(".pane-head .about")
        head = page.get_by_label("Model of this conversation")
        await expect(head).not_to_have_value("second")
        await expect(about).to_contain_text(re.compile(r"\d+ %.*\$[0-9.]+"))
        shown = (await hub.api("GET", f"/threads/{thread}"))["thread"]
        assert shown["cost_micro_usd"] == shown["tokens"] * 1000 > 0
        model.fault(Drop("mid_stream", after_events=2))
        await console.say("please tell me")
        await expect(console.messages("assistant").filter(has_text="word59")).to_have_count(2)
        await console.open("usage")
        listed = page.locator("section", has=page.get_by_role("heading", name="Models,")).get_by_role("row")
        (row,) = (await hub.api("GET", "/usage?by=model"))["rows"]
        most = f"1 call, at most ${row['estimated_cost_micro_usd'] / 1e6:.2f}"
        await expect(listed.filter(has_text="main").get_by_role("cell").last).to_have_text(most)
        await console.open(f"chat/{thread}")
        await head.select_option("second")
        await console.sees("second", "notice")
        await console.say("hello")
        await console.sees("You said: hello")
        await console.reload()
        await expect(head).to_have_value("second")
        for width in (360, 768, 1440):
            await page.set_viewport_size({"width": width, "height": 800})
            assert (await misfits(page), await barriers(page)) == ([], []), width
        # Chosen before the first message, it is the new conversation's from that message on.
        await console.open("chat/new")
        await head.select_option("second")
        await console.say("hello again")
        await console.sees("You said: hello again")
        await expect(head).to_have_value("second")
        asked = [call for call in model.log.all() if "hello again" in str(call.body)]
        assert asked == [], "the first model was asked"
    assert complaints.lines == []
