/** Usage: what models used and cost, by day, model and person. */

import * as api from "../api.js";
import { h } from "../dom.js";
import { dayPlot, daysTo, failure, loading, note } from "../parts.js";
import { link } from "../router.js";

/** @typedef {{key: string, name: string, calls: number, input_tokens: number, output_tokens: number,
 *   cached_input_tokens: number, cost_micro_usd: number, estimated_calls: number, estimated_tokens: number,
 *   estimated_cost_micro_usd: number, free: boolean}} UsageRow */

const MICRO_USD = 1_000_000;
const SPANS = [7, 30, 90];
const BY = /** @type {const} */ ([
  ["day", "Days"],
  ["model", "Models"],
  ["user", "People"],
]);

/** @param {Context} context @returns {Page} */
export function usagePage(context) {
  return new UsagePage(context);
}

class UsagePage {
  /** @type {AbortController} */ #asked = new AbortController();

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.spans = h("nav", { class: "tabs", "aria-label": "Period" });
    this.results = h("div", { class: "why-results" });
    this.element = h(
      "div",
      { class: "page" },
      h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Usage"), this.spans),
      this.results,
    );
  }

  /** @param {import("../router.js").Route} route */
  show(route) {
    const days = Number(route.query.get("days")) || SPANS[1];
    const links = SPANS.map((span) => {
      const current = span === days ? "page" : null;
      return h("a", { class: "tab", href: link("usage", "", { days: String(span) }), "aria-current": current }, `${span} days`);
    });
    this.spans.replaceChildren(...links);
    this.#load(days);
  }

  close() {
    this.#asked.abort();
  }

  /** @param {number} days */
  async #load(days) {
    this.#asked.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    this.results.replaceChildren(note(loading()));
    try {
      const listings = await Promise.all(BY.map(([by]) => api.usage({ by, days, signal })));
      if (signal.aborted) return;
      const sections = BY.map(([by, heading], index) => section(by, heading, listings[index].rows, days));
      this.results.replaceChildren(...sections);
    } catch (error) {
      if (signal.aborted) return;
      this.results.replaceChildren(note(...failure(error, () => this.#load(days))));
    }
  }
}

const NO_PRICE = "no price set";
/** What was counted has a price wherever one is configured, 0 too, or built in. @param {UsageRow} row */
export const unpriced = (row) => tokens(row) > 0 && cost(row) === 0 && !row.free;
/** @param {UsageRow} row */
const price = (row) => (unpriced(row) ? NO_PRICE : row.free ? "free" : usd(cost(row)));

/** @param {string} by @param {string} heading @param {UsageRow[]} rows @param {number} days */
function section(by, heading, rows, days) {
  const head = h("div", { class: "section-head" }, h("h2", {}, `${heading}, last ${days} days`));
  if (!rows.length) return h("section", { class: "section" }, head, h("p", {}, "No model was called."));
  const drawn = by === "day" ? [usagePlot(rows, days)] : [];
  return h("section", { class: "section" }, head, ...drawn, tableOf(heading, rows));
}

/** A bar a day, as high as it cost or, without known prices, as many tokens. @param {UsageRow[]} rows @param {number} count */
export function usagePlot(rows, count) {
  const priced = rows.some((row) => cost(row) > 0);
  const value = (/** @type {UsageRow} */ row) => (priced ? cost(row) : tokens(row));
  const words = (/** @type {number} */ most) => (priced ? usd(most) : `${most.toLocaleString()} tokens`);
  const known = new Map(rows.map((row) => [row.name, row]));
  const last = [daysTo(1)[0], ...known.keys()].filter((day) => /^\d{4}-\d\d-\d\d$/.test(day)).sort().pop();
  const days = daysTo(count, last).map((day) => {
    const row = known.get(day);
    /** @type {[number, string][]} */ const parts = [[row ? value(row) : 0, "busy"]];
    return { day, words: row ? `${day}: ${price(row)}, ${tokens(row).toLocaleString()} tokens` : day, parts };
  });
  const most = Math.max(...rows.map(value));
  return dayPlot(days, `Usage of the last ${count} days; the highest bar is ${words(most)}`, `Bars: ${priced ? "cost" : "tokens"} of each day, at most ${words(most)}`);
}

/** @param {string} heading @param {UsageRow[]} rows */
function tableOf(heading, rows) {
  const guessed = rows.some((row) => row.estimated_calls);
  const columns = [heading, "Cost", "Calls", "Input tokens", "Cached", "Output tokens", ...(guessed ? ["Estimated"] : [])];
  const head = h("tr", {}, ...columns.map((column) => h("th", { scope: "col" }, column)));
  const body = h("tbody", {}, ...rows.map((row) => rowOf(row, guessed)));
  const table = h("div", { class: "scroll-x", tabindex: "0" }, h("table", { class: "usage-table" }, h("thead", {}, head), body));
  const about = "Estimated: calls whose answer counted nothing, such as interrupted ones, at the most they may have used.";
  return h("div", {}, table, guessed ? h("p", { class: "muted" }, about) : null);
}

/** @param {UsageRow} row @param {boolean} guessed */
function rowOf(row, guessed) {
  const counts = [row.calls, row.input_tokens, row.cached_input_tokens, row.output_tokens];
  const estimated = row.estimated_calls
    ? `${row.estimated_calls} ${row.estimated_calls === 1 ? "call" : "calls"}, at most ${usd(row.estimated_cost_micro_usd)}`
    : "";
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, row.name),
    h("td", {}, unpriced(row) || row.free ? h("span", { class: "muted" }, price(row)) : usd(row.cost_micro_usd)),
    ...counts.map((count) => h("td", {}, count.toLocaleString())),
    guessed ? h("td", {}, estimated) : null,
  );
}

/** @param {UsageRow} row */
const cost = (row) => row.cost_micro_usd + row.estimated_cost_micro_usd;
/** @param {UsageRow} row */
const tokens = (row) => row.input_tokens + row.output_tokens + row.estimated_tokens;
/** @param {number} micros */
const usd = (micros) => `$${(micros / MICRO_USD).toFixed(micros < MICRO_USD ? 4 : 2)}`;
