/** A list of conversations with one of them open beside it; one at a time where there is no room for both. */

import { ConversationView } from "./conversation.js";
import { h } from "./dom.js";
import { link } from "./router.js";
import { ThreadList } from "./thread_list.js";

export class SplitPage {
  /** @type {{element: HTMLElement, close: () => void, focus: () => void, ready?: Promise<void>} | null} */ #open =
    null;
  #detail = "";

  /**
   * @param {import("./types.js").Context} context
   * @param {{page: string, heading: string, list: any, blank: () => any, speak: (thread: any) => any}} options
   */
  constructor(context, options) {
    this.context = context;
    this.options = options;
    this.list = new ThreadList(context, { page: options.page, ...options.list });
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
    const stays = !first && route.detail === this.#detail;
    this.element.dataset.open = route.detail ? "detail" : "list";
    this.list.select(route.detail);
    if (stays) return;
    this.#detail = route.detail;
    this.#open?.close();
    const made = this.#make(route.detail);
    this.#open = made;
    this.detail.replaceChildren(made.element);
    if (route.detail) Promise.resolve(made.ready).then(() => this.#open === made && made.focus());
    else if (!first) this.list.focus();
  }

  close() {
    this.#open?.close();
    this.list.close();
  }

  /** @param {string} id */
  #make(id) {
    if (!id || id === "new") return this.options.blank();
    return new ConversationView(this.context, id, {
      back: link(this.options.page),
      speak: this.options.speak,
    });
  }

  /** Escape leads from the conversation back to its row. @param {KeyboardEvent} event */
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
