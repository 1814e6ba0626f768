/** One message, and the folded list of what tools did between two messages. */

import { file as fetchFile } from "./api.js";
import { codeView, saidView } from "./blocks.js";
import { button, h, icon } from "./dom.js";
import { clip, seconds, size } from "./format.js";
import { download, timeView } from "./parts.js";

/** States of calls, steps and results, in words. */
const STATE_WORDS = {
  intent: "next",
  approved: "next",
  started: "running",
  running: "running",
  waiting: "waiting for an answer",
  ended: "done",
  ok: "done",
  error: "failed",
  denied: "denied",
  cancelled: "cancelled",
  skipped: "skipped",
  unknown: "outcome unknown",
};
const GOOD = new Set(["ended", "ok"]);
const BAD = new Set(["error", "denied", "cancelled", "skipped", "unknown"]);

/** Who speaks. @param {Item} item @param {boolean} own whether the conversation is the reader's */
function speaker(item, own) {
  switch (item.kind) {
    case "user":
      return own ? "You" : item.sender?.name || "Someone";
    case "assistant":
      return "Assistant";
    case "operator":
      return `${item.by || "The owner"} (owner)`;
    case "summary":
      return "Summary of earlier messages";
    default:
      return "Hub";
  }
}

/** @param {Item} item @param {((menuId: string, choice: number, text: string) => void) | null} [onPress]
 * @param {boolean} [own] @param {(item: Item) => void} [onReply] */
export function messageView(item, onPress = null, own = false, onReply = () => {}) {
  const who = speaker(item, own);
  const files = [...(item.attachments ?? []), ...(item.files ?? [])];
  const via =
    item.kind === "user" && item.via && item.via !== "web" ? h("span", { class: "via" }, item.via) : null;
  return h(
    "article",
    { class: `message ${item.kind}${item.undone ? " undone" : ""}`, data: { seq: item.seq } },
    h(
      "header",
      {},
      h("span", { class: "who", title: who }, who),
      via,
      item.undone ? h("span", { class: "via" }, "undone") : null,
      timeView(item.at),
      item.model ? h("span", { class: "by-model", title: `Answered by ${item.model}` }, item.model) : null,
      item.turn ? h("span", { class: "message-actions" }) : null,
      h("span", { class: "message-tools" }),
    ),
    item.text || item.blocks?.length ? saidView(item) : null,
    files.length ? h("ul", { class: "files" }, ...files.map(fileView)) : null,
    item.menu && onPress ? menuView(item.menu, onPress, () => onReply(item)) : null,
  );
}

/** What the person may say next, by a button each. One that can be replied to stays. @param {Menu} menu */
function menuView({ menu_id: id, labels, first, reply }, onPress, onReply) {
  const buttons = labels.map((label, at) =>
    button(label, () => (at === reply ? onReply() : onPress(id, first + at, label)), { class: "button quiet" }),
  );
  const look = reply === null || reply === undefined ? "says" : "says stays";
  return h("div", { class: look, role: "group", "aria-label": "Say" }, ...buttons);
}

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MAX_PICTURE_BYTES = 2 * 1024 * 1024;

/** A picture in small, of the few types that are drawn; a drawing of a file for any other. @param {Blob} content */
export function pictureView(content) {
  if (!PICTURES.has(content.type) || content.size > MAX_PICTURE_BYTES) return icon("file");
  const picture = h("img", { class: "thumbnail", alt: "", src: URL.createObjectURL(content) });
  picture.addEventListener("load", () => URL.revokeObjectURL(picture.src), { once: true });
  picture.addEventListener("error", () => picture.replaceWith(icon("file")), { once: true });
  return picture;
}

/** A picture in the place of the drawing, once it is in sight. @param {FileInfo} file */
function thumbnail(file) {
  const url = file.url ?? "";
  const shown = url.startsWith("/api/") && PICTURES.has(file.media_type);
  if (!shown || (file.size_bytes ?? Infinity) > MAX_PICTURE_BYTES) return icon("file");
  const picture = h("span", { class: "thumbnail" });
  const seen = new IntersectionObserver(async ([entry]) => {
    if (!entry.isIntersecting) return;
    seen.disconnect();
    const content = await fetchFile(url).catch(() => null);
    // The hub sends files as mere bytes.
    picture.replaceWith(content ? pictureView(new Blob([content], { type: file.media_type })) : icon("file"));
  });
  seen.observe(picture);
  return picture;
}

/** @param {FileInfo} file */
export function fileView(file) {
  const words = [
    thumbnail(file),
    h("span", { class: "name", title: file.name }, file.name),
    file.size_bytes === null ? null : h("span", { class: "muted" }, size(file.size_bytes)),
  ];
  // Only the hub's own downloads open from here.
  const here = file.url?.startsWith("/api/");
  return h(
    "li",
    {},
    here
      ? h("button", { type: "button", class: "file", on: { click: () => download(file.url ?? "", file.name) } }, ...words)
      : h("span", { class: "file" }, ...words),
  );
}

/** Calls and their results, folded; the line above says how it went. */
export class StepsView {
  /** @type {Map<string, {element: HTMLElement, body: HTMLElement, status: HTMLElement, tool: string, state: string, given?: HTMLElement, asked?: HTMLElement, text?: string, from?: number, to?: number}>} */
  #rows = new Map();
  /** Told when something of it changed. */
  onChange = () => {};

  constructor() {
    this.line = h("summary");
    this.rows = h("div", { class: "steps-rows" });
    this.element = h("details", { class: "steps" }, this.line, this.rows);
  }

  get count() {
    return this.#rows.size;
  }

  /** How its only call went, in words: how long it took, or how else it ended. @param {number} [since] it waited until then */
  how(since = 0) {
    const [row] = this.#rows.values();
    if (!row || row.state === "denied" || !row.status.textContent) return "";
    if (!GOOD.has(row.state) || !row.to) return row.status.textContent;
    return seconds(row.to - Math.max(row.from ?? 0, since));
  }

  /** @param {Item} item */
  call(item) {
    const row = this.#row(item.call_id ?? "", item.tool ?? "tool");
    row.from = item.at;
    row.given = codeView(argumentsText(item.arguments), "arguments");
    row.body.prepend(row.given);
    if (item.asked) this.#askedFor(row, argumentsText(item.asked));
    row.text = argumentsText(item.arguments);
    this.state(item.call_id ?? "", item.state ?? "started");
  }

  /** A person changed what it is called with. @param {string} id @param {Object<string, any>} given */
  changed(id, given) {
    const row = this.#rows.get(id);
    if (!row?.given) return;
    const text = argumentsText(given);
    if (text === row.text) return;
    this.#askedFor(row, row.text ?? "");
    const now = codeView(text, "arguments");
    row.given.replaceWith(now);
    row.given = now;
    row.text = text;
  }

  /** What the model had asked for, above what a person made of it; said once. */
  #askedFor(row, text) {
    if (row.asked) return;
    row.asked = codeView(text, "requested");
    row.body.prepend(row.asked);
  }

  /** @param {string} id @param {Item} item */
  result(id, item) {
    const row = this.#row(id, item.tool ?? "tool");
    row.body.append(codeView(item.text || "(no output)", "result"));
    row.state = "";
    row.to = item.at;
    this.state(id, item.status ?? "ok");
  }

  /** A call that has its result keeps it. @param {string} id @param {string} state */
  state(id, state) {
    const row = this.#rows.get(id);
    if (!row || BAD.has(row.state) || row.state === "ok") return;
    row.state = state;
    row.status.textContent = STATE_WORDS[state] ?? state;
    row.status.className = `badge ${GOOD.has(state) ? "good" : BAD.has(state) ? "bad" : "busy"}`;
    this.#sum();
  }

  /** @param {string} id @param {string} tool */
  #row(id, tool) {
    const known = this.#rows.get(id);
    if (known) return known;
    const status = h("span", { class: "badge" });
    const body = h("div", { class: "step-body" });
    const element = h(
      "section",
      { class: "step" },
      h("p", { class: "step-head" }, h("code", {}, tool), status),
      body,
    );
    const row = { element, body, status, tool, state: "" };
    this.#rows.set(id, row);
    this.rows.append(element);
    return row;
  }

  #sum() {
    const rows = [...this.#rows.values()];
    const names = clip([...new Set(rows.map((row) => row.tool))].join(", "), 80);
    const worst =
      rows.find((row) => BAD.has(row.state)) ?? rows.find((row) => !GOOD.has(row.state)) ?? rows[0];
    const count = rows.length === 1 ? "1 step" : `${rows.length} steps`;
    const badge = h("span", { class: worst.status.className }, worst.status.textContent);
    this.line.replaceChildren(h("span", {}, count), h("code", {}, names), badge);
    this.onChange();
  }
}

/** One text argument is shown as it is, everything else as JSON. @param {Object<string, any> | string | undefined} given */
export function argumentsText(given) {
  if (typeof given === "string") return given;
  return JSON.stringify(given ?? {}, null, 2);
}
