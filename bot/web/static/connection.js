/** Whether what is on the screen is kept up to date: one state of all streams, for the banner. */

export class Connection {
  /** @type {Map<object, string>} */ #states = new Map();
  /** @type {Set<(up: boolean) => void>} */ #listeners = new Set();
  /** @type {Set<{retry: () => void}>} */ #streams = new Set();
  #up = true;

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
  }

  /** @param {{retry: () => void}} stream */
  add(stream) {
    this.#streams.add(stream);
    return () => this.#streams.delete(stream);
  }

  retry() {
    for (const stream of this.#streams) stream.retry();
  }

  #tell() {
    // "connecting" keeps what was said before: a first connection is no trouble, a retry is still one.
    const states = [...this.#states.values()];
    const up = states.includes("waiting") ? false : states.includes("connecting") ? this.#up : true;
    if (up === this.#up) return;
    this.#up = up;
    for (const listener of this.#listeners) listener(up);
  }
}
