/** Jobs: a board of them by state, and one of them with its events as they come. */

import * as api from "../api.js";
import { button, confirmButton, h, settled } from "../dom.js";
import { EventStream } from "../event_stream.js";
import { clip, shortTime } from "../format.js";
import { containerView, diffView } from "../job_container.js";
import { fileView } from "../message_view.js";
import { complaint, failure, loading, note, rowLink, timeView } from "../parts.js";
import { link } from "../router.js";
import { toast } from "../toasts.js";

const LIMIT = 200;
const HINTS_MS = 200;
const MEASURED_MS = 5_000;
const MICRO_USD = 1_000_000;
const COLUMNS = /** @type {[string, string[]][]} */ ([
  ["Waiting", ["pending"]],
  ["Running", ["in_progress", "stuck"]],
  ["For review", ["submitted"]],
  ["Done", ["completed", "accepted"]],
  ["Failed or cancelled", ["failed", "cancelled"]],
]);
const LOOKS = { in_progress: "busy", stuck: "attention", submitted: "attention", failed: "bad", completed: "good", accepted: "good" };
const WORKING = new Set(["pending", "in_progress", "stuck"]);

/** @param {Context} context @returns {Page} */
export function jobsPage(context) {
  return new JobsPage(context);
}

class JobsPage {
  /** @type {{element: HTMLElement, close: () => void} | null} */ #open = null;

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.body = h("div");
    this.element = h("div", { class: "page" }, this.body);
  }

  /** @param {import("../router.js").Route} route */
  show(route) {
    this.#open?.close();
    this.#open = route.detail ? new JobView(this.context, route.detail) : new Board(this.context);
    this.body.replaceChildren(this.#open.element);
  }

  close() {
    this.#open?.close();
  }
}

/** @param {string} title @param {...Node} more */
const heading = (title, ...more) =>
  h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, title), ...more);

/** @param {string} state */
const badge = (state) => h("span", { class: `badge ${LOOKS[state] ?? ""}` }, state.replace("_", " "));

/** @param {Job} job */
function used(job) {
  const facts = [`${job.rounds} of ${job.max_iterations} rounds`];
  if (job.last_tool) facts.push(`last tool ${job.last_tool}`);
  facts.push(`${(job.input_tokens + job.output_tokens).toLocaleString()} tokens`);
  if (job.cost_micro_usd) facts.push(`$${(job.cost_micro_usd / MICRO_USD).toFixed(4)}`);
  return facts.join(" · ");
}

class Board {
  #asked = new AbortController();

  /** @param {Context} context */
  constructor(context) {
    this.columns = h("div", { class: "board" }, note(loading()));
    this.element = h("div", {}, heading("Jobs"), this.columns);
    this.renew = settled(() => this.#load(), HINTS_MS);
    this.end = context.hub.on(["job_changed", "refetch"], () => this.renew());
    this.#load();
  }

  close() {
    this.renew.cancel();
    this.end();
    this.#asked.abort();
  }

  async #load() {
    const { signal } = this.#asked;
    try {
      const jobs = await api.jobs({ limit: LIMIT, signal });
      if (!signal.aborted) this.#show(jobs);
    } catch (error) {
      if (!signal.aborted) this.columns.replaceChildren(note(...failure(error, () => this.#load())));
    }
  }

  /** @param {Job[]} jobs */
  #show(jobs) {
    const none = note(h("p", {}, "No jobs yet."), h("p", { class: "muted" }, "Start one in a chat with /job."));
    this.columns.replaceChildren(...(jobs.length ? COLUMNS.map((column) => columnView(column, jobs)) : [none]));
  }
}

/** @param {[string, string[]]} column @param {Job[]} jobs */
function columnView([name, states], jobs) {
  const here = jobs.filter((job) => states.includes(job.state));
  const rows = here.map((job) =>
    h(
      "li",
      {},
      rowLink({
        href: link("jobs", job.id),
        current: false,
        title: job.title,
        time: timeView(job.created_at, shortTime(job.created_at)),
        about: `${job.short_id} · ${used(job)}`,
        badge: badge(job.state),
      }),
    ),
  );
  return h(
    "section",
    { class: "board-column", "aria-label": name },
    h("h2", {}, `${name} (${here.length})`),
    h("ul", { class: "rows" }, ...rows),
  );
}

/** @param {JobParts["subtasks"][number]} subtask */
const subtaskView = (subtask) =>
  h(
    "li",
    {},
    timeView(subtask.created_at),
    h("span", { class: "who" }, `subtask ${subtask.state}`),
    h("span", { class: "job-words" }, subtask.task),
  );

class JobView {
  #closed = false;
  #after = 0;
  /** The digest of the changes that are shown: only these can be accepted here. */
  #shownDigest = "";

  /** @param {Context} context @param {string} id */
  constructor(context, id) {
    this.context = context;
    this.id = id;
    this.facts = h("p", { class: "meta" });
    this.routine = h("p", { class: "meta", hidden: true });
    this.task = h("p", { class: "job-task" });
    this.actions = h("div", { class: "card-actions" });
    this.problem = complaint();
    this.result = h("pre", { class: "job-result", hidden: true });
    this.files = h("ul", { class: "files", "aria-label": "Files", hidden: true });
    this.subtasks = h("ol", { class: "job-events", "aria-label": "Subtasks", hidden: true });
    this.container = h("div");
    this.changes = h("div");
    this.events = h("ol", { class: "job-events", "aria-label": "Events" });
    this.head = h("div", {}, note(loading()));
    this.element = h(
      "div",
      { class: "job-page" },
      ...[this.head, this.facts, this.routine, this.problem, this.actions, this.task, this.result],
      ...[this.changes, this.container, this.files, this.subtasks, this.events],
    );
    this.renew = settled(() => this.#load(), HINTS_MS);
    this.end = context.hub.on(["job_changed", "refetch"], (event) => {
      if (!event.data?.job_id || event.data.job_id === this.job?.id) this.renew();
    });
    this.stream = new EventStream(
      () => api.jobStreamUrl(id, this.#after),
      (event) => this.#event(event.data),
      () => {},
    );
    this.measured = setInterval(() => WORKING.has(this.job?.state ?? "") && this.#showContainer(), MEASURED_MS);
    this.#load();
  }

  close() {
    this.#closed = true;
    clearInterval(this.measured);
    this.stream.close();
    this.renew.cancel();
    this.end();
  }

  async #load() {
    try {
      const [job, parts] = await Promise.all([api.job(this.id), api.jobParts(this.id)]);
      if (this.#closed) return;
      await this.#showChanges(job);
      if (this.#closed) return;
      this.#show(job);
      this.#showParts(parts);
      await this.#showContainer();
    } catch (error) {
      if (!this.#closed) this.head.replaceChildren(note(...failure(error, () => this.#load())));
    }
  }

  /** @param {Job} job */
  #show(job) {
    this.job = job;
    this.head.replaceChildren(heading(`${job.short_id}: ${job.title}`, badge(job.state)));
    this.facts.textContent = `${used(job)} · ${job.reason}`;
    this.routine.hidden = !job.routine_id;
    if (job.routine_id) this.routine.replaceChildren(h("a", { href: link("routines", job.routine_id) }, "Its routine"));
    this.task.textContent = job.task;
    this.result.textContent = job.result;
    this.result.hidden = !job.result;
    const focused = this.actions.contains(document.activeElement);
    this.actions.replaceChildren(...this.#offered(job));
    if (focused) this.actions.querySelector("button")?.focus();
  }

  /** @param {Job} job */
  async #showChanges(job) {
    if (!job.digest || job.digest === this.#shownDigest) return;
    const { diff, digest } = await api.jobChanges(this.id);
    this.changes.replaceChildren(diffView(diff));
    this.#shownDigest = digest;
  }

  async #showContainer() {
    if (!this.job?.project) return;
    // A job that waits has none yet, as one that failed before it began.
    const use = await api.jobContainer(this.id).catch(() => null);
    if (use && !this.#closed) this.container.replaceChildren(containerView(use));
  }

  /** @param {JobParts} parts */
  #showParts({ files, subtasks }) {
    this.files.replaceChildren(...files.map(fileView));
    this.files.hidden = !files.length;
    this.subtasks.replaceChildren(...subtasks.map(subtaskView));
    this.subtasks.hidden = !subtasks.length;
  }

  /** @param {Job} job */
  #offered(job) {
    const act = (label, action, body, look = "button") =>
      button(label, () => this.#act(action, body), { class: look });
    if (WORKING.has(job.state)) {
      const words = h("input", { type: "text", "aria-label": "Message to the job", placeholder: "Message to the job", maxlength: "20000" });
      const send = () => words.value.trim() && this.#act("prompt", { text: words.value });
      return [
        words,
        button("Send message", send, { class: "button primary" }),
        confirmButton("Cancel", `Cancel ${job.short_id}?`, () => this.#act("cancel"), { class: "button" }),
      ];
    }
    const again = act("Restart", "restart");
    if (job.state !== "submitted") return [again];
    const why = h("input", { type: "text", "aria-label": "Reason for a rejection", placeholder: "Reason for a rejection", maxlength: "2000" });
    const reject = button("Reject", () => this.#act("reject", { text: why.value }), { class: "button" });
    const accept = job.digest ? `accept?digest=${encodeURIComponent(this.#shownDigest)}` : "accept";
    return [act("Accept", accept, undefined, "button primary"), reject, again, why];
  }

  /** @param {string} action @param {Object<string, any>} [body] */
  async #act(action, body) {
    this.problem.hidden = true;
    try {
      const job = await api.actOnJob(this.id, action, body);
      toast(action === "prompt" ? "Message sent." : `Job ${job.short_id}: ${job.state}.`);
      if (action === "restart") this.context.navigate(link("jobs", job.id));
      else this.#show(job);
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
    }
  }

  /** @param {JobEvent} event */
  #event(event) {
    if (event.seq <= this.#after) return;
    this.#after = event.seq;
    const name = event.kind === "status" ? event.name.replace("_", " ") : event.name;
    const about = event.detail ? `${name} (${event.detail})` : name;
    this.events.append(
      h(
        "li",
        {},
        timeView(event.at),
        h("span", { class: "who" }, `${event.kind.replace("_", " ")} ${about}`),
        h("span", { class: "job-words", title: clip(event.text, 500) }, event.text),
      ),
    );
  }
}
