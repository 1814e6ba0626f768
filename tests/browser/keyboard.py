"""Going through a page by keyboard alone."""

from playwright.async_api import Page

FOCUS = """
() => {
  const one = document.activeElement;
  const style = getComputedStyle(one), around = getComputedStyle(one.closest('.composer-row') ?? one);
  const name = one.getAttribute('aria-label') || one.labels?.[0]?.textContent || one.textContent;
  return {
    name: (name || '').trim().slice(0, 80),
    tag: one.tagName,
    seen: [style, around].some((s) => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0),
  };
}
"""
MAX_TABS = 60
SCRIPTED = ("BODY", "H1")
"""What nobody gets to by Tab: a new page moves the focus to its heading."""


async def tab_to(page: Page, name: str, *, back: bool = False) -> None:
    """Press Tab until what has the focus bears this name; on the way, the focus is always seen."""
    passed: list[str] = []
    for _ in range(MAX_TABS):
        await page.keyboard.press("Shift+Tab" if back else "Tab")
        focus = await page.evaluate(FOCUS)
        passed.append(focus["name"])
        if focus["tag"] not in SCRIPTED:
            assert focus["seen"], f"nobody sees where the focus is: {focus}"
        if focus["name"].startswith(name):
            return
    raise AssertionError(f"{name} is not reached by Tab, but {passed}")
