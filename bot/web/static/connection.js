/** Whether what is on the screen is kept up to date: one state of all streams, for the banner. */

/** A connection that is back by then was never missed. */
const PATIENCE_MS = 600;

export class Connection {
  /** @type {Map<object, string>} */ #states = new Map();
  /** @type {Set<(up: boolean) => void>} */ #listeners = new Set();
  /** @type {Set<{retry: () => void}>} */ #streams = new Set();
  /** What is told, and what will be once it has lasted. */
  #up = true;
  #wanted = true;
  #timer = 0;

  /** @param {object} stream @param {string} state */
  report(stream, state) {
    this.#states.set(stream, state);
    this.#tell();
  }

  /** @param {object} stream */
  forget(stream) {
    this.#states.delete(stream);
    this.#tell();
  }

  /** @param {(up: boolean) => void} listener */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param {{retry: () => void}} stream */
  add(stream) {
    this.#streams.add(stream);
    return () => this.#streams.delete(stream);
  }

  retry() {
    for (const stream of this.#streams) stream.retry();
  }

  /** @param {boolean} up */
  #settle(up) {
    this.#up = up;
    for (const listener of this.#listeners) listener(up);
  }

  #tell() {
    // "connecting" keeps what was said before: a first connection is no trouble, a retry is still one.
    const states = [...this.#states.values()];
    const up = states.includes("waiting") ? false : states.includes("connecting") ? this.#wanted : true;
    if (up === this.#wanted) return;
    this.#wanted = up;
    clearTimeout(this.#timer);
    if (up === this.#up) return;
    this.#timer = setTimeout(() => this.#settle(up), up ? 0 : PATIENCE_MS);
  }
}
