"""Makes the pictures of the README from the running product: `python -m tests.pictures`.

Chromium shows the console (docs/img/approve.png) and one conversation on every platform
(docs/img/everywhere.png), tmux the terminal (docs/img/terminal.svg).
"""

import asyncio
import re
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

from playwright.async_api import expect
from rich.cells import cell_len
from rich.console import Console as Rich
from rich.segment import Segment
from rich.text import Text

from tests.bot.cli.multiplexer import READY, terminal
from tests.browser.chromium import chromium
from tests.browser.console import Console
from tests.everywhere.conversation import Held
from tests.everywhere.hub import PLATFORMS, HubEverywhere, open_hub_everywhere
from tests.everywhere.test_page import PAGE, console_picture, drawable
from tests.everywhere.test_page import WIDTH as WIDTH_EVERYWHERE
from tests.harness.process import HubProcess
from tests.simulators.model import ToolCall, text, tools
from tests.tree import ROOT

PLACE = ROOT / "docs" / "img"
WIDTH, HEIGHT = 1200, 680
COLUMNS, ROWS = 84, 30
ANY_PORT = {"HUBBUB__HTTP__PORT": "0"}
WAITING = "^waiting for your answer:"
SECONDS_PER_FRAME = 3
CELL_WIDTH, LINE_HEIGHT, MARGIN = 8.4, 19, 16
INK, PAPER = "#d8dee9", "#1b1f27"
COLORS = {2: "#a3be8c", 3: "#ebcb8b", 6: "#88c0d0", 8: "#7b8494"}
"""By the number of a terminal's color."""


async def picture_console(directory: Path) -> bytes:
    """An approval request in the console, in the dark theme."""
    async with HubProcess(directory, env=ANY_PORT) as hub, chromium() as browser:
        page = await browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="dark", device_scale_factor=2
        )
        console = Console(page, hub.url)
        await console.log_in(await hub.link())
        await console.say_in_a_new_thread("write plan.md: - call Ada about the roof\n- book the train")
        await expect(console.card()).to_contain_text("plan.md")
        await expect(page.get_by_text("No conversations yet.")).to_have_count(0)
        await console.card().scroll_into_view_if_needed()
        return await page.screenshot(animations="disabled", caret="hide")


LEFT = """Two things are left:

1. the changelog, see [the draft](https://wiki.example.com/changelog)
2. a deployment to **staging**

All 412 tests passed; `make image` took 42 s."""
DEPLOYED = "Staging runs version 2.4 now."


async def picture_everywhere(directory: Path) -> bytes:
    """The same conversation on Telegram, Slack, Discord and in the console."""
    async with open_hub_everywhere(directory) as town, chromium() as browser:
        (directory / "workspace" / "deploy.sh").write_text("echo version 2.4 is on $1\n")
        town.model.rule("What is left", text(LEFT))
        town.model.rule("Deploy it", tools(ToolCall("shell", {"command": "sh deploy.sh staging"})))
        town.model.rule("", text(DEPLOYED), on="tool")
        held = {name: await _converse(town, name) for name in town.people}
        places: dict[str, object] = {name: drawable(held[name]) for name in PLATFORMS}
        places["web"] = {"picture": await console_picture(browser, town, DEPLOYED)}
        page = await browser.new_page(viewport={"width": WIDTH_EVERYWHERE, "height": 400})
        await page.goto(PAGE.as_uri())
        await page.evaluate("(places) => draw(places)", places)
        return await page.screenshot(full_page=True)


async def _converse(town: HubEverywhere, name: str) -> Held:
    person = town.people[name]
    await person.says("What is left before the release?")
    await person.sees("took 42 s")
    await person.says("Deploy it.")
    card = await person.sees("sh deploy.sh")
    await person.presses("Approve")
    await person.sees(DEPLOYED)
    return Held(card, await person.transcript())


async def picture_terminal(directory: Path) -> str:
    """A conversation in the terminal: a message, the request, the result."""
    async with terminal(directory, columns=COLUMNS, rows=ROWS) as screen:
        await screen.opens_chat()
        await screen.type("run: date")
        await screen.shows("^› run: date")
        frames = [await screen.screen(colours=True)]
        await screen.press("Enter")
        await screen.shows(WAITING)
        frames.append(await screen.screen(colours=True))
        await screen.type("a")
        await screen.shows("^exit code: 0")
        await screen.shows(READY)
        frames.append(await screen.screen(colours=True))
    return animated(frames)


def animated(frames: Sequence[str]) -> str:
    """Return one SVG that shows the screens in turn, without a script or a font from elsewhere."""
    width, height = round(COLUMNS * CELL_WIDTH + 2 * MARGIN), ROWS * LINE_HEIGHT + 2 * MARGIN
    length_s, share = SECONDS_PER_FRAME * len(frames), 100 / len(frames)
    shown = [
        f'<g class="frame" style="animation-delay:{SECONDS_PER_FRAME * place}s">{drawn(frame)}</g>'
        for place, frame in enumerate(frames)
    ]
    box = f'viewBox="0 0 {width} {height}" width="{width}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">',
            "<title>hubbub chat: a command is requested, approved with a key, and its output shown</title>",
            "<style>",
            f"text{{font:14px ui-monospace,Menlo,Consolas,monospace;fill:{INK};white-space:pre}}",
            f".frame{{opacity:0;animation:turn {length_s}s step-end infinite}}",
            f"@keyframes turn{{0%{{opacity:1}}{share:.2f}%{{opacity:0}}}}",
            "@media(prefers-reduced-motion:reduce){.frame{animation:none}.frame:last-child{opacity:1}}",
            "</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="{PAPER}"/>',
            *shown,
            "</svg>",
            "",
        )
    )


def drawn(screen: str, columns: int = COLUMNS, rows: int = ROWS) -> str:
    """Return the lines of one screen, as tmux captured it with its colors."""
    rich = Rich(width=columns, color_system="standard", force_terminal=True)
    lines = Text.from_ansi(screen.rstrip("\n")).split("\n")[-rows:]
    shown = (_line(list(line.render(rich)), place) for place, line in enumerate(lines, start=1))
    return "\n".join(line for line in shown if line)


def _line(segments: Sequence[Segment], place: int) -> str:
    column, parts = 0, list[str]()
    for segment in segments:
        text = segment.text.rstrip("\n")
        style = segment.style
        number = style.color.number if style and style.color else None
        look = f' fill="{COLORS[number]}"' if number in COLORS else ""
        look += ' font-weight="bold"' if style and style.bold else ""
        look += ' opacity=".6"' if style and style.dim else ""
        if text.strip():
            x = MARGIN + column * CELL_WIDTH
            length = f' textLength="{cell_len(text) * CELL_WIDTH:.1f}"'
            parts.append(f'<tspan x="{x:.1f}"{length}{look}>{escape(text)}</tspan>')
        column += cell_len(text)
    return f'<text y="{MARGIN + place * LINE_HEIGHT - 5}">{"".join(parts)}</text>' if parts else ""


async def main() -> None:
    """Write the pictures."""
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        (PLACE / "approve.png").write_bytes(await picture_console(Path(place)))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        (PLACE / "everywhere.png").write_bytes(await picture_everywhere(Path(place)))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        shown = await picture_terminal(Path(place))
    (PLACE / "terminal.svg").write_text(
        re.sub(r"(?<=/approve )\S{10}|(?<=/deny )\S{10}", "k3f9a7mzq2", shown)
    )


if __name__ == "__main__":
    asyncio.run(main())
