/** A list with one of its rows open beside it; one at a time where there is no room for both. */

import { h } from "./dom.js";
import { link } from "./router.js";

export class SplitPage {
  /** @type {{element: HTMLElement, close: () => void, focus: () => void, ready?: Promise<void>,
   *   look?: (at: number) => boolean} | null} */ #open =
    null;
  #detail = "";

  /**
   * @param {Context} context
   * @param {{page: string, heading: string, list: any,
   *   open: (detail: string, route: import("./router.js").Route) => any}} options
   *   `open` makes what stands beside the list, "" for nothing chosen
   */
  constructor(context, options) {
    this.context = context;
    this.options = options;
    this.list = options.list;
    this.detail = h("div", { class: "detail" });
    const heading = h("h1", { class: "visually-hidden", tabindex: "-1" }, options.heading);
    this.element = h(
      "div",
      { class: "split", on: { keydown: (/** @type {KeyboardEvent} */ event) => this.#key(event) } },
      heading,
      this.list.element,
      this.detail,
    );
  }

  /** @param {import("./router.js").Route} route */
  show(route) {
    const first = this.#open === null;
    const at = Number(route.query.get("at")) || 0;
    const there = !first && route.detail === this.#detail;
    const stays = there && (!at || this.#open?.look?.(at));
    this.element.dataset.open = route.detail ? "detail" : "list";
    this.list.select(route.detail);
    if (stays) return;
    this.#detail = route.detail;
    this.#open?.close();
    const made = this.options.open(route.detail, route);
    this.#open = made;
    this.detail.replaceChildren(made.element);
    const before = document.activeElement;
    const stayed = () => [before, document.body].includes(document.activeElement);
    // Whoever has begun to write elsewhere while it loads stays there.
    if (route.detail) Promise.resolve(made.ready).then(() => this.#open === made && stayed() && made.focus());
    else if (!first) this.list.focus();
    else if (getComputedStyle(this.detail).display !== "none") made.focus();
  }

  close() {
    this.#open?.close();
    this.list.close();
  }

  /** Escape leads back to the row. @param {KeyboardEvent} event */
  #key(event) {
    if (
      event.key !== "Escape" ||
      event.isComposing ||
      !this.detail.contains(/** @type {Node} */ (event.target))
    )
      return;
    if (getComputedStyle(this.list.element).display === "none")
      this.context.navigate(link(this.options.page));
    else this.list.focus();
  }
}
