"""Judges a page as it is drawn: does everything fit, can everybody use it."""

import functools
from collections.abc import Sequence
from importlib import resources
from typing import Any

from playwright.async_api import Page

Screens = Sequence[tuple[int, bool]]
"""Widths, each dark or light."""
HEIGHTS = {360: 740, 768: 1024, 1440: 900}
ALL: Screens = tuple((width, dark) for width in HEIGHTS for dark in (False, True))
SOME: Screens = ((360, False), (768, False), (1440, True))
SERIOUS = frozenset({"serious", "critical"})

MISFITS = """
() => {
  const found = [];
  const room = document.documentElement.clientWidth;
  const name = (one) => `${one.tagName.toLowerCase()}.${one.className?.baseVal ?? one.className}`;
  const hidden = (one) => one.closest('.visually-hidden, .skip:not(:focus), [hidden], svg');
  if (document.documentElement.scrollWidth > room) found.push('the page scrolls sideways');
  for (const one of document.querySelectorAll('body *')) {
    const box = one.getBoundingClientRect();
    if (!box.width || !box.height || hidden(one)) continue;
    const style = getComputedStyle(one);
    const scrolls = one.closest('.scroll-x, pre');
    if ((box.right > room + 1 || box.left < -1) && !scrolls) found.push(`${name(one)} leaves the screen`);
    const wider = one.scrollWidth > one.clientWidth + 1;
    // Shortened with an ellipsis is fine where the whole can be asked for.
    const asked = style.textOverflow === 'ellipsis' && (one.title || one.closest('[title]'));
    if (wider && style.overflowX === 'hidden' && !asked) found.push(`${name(one)} is cut at its right`);
    if (wider && style.overflowX === 'visible' && style.display !== 'inline' && !scrolls)
      found.push(`${name(one)} spills to the right`);
    const taller = one.scrollHeight > one.clientHeight + 2;
    if (taller && style.overflowY === 'hidden') found.push(`${name(one)} is cut at its bottom`);
  }
  return [...new Set(found)];
}
"""

OVERLAPS = """
() => {
  // What is left of a box where nothing around it hides it: not scrolled away, not shortened away.
  const seen = (whole, parent) => {
    let {left, right, top, bottom} = whole;
    for (let one = parent; one && one !== document.body; one = one.parentElement) {
      if (getComputedStyle(one).overflow === 'visible') continue;
      const around = one.getBoundingClientRect();
      left = Math.max(left, around.left), right = Math.min(right, around.right);
      top = Math.max(top, around.top), bottom = Math.min(bottom, around.bottom);
    }
    return {left, right, top, bottom};
  };
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, parent = node.parentElement;
    if (!node.data.trim() || parent.closest('.visually-hidden, .skip, [hidden], script, noscript')) continue;
    if (!parent.checkVisibility()) continue; // what is folded away has a box as well
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const whole of range.getClientRects()) {
      const box = seen(whole, parent);
      if (box.right - box.left > 2 && box.bottom - box.top > 2) texts.push({node, box});
    }
  }
  const begins = ({node}) => node.data.slice(0, 30);
  const found = [];
  for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
    const one = texts[i], other = texts[j];
    if (one.node === other.node) continue;
    const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    // Boxes of lines are a little higher than what is drawn in them.
    if (across > 2 && down > 6) found.push(begins(one) + ' over ' + begins(other));
  }
  return [...new Set(found)].slice(0, 10);
}
"""


@functools.cache
def _axe() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


async def misfits(page: Page) -> list[str]:
    """Return what does not fit: sideways scrolling, cut, spilled or overlapping text. Empty is good."""
    found: list[str] = [*await page.evaluate(MISFITS), *await page.evaluate(OVERLAPS)]
    return found


async def on_screens(page: Page, screens: Screens) -> list[str]:
    """Return misfits and barriers of a page as it stands, at widths that are dark or light. Empty is good."""
    await page.emulate_media(reduced_motion="reduce")  # else colors are still changing
    found: list[str] = []
    for width, dark in screens:
        await page.set_viewport_size({"width": width, "height": HEIGHTS[width]})
        await page.emulate_media(color_scheme="dark" if dark else "light")
        found += [f"{width}: {one}" for one in (*await misfits(page), *await barriers(page))]
    return found


async def barriers(page: Page) -> list[str]:
    """Serious and critical findings of axe-core. Empty is good."""
    if not await page.evaluate("() => 'axe' in window"):
        await page.evaluate(_axe())
    result: dict[str, Any] = await page.evaluate(
        "() => window.axe.run(document, {resultTypes: ['violations']})"
    )
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
        for one in result["violations"]
        if one["impact"] in SERIOUS
    ]
