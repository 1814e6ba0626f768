/** Small parts that several pages are made of. */

import { fileLink } from "./api.js";
import { button, h, icon, shape } from "./dom.js";
import { inFull, timeOfDay, toDate } from "./format.js";
import { complain } from "./toasts.js";

/** A moment, of which the whole can be asked for. @param {number} at */
export function timeView(at, words = timeOfDay(at)) {
  return h("time", { datetime: toDate(at).toISOString(), title: inFull(at) }, words);
}

/** What is opened beside a list. @param {string} label @param {string} back where the list is
 * @param {Node[]} titles @param {Node[]} rest @param {...Node} beside the titles */
export function pane(label, back, titles, rest, ...beside) {
  const list = h("a", { class: "icon-button back", href: back, "aria-label": "Back to the list" }, icon("back"));
  const head = h("header", { class: "pane-head" }, list, h("div", { class: "titles" }, ...titles), ...beside);
  return h("section", { class: "pane conversation", "aria-label": label }, head, ...rest);
}

/** What is said in the place of something. @param {...Node} words */
export const note = (...words) => h("div", { class: "note", role: "status" }, ...words);

export const loading = () => h("p", { class: "muted" }, "Loading…");

/** @param {Error} error @param {() => void} again */
export const failure = (error, again) => [h("p", {}, error.message), button("Try again", again)];

/** A download sends no header: it takes a link that is good for a minute.
 * @param {string} url the file's own, which begins with /api/ @param {string} name "" as the hub calls it */
export async function download(url, name = "") {
  try {
    const link = await fileLink(url);
    h("a", { href: link.url, download: name }).click();
    return link;
  } catch (error) {
    complain(error);
    return null;
  }
}

/** Says what went wrong, once something has. */
export const complaint = () => h("p", { class: "problem bad", role: "alert", hidden: true });

/** Another one, made beside a list. @param {string} href */
export const newLink = (href) =>
  h("a", { class: "button primary", href }, icon("plus"), h("span", {}, "New"));

/** A text in which the words that were looked for are marked. @param {string} text @param {string[]} words in lower case
 * @returns {Node[]} */
export function marked(text, words) {
  const lower = text.toLowerCase();
  /** @type {Node[]} */ const parts = [];
  // Lower case may be longer than what was written: then nothing is marked, instead of something else.
  for (let at = 0; at < text.length; ) {
    const found = words.map((word) => ({ place: lower.indexOf(word, at), word })).filter(({ place }) => place >= 0);
    const next = lower.length === text.length && found.sort((one, other) => one.place - other.place)[0];
    if (!next) return [...parts, new Text(text.slice(at))];
    const end = next.place + next.word.length;
    parts.push(new Text(text.slice(at, next.place)), h("mark", {}, text.slice(next.place, end)));
    at = end;
  }
  return parts;
}

/** A row of a list. @param {{href: string, current: boolean, title: string, time: Node | null, via?: Node | null,
 * about: string, badge: Node | null}} row */
export function rowLink({ href, current, title, time, via, about, badge }) {
  const line = (...parts) => h("span", { class: "row-line" }, ...parts);
  const words = (name, text) => h("span", { class: name, title: text }, text);
  const props = { href, "aria-current": current ? "page" : null };
  return h("a", props, line(words("row-title", title), time), line(via, words("row-preview", about), badge));
}

const PLOT_HEIGHT = 64;
const PLOT_STEP = 10;
const PLOT_BAR = 8;

/** The days up to `last`, the first first, as 2026-11-27. @param {number} count @param {string} [last] */
export function daysTo(count, last = dayOf(new Date())) {
  const [year, month, day] = last.split("-").map(Number);
  return Array.from({ length: count }, (_, at) => dayOf(new Date(year, month - 1, day - count + 1 + at, 12)));
}

/** @param {Date} one */
export const dayOf = (one) =>
  [one.getFullYear(), one.getMonth() + 1, one.getDate()].map((part) => String(part).padStart(2, "0")).join("-");

/**
 * One bar a day, its parts one upon the other. @param {{day: string, words: string, parts: [number, string][]}[]} days
 * @param {string} label @param {string} highest the highest bar, in words
 */
export function dayPlot(days, label, highest) {
  const sum = (/** @type {[number, string][]} */ parts) => parts.reduce((total, [value]) => total + value, 0);
  const most = Math.max(...days.map(({ parts }) => sum(parts)), 1e-9);
  const box = `0 0 ${days.length * PLOT_STEP} ${PLOT_HEIGHT}`;
  const svg = shape("svg", { viewBox: box, class: "plot wide", role: "img", "aria-label": label, preserveAspectRatio: "none" });
  days.forEach(({ words, parts }, at) => {
    let top = PLOT_HEIGHT;
    const bar = shape("g", {});
    for (const [value, look] of parts.filter(([one]) => one > 0)) {
      const height = Math.max(1, (value / most) * (PLOT_HEIGHT - 1));
      top -= height;
      bar.append(shape("rect", { x: at * PLOT_STEP, y: top, width: PLOT_BAR, height, class: `bar ${look}` }));
    }
    const title = shape("title", {});
    title.textContent = words;
    bar.append(title);
    svg.append(bar);
  });
  const named = (/** @type {string} */ day) => plotDay.format(new Date(`${day}T12:00:00`));
  const scale = (/** @type {string[]} */ ...marks) =>
    h("p", { class: "plot-scale", "aria-hidden": "true" }, ...marks.map((mark) => h("span", {}, mark)));
  return h("figure", { class: "plot-frame" }, scale(highest), svg, scale(named(days[0].day), named(days[days.length - 1].day)));
}

const plotDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** Decisions of the last days, approved below and refused above. @param {{at: number, approved: number, refused: number}[]} hours
 * @param {number} count of days */
export function decisionsPlot(hours, count) {
  const days = daysTo(count).map((day) => {
    const found = hours.filter(({ at }) => dayOf(toDate(at)) === day);
    const [approved, refused] = [found.reduce((sum, one) => sum + one.approved, 0), found.reduce((sum, one) => sum + one.refused, 0)];
    /** @type {[number, string][]} */ const parts = [[approved, "good"], [refused, "bad"]];
    return { day, words: `${day}: ${approved} approved, ${refused} not approved`, parts };
  });
  const sums = [0, 1].map((part) => days.reduce((sum, { parts }) => sum + parts[part][0], 0));
  const most = Math.max(...days.map(({ parts }) => parts[0][0] + parts[1][0]));
  const label = `Decisions of the last ${count} days: ${sums[0]} approved, ${sums[1]} not approved`;
  return [dayPlot(days, label, `${most} a day at most`), h("p", { class: "muted plot-words" }, `${label}.`)];
}

/** An input with its label. @param {string} label @param {HTMLElement} input */
export const field = (label, input) => h("label", { class: "field" }, h("span", {}, label), input);

/** Fields with a button that takes them. @param {string} label @param {() => any} work @param {...HTMLElement} fields */
export function form(label, work, ...fields) {
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    work();
  };
  return h("form", { on: { submit } }, ...fields, h("button", { type: "submit", class: "button primary" }, label));
}
