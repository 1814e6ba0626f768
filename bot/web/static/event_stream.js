/** Server-sent events over fetch: statuses and silences are seen, and every connection asks for what it lacks. */

import { CREDENTIALS, proof, secret } from "./session.js";

/** Longer than two heartbeats of the hub. */
const SILENCE_LIMIT_MS = 40_000;
const FIRST_RETRY_MS = 400;
const LAST_RETRY_MS = 15_000;
/** A connection that lived this long was a good one: the next retry is soon again. */
const GOOD_AFTER_MS = 5_000;

/** Cuts a stream of text into messages; lines may end in any of the three ways the format allows. */
export class SseParser {
  #rest = "";
  /** @type {string[]} */ #data = [];
  #event = "";
  #id = "";

  /** @param {string} chunk @returns {{event: string, id: string, data: string}[]} */
  push(chunk) {
    const text = this.#rest + chunk;
    const whole = text.endsWith("\r") ? text.slice(0, -1) : text;
    const lines = whole.split(/\r\n|\r|\n/);
    this.#rest = (lines.pop() ?? "") + text.slice(whole.length);
    const messages = [];
    for (const line of lines) {
      const message = this.#line(line);
      if (message) messages.push(message);
    }
    return messages;
  }

  /** @param {string} line */
  #line(line) {
    if (line === "") return this.#dispatch();
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
    return null;
  }

  #dispatch() {
    const message = this.#data.length
      ? { event: this.#event || "message", id: this.#id, data: this.#data.join("\n") }
      : null;
    this.#data = [];
    this.#event = "";
    this.#id = "";
    return message;
  }
}

/**
 * Keeps a connection up until it is closed. States: `connecting`, `live`, `waiting` (until the next try),
 * `signed_out` and `gone` (both final: the hub knows the asker, or the thread, no more).
 */
export class EventStream {
  #closed = false;
  #again = false;
  #attempt = 0;
  /** @type {AbortController | null} */ #connection = null;
  /** @type {(() => void) | null} */ #wake = null;
  #watchdog = 0;

  /**
   * @param {() => string} url asked for at every connection, so that it can name what is there already
   * @param {(event: HubEvent) => void} onEvent
   * @param {(state: string) => void} onState
   */
  constructor(url, onEvent, onState) {
    this.url = url;
    this.onEvent = onEvent;
    this.onState = onState;
    this.retry = this.retry.bind(this);
    window.addEventListener("online", this.retry);
    this.#run();
  }

  /** Try now instead of later. */
  retry() {
    this.#wake?.();
  }

  /** Let this connection go and make another, which asks for what is lacking now. */
  reconnect() {
    this.#again = true;
    this.#connection?.abort();
  }

  close() {
    this.#closed = true;
    window.removeEventListener("online", this.retry);
    clearTimeout(this.#watchdog);
    this.#connection?.abort();
    this.#wake?.();
  }

  async #run() {
    while (!this.#closed) {
      this.#say("connecting");
      const began = performance.now();
      const final = await this.#connect().catch(() => null);
      if (final) this.#say(final);
      if (final || this.#closed) return;
      if (performance.now() - began > GOOD_AFTER_MS) this.#attempt = 0;
      if (!this.#again) this.#say("waiting");
      await this.#pause();
      this.#again = false;
    }
  }

  /** @param {string} state */
  #say(state) {
    if (!this.#closed) this.onState(state);
  }

  /** Reads one connection to its end. @returns {Promise<string | null>} a final state */
  async #connect() {
    this.#connection = new AbortController();
    this.#watch();
    const held = secret();
    const response = await fetch(this.url(), {
      credentials: CREDENTIALS,
      cache: "no-store",
      headers: { Accept: "text/event-stream", ...proof(held) },
      signal: this.#connection.signal,
    });
    if (response.status === 401) return held === secret() ? "signed_out" : null;
    if (response.status === 404) return "gone";
    if (!response.ok || !response.body) return null;
    this.#say("live");
    await this.#read(response.body);
    return null;
  }

  /** @param {ReadableStream<Uint8Array>} body */
  async #read(body) {
    const parser = new SseParser();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || this.#closed) return;
      this.#watch();
      for (const message of parser.push(decoder.decode(value, { stream: true })))
        this.onEvent(JSON.parse(message.data));
    }
  }

  /** A connection that says nothing for long is dead, whatever the network thinks. */
  #watch() {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#connection?.abort(), SILENCE_LIMIT_MS);
  }

  #pause() {
    clearTimeout(this.#watchdog);
    const longest = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** this.#attempt++);
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, longest * (0.5 + Math.random() / 2));
      this.#wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
  }
}
