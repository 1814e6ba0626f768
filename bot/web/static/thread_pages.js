/** Threads as far as they were asked for: page by page, newest activity first, kept in that order. */

import * as api from "./api.js";

const PAGE = 100;

export class ThreadPages {
  /** @type {import("./types.js").Thread[]} */ items = [];
  /** @type {"loading" | "ready" | "failed"} */ state = "loading";
  error = "";
  /** @type {string | null} */ #next = null;
  #asking = false;
  #query = "";
  /** @type {AbortController} */ #asked = new AbortController();

  /** @param {{channel?: string}} filter @param {() => void} onChange */
  constructor(filter, onChange) {
    this.filter = filter;
    this.onChange = onChange;
  }

  get query() {
    return this.#query;
  }

  close() {
    this.#asked.abort();
  }

  /** From the beginning, for what is looked for. @param {string} query */
  async search(query) {
    this.#asked.abort();
    this.#asked = new AbortController();
    this.#query = query;
    this.#asking = false;
    this.#next = null;
    this.state = "loading";
    this.onChange();
    await this.#ask(undefined, (page) => {
      this.items = page.threads;
      this.#next = page.next;
    });
  }

  /** The next page, if there is one and it is not on its way. */
  async more() {
    if (!this.#next || this.state !== "ready") return;
    await this.#ask(this.#next, (page) => {
      const known = new Set(this.items.map((thread) => thread.id));
      this.items = [...this.items, ...page.threads.filter((thread) => !known.has(thread.id))];
      this.#next = page.next;
    });
  }

  /** Something changed: whatever did is now among the newest. */
  async renew() {
    if (this.state !== "ready") return this.search(this.#query);
    await this.#ask(undefined, (page) => {
      const fresh = new Set(page.threads.map((thread) => thread.id));
      if (!this.#next) this.#next = this.items.length <= page.threads.length ? page.next : null;
      this.items = [...page.threads, ...this.items.filter((thread) => !fresh.has(thread.id))];
    });
  }

  /** @param {string | undefined} before @param {(page: any) => void} take */
  async #ask(before, take) {
    if (this.#asking) return;
    this.#asking = true;
    const { signal } = this.#asked;
    try {
      const page = await api.threads({ ...this.filter, query: this.#query, before, limit: PAGE, signal });
      if (signal.aborted) return;
      take(page);
      this.state = "ready";
    } catch (error) {
      if (signal.aborted) return;
      this.error = /** @type {Error} */ (error).message;
      this.state = "failed";
    }
    this.#asking = false;
    this.onChange();
  }
}
