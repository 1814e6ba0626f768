/** What the last runs of a routine came to: a plot of how long they took, and a table. */

import { codeView } from "./blocks.js";
import { h, shape } from "./dom.js";
import { clip, seconds as inWords, shortTime, unmarked } from "./format.js";
import { timeView } from "./parts.js";
import { link } from "./router.js";
import { statusBadge } from "./routine_list.js";

const HEIGHT = 64;
const STEP = 12;
const BAR = 9;
/** Of a run that took no time to speak of, so that it is seen. */
const LEAST = 4;
const SECOND_US = 1_000_000;
const LOOKS = { attention: "attention", ok: "good", running: "busy", waiting: "busy", skipped: "" };
const TITLES = ["Time", "Trigger", "Status", "Duration", "Tokens", "Result"];

/** @param {RoutineRun[]} runs newest first */
export function runsView(runs) {
  if (!runs.length) return h("p", { class: "muted" }, "No runs yet.");
  const head = TITLES.map((word) => h("th", { scope: "col" }, word));
  return h(
    "div",
    { class: "runs" },
    plot([...runs].reverse()),
    h(
      "div",
      { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Runs" },
      h(
        "table",
        { class: "plain" },
        h("thead", {}, h("tr", {}, ...head)),
        h("tbody", {}, ...runs.map(rowView)),
      ),
    ),
  );
}

/** @param {RoutineRun} run */
function rowView(run) {
  const cells = [
    timeView(run.started_at ?? run.due_at, shortTime(run.started_at ?? run.due_at)),
    run.kind.replace("_", " "),
    statusBadge(run.status),
    took(run),
    String(run.input_tokens + run.output_tokens),
    [clip(unmarked(run.error ?? run.result ?? ""), 160), ...jobView(run.job_id), ...missingView(run.missing_grants)],
  ];
  return h("tr", {}, ...cells.map((cell) => h("td", {}, ...[cell].flat())));
}

/** @param {string | null} id */
const jobView = (id) => (id ? [h("p", {}, h("a", { href: link("jobs", id) }, "Job"))] : []);

/** The grants that its refused calls lacked, each whole, to be copied. @param {string[]} grants */
function missingView(grants) {
  if (!grants.length) return [];
  const rows = h("div", { class: "steps-rows" }, ...grants.map((grant) => codeView(grant, "grant")));
  return [h("details", { class: "steps" }, h("summary", {}, `Missing grants: ${grants.length}`), rows)];
}

/** @param {RoutineRun} run */
const seconds = (run) => (run.started_at && run.ended_at ? (run.ended_at - run.started_at) / SECOND_US : 0);

/** @param {RoutineRun} run */
function took(run) {
  if (!run.started_at || !run.ended_at) return "";
  return inWords(run.ended_at - run.started_at);
}

/** One bar a run, the oldest first, as high as it took long. @param {RoutineRun[]} runs */
function plot(runs) {
  const longest = Math.max(...runs.map(seconds), 0.001);
  const width = runs.length * STEP;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "plot", role: "img", width });
  svg.setAttribute("height", String(HEIGHT));
  svg.setAttribute("aria-label", summary(runs, longest));
  runs.forEach((run, index) => {
    const height = Math.max(LEAST, (seconds(run) / longest) * (HEIGHT - 1));
    const look = LOOKS[run.status] ?? "bad";
    const bar = shape("rect", { x: index * STEP, y: HEIGHT - height, width: BAR, height, rx: 1.5 });
    bar.setAttribute("class", look ? `bar ${look}` : "bar");
    const title = shape("title", {});
    title.textContent = `${run.status}${took(run) ? `, ${took(run)}` : ""}`;
    bar.append(title);
    svg.append(bar);
  });
  const words = h("p", { class: "muted plot-words", "aria-hidden": "true" }, summary(runs, longest));
  const scale = (/** @type {string[]} */ ...marks) =>
    h("p", { class: "plot-scale", "aria-hidden": "true" }, ...marks.map((mark) => h("span", {}, mark)));
  const highest = scale(`${inWords(longest * SECOND_US)} at most`);
  const first = runs[0].started_at ?? runs[0].due_at;
  const last = runs[runs.length - 1].started_at ?? runs[runs.length - 1].due_at;
  const times = runs.length > 1 ? scale(shortTime(first), shortTime(last)) : scale(shortTime(first));
  times.style.width = `${width}px`;
  return h("figure", { class: "plot-frame" }, highest, h("div", { class: "plot-room" }, svg), times, words);
}

/** @param {RoutineRun[]} runs @param {number} longest */
function summary(runs, longest) {
  /** @type {Map<string, number>} */ const counts = new Map();
  for (const { status } of runs) counts.set(status, (counts.get(status) ?? 0) + 1);
  const words = [...counts].map(([status, count]) => `${count} ${status}`).join(", ");
  const latest = runs.length === 1 ? "The only run" : `The last ${runs.length} runs`;
  return `${latest}: ${words}; the longest took ${longest < 10 ? longest.toFixed(1) : Math.round(longest)} s`;
}
