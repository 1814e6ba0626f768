/** The container of a job: its limits, what it used and reached, and what it changed. All of it is text. */

import { button, h, shape } from "./dom.js";
import { note } from "./parts.js";

const MB = 1_000_000;
const SECOND_US = 1_000_000;
const WIDTH = 240;
const HEIGHT = 48;
/** So many lines of a file are drawn at a time. */
const LINES = 300;
const OPEN_FILES = 10;

/** @param {number} bytes */
const megabytes = (bytes) => `${(bytes / MB).toLocaleString(undefined, { maximumFractionDigits: 1 })} MB`;

/** @param {JobContainer} use @returns {HTMLElement} */
export function containerView(use) {
  return h(
    "section",
    { class: "section", "aria-label": "Container" },
    h("h2", {}, "Container"),
    h("p", { class: "meta" }, limits(use)),
    h("div", { class: "plots" }, ...plots(use)),
    ...egressView(use),
  );
}

/** @param {JobContainer} use */
function limits({ image, cpus, memory_mb, disk_mb, pids, egress }) {
  const network = egress.length ? `network: ${egress.join(", ")}` : "no network";
  const most = `at most ${cpus} ${cpus === 1 ? "processor" : "processors"}, ${memory_mb} MB of memory, ${disk_mb} MB of disk, ${pids} processes`;
  return `${image}: ${most}; ${network}`;
}

/** @param {JobContainer} use */
function plots({ samples, cpus, memory_mb, disk_mb }) {
  if (samples.length < 2) return [note(h("p", { class: "muted" }, "It has not been measured yet."))];
  const busy = samples.slice(1).map((one, index) => {
    const before = samples[index];
    // A container that was made anew counts from zero.
    const used = Math.max(0, one.cpu_us - before.cpu_us) / Math.max(1, one.at - before.at);
    return used * 100;
  });
  const over = (samples[samples.length - 1].at - samples[0].at) / SECOND_US;
  const memory = samples.map((one) => one.memory_bytes);
  const disk = samples.map((one) => one.disk_bytes);
  return [
    plot("Processors", busy, cpus * 100, (value) => `${Math.round(value)} %`, over),
    plot("Memory", memory, memory_mb * MB, megabytes, over),
    plot("Disk", disk, disk_mb * MB, megabytes, over),
  ];
}

/** @param {string} name @param {number[]} values @param {number} limit @param {(value: number) => string} told
 * @param {number} over seconds */
function plot(name, values, limit, told, over) {
  const most = Math.max(...values);
  const words = `${name}: at most ${told(most)} of ${told(limit)} in ${Math.round(over)} s, now ${told(values[values.length - 1])}`;
  const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img", width: WIDTH, height: HEIGHT });
  svg.setAttribute("aria-label", words);
  const height = (/** @type {number} */ value) => HEIGHT - 1 - (Math.min(value, limit) / limit) * (HEIGHT - 2);
  const across = (/** @type {number} */ index) => (index / Math.max(1, values.length - 1)) * WIDTH;
  const points = values.map((value, index) => `${across(index).toFixed(1)},${height(value).toFixed(1)}`);
  const line = shape("polyline", { points: points.join(" ") });
  line.setAttribute("class", "plot-line");
  svg.append(line);
  return h("figure", { class: "plot-frame" }, svg, h("figcaption", { class: "muted plot-words" }, words));
}

/** @param {JobContainer} use */
function* egressView({ egress, connections }) {
  if (!egress.length && !connections.length) return;
  yield h("h3", {}, "Connections");
  if (!connections.length) {
    yield h("p", { class: "muted" }, "It has asked for none.");
    return;
  }
  const head = ["Target", "Refused", "Connections", "Bytes"].map((name) => h("th", { scope: "col" }, name));
  const rows = connections.map((one) =>
    h(
      "tr",
      { class: one.refused ? "bad" : "" },
      h("th", { scope: "row" }, one.target),
      h("td", {}, one.refused ?? "no"),
      h("td", {}, one.connections.toLocaleString()),
      h("td", {}, one.moved_bytes.toLocaleString()),
    ),
  );
  const table = h("table", { "aria-label": "Connections" }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows));
  yield h("div", { class: "scroll-x", tabindex: "0" }, table);
}

/** @typedef {{name: string, lines: string[], added: number, removed: number}} ChangedFile */

/**
 * The files of a unified diff. Lines of a file count by its hunks' own numbers, whatever they look like.
 * @param {string} diff @returns {ChangedFile[]}
 */
export function filesOf(diff) {
  /** @type {ChangedFile[]} */
  const files = [];
  let [before, after] = [0, 0];
  for (const line of diff.split("\n")) {
    const file = files[files.length - 1];
    if (file && (before > 0 || after > 0)) {
      const sign = line[0];
      if (sign === "+") file.added += 1;
      if (sign === "-") file.removed += 1;
      if (sign !== "+" && sign !== "\\") before -= 1;
      if (sign !== "-" && sign !== "\\") after -= 1;
      file.lines.push(line);
      continue;
    }
    const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
    if (hunk && file) {
      [before, after] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
      file.lines.push(line);
    } else if (line.startsWith("\\") && file) file.lines.push(line);
    else if (line.startsWith("--- ")) files.push({ name: line.slice(4), lines: [], added: 0, removed: 0 });
    else if (line.startsWith("+++ ") && file) file.name = named(file.name, line.slice(4));
    else if (line) files.push({ name: line, lines: [], added: 0, removed: 0 });
  }
  return files;
}

/** @param {string} before @param {string} after */
function named(before, after) {
  if (before === "/dev/null") return `added ${after.slice(2)}`;
  return after === "/dev/null" ? `deleted ${before.slice(2)}` : `changed ${after.slice(2)}`;
}

/** @param {string} diff @returns {HTMLElement} */
export function diffView(diff) {
  const files = filesOf(diff);
  return h(
    "section",
    { class: "section", "aria-label": "Changes" },
    h("h2", {}, `Changes (${files.length})`),
    ...files.map((file, index) => fileView(file, index < OPEN_FILES)),
  );
}

/** @param {ChangedFile} file @param {boolean} open */
function fileView(file, open) {
  const counts = `+${file.added} −${file.removed}`;
  const code = h("pre", { class: "diff", tabindex: "0", "aria-label": file.name });
  const whole = h("details", { open }, h("summary", {}, h("span", {}, file.name), h("span", { class: "muted" }, counts)), code);
  let drawn = 0;
  const draw = () => {
    code.append(...file.lines.slice(drawn, drawn + LINES).map(lineView));
    drawn = Math.min(file.lines.length, drawn + LINES);
    more.hidden = drawn === file.lines.length;
    more.textContent = `Show more (${(file.lines.length - drawn).toLocaleString()} lines)`;
  };
  const more = button("", draw, { class: "button small" });
  whole.append(more);
  if (open) draw();
  else whole.addEventListener("toggle", draw, { once: true });
  return whole;
}

const LOOKS = { "+": "diff-added", "-": "diff-removed", "@": "diff-hunk", "\\": "diff-hunk" };

/** @param {string} line */
const lineView = (line) => h("span", { class: LOOKS[line[0]] ?? null }, `${line}\n`);
