/** Settings: the configuration file's models, approvals and limits, and what is changed in the file only. */

import * as api from "../api.js";
import { approvalCard } from "../approval_card.js";
import { button, confirmButton, h, settled } from "../dom.js";
import { complaint, failure, field, form, loading, note, timeView } from "../parts.js";
import { complain, toast } from "../toasts.js";

/** @typedef {string | number | boolean | null} Written */
/** @typedef {{key: string, label: string, about: string, value: Written, choices: string[], variable: string | null}} Setting */
/** @typedef {{name: string, provider: string, model: string, base_url: string, api_key: string,
 *   variable: string | null}} Model */
/** @typedef {{file: string, missing: boolean, version: string, models: Model[], settings: Setting[], next_start: string[],
 *   locked: {key: string, line: number, value: string | null}[], can_undo: boolean,
 *   next_model: number, waiting: {gate_id: string, lines: string[], approved: boolean} | null}} SettingsFile */
/** @typedef {{name: string, changed_at: number}} Secret */
/** @typedef {{name: string, problem: string | null, total_s: number}} Trial */

const PROVIDERS = ["openai", "anthropic", "demo"];
/** @type {[("name" | "model" | "base_url" | "api_key"), string][]} */
const MODEL_FIELDS = [
  ["name", "Name"],
  ["model", "Model"],
  ["base_url", "Base URL"],
  ["api_key", "API key"],
];
const IN_THE_FILE = "in the file";
const KEY_HINT = "The key stays out of the file: store it as a secret below, then name it, such as vault:openai.";
const HINTS_MS = 150;
const SECTIONS = { approvals: "Approvals", budget: "Budget", access: "Messages", agent: "Answers" };

/** @param {Context} context @returns {Page} */
export function settingsPage(context) {
  return new SettingsPage(context);
}

class SettingsPage {
  #asked = new AbortController();
  #asks = 0;
  #drawn = "";

  /** @param {Context} context */
  constructor(context) {
    this.body = h("div", { class: "cards" }, note(loading()));
    this.undo = button("Undo the last change", () => this.#put("/undo", {}), { class: "button", hidden: true });
    this.problem = complaint();
    this.waiting = h("p", { role: "status" });
    this.asks = h("div", { class: "cards" });
    const head = h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Settings"), this.undo);
    this.jumps = h("nav", { class: "jumps", "aria-label": "Sections" });
    this.element = h("div", { class: "page" }, head, this.jumps, this.waiting, this.problem, this.asks, this.body);
    const renew = settled(() => this.#load(), HINTS_MS);
    this.end = context.hub.on(["approval_needed", "approval_resolved", "refetch"], () => (!this.file || this.file.waiting) && renew());
  }

  show() {
    this.#load();
  }

  close() {
    this.#asked.abort();
    this.end();
  }

  async #load() {
    const { signal } = this.#asked;
    try {
      const asked = ++this.#asks;
      const [file, secrets] = await Promise.all([api.settings({ signal }), api.secrets({ signal })]);
      if (!signal.aborted && asked === this.#asks) this.#draw(file, secrets);
    } catch (error) {
      if (signal.aborted) return;
      this.#drawn = "";
      this.body.replaceChildren(note(...failure(error, () => this.#load())));
    }
  }

  /** @param {string} where @param {Object<string, any>} body */
  async #put(where, body) {
    this.problem.hidden = true;
    try {
      this.#asks += 1; // whatever was asked before is older
      const file = await api.changeSettings(where, { version: this.file?.version ?? "", ...body });
      this.#draw(file, this.secrets ?? []);
      if (file.waiting) toast("This change waits for your approval.");
      else toast(where ? "The last change was undone." : "Saved.");
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
      this.problem.scrollIntoView({ block: "nearest" });
    }
  }

  /** @param {SettingsFile} file @param {Secret[]} secrets */
  #draw(file, secrets) {
    if (file.waiting?.approved) setTimeout(() => this.#load(), HINTS_MS);
    this.file = file;
    this.secrets = secrets;
    this.#card(file.waiting);
    const drawn = JSON.stringify([file, secrets]);
    if (drawn === this.#drawn) return; // who is about to write or to confirm something is not disturbed
    this.#drawn = drawn;
    this.undo.hidden = !file.can_undo;
    const count = file.next_start.length;
    const words = `${count} ${count === 1 ? "setting waits" : "settings wait"} for a restart: ${file.next_start.join(", ")}`;
    const made = `The hub runs on its defaults. Your first change makes the file ${file.file}.`;
    this.waiting.textContent = count ? words : file.missing ? made : "";
    const sections = Object.entries(SECTIONS).map(([section, title]) => this.#section(section, title));
    const cards = [this.#models(), this.#secrets(), ...sections, lockedView(file)];
    this.jumps.replaceChildren(...cards.map(jumpTo));
    this.body.replaceChildren(...cards);
  }

  /** The change that waits, with its answers. @param {SettingsFile["waiting"]} waiting */
  async #card(waiting) {
    if (!waiting) return this.asks.replaceChildren();
    if (this.shown === waiting.gate_id && this.asks.childElementCount) return undefined;
    this.shown = waiting.gate_id;
    const page = await api.approvals({ state: "pending", limit: 100 }).catch(() => null);
    const asked = page?.approvals.find((one) => one.gate_id === waiting.gate_id);
    if (asked && this.file?.waiting) this.asks.replaceChildren(approvalCard(asked, { place: "page" }).element);
    return undefined;
  }

  /** @param {string} section @param {string} title */
  #section(section, title) {
    const settings = this.file?.settings.filter((one) => one.key.startsWith(`${section}.`)) ?? [];
    const inputs = settings.map((one) => inputOf(one));
    const save = () => {
      const changed = settings.flatMap((one, at) => {
        const value = valueOf(one, inputs[at].value);
        return value === one.value ? [] : [[one.key, value]];
      });
      if (changed.length) this.#put("", { changes: Object.fromEntries(changed) });
    };
    const fields = settings.map((one, at) => {
      const about = h("p", { class: "hint", id: `about-${one.key.replace(".", "-")}` }, one.about);
      inputs[at].setAttribute("aria-describedby", about.id);
      return h("div", {}, field(labelOf(one), inputs[at]), about);
    });
    return card(title, form(`Save ${title.toLowerCase()}`, save, h("div", { class: "settings-fields" }, ...fields)));
  }

  #models() {
    const models = this.file?.models ?? [];
    const rows = models.map((model, at) => this.#model(model, at));
    const result = h("ul", { "aria-label": "Test results", "aria-live": "polite" });
    const test = button("Test the running models", () => this.#test(test, result, () => api.testModels()));
    const adding = h("details", {}, h("summary", {}, "Add a model"), h("p", { class: "muted" }, KEY_HINT), this.#modelForm(null));
    return card("Models", h("ul", { class: "accounts" }, ...rows), h("div", { class: "card-actions" }, test), result, adding);
  }

  /** @param {Model} model @param {number} at */
  #model(model, at) {
    const facts = [model.provider, model.model, model.base_url, model.api_key, model.variable && `set by ${model.variable}`];
    if (at >= (this.file?.next_model ?? 0) && !model.variable) facts.push("built in, until you add one");
    const first = at > 0 && button("Make default", () => this.#put("", { default_model: at }), { class: "button small" });
    const badge = at === 0 && h("span", { class: "badge good" }, "default");
    const drop = () => this.#put("", { remove_model: at });
    const written = at < (this.file?.next_model ?? 0);
    const remove = written && confirmButton("Remove", `Remove ${model.name}?`, drop, { class: "button small" });
    const edits = written && PROVIDERS.includes(model.provider) && !model.variable;
    const edit = edits && h("details", {}, h("summary", {}, `Edit ${model.name}`), this.#modelForm(model, at));
    const actions = h("div", { class: "card-actions" }, first, remove);
    const shown = h("span", { class: "muted" }, facts.filter(Boolean).join(" · "));
    return h("li", {}, h("strong", {}, model.name), badge, shown, actions, edit);
  }

  /** Adds a model, or edits one. @param {Model | null} model @param {number} [at] */
  #modelForm(model, at) {
    const inputs = Object.fromEntries(
      MODEL_FIELDS.map(([name]) => [name, h("input", { type: "text", autocomplete: "off", value: model?.[name] ?? "" })]),
    );
    if (model?.api_key === IN_THE_FILE) inputs.api_key.value = "";
    inputs.name.required = true;
    const provider = h("select", {}, ...PROVIDERS.map((one) => h("option", { selected: one === model?.provider }, one)));
    const written = { ...inputs, provider };
    const place = at ?? this.file?.next_model ?? 0;
    const changes = () => {
      const found = Object.entries(written).flatMap(([name, input]) => {
        const [was, now] = [model?.[name] ?? "", input.value.trim()];
        const kept = was === now || (was === IN_THE_FILE && !now);
        return kept ? [] : [[`models.${place}.${name}`, now || null]];
      });
      return Object.fromEntries(found);
    };
    const result = h("ul", { "aria-label": "Test result", "aria-live": "polite" });
    const attempt = () => api.tryModel({ version: this.file?.version ?? "", changes: changes(), place });
    const test = button("Test", () => this.#test(test, result, attempt), { type: "button" });
    const save = () => Object.keys(changes()).length && this.#put("", { changes: changes() });
    const [name, ...others] = MODEL_FIELDS.map(([key, label]) => field(label, inputs[key]));
    return form(model ? "Save model" : "Add model", save, name, field("Provider", provider), ...others, test, result);
  }

  /** @param {HTMLButtonElement} test @param {HTMLElement} result @param {() => Promise<Trial[]>} attempt */
  async #test(test, result, attempt) {
    test.disabled = true;
    try {
      const trials = await attempt();
      result.replaceChildren(...trials.map((one) => h("li", {}, `${one.name}: ${one.problem ?? `works, ${one.total_s.toFixed(1)} s`}`)));
    } catch (error) {
      complain(error);
    } finally {
      test.disabled = false;
    }
  }

  /** Values go in and never come out. */
  #secrets() {
    const name = h("input", { type: "text", autocomplete: "off", required: true, maxlength: "100" });
    const value = h("input", { type: "password", autocomplete: "new-password", required: true });
    const done = (/** @type {Promise<{outcome: string}>} */ work) =>
      work.then(({ outcome }) => [toast(`Secret ${outcome}.`), this.#load()], complain);
    const rows = (this.secrets ?? []).map((one) => {
      const drop = () => done(api.dropSecret(one.name));
      const remove = confirmButton("Delete", `Delete ${one.name}?`, drop, { class: "button small" });
      return h("li", {}, h("code", {}, `vault:${one.name}`), timeView(one.changed_at), remove);
    });
    const store = () => done(api.setSecret({ name: name.value.trim(), value: value.value }));
    const about = h("p", { class: "muted" }, "Kept encrypted in the vault. A value is never shown again; name it where a key is asked for.");
    const list = rows.length ? h("ul", { class: "accounts" }, ...rows) : null;
    return card("Secrets", about, ...(list ? [list] : []), form("Store secret", store, h("div", { class: "settings-fields" }, field("Secret name", name), field("Value", value))));
  }
}

/** @param {string} title @param {...Node} parts */
const card = (title, ...parts) => h("section", { class: "card", "aria-label": title }, h("h2", {}, title), ...parts);

/** @param {HTMLElement} section */
function jumpTo(section) {
  const there = () => {
    section.tabIndex = -1;
    section.scrollIntoView({ block: "start" });
    section.focus({ preventScroll: true });
  };
  return button(section.getAttribute("aria-label") ?? "", there, { class: "filter" });
}

/** @param {Setting} one */
const labelOf = (one) => (one.variable ? `${one.label} (set by ${one.variable})` : one.label);

/** @param {Setting} one */
function inputOf(one) {
  const disabled = one.variable !== null;
  if (!one.choices.length) return h("input", { type: "number", step: "any", value: one.value, disabled });
  return h("select", { disabled }, ...one.choices.map((choice) => h("option", { selected: choice === one.value }, choice)));
}

/** @param {Setting} one @param {string} text @returns {Written} */
const valueOf = (one, text) => (one.choices.length ? text : text === "" ? null : Number(text));

/** @param {SettingsFile} file */
function lockedView(file) {
  const rows = file.locked.map((one) =>
    h("li", {}, h("code", {}, one.key), h("span", { class: "muted" }, `${file.file}:${one.line}`), one.value && h("code", {}, one.value)),
  );
  const about = h("p", { class: "muted" }, "Commands, paths, addresses, owner accounts and the admin policy. Edit the line, then restart.");
  return card("Changed in the file only", about, h("ul", { class: "accounts" }, ...rows));
}
