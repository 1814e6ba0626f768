/** What people said and the conversation does not hold yet, shown at its end. */

import { plainView } from "./blocks.js";
import { h } from "./dom.js";

/** A message that was taken is in the conversation by then, unless it waits. */
const ARRIVAL_MS = 3_000;
const WAITS = "queued";

/** @typedef {{text: string, element: HTMLElement, waits: boolean}} Pending */

/** What was said, or what was sent. @param {{text?: string, attachments?: FileInfo[]}} said */
function words({ text, attachments }) {
  return text || (attachments ?? []).map((file) => file.name).join(", ");
}

export class PendingMessages {
  /** @type {Pending[]} */ #pending = [];

  /** @param {HTMLElement} column at whose end they are shown */
  constructor(column) {
    this.column = column;
  }

  /** What waited when the page was opened. @param {{text: string, sender: {name: string}, attachments: FileInfo[]}} said */
  queued(said) {
    this.#show(words(said), said.sender.name, WAITS).entry.waits = true;
  }

  /**
   * A message on its way. @param {string} text
   * @returns {{gone: () => void, taken: (waits: boolean) => void}} `waits`: until the turn that runs is over
   */
  sending(text) {
    const { entry, state } = this.#show(text, "You", "sending…");
    const taken = (/** @type {boolean} */ waits) => {
      entry.waits = waits;
      if (waits) state.textContent = WAITS;
      // What became a command's answer never comes back as a message.
      else setTimeout(() => this.#remove(entry), ARRIVAL_MS);
    };
    return { gone: () => this.#remove(entry), taken };
  }

  /** The conversation holds it now. @param {Item} item */
  arrived(item) {
    this.#remove(this.#pending.find((one) => one.text === words(item)));
  }

  /** Where nothing runs any more, nothing waits for its turn. @param {() => boolean} idle asked once all has arrived */
  turnOver(idle) {
    setTimeout(() => {
      if (idle()) this.#pending.filter((one) => one.waits).forEach((one) => this.#remove(one));
    }, ARRIVAL_MS);
  }

  /** @param {string} text @param {string} who @param {string} how it is with it */
  #show(text, who, how) {
    const state = h("span", {}, how);
    const element = h(
      "article",
      { class: "message user sending" },
      h("header", {}, h("span", { class: "who" }, who), state),
      plainView(text),
    );
    const entry = { text, element, waits: false };
    this.#pending.push(entry);
    this.column.append(element);
    return { entry, state };
  }

  /** @param {Pending | undefined} entry */
  #remove(entry) {
    if (!entry) return;
    entry.element.remove();
    this.#pending = this.#pending.filter((one) => one !== entry);
  }
}
