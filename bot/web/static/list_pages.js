/** Entries of a long list as far as they were asked for, page by page. */

export class ListPages {
  /** @type {any[]} */ items = [];
  /** @type {"loading" | "ready" | "failed"} */ state = "loading";
  /** @type {any} */ error = null;
  query = "";
  onChange = () => {};
  /** Where the next page begins; null: there is none. @type {string | null} */ next = null;
  #asking = false;
  /** Something changed while a page was asked for. */
  #stale = false;
  #asked = new AbortController();

  /**
   * One page: behind `cursor`, or the first.
   * @param {{query: string, cursor: string | undefined, signal: AbortSignal}} _wanted
   * @returns {Promise<{items: any[], next: string | null}>}
   */
  fetch(_wanted) {
    throw new Error("a list says itself where its pages are");
  }

  /** The first page is read again: what is known now. @param {{items: any[], next: string | null}} _page */
  merge(_page) {
    throw new Error("a list says itself in which order it is");
  }

  close() {
    this.#asked.abort();
  }

  /** From the beginning, for what is looked for. @param {string} query */
  async search(query) {
    this.#asked.abort();
    this.#asked = new AbortController();
    this.query = query;
    this.#asking = false;
    this.#stale = false;
    this.next = null;
    this.state = "loading";
    this.onChange();
    await this.#ask(undefined, (page) => {
      this.items = page.items;
      this.next = page.next;
    });
  }

  /** The next page, if there is one and it is not on its way. */
  async more() {
    if (!this.next || this.state !== "ready") return;
    await this.#ask(this.next, (page) => {
      const known = new Set(this.items.map((item) => item.id));
      this.items = [...this.items, ...page.items.filter((item) => !known.has(item.id))];
      this.next = page.next;
    });
  }

  /** Something changed. */
  async renew() {
    this.#stale = this.#asking;
    if (this.#asking) return;
    if (this.state !== "ready") return this.search(this.query);
    await this.#ask(undefined, (page) => this.merge(page));
  }

  /** @param {string | undefined} cursor @param {(page: any) => void} take */
  async #ask(cursor, take) {
    if (this.#asking) return;
    this.#asking = true;
    const { signal } = this.#asked;
    try {
      const page = await this.fetch({ query: this.query, cursor, signal });
      if (signal.aborted) return;
      take(page);
      this.state = "ready";
    } catch (error) {
      if (signal.aborted) return;
      this.error = error;
      this.state = "failed";
    }
    this.#asking = false;
    this.onChange();
    if (this.#stale) await this.renew();
  }
}
