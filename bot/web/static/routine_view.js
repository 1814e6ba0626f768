/** One routine: what fires it, what it does, a message tried on it, and what its runs came to. */

import * as api from "./api.js";
import { codeView } from "./blocks.js";
import { button, confirmButton, h, settled } from "./dom.js";
import { fromNow, inZone } from "./format.js";
import { complaint, failure, loading, note, pane, timeView } from "./parts.js";
import { link } from "./router.js";
import { RoutineEditor } from "./routine_editor.js";
import { statusBadge } from "./routine_list.js";
import { runsView } from "./routine_runs.js";
import { TrialField } from "./routine_trial.js";
import { toast } from "./toasts.js";

const RUNS = 50;
const HINTS_MS = 200;

export class RoutineView {
  #closed = false;
  /** @type {RoutineEditor | null} */ #editor = null;

  /** @param {Context} context @param {string} id */
  constructor(context, id) {
    this.context = context;
    this.id = id;
    this.title = h("h2", { tabindex: "-1" }, "…");
    this.about = h("p", { class: "muted about" });
    this.status = h("span");
    this.facts = h("div", { class: "routine-facts" });
    this.actions = h("div", { class: "card-actions" });
    this.problem = complaint();
    this.trial = new TrialField((text, signal) => api.tryRoutine(id, text, signal));
    this.runs = h("div");
    this.what = h("div", { class: "routine-what" });
    this.body = h("div", { class: "routine-body" }, note(loading()));
    this.element = pane("Routine", link("routines"), [this.title, this.about], [this.body], this.status);
    this.head = this.element.firstChild;
    const renew = (this.renew = settled(() => this.#load(), HINTS_MS));
    this.end = context.hub.on(["routine_run", "routine_changed", "refetch"], (event) => {
      if (!event.data?.routine_id || event.data.routine_id === id) renew();
    });
    this.ready = this.#load();
  }

  close() {
    this.#closed = true;
    this.renew.cancel();
    this.end();
    this.trial.close();
    this.#editor?.close();
  }

  focus() {
    this.title.focus();
  }

  async #load() {
    try {
      const [routine, runs] = await Promise.all([api.routine(this.id), api.routineRuns(this.id, RUNS)]);
      if (!this.#closed) this.#show(routine, runs);
    } catch (error) {
      if (!this.#closed) this.#failed(error);
    }
  }

  /** @param {api.ApiError} error */
  #failed(error) {
    const gone = error.status === 404;
    this.title.textContent = gone ? "Routine not found" : "…";
    this.status.replaceChildren();
    const words = gone
      ? [h("p", {}, "It was deleted, or never existed.")]
      : failure(error, () => this.#load());
    this.body.replaceChildren(note(...words));
  }

  /** @param {Routine} routine @param {RoutineRun[]} runs */
  #show(routine, runs) {
    this.routine = routine;
    this.title.textContent = routine.name;
    this.title.title = routine.name;
    this.about.textContent = routine.fires_on;
    this.about.title = routine.fires_on;
    this.status.replaceChildren(statusBadge(routine.status));
    this.facts.replaceChildren(...facts(routine, this.context.me.timezone));
    this.#offer(routine);
    this.runs.replaceChildren(runsView(runs));
    this.what.replaceChildren(...whatItDoes(routine));
    if (this.#editor || this.facts.isConnected) return;
    const heard = routine.kind === "event";
    this.body.replaceChildren(
      this.facts,
      this.problem,
      this.actions,
      ...(heard ? [section("Test a message", this.trial.element)] : []),
      section("Last runs", this.runs),
      section("Definition", this.what),
    );
  }

  /** The buttons stay where they are, so that the focus does. @param {Routine} routine */
  #offer(routine) {
    if (!this.actions.childElementCount) {
      this.run = button("Run now", () => this.#do(() => api.fireRoutine(this.id), "Run queued."), {
        class: "button primary",
      });
      this.toggle = button("", () => this.#switch());
      this.actions.append(
        this.run,
        this.toggle,
        button("Edit", () => this.#edit()),
        confirmButton("Delete", `Delete ${routine.name} and its runs?`, () => this.#delete(), {
          class: "button",
        }),
      );
    }
    this.run.disabled = !routine.enabled;
    this.toggle.textContent = routine.enabled ? "Pause" : "Enable";
  }

  #switch() {
    const enabled = !this.routine?.enabled;
    return this.#do(() => api.switchRoutine(this.id, enabled), enabled ? "Routine enabled." : "Routine paused.");
  }

  #edit() {
    const leave = () => {
      this.#editor?.close();
      this.#editor = null;
      this.element.replaceChildren(this.head, this.body);
      this.body.replaceChildren();
      this.facts.remove();
      // Who is somewhere already, by a load that was faster, stays there.
      this.#load().then(() => this.element.contains(document.activeElement) || this.focus());
    };
    this.#editor = new RoutineEditor(this.context, this.routine ?? null, leave);
    this.element.replaceChildren(...this.#editor.element.childNodes);
    this.#editor.focus();
  }

  async #delete() {
    if (await this.#do(() => api.deleteRoutine(this.id), "Routine deleted."))
      this.context.navigate(link("routines"), { replace: true });
  }

  /** @param {() => Promise<any>} work @param {string} done */
  async #do(work, done) {
    this.problem.hidden = true;
    try {
      await work();
      toast(done);
      return true;
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
      return false;
    }
  }
}

/** @param {string} heading @param {Node} content */
function section(heading, content) {
  return h(
    "section",
    { class: "section", "aria-label": heading },
    h("div", { class: "section-head" }, h("h3", {}, heading)),
    content,
  );
}

/** @param {Routine} routine @param {string} timezone its person's, of quiet hours */
function facts(routine, timezone) {
  const said = routine.problem ?? routine.paused_because;
  const { trigger, notify } = routine.definition;
  const quiet = notify?.quiet_hours?.replace("-", "–");
  const next = routine.next_at ?? 0;
  const parts = [
    next ? h("span", {}, "next ", timeView(next, `${fromNow(next)}, ${inZone(next, trigger?.timezone)}`)) : null,
    routine.last_run_at
      ? h("span", {}, "last ", timeView(routine.last_run_at, fromNow(routine.last_run_at)))
      : null,
    quiet ? h("span", { title: "Notices are held back in these hours, and sent when they end." }, `quiet ${quiet} (${timezone})`) : null,
    h("span", {}, routine.run_count === 1 ? "1 run" : `${routine.run_count} runs`),
    routine.failures ? h("span", {}, `${routine.failures} ${routine.failures === 1 ? "failure" : "failures"} in a row`) : null,
    routine.skipped_slots ? h("span", {}, `skipped ${routine.skipped_slots} ${routine.skipped_slots === 1 ? "time" : "times"}`) : null,
  ];
  return [
    routine.definition.description ? h("p", {}, routine.definition.description) : "",
    said ? h("p", { class: "problem bad" }, routine.problem ? said : `Paused: ${said}`) : "",
    h("p", { class: "meta" }, ...parts),
  ];
}

/** @param {Routine} routine */
function whatItDoes(routine) {
  const { action } = routine.definition;
  const whole = JSON.stringify(routine.definition, null, 2);
  const summary = h("summary", {}, "Full definition (JSON)");
  return [
    h("p", { class: "prompt" }, action?.prompt ?? action?.description ?? ""),
    h("details", { class: "steps" }, summary, h("div", { class: "steps-rows" }, codeView(whole, "json"))),
  ];
}
