/** The arguments of a call as fields: texts as they are, anything else as JSON. */

import { composing, h } from "./dom.js";

const MAX_ROWS = 12;

export class ArgumentsForm {
  /** @type {Map<string, {input: HTMLTextAreaElement, note: HTMLElement, text: boolean}>} */ #fields =
    new Map();

  /** @param {Object<string, any>} given @param {string} id makes the fields' ids unique */
  constructor(given, id) {
    this.element = h("div", { class: "arguments-form" });
    Object.entries(given).forEach(([name, value], index) =>
      this.element.append(this.#field(name, value, `${id}-${index}`)),
    );
    this.element.append(h("p", { class: "hint" }, "Ctrl Enter approves as edited, Shift Enter starts a new line."));
  }

  focus() {
    const [first] = this.#fields.values();
    first?.input.focus();
  }

  /** The edited arguments; null, and a word at the field, where one cannot be read. */
  read() {
    /** @type {Object<string, any>} */ const edited = {};
    for (const [name, { input, note, text }] of this.#fields) {
      note.textContent = "";
      input.removeAttribute("aria-invalid");
      try {
        edited[name] = text ? input.value : JSON.parse(input.value);
      } catch {
        this.complain(name, "This is not JSON. Put text in double quotes.");
        return null;
      }
    }
    return edited;
  }

  /** @param {string} field a name, or a path that ends with it or begins below it @param {string} message */
  complain(field, message) {
    const steps = field.split(".");
    const name = steps.find((step) => this.#fields.has(step)) ?? [...this.#fields.keys()][0];
    const found = this.#fields.get(name ?? "");
    if (!found) return;
    found.note.textContent = message;
    found.input.setAttribute("aria-invalid", "true");
    found.input.focus();
  }

  /** @param {string} name @param {any} value @param {string} id */
  #field(name, value, id) {
    const text = typeof value === "string";
    const shown = text ? value : JSON.stringify(value, null, 2);
    const rows = Math.min(MAX_ROWS, shown.split("\n").length);
    const input = h("textarea", {
      id: `argument-${id}`,
      rows,
      spellcheck: "false",
      autocapitalize: "off",
      "aria-describedby": `note-${id}`,
    });
    input.value = shown;
    // A line stays one, as where messages are written: Shift makes a second.
    const line = text && !shown.includes("\n");
    input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (line && event.key === "Enter" && !event.shiftKey && !composing(event)) event.preventDefault();
    });
    const note = h("p", { class: "problem", id: `note-${id}`, role: "alert" });
    this.#fields.set(name, { input, note, text });
    return h(
      "div",
      { class: "field" },
      h("label", { for: input.id }, name, text ? null : h("span", { class: "muted" }, " (JSON)")),
      input,
      note,
    );
  }
}
