/** How it went, said for a moment where people look. The region that shows it is also what screen readers hear. */

import { button, h, iconButton } from "./dom.js";

const SHOWN_MS = 6_000;
/** What went wrong, and what asks for an answer, stays longer. */
const LONGER_MS = 20_000;
const MAX_SHOWN = 4;
const MAX_CHARS = 300;

/** Where toasts appear, and where `announce` speaks. */
export function toastRegion() {
  return h("div", { id: "announcer", class: "toasts", "aria-live": "polite", role: "log" });
}

/**
 * @param {string} text
 * @param {{bad?: boolean, action?: {label: string, work: () => void}}} [options] `action`: a button beside it
 */
export function toast(text, { bad = false, action } = {}) {
  const region = document.getElementById("announcer");
  if (!region || !text) return;
  const close = iconButton("close", "Dismiss", () => one.remove(), { class: "icon-button small" });
  const act = action
    ? button(action.label, () => [one.remove(), action.work()], { class: "button small" })
    : null;
  const one = h("div", { class: bad ? "toast bad" : "toast", data: { at: performance.now() } }, h("p", {}, text.slice(0, MAX_CHARS)), act, close);
  region.append(one);
  const shown = region.querySelectorAll(".toast");
  for (const old of [...shown].slice(0, -MAX_SHOWN)) old.remove();
  later(one, bad || action ? LONGER_MS : SHOWN_MS);
}

/** A toast so young belongs to what led to the page. */
const FRESH_MS = 1_000;

/** Ends what was said on the page that somebody leaves, also to screen readers. */
export function endToasts() {
  for (const one of document.querySelectorAll("#announcer > [data-at]"))
    if (performance.now() - Number(/** @type {HTMLElement} */ (one).dataset.at) > FRESH_MS) one.remove();
}

/** Nothing is taken away from under a pointer or the focus. @param {HTMLElement} one @param {number} delayMs */
function later(one, delayMs) {
  setTimeout(() => (one.matches(":hover, :focus-within") ? later(one, SHOWN_MS) : one.remove()), delayMs);
}

/** Says what went wrong with something that was tried. @param {Error} error */
export const complain = (error) => toast(error.message, { bad: true });
