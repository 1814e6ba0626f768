/** Addresses in plain text, as links. */

import { outsideLink } from "./dom.js";

/** Ends before what more likely belongs to the sentence. */
const ADDRESS = /\bhttps?:\/\/[^\s<>"'`]*[^\s<>"'`.,;:!?)\]}]/g;

/** @param {string} text @returns {(Node | string)[]} */
export function linked(text) {
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(ADDRESS)) {
    parts.push(text.slice(from, found.index), outsideLink(found[0], found[0]));
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)].filter((part) => part !== "");
}
