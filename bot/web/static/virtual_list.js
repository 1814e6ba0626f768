/** A list of rows of one height of which only those in sight exist. Arrow keys walk through all of them. */

import { h } from "./dom.js";

const MARGIN_ROWS = 8;
/** How many rows before the last loaded one more are asked for. */
const AHEAD_ROWS = 40;

/**
 * @template {{id: string}} T
 */
export class VirtualList {
  /** @type {T[]} */ #items = [];
  /** @type {Map<string, {node: HTMLElement, item: T, key: string}>} */ #rows = new Map();
  #active = "";
  #height = 0;
  #frame = 0;

  /**
   * @param {{label: string, row: (item: T) => HTMLElement, version: (item: T) => string, onEnd: () => void}} options
   *   `row` makes the link of a row; it is made again when `version` differs
   */
  constructor(options) {
    this.options = options;
    this.list = h("ul", { class: "rows", "aria-label": options.label });
    this.element = h("div", { class: "virtual" }, this.list);
    this.element.addEventListener("scroll", () => this.#later(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.#key(event));
    this.list.addEventListener("focusin", (event) => this.#focused(event));
    this.resized = new ResizeObserver(() => this.#measure());
    this.resized.observe(this.element);
  }

  close() {
    this.resized.disconnect();
    cancelAnimationFrame(this.#frame);
  }

  /** @param {T[]} items */
  show(items) {
    this.#items = items;
    if (!items.some((item) => item.id === this.#active)) this.#active = items[0]?.id ?? "";
    this.#measure();
  }

  /** Rows differ although their items do not, as when another one is chosen. */
  refresh() {
    this.#render();
  }

  /** @returns {boolean} whether there was a row to go to */
  focus() {
    const index = this.#items.findIndex((item) => item.id === this.#active);
    if (index < 0) return false;
    this.#go(index);
    return true;
  }

  /** From the top, as after a search. */
  focusFirst() {
    if (this.#items.length) this.#go(0);
  }

  #measure() {
    // Rows are as high as the design says, in units of the reader's own text size.
    const probe = getComputedStyle(this.list).getPropertyValue("--row-height");
    this.#height = parseFloat(probe) * parseFloat(getComputedStyle(document.documentElement).fontSize) || 64;
    this.#render();
  }

  #later() {
    cancelAnimationFrame(this.#frame);
    this.#frame = requestAnimationFrame(() => this.#render());
  }

  #render() {
    const { scrollTop, clientHeight } = this.element;
    const count = this.#items.length;
    this.list.style.height = `${count * this.#height}px`;
    const first = Math.max(0, Math.floor(scrollTop / this.#height) - MARGIN_ROWS);
    const last = Math.min(count, Math.ceil((scrollTop + clientHeight) / this.#height) + MARGIN_ROWS);
    const wanted = new Map();
    for (let index = first; index < last; index++) wanted.set(this.#items[index].id, index);
    this.#keepActive(wanted);
    this.#drop(wanted);
    this.#place(wanted);
    if (last > count - AHEAD_ROWS) this.options.onEnd();
  }

  /** The row in the tab order exists wherever it is. @param {Map<string, number>} wanted */
  #keepActive(wanted) {
    if (!this.#active || wanted.has(this.#active)) return;
    const index = this.#items.findIndex((item) => item.id === this.#active);
    if (index >= 0) wanted.set(this.#active, index);
  }

  /** @param {Map<string, number>} wanted */
  #drop(wanted) {
    for (const [id, row] of this.#rows) {
      if (wanted.has(id)) continue;
      row.node.remove();
      this.#rows.delete(id);
    }
  }

  /** @param {Map<string, number>} wanted */
  #place(wanted) {
    const inOrder = [...wanted].sort((one, other) => one[1] - other[1]);
    /** @type {Element | null} */ let previous = null;
    for (const [id, index] of inOrder) {
      const node = this.#row(id, index);
      this.#insert(node, previous);
      previous = node;
    }
  }

  /** @param {HTMLElement} node @param {Element | null} previous */
  #insert(node, previous) {
    const place = previous ? previous.nextElementSibling : this.list.firstElementChild;
    if (place === node) return;
    const focused = node.contains(document.activeElement)
      ? /** @type {HTMLElement} */ (document.activeElement)
      : null;
    this.list.insertBefore(node, place);
    focused?.focus({ preventScroll: true });
  }

  /** @param {string} id @param {number} index */
  #row(id, index) {
    const item = this.#items[index];
    const version = this.options.version(item);
    let row = this.#rows.get(id);
    if (!row) {
      row = { node: h("li", { class: "row" }), item, key: "" };
      this.#rows.set(id, row);
    }
    if (row.key !== version) this.#fill(row, item, version);
    row.node.style.transform = `translateY(${index * this.#height}px)`;
    row.node.setAttribute("aria-setsize", String(this.#items.length));
    row.node.setAttribute("aria-posinset", String(index + 1));
    /** @type {HTMLElement} */ (row.node.firstElementChild).tabIndex = id === this.#active ? 0 : -1;
    return row.node;
  }

  #fill(row, item, version) {
    const focused = row.node.contains(document.activeElement);
    const link = this.options.row(item);
    link.dataset.id = item.id;
    row.node.replaceChildren(link);
    row.item = item;
    row.key = version;
    if (focused) link.focus({ preventScroll: true });
  }

  /** @param {FocusEvent} event */
  #focused(event) {
    const id = /** @type {HTMLElement} */ (event.target).dataset.id;
    if (!id || id === this.#active) return;
    this.#active = id;
    this.#render();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const at = this.#items.findIndex((item) => item.id === this.#active);
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#height) - 1);
    const last = this.#items.length - 1;
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#go(Math.min(last, Math.max(0, to)));
  }

  /** @param {number} index */
  #go(index) {
    const top = index * this.#height;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.#height > scrollTop + clientHeight)
      this.element.scrollTop = top + this.#height - clientHeight;
    this.#active = this.#items[index].id;
    this.#render();
    const link = /** @type {HTMLElement | null | undefined} */ (
      this.#rows.get(this.#active)?.node.firstElementChild
    );
    link?.focus({ preventScroll: true });
  }
}
