/** Threads as far as they were asked for, newest activity first, kept in that order. */

import * as api from "./api.js";
import { ListPages } from "./list_pages.js";

const PAGE = 100;

export class ThreadPages extends ListPages {
  /** @param {{channel?: string}} filter */
  constructor(filter) {
    super();
    this.filter = filter;
  }

  /** See ListPages. */
  async fetch({ query, cursor, signal }) {
    const page = await api.threads({ ...this.filter, query, before: cursor, limit: PAGE, signal });
    return { items: page.threads, next: page.next };
  }

  /** Whatever changed is now among the newest. */
  merge({ items, next }) {
    const fresh = new Set(items.map((thread) => thread.id));
    if (!this.next) this.next = this.items.length <= items.length ? next : null;
    this.items = [...items, ...this.items.filter((thread) => !fresh.has(thread.id))];
  }
}
