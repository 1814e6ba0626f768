/** Settings: the configuration file's models, approvals and limits, and what is changed in the file only. */

import * as api from "../api.js";
import { button, h } from "../dom.js";
import { complaint, failure, field, form, loading, note } from "../parts.js";
import { complain, toast } from "../toasts.js";

/** @typedef {string | number | boolean | null} Written */
/** @typedef {{key: string, value: Written, choices: string[], variable: string | null}} Setting */
/** @typedef {{name: string, provider: string, model: string, base_url: string, api_key: string,
 *   variable: string | null}} Model */
/** @typedef {{file: string, version: string, models: Model[], settings: Setting[], next_start: string[],
 *   locked: {key: string, line: number, value: string | null}[], can_undo: boolean,
 *   next_model: number}} SettingsFile */

const PROVIDERS = ["openai", "anthropic", "demo"];
const SECTIONS = { approvals: "Approvals", budget: "Budget", access: "Messages", agent: "Answers" };

/** @param {Context} _ @returns {Page} */
export function settingsPage(_) {
  return new SettingsPage();
}

class SettingsPage {
  #asked = new AbortController();

  constructor() {
    this.body = h("div", { class: "cards" }, note(loading()));
    this.undo = button("Undo the last change", () => this.#put("/undo", {}), { class: "button", hidden: true });
    this.problem = complaint();
    this.confirm = h("div", { class: "note", role: "alertdialog", "aria-label": "Confirm the change", hidden: true });
    this.waiting = h("p", { role: "status" });
    const head = h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Settings"), this.undo);
    this.element = h("div", { class: "page" }, head, this.waiting, this.confirm, this.problem, this.body);
  }

  show() {
    this.#load();
  }

  close() {
    this.#asked.abort();
  }

  async #load() {
    const { signal } = this.#asked;
    try {
      const file = await api.settings({ signal });
      if (!signal.aborted) this.#draw(file);
    } catch (error) {
      if (!signal.aborted) this.body.replaceChildren(note(...failure(error, () => this.#load())));
    }
  }

  /** @param {string} where @param {Object<string, any>} body */
  async #put(where, body) {
    this.problem.hidden = this.confirm.hidden = true;
    try {
      this.#draw(await api.changeSettings(where, { version: this.file?.version ?? "", ...body }));
      toast(where ? "The last change was undone." : "Saved.");
    } catch (error) {
      if (error.field === "confirmed") return this.#ask(error.message, () => this.#put(where, { ...body, confirmed: true }));
      this.problem.textContent = error.message;
      this.problem.hidden = false;
    }
    return undefined;
  }

  /** What loosens consent is said again before it is written. @param {string} words @param {() => void} work */
  #ask(words, work) {
    const keep = button("Keep as it is", () => (this.confirm.hidden = true));
    const go = button("Change it", work, { class: "button primary" });
    this.confirm.replaceChildren(h("p", {}, words), h("div", { class: "card-actions" }, go, keep));
    this.confirm.hidden = false;
    keep.focus();
  }

  /** @param {SettingsFile} file */
  #draw(file) {
    this.file = file;
    this.undo.hidden = !file.can_undo;
    const count = file.next_start.length;
    const words = `${count} ${count === 1 ? "setting waits" : "settings wait"} for a restart: ${file.next_start.join(", ")}`;
    this.waiting.textContent = count ? words : "";
    const sections = Object.entries(SECTIONS).map(([section, title]) => this.#section(section, title));
    this.body.replaceChildren(this.#models(), ...sections, lockedView(file));
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
    const fields = settings.map((one, at) => field(labelOf(one), inputs[at]));
    return card(title, form(`Save ${title.toLowerCase()}`, save, ...fields));
  }

  #models() {
    const models = this.file?.models ?? [];
    const rows = models.map((model, at) => this.#model(model, at));
    const result = h("ul", { "aria-label": "Test results", "aria-live": "polite" });
    const test = button("Test the running models", () => this.#test(test, result));
    return card("Models", h("ul", { class: "accounts" }, ...rows), test, result, this.#newModel());
  }

  /** @param {Model} model @param {number} at */
  #model(model, at) {
    const facts = [model.provider, model.model, model.base_url, model.api_key, model.variable && `set by ${model.variable}`];
    const first = at > 0 && button("Make default", () => this.#put("", { default_model: at }), { class: "button small" });
    const badge = at === 0 && h("span", { class: "badge good" }, "default");
    return h("li", {}, h("strong", {}, model.name), badge, h("span", { class: "muted" }, facts.filter(Boolean).join(" · ")), first);
  }

  #newModel() {
    const provider = h("select", {}, ...PROVIDERS.map((one) => h("option", {}, one)));
    const [name, model, url, key] = [1, 2, 3, 4].map(() => h("input", { type: "text", autocomplete: "off" }));
    name.required = true;
    const add = () => {
      const written = { name, provider, model, base_url: url, api_key: key };
      const place = this.file?.next_model ?? 0;
      const changes = Object.entries(written).filter(([, input]) => input.value.trim());
      this.#put("", { changes: Object.fromEntries(changes.map(([of, input]) => [`models.${place}.${of}`, input.value.trim()])) });
    };
    const hint = h("p", { class: "muted" }, "The key stays out of the file: name it, such as vault:openai after hubbub secrets set openai.");
    const fields = [field("Name", name), field("Provider", provider), field("Model", model), field("Base URL", url), field("API key", key)];
    return h("details", {}, h("summary", {}, "Add a model"), hint, form("Add model", add, ...fields));
  }

  /** @param {HTMLButtonElement} test @param {HTMLElement} result */
  async #test(test, result) {
    test.disabled = true;
    try {
      const trials = await api.testModels();
      result.replaceChildren(...trials.map((one) => h("li", {}, `${one.name}: ${one.problem ?? `works, ${one.total_s.toFixed(1)} s`}`)));
    } catch (error) {
      complain(error);
    } finally {
      test.disabled = false;
    }
  }
}

/** @param {string} title @param {...Node} parts */
const card = (title, ...parts) => h("section", { class: "card", "aria-label": title }, h("h2", {}, title), ...parts);

/** @param {Setting} one */
function labelOf(one) {
  const name = one.key.slice(one.key.indexOf(".") + 1).replaceAll("_", " ");
  const words = `${name[0].toUpperCase()}${name.slice(1)}`;
  return one.variable ? `${words} (set by ${one.variable})` : words;
}

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
