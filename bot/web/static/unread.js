/** Conversations in which something happened since they were last looked at, as this browser remembers. */

import * as api from "./api.js";
import { settled } from "./dom.js";

const STORED = "hubbub-seen";
/** Conversations that are remembered; what is older counts as read. */
const MAX_REMEMBERED = 200;
const LOOKED_AT = 50;
const HINTS_MS = 250;
/** Elsewhere people read on their own platform. */
const CHANNEL = "web";

export class Unread {
  /** The last position seen, by conversation. @type {Map<string, number>} */ #seen = new Map();
  /** Before it everything counts as read. */
  #since = Date.now() * 1000;
  /** @type {Set<() => void>} */ #listeners = new Set();
  /** @type {Thread[]} */ #threads = [];
  /** The conversation on the screen. */
  #open = "";

  /** @param {import("./hub_events.js").HubEvents} hub */
  constructor(hub) {
    this.#recall();
    this.look = settled(() => this.#look(), HINTS_MS);
    this.end = hub.on(["thread_changed", "refetch"], this.look);
    this.onVisibility = () => document.hidden || this.look();
    document.addEventListener("visibilitychange", this.onVisibility);
    this.look();
  }

  close() {
    this.end();
    this.look.cancel();
    document.removeEventListener("visibilitychange", this.onVisibility);
  }

  /** @param {() => void} listener */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get threads() {
    return this.#threads.filter((thread) => this.is(thread));
  }

  /** @param {Thread} thread */
  is(thread) {
    if (!thread.own || thread.channel !== CHANNEL) return false;
    // What a turn does on its way is no news until it is over or asks something.
    if (thread.turn && !thread.waiting) return false;
    const seen = this.#seen.get(thread.id);
    return seen === undefined ? thread.updated_at > this.#since : thread.last_seq > seen;
  }

  /** A conversation is on the screen from now on; "" for none. @param {string} id @param {number} [seq] */
  open(id, seq = 0) {
    this.#open = id;
    if (id && seq) this.#saw(id, seq);
  }

  /** @param {string} id @param {number} seq */
  #saw(id, seq) {
    if (document.hidden || (this.#seen.get(id) ?? 0) >= seq) return;
    this.#seen.delete(id);
    this.#seen.set(id, seq);
    this.#remember();
    this.#tell();
  }

  async #look() {
    const page = await api.threads({ channel: CHANNEL, limit: LOOKED_AT }).catch(() => null);
    if (!page) return;
    this.#threads = page.threads;
    const open = this.#threads.find((thread) => thread.id === this.#open);
    if (open) this.#saw(open.id, open.last_seq);
    this.#tell();
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }

  #recall() {
    try {
      const { since, seen } = JSON.parse(localStorage.getItem(STORED) ?? "{}");
      if (since) [this.#since, this.#seen] = [since, new Map(seen)];
      else this.#remember();
    } catch {
      // Nothing is remembered: all counts as read from now on.
    }
  }

  #remember() {
    const seen = [...this.#seen].slice(-MAX_REMEMBERED);
    try {
      localStorage.setItem(STORED, JSON.stringify({ since: this.#since, seen }));
    } catch {
      // As long as this page lives.
    }
  }
}
