/** Formatted text as the hub sends it, as DOM nodes. */

import { h, icon, outsideLink } from "./dom.js";
import { highlighted } from "./highlight.js";
import { linked } from "./linked.js";

const COPIED_MS = 1500;
const HAS_FORMULA = /\$[^$]+\$|\\[([]/;
const STYLES = { bold: "strong", italic: "em", strike: "s", code: "code" };

/** @param {Span[]} spans */
export function inline(spans) {
  const fragment = document.createDocumentFragment();
  for (const span of spans) {
    const plain = span.link || span.styles.includes("code");
    /** @type {(Node | string)[]} */ let nodes = plain ? [span.text] : linked(span.text);
    for (const style of [...span.styles].reverse()) {
      if (STYLES[style]) nodes = [h(STYLES[style], {}, ...nodes)];
    }
    fragment.append(...(span.link ? [outsideLink(span.link, ...nodes)] : nodes));
  }
  return fragment;
}

/** @param {Block[]} blocks */
export function blocksView(blocks) {
  return h("div", { class: "prose" }, ...blocks.map(blockView));
}

/** Text exactly as it is. @param {string} text */
export function plainView(text) {
  return h("div", { class: "prose" }, h("p", {}, ...linked(text)));
}

/** What was said: formatted where the hub formatted it. @param {{blocks?: any[], text?: string}} said */
export function saidView({ blocks, text = "" }) {
  if (!blocks?.length) return plainView(text);
  const view = blocksView(blocks);
  // Until what draws formulas is there, they are read as they were written.
  if (HAS_FORMULA.test(text)) import("./math.js").then(({ drawFormulas }) => drawFormulas(view, text), () => {});
  return view;
}

/** @param {any} block @returns {Node} */
function blockView(block) {
  const make = MAKERS[block.type];
  return make ? make(block) : plainView(JSON.stringify(block));
}

const MAKERS = {
  paragraph: (block) => h("p", {}, inline(block.spans)),
  // The page has headings of its own above these.
  heading: (block) => h(`h${Math.min(6, Math.max(3, block.level + 2))}`, {}, inline(block.spans)),
  code: (block) => codeView(block.text, block.language),
  quote: (block) => h("blockquote", {}, ...block.blocks.map(blockView)),
  list: listView,
  table: tableView,
  rule: () => h("hr"),
};

function listView(block) {
  const numbered = block.start !== null && block.start !== undefined;
  const items = block.items.map((item) => h("li", {}, ...item.map(blockView)));
  const props = {
    class: block.tight ? "tight" : "",
    start: numbered && block.start !== 1 ? block.start : null,
  };
  return h(numbered ? "ol" : "ul", props, ...items);
}

function tableView(block) {
  const cell = (tag) => (spans, column) =>
    h(
      tag,
      { class: `align-${block.alignments[column] ?? "left"}`, scope: tag === "th" ? "col" : null },
      inline(spans),
    );
  const head = h("thead", {}, h("tr", {}, ...block.header.map(cell("th"))));
  const rows = block.rows.map((row) => h("tr", {}, ...row.map(cell("td"))));
  const table = h("table", {}, head, h("tbody", {}, ...rows));
  return h("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Table" }, table);
}

/** Code with a button that copies it. @param {string} code @param {string} [language] */
export function codeView(code, language = "") {
  const label = language ? `Code, ${language}` : "Code";
  const copy = h(
    "button",
    { type: "button", class: "copy", "aria-label": "Copy code" },
    icon("copy"),
    h("span", {}, "Copy"),
  );
  copy.addEventListener("click", () => copyText(/** @type {HTMLElement} */ (copy.lastElementChild), code));
  return h(
    "figure",
    { class: "code" },
    h("figcaption", {}, h("span", {}, language || "text"), copy),
    h("pre", { tabindex: "0", role: "region", "aria-label": label }, h("code", {}, ...highlighted(code, language))),
  );
}

/** Puts a text where it can be pasted from, and says so for a moment. @param {HTMLElement} word what the button reads
 * @param {string} text */
export async function copyText(word, text) {
  try {
    await navigator.clipboard.writeText(text);
    word.textContent = "Copied";
  } catch {
    word.textContent = "Copy failed";
  }
  setTimeout(() => (word.textContent = "Copy"), COPIED_MS);
}
