/** Why: what became of a message, for every message that reached the hub. */

import * as api from "../api.js";
import { headlineOf } from "../approval_views.js";
import { composing, h } from "../dom.js";
import { clip, inFull, shortTime } from "../format.js";
import { failure, loading, note, timeView } from "../parts.js";
import { link } from "../router.js";

const LIMIT = 100;
/** How a turn went, by its state. @type {Object<string, (error: string | null) => string>} */
const TURNS = {
  running: () => "the assistant works on it",
  waiting: () => "waits for a person",
  done: () => "answered",
  stopped: () => "stopped",
  failed: (error) => (error ? `failed: ${error}` : "failed"),
  crashed: (error) => (error ? `interrupted: ${error}` : "interrupted"),
};
const BAD = new Set(["failed", "crashed"]);

/** @param {Context} context @returns {Page} */
export function whyPage(context) {
  return new WhyPage(context);
}

class WhyPage {
  /** @type {AbortController} */ #asked = new AbortController();

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.field = h("input", {
      type: "search",
      id: "why-query",
      placeholder: "Text, sender or key",
      maxlength: "200",
      autocomplete: "off",
    });
    this.field.addEventListener("keydown", (event) => composing(event) && event.stopPropagation());
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      context.navigate(link("why", "", { q: this.field.value.trim() }));
    };
    const form = h(
      "form",
      { class: "why-form", role: "search", on: { submit } },
      h("label", { for: "why-query" }, "What happened to a message?"),
      h(
        "div",
        { class: "why-row" },
        this.field,
        h("button", { type: "submit", class: "button primary" }, "Look up"),
      ),
    );
    this.results = h("div", { class: "why-results" });
    this.element = h(
      "div",
      { class: "page" },
      h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Why")),
      form,
      this.results,
    );
  }

  /** @param {import("../router.js").Route} route */
  show(route) {
    const query = route.query.get("q") ?? "";
    this.field.value = query;
    this.#load(query);
  }

  close() {
    this.#asked.abort();
  }

  /** @param {string} query */
  async #load(query) {
    this.#asked.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    this.#say(loading());
    try {
      const page = await api.why({ query, limit: LIMIT, signal });
      if (!signal.aborted) this.#show(page, query);
    } catch (error) {
      if (signal.aborted) return;
      this.#say(...failure(error, () => this.#load(query)));
    }
  }

  /** @param {...Node} words */
  #say(...words) {
    this.results.replaceChildren(note(...words));
  }

  #show({ events, noise }, query) {
    if (!events.length && !noise.length) {
      const none = query ? `No message matches “${clip(query, 60)}”.` : "The hub has not received any messages yet.";
      return this.#say(h("p", {}, none));
    }
    const found = events.length === 1 ? "1 message" : `${events.length} messages`;
    const heading = query ? `${found} found` : "Latest messages";
    this.results.replaceChildren(
      h(
        "section",
        { class: "section" },
        h("div", { class: "section-head" }, h("h2", {}, heading)),
        h("ol", { class: "events" }, ...events.map((/** @type {any} */ one) => eventView(one, this.context.me))),
      ),
      ...(noise.length ? [noiseView(noise)] : []),
    );
    return undefined;
  }
}

/** @param {any} event @param {Me} me */
function eventView(event, me) {
  const sender = typeof event.sender === "string" ? event.sender : (event.sender?.name ?? "");
  const answered = /^answer: /.test(event.outcome ?? "");
  const thread = event.turn?.thread_id ?? event.thread_id;
  return h(
    "li",
    { class: "event" },
    h(
      "p",
      { class: "event-head" },
      h("span", { class: "via" }, event.channel),
      h("span", { class: "name", title: sender }, sender || "no sender"),
      timeView(event.at, inFull(event.at)),
    ),
    h("p", { class: "event-text" }, answered ? "An answer to a request" : clip(event.text || (/^refused/.test(event.outcome ?? "") ? "(text not stored)" : "(no text)"), 280)),
    h(
      "p",
      { class: "event-outcome" },
      h("span", { class: `outcome-word ${look(event)}` }, outcomeOf(event)),
      answered ? h("a", { href: link("approvals", "history") }, "History of approvals") : null,
      thread ? h("a", { href: link("chat", thread) }, "Open conversation") : null,
    ),
    ...(event.turn?.approvals ?? []).map((/** @type {any} */ one) => askedView(one, me)),
    ...(event.turn?.grants ?? []).map((/** @type {any} */ one) => grantView(one, me)),
    ...event.resting.map((/** @type {string} */ routine) => h("p", { class: "event-models" }, `Routine ${routine}.`)),
    ...modelView(event.turn),
    h("p", { class: "event-key" }, h("code", {}, event.key)),
  );
}

/** Which model answered, and which failed. @param {any} turn @returns {Node[]} */
function modelView(turn) {
  if (!turn?.failures.length) return [];
  const failed = new Map(turn.failures.map((one) => [one.model, one.error]));
  const words = [...failed].map(([model, error]) => `${model}: ${error}`).join("; ");
  return [h("p", { class: "event-models" }, `Model ${turn.model}. Failures: ${words}.`)];
}

/** What became of a message, in words: of one that the model was given, how its turn went. @param {any} event */
function outcomeOf({ outcome, turn, resting }) {
  if (/^answer: /.test(outcome ?? "")) return "answered";
  if (!outcome || outcome === "waiting") return "waits for the turn before it";
  if (turn && /^turn /.test(outcome)) return TURNS[turn.state]?.(turn.error) ?? outcome;
  if (resting.length && /^ignored/.test(outcome)) return `${outcome}; a routine rests`;
  return outcome;
}

/** A request for approval that the turn made: Run `ls`? Denied by you Nov 27, 2026, 8:15:12 PM. @param {any} one @param {Me} me */
function askedView({ title, calls, outcome, by, at }, me) {
  const mine = by && by.id === me.user_id;
  const words = outcome ? (mine ? outcome.replace(` by ${by.name}`, " by you") : outcome) : "waits for an answer since";
  const said = ` ${words.charAt(0).toUpperCase()}${words.slice(1).replace(/\.$/, "")} `;
  const each = calls.map((/** @type {string} */ call) => h("li", {}, h("code", {}, call)));
  return h(
    "div",
    { class: "event-models" },
    ...headlineOf(null, { title, gate_kind: "approval" }).title,
    said,
    timeView(at, inFull(at)),
    each.length ? h("ul", {}, ...each) : null,
  );
}

/** What ran without a question: shell ran without asking, under a grant: ls, everywhere. Given by you Nov 27, 2026, 8:15:12 PM.
 * @param {any} one @param {Me} me */
function grantView({ covers, by, at }, me) {
  const who = by.id === me.user_id ? "you" : by.name;
  return h("p", { class: "event-models" }, `${covers}. Given by ${who} `, timeView(at, inFull(at)));
}

/** @param {any} event */
function look({ outcome, turn }) {
  const words = outcome ?? "";
  if (/^(failed|refused)/.test(words) || BAD.has(turn?.state)) return "bad";
  return /^ignored/.test(words) || turn?.state === "stopped" ? "quiet" : "good";
}

/** What was not kept is at least counted. @param {any[]} noise */
function noiseView(noise) {
  const rows = noise.map((one) =>
    h(
      "tr",
      {},
      h("td", {}, one.channel),
      h("td", {}, one.sender ?? "everyone"),
      h("td", {}, one.reason),
      h("td", { class: "align-right" }, one.count),
      h("td", {}, shortTime(one.last_at)),
    ),
  );
  const head = ["Channel", "Sender", "Reason", "Count", "Last"].map((word) =>
    h("th", { scope: "col" }, word),
  );
  const table = h("table", { class: "plain" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
  return h(
    "section",
    { class: "section" },
    h("div", { class: "section-head" }, h("h2", {}, "Counted, not stored")),
    h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Counted messages" }, table),
  );
}
