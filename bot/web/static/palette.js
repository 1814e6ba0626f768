/** The command palette: pages, actions, conversations and what was said, by a few typed letters. */

import * as api from "./api.js";
import { composing, h, settled } from "./dom.js";
import { around, clip, titleOf, wordsOf } from "./format.js";
import { link } from "./router.js";
import { WORDS } from "./shell.js";
import { complain } from "./toasts.js";

const TYPING_MS = 150;
const MAX_FOUND = 8;

/** `words`: others by which people look for it. @typedef {{label: string, about: string, words?: string, work: () => void}} Entry */

/** What people call the actions, by the first word of their names. @type {Object<string, string>} */
const ACTIONS = {
  Pause: "stop halt everything emergency kill switch",
  Unpause: "start go on resume",
  Theme: "dark light colors appearance",
  Log: "sign out leave quit exit",
};

/** @param {Context} context @param {import("./shell.js").Shell} shell */
export function openPalette(context, shell) {
  new Palette(context, shell);
}

class Palette {
  /** @type {Entry[]} */ #entries = [];
  #at = 0;
  #asked = new AbortController();

  /** @param {Context} context @param {import("./shell.js").Shell} shell */
  constructor(context, shell) {
    this.context = context;
    /** @type {Promise<any[]>} */
    this.people = context.me.role === "owner" ? api.users() : Promise.resolve([]);
    this.people.catch(complain);
    this.fixed = fixedEntries(context, shell);
    this.list = h("ul", { id: "palette-list", role: "listbox", "aria-label": "Results", class: "palette-list" });
    this.field = h("input", {
      type: "text",
      role: "combobox",
      "aria-label": "Go to, do, or find",
      "aria-controls": "palette-list",
      "aria-expanded": "true",
      "aria-autocomplete": "list",
      placeholder: "Go to, do, or find…",
      autocomplete: "off",
      maxlength: "200",
    });
    this.element = h("dialog", { class: "palette", "aria-label": "Command palette" }, this.field, this.list);
    const find = settled(() => this.#find(), TYPING_MS);
    // What was found for other words is let go at once: it would come in below these.
    this.field.addEventListener("input", () => [this.#asked.abort(), this.#show(this.#named()), find()]);
    this.field.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("click", (event) => event.target === this.element && this.element.close());
    this.element.addEventListener("close", () => [find.cancel(), this.#asked.abort(), this.element.remove()]);
    document.body.append(this.element);
    this.#show(this.fixed);
    this.element.showModal();
    this.field.focus();
  }

  get #words() {
    return this.field.value.trim();
  }

  #named() {
    const words = wordsOf(this.#words);
    const named = (/** @type {Entry} */ { label }) => words.every((word) => label.toLowerCase().includes(word));
    const meant = (/** @type {Entry} */ { label, words: others = "" }) =>
      words.every((word) => label.toLowerCase().includes(word) || others.split(" ").some((other) => other.startsWith(word)));
    return [...this.fixed.filter(named), ...this.fixed.filter((one) => !named(one) && meant(one))];
  }

  async #find() {
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    const query = this.#words;
    if (!query) return;
    try {
      const [page, hits, users] = await Promise.all([
        api.threads({ query, limit: MAX_FOUND, signal }),
        api.search({ query, limit: MAX_FOUND, signal }),
        this.people.catch(() => []),
      ]);
      if (signal.aborted) return;
      const titles = page.threads.map((thread) => this.#leads(titleOf(thread), thread.channel, link("chat", thread.id)));
      const said = hits.found.map((hit) => this.#leads(around(hit.excerpt, hits.words, 16, 90), hit.title, hitLink(hit)));
      const found = users.filter(({ name }) => name.toLowerCase().includes(query.toLowerCase())).slice(0, MAX_FOUND);
      const people = found.map(({ id, name }) => this.#leads(name, "person", link("channels", "", { person: id })));
      this.#add([...people, ...titles, ...said]);
      if (!this.#entries.length) this.list.replaceChildren(h("li", { class: "muted" }, "Nothing found."));
    } catch (error) {
      if (!signal.aborted) complain(error);
    }
  }

  /** @param {string} label @param {string} about @param {string} hash @returns {Entry} */
  #leads(label, about, hash) {
    return { label, about, work: () => this.context.navigate(hash) };
  }

  /** @param {Entry[]} entries */
  #show(entries) {
    this.#entries = [];
    this.#at = 0;
    this.list.replaceChildren(h("li", { class: "muted" }, "Searching…"));
    this.#add(entries);
  }

  /** Below what is shown, which stays as it is, under the pointer too. @param {Entry[]} more */
  #add(more) {
    const before = this.#entries.length;
    const options = more.map((one, index) => this.#option(one, before + index));
    this.#entries = [...this.#entries, ...more];
    if (before) this.list.append(...options);
    else if (options.length) this.list.replaceChildren(...options);
    this.#mark();
  }

  /** @param {Entry} entry @param {number} index */
  #option(entry, index) {
    const take = () => this.#take(index);
    return h(
      "li",
      { id: `palette-${index}`, role: "option", on: { click: take } },
      h("span", { class: "row-title" }, entry.label),
      h("span", { class: "muted" }, clip(entry.about, 40)),
    );
  }

  #mark() {
    [...this.list.children].forEach((one, index) => {
      one.setAttribute("aria-selected", String(index === this.#at));
      if (index === this.#at) one.scrollIntoView({ block: "nearest" });
    });
    if (this.#entries.length) this.field.setAttribute("aria-activedescendant", `palette-${this.#at}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.#entries.length) {
      event.preventDefault();
      this.#at = (this.#at + step + this.#entries.length) % this.#entries.length;
      this.#mark();
    } else if (event.key === "Enter" && !composing(event)) {
      event.preventDefault();
      this.#take(this.#at);
    }
  }

  /** @param {number} index */
  #take(index) {
    const entry = this.#entries[index];
    if (!entry) return;
    this.element.close();
    entry.work();
  }
}

/** Where a message that was found stands in its conversation. @param {{thread_id: string, seq: number}} hit */
export const hitLink = (hit) => link("chat", hit.thread_id, { at: String(hit.seq) });

/** @param {Context} context @param {import("./shell.js").Shell} shell @returns {Entry[]} */
function fixedEntries(context, shell) {
  const goes = (/** @type {string} */ hash) => () => context.navigate(hash);
  const pages = [...shell.links].map(([page, one]) => ({
    label: one.querySelector(".nav-label")?.textContent ?? page,
    about: "page",
    words: WORDS.get(page),
    work: goes(link(page)),
  }));
  const does = [...shell.element.querySelectorAll(".nav-foot button")].filter((one) => !one.hidden);
  return [
    { label: "New conversation", about: "start", work: goes(link("chat", "new")) },
    ...(shell.links.has("routines")
      ? [{ label: "New routine", about: "start", work: goes(link("routines", "new")) }]
      : []),
    ...pages,
    ...does.map((one) => {
      const label = one.getAttribute("aria-label") ?? one.textContent ?? "";
      return { label, about: "action", words: ACTIONS[label.split(/[ :]/, 1)[0]], work: () => one.click() };
    }),
  ];
}
