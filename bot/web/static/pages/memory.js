/** Memory: what the hub remembers for the person who looks, and forgetting it. */

import * as api from "../api.js";
import { button, h, settled } from "../dom.js";
import { failure, loading, note, timeView } from "../parts.js";
import { complain, toast } from "../toasts.js";

/** @typedef {{id: string, text: string, chars: number, created_at: number, path: string | null}} Note */

const TYPING_MS = 200;
const PAGE = 100;
const MOST = 1000;

/** @param {Context} _ @returns {Page} */
export function memoryPage(_) {
  return new MemoryPage();
}

class MemoryPage {
  #asked = new AbortController();
  #limit = PAGE;

  constructor() {
    this.query = h("input", { type: "search", "aria-label": "Search what is remembered", placeholder: "Search", maxlength: "200" });
    this.query.addEventListener("input", settled(() => [(this.#limit = PAGE), this.#load()], TYPING_MS));
    this.list = h("ul", { class: "cards", "aria-label": "Remembered" });
    this.note = note(loading());
    this.more = button("Show more", () => [(this.#limit = Math.min(MOST, this.#limit * 2)), this.#load()], { hidden: true });
    const about = "What the assistant saved for you with its memory tools. Other people never see it.";
    this.element = h(
      "div",
      { class: "page" },
      h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Memory")),
      h("p", { class: "muted" }, about),
      h("div", { class: "why-row", role: "search" }, this.query),
      this.note,
      this.list,
      this.more,
    );
  }

  show() {
    this.#load();
  }

  close() {
    this.#asked.abort();
  }

  async #load() {
    this.#asked.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    const query = this.query.value.trim();
    try {
      const page = await api.memory({ query, limit: this.#limit, signal });
      if (signal.aborted) return;
      this.list.replaceChildren(...page.notes.map((one) => this.#row(one)));
      this.more.hidden = !page.more || this.#limit === MOST;
      const empty = query ? "Nothing remembered matches." : "Nothing is remembered yet. Ask the assistant to remember something.";
      this.note.replaceChildren(h("p", {}, empty));
      this.note.hidden = page.notes.length > 0;
    } catch (error) {
      if (signal.aborted) return;
      this.note.replaceChildren(...failure(error, () => this.#load()));
      this.note.hidden = false;
    }
  }

  /** @param {Note} one */
  #row(one) {
    const text = h("p", { class: "remembered" }, one.text);
    const name = one.path ?? one.text.split("\n")[0].slice(0, 60);
    const whole = one.chars > one.text.length && button("Show all of it", () => this.#whole(one, text, whole), { class: "button small" });
    const forget = button("Forget", () => this.#forget(one, forget), { class: "button quiet small", "aria-label": `Forget ${name}` });
    return h(
      "li",
      { class: "card" },
      one.path && h("header", {}, h("h3", {}, one.path)),
      text,
      h("p", { class: "meta" }, timeView(one.created_at)),
      h("div", { class: "card-actions" }, whole, forget),
    );
  }

  /** @param {Note} one @param {HTMLElement} text @param {HTMLElement} more */
  async #whole(one, text, more) {
    try {
      text.textContent = (await api.memory({ id: one.id })).notes[0].text;
      more.remove();
    } catch (error) {
      complain(error);
    }
  }

  /** It is forgotten at once; for a while, it can be brought back. @param {Note} one @param {HTMLButtonElement} pressed */
  async #forget(one, pressed) {
    pressed.disabled = true;
    try {
      const { undo } = await api.forgetMemory(one.id);
      toast("Forgotten.", { action: { label: "Undo", work: () => this.#restore(undo) } });
      await this.#load();
      this.query.focus();
    } catch (error) {
      pressed.disabled = false;
      complain(error);
    }
  }

  /** @param {string} undo */
  async #restore(undo) {
    try {
      await api.restoreMemory(undo);
      toast("Remembered again.");
      await this.#load();
    } catch (error) {
      complain(error);
    }
  }
}
