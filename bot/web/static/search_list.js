/** A list to search in, page by page, beside what is open of it: its states and rows. */

import { announce, h, icon, settled } from "./dom.js";
import { clip } from "./format.js";
import { failure, loading } from "./parts.js";
import { VirtualList } from "./virtual_list.js";

const TYPING_MS = 200;
const HINTS_MS = 250;

export class SearchList {
  selected = "";

  /**
   * @param {Context} context
   * @param {{label: string, pages: import("./list_pages.js").ListPages, row: (item: any, current: boolean) => HTMLElement,
   *   version: (item: any) => any, hints: string[], empty: () => Node[], tools?: Node[], filters?: HTMLElement}} options
   *   `version`: what a row shows; it is made again when that differs; `hints`: events
   *   after which the pages are read again
   */
  constructor(context, options) {
    this.options = options;
    this.pages = options.pages;
    this.pages.onChange = () => this.#show();
    this.note = h("div", { class: "list-note", role: "status" });
    this.rows = new VirtualList({
      label: options.label,
      row: (/** @type {any} */ item) => options.row(item, item.id === this.selected),
      version: (/** @type {any} */ item) =>
        JSON.stringify([options.version(item), item.id === this.selected, new Date().toDateString()]),
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
      ...(options.filters ? [options.filters] : []),
      this.note,
      this.rows.element,
    );
    const renew = settled(() => this.pages.renew(), HINTS_MS);
    this.end = context.hub.on([...options.hints, "refetch"], renew);
    this.pages.search("");
  }

  close() {
    this.end();
    this.pages.close();
    this.rows.close();
  }

  /** @param {string} id */
  select(id) {
    this.selected = id;
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
    this.rows.focusFirst();
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
      yield* failure(error, () => this.pages.search(query));
    } else if (state === "loading" && !count) {
      yield loading();
    } else if (state === "ready" && !count && query) {
      yield h("p", {}, `Nothing found for “${clip(query, 60)}”.`);
    } else if (state === "ready" && !count) yield* this.options.empty();
  }
}
