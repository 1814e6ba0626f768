/** Threads as far as they were asked for, newest activity first, kept in that order; of a search, each with the
 * newest of its messages that were found. */

import * as api from "./api.js";
import { ListPages } from "./list_pages.js";

const PAGE = 100;
const HITS = 20;

/** @typedef {{show: "mine" | "all" | "waiting", channel: string}} ThreadFilter */

export class ThreadPages extends ListPages {
  /** @param {ThreadFilter} filter */
  constructor(filter) {
    super();
    this.filter = filter;
    /** What messages were searched for, in lower case. @type {string[]} */ this.words = [];
  }

  /** See ListPages. */
  async fetch({ query, cursor, signal }) {
    const { show, channel } = this.filter;
    const wanted = { channel, mine: show === "mine", waiting: show === "waiting", query };
    const [page, said] = await Promise.all([
      api.threads({ ...wanted, before: cursor, limit: PAGE, signal }),
      query && !cursor ? api.search({ query, limit: HITS, signal }) : { found: [], words: this.words },
    ]);
    if (!signal?.aborted) this.words = query ? said.words : [];
    /** @type {Map<string, any[]>} */ const hits = new Map();
    for (const hit of said.found) hits.set(hit.thread_id, [...(hits.get(hit.thread_id) ?? []), hit]);
    const items = page.threads.map((/** @type {Thread} */ one) => ({ ...one, hits: hits.get(one.id) }));
    return { items, next: page.next };
  }

  /** Whatever changed is now among the newest. */
  merge({ items, next }) {
    const fresh = new Set(items.map((thread) => thread.id));
    const gone = this.filter.show === "waiting" || this.query;
    if (!this.next) this.next = this.items.length <= items.length ? next : null;
    this.items = [...items, ...(gone ? [] : this.items.filter((thread) => !fresh.has(thread.id)))];
  }
}
