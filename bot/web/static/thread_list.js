/** The list of conversations beside a conversation: search, states, rows. */

import { announce, button, h, icon, settled } from "./dom.js";
import { clip, inFull, shortTime, titleOf, toDate } from "./format.js";
import { link } from "./router.js";
import { ThreadPages } from "./thread_pages.js";
import { VirtualList } from "./virtual_list.js";

const TYPING_MS = 200;
const HINTS_MS = 250;

export class ThreadList {
  #selected = "";

  /**
   * @param {import("./types.js").Context} context
   * @param {{page: string, label: string, filter: {channel?: string}, empty: () => Node[], tools?: Node[]}} options
   */
  constructor(context, options) {
    this.options = options;
    this.pages = new ThreadPages(options.filter, () => this.#show());
    this.note = h("div", { class: "list-note", role: "status" });
    this.rows = new VirtualList({
      label: options.label,
      row: (/** @type {any} */ thread) => this.#row(thread),
      version: (/** @type {any} */ thread) => this.#version(thread),
      onEnd: () => this.pages.more(),
    });
    this.field = h("input", {
      type: "search",
      "aria-label": `Search ${options.label.toLowerCase()}`,
      placeholder: "Search",
      maxlength: "200",
      autocomplete: "off",
    });
    const search = settled(() => this.#search(), TYPING_MS);
    this.field.addEventListener("input", search);
    this.field.addEventListener("keydown", (event) => this.#searchKey(event));
    const tools = h(
      "div",
      { class: "list-tools" },
      h("label", { class: "search" }, icon("search"), this.field),
      ...(options.tools ?? []),
    );
    this.element = h(
      "section",
      { class: "pane list", "aria-label": options.label },
      tools,
      this.note,
      this.rows.element,
    );
    const renew = settled(() => this.pages.renew(), HINTS_MS);
    this.end = context.hub.on(["thread_changed", "approval_needed", "approval_resolved", "refetch"], renew);
    this.pages.search("");
  }

  close() {
    this.end();
    this.pages.close();
    this.rows.close();
  }

  /** @param {string} id */
  select(id) {
    this.#selected = id;
    this.rows.refresh();
  }

  focus() {
    if (!this.rows.focus()) this.field.focus();
  }

  async #search() {
    await this.pages.search(this.field.value.trim());
    this.rows.element.scrollTop = 0;
    if (this.pages.query && this.pages.state === "ready")
      announce(this.pages.items.length ? "Results shown." : "Nothing found.");
  }

  /** @param {KeyboardEvent} event */
  #searchKey(event) {
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    this.rows.focus();
  }

  #show() {
    const { state, items, query, error } = this.pages;
    this.note.replaceChildren(...this.#words(state, items.length, query, error));
    this.note.hidden = this.note.childElementCount === 0;
    this.rows.element.classList.toggle("stale", state === "loading");
    this.rows.show(items);
  }

  *#words(state, count, query, error) {
    if (state === "failed") {
      yield h("p", {}, error);
      yield button("Try again", () => this.pages.search(query));
    } else if (state === "loading" && !count) {
      yield h("p", { class: "muted" }, "Loading…");
    } else if (state === "ready" && !count && query) {
      yield h("p", {}, `Nothing found for “${clip(query, 60)}”.`);
    } else if (state === "ready" && !count) yield* this.options.empty();
  }

  /** @param {import("./types.js").Thread} thread */
  #version(thread) {
    const day = new Date().toDateString();
    return JSON.stringify([
      thread.updated_at,
      thread.title,
      thread.preview,
      thread.turn?.state,
      thread.waiting,
      thread.id === this.#selected,
      day,
    ]);
  }

  /** @param {import("./types.js").Thread} thread */
  #row(thread) {
    const title = titleOf(thread);
    const time = h(
      "time",
      { datetime: toDate(thread.updated_at).toISOString(), title: inFull(thread.updated_at) },
      shortTime(thread.updated_at),
    );
    const who = this.options.filter.channel ? null : h("span", { class: "via" }, thread.channel);
    const name = this.options.filter.channel ? "" : `${thread.group ? "Group" : thread.user.name} · `;
    const current = thread.id === this.#selected ? "page" : null;
    return h(
      "a",
      { href: link(this.options.page, thread.id), "aria-current": current },
      h("span", { class: "row-line" }, h("span", { class: "row-title", title }, title), time),
      h(
        "span",
        { class: "row-line" },
        who,
        h("span", { class: "row-preview", title: name + thread.preview }, name + clip(thread.preview, 160)),
        badge(thread),
      ),
    );
  }
}

/** @param {import("./types.js").Thread} thread */
export function badge(thread) {
  if (thread.waiting) return h("span", { class: "badge attention" }, "decide");
  if (thread.turn?.state === "running") return h("span", { class: "badge busy" }, "working");
  if (thread.turn?.state === "stopping") return h("span", { class: "badge busy" }, "stopping");
  return null;
}
