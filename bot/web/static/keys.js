/** Keys that work on every page: the palette, the sheet of shortcuts, and answers to the card that asks. */

import { composing } from "./dom.js";
// At hand before its key is pressed: a palette still being loaded would leave the next keys to what is below it.
import { openPalette } from "./palette.js";

const TYPED_INTO = "input:not([type=checkbox]), textarea, select, [contenteditable]";
const ANSWERS = { a: "approve", d: "deny", A: "always", e: "edit" };
const OPEN_CARDS = "main article.approval:not(.closed)";
/** A key that was on its way before the card was there is no answer to it. */
const READ_MS = 500;

export class Keys {
  /** @param {Context} context @param {import("./shell.js").Shell} shell */
  constructor(context, shell) {
    this.context = context;
    this.shell = shell;
    this.listen = (/** @type {KeyboardEvent} */ event) => this.#key(event);
    document.addEventListener("keydown", this.listen);
  }

  close() {
    document.removeEventListener("keydown", this.listen);
  }

  palette() {
    openPalette(this.context, this.shell);
  }

  async #sheet() {
    const { openSheet } = await import("./shortcuts.js");
    openSheet();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.defaultPrevented || composing(event) || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey) {
      if (event.key.toLowerCase() !== "k" || event.shiftKey) return;
      event.preventDefault();
      this.palette();
      return;
    }
    if (event.repeat || /** @type {HTMLElement} */ (event.target).matches(TYPED_INTO)) return;
    if (event.key === "?") this.#sheet();
    else if (ANSWERS[event.key]) answer(/** @type {HTMLElement} */ (event.target), ANSWERS[event.key], event);
  }
}

/** Presses the button of the card that has the focus, or of the only one. */
function answer(target, action, event) {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(OPEN_CARDS)]);
  const card = all.find((one) => one.contains(target)) ?? (all.length === 1 ? all[0] : undefined);
  if (!card || performance.now() - Number(card.dataset.asked) < READ_MS) return;
  const pressed = /** @type {HTMLElement | null} */ (card.querySelector(`[data-action="${action}"]`));
  if (!pressed) return;
  event.preventDefault();
  pressed.click();
}
