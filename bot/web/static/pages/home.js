/** Home: what waits, what runs next, what failed, how the channels are, and what today cost. */

import * as api from "../api.js";
import { h, icon, settled } from "../dom.js";
import { clip, fromNow, shortTime } from "../format.js";
import { decisionsPlot, failure, loading, timeView } from "../parts.js";
import { link } from "../router.js";
import { unpriced, usagePlot } from "./usage.js";

const HINTS_MS = 400;
const SHOWN = 5;
/** Of the plots. */
const DAYS = 14;
const MICRO_USD = 1_000_000;
const FAILED = new Set(["failing", "unreadable", "paused"]);
const DOWN = new Set(["failed", "backing off", "stopped"]);

/** @param {Context} context @returns {Page} */
export function homePage(context) {
  return new HomePage(context);
}

class HomePage {
  /** @param {Context} context */
  constructor(context) {
    const owner = context.me.role === "owner";
    this.tiles = [
      new Tile("Waiting for you", ["approval_needed", "approval_resolved", "job_changed"], waiting),
      new Tile("Next runs", ["routine_changed", "routine_run"], nextRuns),
      new Tile("Routines that need a look", ["routine_changed", "routine_run"], failedRoutines),
      new Tile("Decisions", ["approval_resolved"], decisions),
      ...(owner ? [new Tile("Channels", ["channel_state"], channelHealth), new Tile("Today", [], todaysCost)] : []),
    ];
    const head = h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Home"));
    const tiles = h("div", { class: "tiles" }, ...this.tiles.map((tile) => tile.element));
    this.element = h("div", { class: "page" }, head, tiles);
    this.end = this.tiles.map((tile) => context.hub.on([...tile.hints, "refetch"], tile.renew));
  }

  show() {
    for (const tile of this.tiles) tile.load();
  }

  close() {
    this.end.forEach((end) => end());
    for (const tile of this.tiles) tile.renew.cancel();
  }
}

/** A heading, and what an answer of the hub says below it. */
class Tile {
  /** @param {string} heading @param {string[]} hints @param {() => Promise<Node[]>} words */
  constructor(heading, hints, words) {
    this.hints = hints;
    this.words = words;
    this.body = h("div", { class: "tile" }, loading());
    this.element = h("section", { class: "card", "aria-label": heading }, h("h2", {}, heading), this.body);
    this.renew = settled(() => this.load(), HINTS_MS);
  }

  async load() {
    try {
      this.body.replaceChildren(...(await this.words()));
    } catch (error) {
      this.body.replaceChildren(...failure(error, () => this.load()));
    }
  }
}

/** @param {any[]} all @param {(one: any) => Node} row @param {string} none @param {Node} more */
function rows(all, row, none, more) {
  if (!all.length) return [h("p", { class: "muted" }, none), more];
  const rest = all.length - SHOWN;
  const list = h("ul", {}, ...all.slice(0, SHOWN).map((one) => h("li", {}, row(one))));
  return rest > 0 ? [list, h("p", { class: "muted" }, `and ${rest} more`), more] : [list, more];
}

/** @param {string} href @param {string} label @param {Node} [beside] */
const line = (href, label, beside) => {
  const fragment = document.createDocumentFragment();
  fragment.append(h("a", { href }, label), beside ?? "");
  return fragment;
};
const leads = (/** @type {string} */ page, /** @type {string} */ label) => h("p", {}, h("a", { href: link(page) }, label));

async function waiting() {
  /** @type {Approval[]} */ const open = (await api.approvals({ state: "pending", limit: 100 })).approvals;
  /** @type {Job[]} */ const jobs = await api.jobs({ limit: 50 }); // those for review come first
  const review = jobs.filter((one) => one.state === "submitted" && !one.digest); // changes are approvals
  if (!open.length && !review.length)
    return [h("p", { class: "calm" }, icon("check"), h("span", {}, "Nothing is waiting for you."))];
  const row = (/** @type {Approval} */ one) =>
    line(link("chat", one.thread_id), clip(words(one), 70), timeView(one.expires_at, `expires ${fromNow(one.expires_at)}`));
  const job = (/** @type {Job} */ one) => line(link("jobs", one.short_id), `Review: ${clip(one.title, 60)}`);
  return [
    ...(open.length ? rows(open, row, "", leads("approvals", "All approval requests")) : []),
    ...(review.length ? rows(review, job, "", leads("jobs", "All jobs")) : []),
  ];
}

/** @param {Approval} approval */
const words = ({ title }) => title.split("\n")[0].replace(/`(.*)`/, "$1");

async function nextRuns() {
  /** @type {Routine[]} */ const all = await api.routines({ limit: 200 });
  const due = all.filter((one) => one.enabled && one.next_at).sort((one, other) => (one.next_at ?? 0) - (other.next_at ?? 0));
  const row = (/** @type {Routine} */ one) =>
    line(link("routines", one.id), clip(one.name, 60), timeView(one.next_at ?? 0, fromNow(one.next_at ?? 0)));
  return rows(due, row, "No runs are scheduled.", h("p", {}, h("a", { href: link("routines", "calendar") }, "Upcoming runs")));
}

async function failedRoutines() {
  /** @type {Routine[]} */ const all = await api.routines({ limit: 200 });
  const bad = all.filter((one) => FAILED.has(one.status) || one.failures > 0);
  const row = (/** @type {Routine} */ one) => line(link("routines", one.id), clip(one.name, 60), h("span", { class: "badge bad" }, one.status));
  return rows(bad, row, "All routines are fine.", leads("routines", "All routines"));
}

async function channelHealth() {
  const { channels } = await api.channels();
  const row = (/** @type {any} */ one) => {
    const look = DOWN.has(one.phase) ? "bad" : one.phase === "running" ? "good" : "busy";
    const about = h("span", { class: `badge ${look}`, title: one.reason ?? "" }, one.phase);
    return line(link("channels"), `${one.name}, since ${shortTime(one.since)}`, about);
  };
  return rows(channels, row, "No channel is configured.", leads("channels", "Channels and people"));
}

async function decisions() {
  return [...decisionsPlot(await api.decisions(DAYS), DAYS), leads("approvals/history", "History of approvals")];
}

async function todaysCost() {
  const [{ rows: days }, { rows: all }] = await Promise.all([api.usage({ by: "model", days: 1 }), api.usage({ by: "day", days: DAYS })]);
  const sum = (/** @type {string} */ name) => days.reduce((total, row) => total + row[name], 0);
  const cost = (sum("cost_micro_usd") + sum("estimated_cost_micro_usd")) / MICRO_USD;
  const tokens = sum("input_tokens") + sum("output_tokens");
  const free = days.filter(unpriced).map((row) => clip(row.name, 40));
  const known = cost > 0 || !free.length;
  return [
    h("p", { class: "figure" }, days.length && days.every((row) => row.free) ? "Free" : known ? `$${cost.toFixed(cost < 1 ? 3 : 2)}` : `${tokens.toLocaleString()} tokens`),
    h("p", { class: "muted" }, `${sum("calls").toLocaleString()} model calls${known ? `, ${tokens.toLocaleString()} tokens` : ""}`),
    ...(free.length ? [h("p", { class: "muted" }, `No price set: ${free.join(", ")}`)] : []),
    ...(all.length ? [usagePlot(all, DAYS)] : []),
    leads("usage", "Usage by day, model and person"),
  ];
}
