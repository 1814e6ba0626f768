/** Threads as far as they were asked for, newest activity first, kept in that order; below what a search found of
 * them, the messages it found. */

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
  }

  /** See ListPages. */
  async fetch({ query, cursor, signal }) {
    const { show, channel } = this.filter;
    const wanted = { channel, mine: show === "mine", waiting: show === "waiting", query };
    const [page, said] = await Promise.all([
      api.threads({ ...wanted, before: cursor, limit: PAGE, signal }),
      query && !cursor ? api.search({ query, limit: HITS, signal }) : { found: [] },
    ]);
    const hits = said.found.map((hit) => ({ ...hit, id: `${hit.thread_id}/${hit.seq}`, hit: true }));
    return { items: [...page.threads, ...hits], next: page.next };
  }

  /** Whatever changed is now among the newest. */
  merge({ items, next }) {
    const fresh = new Set(items.map((thread) => thread.id));
    const gone = this.filter.show === "waiting" || this.query;
    if (!this.next) this.next = this.items.length <= items.length ? next : null;
    this.items = [...items, ...(gone ? [] : this.items.filter((thread) => !fresh.has(thread.id)))];
  }
}
