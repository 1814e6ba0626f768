/** Small parts that several pages are made of. */

import { fileLink } from "./api.js";
import { button, h, icon } from "./dom.js";
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
  } catch (error) {
    complain(error);
  }
}

/** Says what went wrong, once something has. */
export const complaint = () => h("p", { class: "problem bad", role: "alert", hidden: true });

/** Another one, made beside a list. @param {string} href */
export const newLink = (href) =>
  h("a", { class: "button primary", href }, icon("plus"), h("span", {}, "New"));

/** A row of a list. @param {{href: string, current: boolean, title: string, time: Node | null, via?: Node | null,
 * about: string, badge: Node | null}} row */
export function rowLink({ href, current, title, time, via, about, badge }) {
  const line = (...parts) => h("span", { class: "row-line" }, ...parts);
  const words = (name, text) => h("span", { class: name, title: text }, text);
  const props = { href, "aria-current": current ? "page" : null };
  return h("a", props, line(words("row-title", title), time), line(via, words("row-preview", about), badge));
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
