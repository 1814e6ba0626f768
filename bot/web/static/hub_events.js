/** Hints from the whole hub, told to whoever subscribed. They say what to fetch again, not what is true. */

import * as api from "./api.js";
import { EventStream } from "./event_stream.js";

export class HubEvents {
  /** @type {Map<string, Set<(event: HubEvent) => void>>} */ #listeners = new Map();
  #greeted = false;

  /** @param {import("./connection.js").Connection} connection */
  constructor(connection) {
    this.stream = new EventStream(
      () => api.eventsUrl({}),
      (event) => this.#tell(event),
      (state) => {
        connection.report(this, state);
        if (state === "signed_out") api.signedOut();
      },
    );
    connection.add(this.stream);
  }

  /**
   * `type` of the contract, or `refetch`: hints may have been missed.
   * @param {string[]} types @param {(event: HubEvent) => void} listener
   * @returns {() => void} ends it
   */
  on(types, listener) {
    for (const type of types) {
      if (!this.#listeners.has(type)) this.#listeners.set(type, new Set());
      this.#listeners.get(type)?.add(listener);
    }
    return () => types.forEach((type) => this.#listeners.get(type)?.delete(listener));
  }

  close() {
    this.stream.close();
  }

  /** @param {HubEvent} event */
  #tell(event) {
    if (event.type === "hello") {
      if (this.#greeted) this.#tell({ ...event, type: "refetch" });
      this.#greeted = true;
      return;
    }
    for (const listener of this.#listeners.get(event.type) ?? []) listener(event);
  }
}
