"""Where a picture is made: a hub of one state of the product, a browser, and a terminal."""

import base64
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Locator, Page

from tests.bot.cli.multiplexer import Pane, terminal
from tests.browser.console import Console
from tests.harness.process import HubProcess, hubbub

SCALE = 1.5
COLUMNS, ROWS = 76, 40
WIDTH, HEIGHT = 480, 640
"""Of the browser's window: two pictures beside each other stay readable."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One state of the product, and a directory for its hub. `tree`: where its packages are."""

    tree: Path
    directory: Path
    browser: Browser
    today: bool

    @property
    def env(self) -> dict[str, str]:
        """The variables with which this state is what runs."""
        return {"PYTHONPATH": str(self.tree), "HUBBUB__HTTP__PORT": "0"}

    def now(self, before: str, after: str) -> str:
        """The word that this state uses."""
        return after if self.today else before

    def configure(self, text: str) -> None:
        """Write the configuration."""
        path = self.directory / "hubbub.toml"
        path.write_text(text)
        path.chmod(0o600)

    @contextlib.asynccontextmanager
    async def hub(self) -> AsyncIterator[HubProcess]:
        """A running hub."""
        async with HubProcess(self.directory, env=self.env, fresh=True) as running:
            yield running

    @contextlib.asynccontextmanager
    async def page(self, width: int = WIDTH, height: int = HEIGHT) -> AsyncIterator[Page]:
        """A page of the browser, as wide as a picture may be."""
        context = await self.browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=SCALE if width <= WIDTH else 1,
            reduced_motion="reduce",
            service_workers="block",
        )
        try:
            yield await context.new_page()
        finally:
            await context.close()

    @contextlib.asynccontextmanager
    async def console(
        self, width: int = WIDTH, height: int = HEIGHT
    ) -> AsyncIterator[tuple[HubProcess, Console]]:
        """A hub, and its console in a page."""
        async with self.hub() as hub, self.page(width, height) as page:
            console = Console(page, hub.url)
            await console.log_in(await hub.link())
            yield hub, console

    @contextlib.asynccontextmanager
    async def chat(self) -> AsyncIterator[Pane]:
        """`hubbub chat` at a terminal."""
        async with terminal(self.directory, COLUMNS, ROWS) as pane:
            await pane.start("chat", env=self.env)
            await pane.shows("^hubbub · demo")
            yield pane

    async def command(self, *words: str) -> str:
        """A command as it is typed, and what it prints."""
        ended = await hubbub(self.directory, *words, env=self.env, fresh=True)
        said = (ended.out + ended.err).replace(f"{self.directory.resolve()}/", "")
        return f"\x1b[2m$\x1b[0m hubbub {' '.join(words)}\n{said}"


async def shot(page: Page, *, top: float = 0, height: float | None = None) -> bytes:
    """A picture of a page, or of a part of its height (in pixels of the page)."""
    size = page.viewport_size
    assert size is not None
    clip = {"x": 0, "y": top, "width": size["width"], "height": height or size["height"] - top}
    return await page.screenshot(animations="disabled", caret="hide", clip=clip)  # type: ignore[arg-type]


async def around(*shown: Locator, margin: float = 16) -> bytes:
    """A picture, as wide as its page, of the part in which these are."""
    page = shown[0].page
    size = page.viewport_size
    assert size is not None
    boxes = [box for one in shown if (box := await one.bounding_box())]
    top = max(0, min(box["y"] for box in boxes) - margin)
    end = min(size["height"], max(box["y"] + box["height"] for box in boxes) + margin)
    return await shot(page, top=top, height=end - top)


async def stacked(stage: Stage, *pictures: bytes) -> bytes:
    """One picture of several, one below the other."""
    images = "".join(
        f'<img style="width:100%;display:block;margin-bottom:16px" src="data:image/png;base64,{code}">'
        for code in (base64.b64encode(picture).decode() for picture in pictures)
    )
    async with stage.page() as page:
        await page.set_content(f'<body style="margin:8px"><div>{images}</div></body>')
        return await page.locator("div").screenshot()
