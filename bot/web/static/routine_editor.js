/** Writing a routine: its fields, judged and tried by the hub while they are filled in. */

import * as api from "./api.js";
import { button, h, settled } from "./dom.js";
import { inZone } from "./format.js";
import { pane } from "./parts.js";
import { link } from "./router.js";
import { ACTIONS, TRIGGERS, definitionOf, fieldsOf } from "./routine_fields.js";
import { TrialField } from "./routine_trial.js";
import { toast } from "./toasts.js";

const TYPING_MS = 300;

export class RoutineEditor {
  /** @type {Map<string, ReturnType<typeof fieldView>>} */ #fields = new Map();
  /** Fields somebody has been in: of these it is said what is wrong. @type {Set<string>} */ #met = new Set();
  #asked = new AbortController();

  /**
   * @param {Context} context
   * @param {Routine | null} routine null: a new one
   * @param {() => void} [leave] where there is something to go back to
   */
  constructor(context, routine, leave = () => context.navigate(link("routines"))) {
    this.context = context;
    this.routine = routine;
    this.leave = leave;
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const fresh = { trigger: { type: "cron", timezone: timeZone }, action: { type: "lightweight" } };
    this.given = routine?.definition ?? fresh;
    this.kind = this.given.trigger.type;
    this.does = this.given.action.type;
    this.title = h("h2", { tabindex: "-1" }, routine ? `Edit ${routine.name}` : "New routine");
    this.problem = h("p", { class: "problem bad", role: "alert" });
    this.fires = h("p", { class: "fires-on", role: "status" });
    this.trial = new TrialField((text, signal) => this.#try(text, signal));
    const heading = h("span", { class: "label" }, "Test a message");
    this.trialPart = h("div", { class: "field" }, heading, this.trial.element);
    this.form = h("form", { class: "routine-form", novalidate: true });
    this.form.addEventListener("submit", (event) => this.#save(event));
    this.form.addEventListener("input", settled(() => this.#judge(), TYPING_MS));
    const body = h("div", { class: "routine-body" }, this.form);
    this.element = pane(routine ? "Edit routine" : "New routine", link("routines"), [this.title], [body]);
    this.#draw();
  }

  close() {
    this.#asked.abort();
    this.trial.close();
  }

  focus() {
    this.#fields.get("name")?.input.focus();
  }

  /** All fields, with what stands in them now. */
  #draw() {
    const page = this.#fields.size ? this.#page() : this.given;
    this.#fields.clear();
    const parts = fieldsOf(this.kind, this.does).map((spec) => {
      const hint = spec.hint?.replace("{timezone}", this.context.me.timezone);
      const view = fieldView({ ...spec, hint }, page, () => this.#met.add(spec.path));
      this.#fields.set(spec.path, view);
      return [spec.part, view.element];
    });
    const of = (/** @type {string} */ part) => parts.filter(([name]) => name === part).map(([, one]) => one);
    this.trialPart.hidden = this.kind !== "event";
    const [name, ...what] = of("what");
    this.form.replaceChildren(
      name,
      this.#choice("routine-does", "What it does", ACTIONS, this.does, (does) => (this.does = does)),
      ...what,
      this.#choice("routine-kind", "Trigger", TRIGGERS, this.kind, (kind) => (this.kind = kind)),
      ...of("when"),
      this.fires,
      this.trialPart,
      folded("Notices", of("notices")),
      folded("Limits and options", of("more")),
      this.problem,
      h(
        "div",
        { class: "card-actions" },
        h("button", { type: "submit", class: "button primary" }, "Save"),
        button("Cancel", this.leave),
      ),
    );
    this.#judge();
  }

  /** A choice on which other fields depend. @param {string} id @param {string} label
   * @param {Object<string, {label: string}>} kinds @param {string} now @param {(kind: string) => void} take */
  #choice(id, label, kinds, now, take) {
    const options = Object.entries(kinds).map(([kind, one]) =>
      h("option", { value: kind, selected: kind === now }, one.label),
    );
    const select = h("select", { id }, ...options);
    select.addEventListener("change", () => {
      take(select.value);
      this.#draw();
      /** @type {HTMLElement | null} */ (this.form.querySelector(`#${id}`))?.focus();
    });
    return h("div", { class: "field" }, h("label", { for: id }, label), select);
  }

  #page() {
    return definitionOf(this.kind, this.does, this.given, (path) => this.#fields.get(path)?.read());
  }

  async #judge() {
    this.#asked.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    try {
      const draft = await api.draftRoutine(this.#page(), this.trial.text || null, signal);
      if (!signal.aborted) this.#show(draft);
    } catch (error) {
      if (!signal.aborted) this.problem.textContent = error.message;
    }
  }

  /** @param {Draft} draft */
  #show(draft) {
    this.#fields.get("action.mode")?.offer(draft.agents);
    this.#fields.get("action.image")?.offer(draft.images);
    this.#complain(draft.problems.filter(({ field }) => this.#met.has(field)));
    const zone = draft.problems.length ? "" : this.#page().trigger.timezone;
    const next = draft.slots.length ? `. Next: ${draft.slots.slice(0, 3).map((at) => inZone(at, zone)).join("; ")}` : "";
    this.fires.textContent = draft.fires_on ? `${draft.fires_on}${next}` : "";
    this.trial.show(this.trial.text ? draft.trial : null);
  }

  /** @param {string} text @param {AbortSignal} signal */
  async #try(text, signal) {
    return (await api.draftRoutine(this.#page(), text, signal)).trial;
  }

  /** @param {{field: string, message: string}[]} problems */
  #complain(problems) {
    const rest = [];
    for (const view of this.#fields.values()) view.complain("");
    for (const { field, message } of problems) {
      const view = this.#fields.get(field);
      if (view) view.complain(message);
      else rest.push(`${field} ${message}`.trim());
    }
    this.problem.textContent = rest.join("; ");
  }

  /** @param {Event} event */
  async #save(event) {
    event.preventDefault();
    const page = this.#page();
    try {
      const draft = await api.draftRoutine(page, null, new AbortController().signal);
      this.#complain(draft.problems);
      if (draft.problems.length) return this.#lead(draft.problems);
      const saved = await api.saveRoutine(this.routine?.id ?? "", page);
      toast(`${saved.name} was saved.`);
      if (this.routine) this.leave();
      else this.context.navigate(link("routines", saved.id), { replace: true });
    } catch (error) {
      const { field, message } = error;
      this.#complain([{ field: field ?? "", message: field ? message.replace(`${field} `, "") : message }]);
      this.#lead([{ field: field ?? "" }]);
    }
    return undefined;
  }

  /** To the first field something is wrong with. @param {{field: string}[]} problems */
  #lead(problems) {
    problems.forEach(({ field }) => this.#met.add(field));
    const first = problems.map(({ field }) => this.#fields.get(field)).find(Boolean);
    first?.input.closest("details")?.setAttribute("open", "");
    first?.input.focus();
  }
}

/** @param {string} heading @param {Node[]} fields */
const folded = (heading, fields) =>
  h("details", { class: "steps" }, h("summary", {}, heading), h("div", { class: "steps-rows" }, ...fields));

/** @param {import("./routine_fields.js").Field} spec @param {any} page @param {() => void} onMet */
function fieldView(spec, page, onMet) {
  const id = `routine-${spec.path.replace(/\W/g, "-")}`;
  const [part, name] = spec.path.includes(".") ? spec.path.split(".") : ["", spec.path];
  const value = part ? page[part]?.[name] : page[name];
  const note = h("p", { class: "problem", id: `${id}-note`, role: "alert" });
  const input = spec.input(value, { id, "aria-describedby": note.id, autocomplete: "off" });
  input.addEventListener("change", onMet);
  // What is written is judged while it is: see "routine-drafts".
  input.addEventListener("input", () => input.value && onMet());
  const label = h("label", { for: id }, spec.label);
  const hint = spec.hint ? h("p", { class: "hint" }, spec.hint) : null;
  const check = input.type === "checkbox";
  const both = check ? [input, label] : [label, input];
  const parts = [...both, input.suggestions ?? null, hint, note];
  const element = h("div", { class: check ? "field check" : "field" }, ...parts);
  element.hidden = Boolean(input.offer) && !input.offer([]);
  return {
    input,
    element,
    read: () => spec.read(input),
    /** @param {string[]} words what the hub offers now */
    offer(words) {
      element.hidden = !input.offer(words);
    },
    /** @param {string} message */
    complain(message) {
      note.textContent = message;
      if (message) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    },
  };
}
