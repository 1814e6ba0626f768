"""The browser, and what a page said that nobody on the screen sees."""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    async_playwright,
    expect,
)

from tests.patience import PATIENCE_S

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LIMIT_MS = PATIENCE_S * 1000
"""How long anything may take to be seen."""


def executable() -> Path:
    """The machine's own browser; the group `chromium` has made sure that there is one."""
    found = next(path for name in NAMES if (path := shutil.which(name, path=os.defpath)))
    return Path(found)


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A running browser without windows."""
    expect.set_options(timeout=LIMIT_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            await browser.close()


SAID = """
window.said = [];
new MutationObserver((changes) => {
  for (const {target, addedNodes} of changes)
    if (target.closest?.('[role=log], [role=status]'))
      for (const one of addedNodes) window.said.push(one.textContent);
}).observe(document, {subtree: true, childList: true});
"""
"""Keeps what a page says for a moment only."""
NO_WORKER = "Service Worker registration blocked by Playwright"


@dataclass  # without slots: the browser's library notes its handlers on their objects
class Complaints:
    """Errors and warnings of pages: what a developer would see, and nobody else."""

    lines: list[str] = field(default_factory=list[str])

    def watch(self, context: BrowserContext) -> None:
        """Listen to all pages of a browser context."""
        context.on("console", self._said)
        context.on("weberror", lambda error: self.lines.append(f"uncaught: {error.error}"))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and NO_WORKER not in message.text:
            self.lines.append(f"{message.type}: {message.text}")

    def but(self, *expected: str) -> list[str]:
        """All that hold none of these words."""
        return [line for line in self.lines if not any(words in line for words in expected)]


@contextlib.asynccontextmanager
async def tab(
    browser: Browser,
    complaints: Complaints | None = None,
    *,
    width: int = 1440,
    height: int = 900,
    dark: bool = False,
    worker: bool = False,
) -> AsyncIterator[Page]:
    """A page of its own: cookies, storage and size are shared with nobody. `worker`: with its service worker,
    whose requests no test can hold up."""
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        service_workers="allow" if worker else "block",
    )
    context.set_default_timeout(LIMIT_MS)
    await context.add_init_script(SAID)
    if complaints is not None:
        complaints.watch(context)
    try:
        yield await context.new_page()
    finally:
        with contextlib.suppress(Error):  # a page may be waiting for a hub that is gone
            await context.close()
