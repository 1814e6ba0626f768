/** Builds DOM nodes. Data becomes text nodes and attributes only; nothing here parses markup. */

const SVG = "http://www.w3.org/2000/svg";
const SAFE_LINK = new Set(["http:", "https:", "mailto:"]);
/** What the page made itself, for downloads. */
const OWN_LINK = "blob:";

/** Line drawings on a 24 × 24 field. */
const ICONS = {
  home: "M4 11l8-7 8 7v9h-5v-6H9v6H4z",
  chat: "M4 5h16v11H9l-5 4z",
  approvals: "M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6zM8.5 12l2.5 2.5 4.5-5",
  channels: "M5 12a7 7 0 0 1 14 0M8 12a4 4 0 0 1 8 0M12 12v8M9 20h6",
  routines: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2",
  jobs: "M4 8h16v12H4zM9 8V4h6v4M4 13h16",
  tools: "M14 6.5a4 4 0 0 0 5 5L11 20l-4-4 8-8M5 4l4 4",
  memory: "M6 4h12v16l-6-4-6 4zM9 8h6M9 11h4",
  usage: "M4 20h16M7 20v-6M12 20V8M17 20V4",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4",
  why: "M9.2 9a3 3 0 1 1 4.2 2.9c-1 .5-1.4 1-1.4 2.1M12 17.6v.1M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  system: "M4 5h16v6H4zM4 13h16v6H4zM7.5 8v.1M7.5 16v.1",
  audit: "M6 3h12v18H6zM9 8h6M9 12h6M9 16l1.5 1.5L14 14",
  send: "M5 12h13M12.5 6l6 6-6 6",
  stop: "M7 7h10v10H7z",
  attach:
    "M19 11l-7.4 7.4a4.4 4.4 0 0 1-6.2-6.2L13 4.6a3 3 0 0 1 4.2 4.2l-7.5 7.5a1.5 1.5 0 0 1-2.2-2.1L14 7.5",
  back: "M14.5 5l-7 7 7 7",
  plus: "M12 5v14M5 12h14",
  more: "M5 12h.1M12 12h.1M19 12h.1",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12.5l4.5 4.5L19 7",
  alert: "M12 4l9 16H3zM12 10v4M12 17v.1",
  down: "M12 5v14M6 13l6 6 6-6",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  theme: "M12 21a9 9 0 1 0 0-18zM12 3a9 9 0 1 0 0 18",
  leave: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  edit: "M4 20h4L19 9l-4-4L4 16z",
};

/**
 * An element. `props`: attributes, except `class`, `on` (listeners by name) and `data` (dataset); null, undefined
 * and false leave an attribute out, true sets it empty.
 * @param {string} tag
 * @param {Object<string, any>} [props]
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {any}
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) setProp(node, name, value);
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

/** @param {HTMLElement} node @param {string} name @param {any} value */
function setProp(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name === "class") node.className = value;
  else if (name === "on")
    for (const [type, handler] of Object.entries(value)) node.addEventListener(type, handler);
  else if (name === "data") Object.assign(node.dataset, value);
  else if (name === "href" && !isLink(value)) return;
  else node.setAttribute(name, value === true ? "" : String(value));
}

/** Whether following it runs nothing here. @param {string} href */
function isLink(href) {
  try {
    const { protocol } = new URL(href, location.href);
    return protocol === OWN_LINK || SAFE_LINK.has(protocol);
  } catch {
    return false;
  }
}

/** A part of a drawing. @param {string} tag @param {Object<string, any>} attributes */
export function shape(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}

/** A part of a formula. @param {string} tag @param {Object<string, string>} attributes @param {...(Node | string)} children
 * @returns {Element} */
export function mathNode(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/1998/Math/MathML", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** A drawing that says nothing to those who do not see it. @param {keyof typeof ICONS} name */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** @param {string} label @param {() => void} onClick @param {Object<string, any>} [props] */
export function button(label, onClick, props = {}) {
  return h("button", { type: "button", class: "button", ...props, on: { click: onClick } }, label);
}

/** A button that shows a drawing only. @param {keyof typeof ICONS} name @param {string} label @param {(e: Event) => void} onClick */
export function iconButton(name, label, onClick, props = {}) {
  const all = { type: "button", class: "icon-button", "aria-label": label, title: label, ...props };
  return h("button", { ...all, on: { click: onClick } }, icon(name));
}

/** A button that asks once more. @param {string} label @param {string} question @param {() => void} work */
export function confirmButton(label, question, work, props = { class: "button quiet small" }) {
  const one = button(
    label,
    () => {
      if (one.dataset.asked) return work();
      one.dataset.asked = "yes";
      one.textContent = "Really?";
      one.setAttribute("aria-label", question);
      return undefined;
    },
    props,
  );
  one.addEventListener("blur", () => {
    delete one.dataset.asked;
    one.textContent = label;
    one.removeAttribute("aria-label");
  });
  return one;
}

/** The address if it may be opened from here, else null. @param {string | undefined} url */
export function safeUrl(url) {
  try {
    const parsed = new URL(String(url));
    return SAFE_LINK.has(parsed.protocol) ? parsed.href : null;
  } catch {
    return null;
  }
}

/** A link to elsewhere; plain text where the address is not http, https or mailto. */
export function outsideLink(url, ...children) {
  const href = safeUrl(url);
  if (!href) return h("span", {}, ...children);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

/** Replaces what a node holds. @param {Element} node @param {...(Node | string | null | undefined | false)} children */
export function fill(node, ...children) {
  node.replaceChildren(
    ...children.filter((child) => child !== null && child !== undefined && child !== false),
  );
}

const HEARD = "visually-hidden";
const MAX_HEARD = 5;

/** Tells people who listen instead of looking; see toasts.js for what all are to see. @param {string} text */
export function announce(text) {
  const region = document.getElementById("announcer");
  if (!region) return;
  region.append(h("p", { class: HEARD, data: { at: performance.now() } }, text.slice(0, 300)));
  for (const old of [...region.querySelectorAll(`:scope > .${HEARD}`)].slice(0, -MAX_HEARD)) old.remove();
}

/** Whether the keys typed go to an input method that is still composing. @param {KeyboardEvent} event */
export function composing(event) {
  return event.isComposing || event.keyCode === 229;
}

/** One time of work for many calls in a row. @param {() => void} work @param {number} [delayMs] */
export function settled(work, delayMs = 0) {
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(work, delayMs);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/**
 * Arrow keys, Home and End walk through what `members` finds in `root`; only one of them is in the tab order.
 * @param {HTMLElement} root @param {string} members @param {{axis?: "x" | "y"}} [options]
 */
export function roving(root, members, { axis = "y" } = {}) {
  const [previous, next] = axis === "y" ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
  const all = () => /** @type {HTMLElement[]} */ ([...root.querySelectorAll(members)]);
  const mark = (/** @type {HTMLElement} */ chosen) => {
    for (const one of all()) one.tabIndex = one === chosen ? 0 : -1;
  };
  root.addEventListener("focusin", (event) => {
    const member = /** @type {HTMLElement} */ (event.target);
    if (member.matches(members)) mark(member);
  });
  root.addEventListener("keydown", (event) => {
    const list = all();
    const at = list.indexOf(/** @type {HTMLElement} */ (event.target));
    if (at < 0) return;
    const to = { [previous]: at - 1, [next]: at + 1, Home: 0, End: list.length - 1 }[event.key];
    if (to === undefined || !list[to]) return;
    event.preventDefault();
    list[to].focus();
  });
  return { refresh: () => all().forEach((one, index) => (one.tabIndex = index === 0 ? 0 : -1)) };
}
