/** Usage: what models used and cost, by day, model and person. */

import * as api from "../api.js";
import { h, shape } from "../dom.js";
import { failure, loading, note } from "../parts.js";
import { link } from "../router.js";

/** @typedef {{key: string, name: string, calls: number, input_tokens: number, output_tokens: number,
 *   cached_input_tokens: number, cost_micro_usd: number, estimated_calls: number, estimated_tokens: number,
 *   estimated_cost_micro_usd: number}} UsageRow */

const MICRO_USD = 1_000_000;
const SPANS = [7, 30, 90];
const BY = /** @type {const} */ ([
  ["day", "Days"],
  ["model", "Models"],
  ["user", "People"],
]);
const STEP = 14;
const BAR = 11;
const HEIGHT = 96;

/** @param {Context} context @returns {Page} */
export function usagePage(context) {
  return new UsagePage(context);
}

class UsagePage {
  /** @type {AbortController} */ #asked = new AbortController();

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.spans = h("p", { class: "meta" });
    this.results = h("div", { class: "why-results" });
    this.element = h(
      "div",
      { class: "page" },
      h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Usage")),
      this.spans,
      this.results,
    );
  }

  /** @param {import("../router.js").Route} route */
  show(route) {
    const days = Number(route.query.get("days")) || SPANS[1];
    const links = SPANS.map((span) => {
      const current = span === days ? "true" : null;
      return h("a", { href: link("usage", "", { days: String(span) }), "aria-current": current }, `${span} days`);
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
      const sections = BY.map(([by, heading], index) => section(by, heading, listings[index].rows));
      this.results.replaceChildren(...sections);
    } catch (error) {
      if (signal.aborted) return;
      this.results.replaceChildren(note(...failure(error, () => this.#load(days))));
    }
  }
}

/** @param {string} by @param {string} heading @param {UsageRow[]} rows */
function section(by, heading, rows) {
  const head = h("div", { class: "section-head" }, h("h2", {}, heading));
  if (!rows.length) return h("section", { class: "section" }, head, h("p", {}, "No model was called."));
  const drawn = by === "day" ? [...rows].reverse() : rows;
  return h("section", { class: "section" }, head, plot(drawn), tableOf(heading, rows));
}

/** A bar a row, as high as it cost or, without known prices, as many tokens. @param {UsageRow[]} rows */
function plot(rows) {
  const priced = rows.some((row) => cost(row) > 0);
  const value = (/** @type {UsageRow} */ row) => (priced ? cost(row) : tokens(row));
  const most = Math.max(...rows.map(value), 1);
  const width = rows.length * STEP;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "plot", role: "img", width, height: HEIGHT });
  const told = priced ? usd(most) : `${most.toLocaleString()} tokens`;
  svg.setAttribute("aria-label", `The highest bar is ${told}`);
  rows.forEach((row, index) => {
    const height = Math.max(1, (value(row) / most) * (HEIGHT - 1));
    const bar = shape("rect", { x: index * STEP, y: HEIGHT - height, width: BAR, height, rx: 1.5 });
    bar.setAttribute("class", "bar busy");
    const title = shape("title", {});
    title.textContent = `${row.name}: ${usd(cost(row))}, ${tokens(row).toLocaleString()} tokens`;
    bar.append(title);
    svg.append(bar);
  });
  const words = h("p", { class: "muted plot-words", "aria-hidden": "true" }, `The highest bar is ${told}.`);
  return h("figure", { class: "plot-frame" }, h("div", { class: "plot-room" }, svg), words);
}

/** @param {string} heading @param {UsageRow[]} rows */
function tableOf(heading, rows) {
  const columns = [heading, "Calls", "Input", "Cached", "Output", "Cost", "Estimated"];
  const head = h("tr", {}, ...columns.map((column) => h("th", { scope: "col" }, column)));
  return h("div", { class: "scroll-x", tabindex: "0" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows.map(rowOf))));
}

/** @param {UsageRow} row */
function rowOf(row) {
  const counts = [row.calls, row.input_tokens, row.cached_input_tokens, row.output_tokens];
  const estimated = row.estimated_calls
    ? `${row.estimated_calls} calls, at most ${usd(row.estimated_cost_micro_usd)}`
    : "";
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, row.name),
    ...counts.map((count) => h("td", {}, count.toLocaleString())),
    h("td", {}, usd(row.cost_micro_usd)),
    h("td", {}, estimated),
  );
}

/** @param {UsageRow} row */
const cost = (row) => row.cost_micro_usd + row.estimated_cost_micro_usd;
/** @param {UsageRow} row */
const tokens = (row) => row.input_tokens + row.output_tokens + row.estimated_tokens;
/** @param {number} micros */
const usd = (micros) => `$${(micros / MICRO_USD).toFixed(micros < MICRO_USD ? 4 : 2)}`;
