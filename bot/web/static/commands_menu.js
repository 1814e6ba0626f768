/** The commands that begin as what was typed does, below the field in which they are typed. */

import { h } from "./dom.js";

const BEGUN = /^\/[\w-]*$/;
let count = 0;

export class CommandsMenu {
  /** @type {{name: string, about: string}[]} */ #found = [];
  #at = 0;
  /** What was dismissed: it comes back with another letter. */
  #dismissed = "";

  /**
   * @param {HTMLTextAreaElement} field
   * @param {{name: string, about: string}[]} commands
   * @param {(text: string) => void} onTaken
   */
  constructor(field, commands, onTaken) {
    this.field = field;
    this.commands = commands;
    this.onTaken = onTaken;
    count += 1;
    this.element = h("ul", {
      class: "commands",
      id: `commands-${count}`,
      role: "listbox",
      "aria-label": "Commands",
      hidden: true,
    });
    field.addEventListener("input", () => this.#show());
    field.addEventListener("blur", () => this.#hide());
  }

  get open() {
    return !this.element.hidden;
  }

  #show() {
    const typed = this.field.value;
    if (typed !== this.#dismissed) this.#dismissed = "";
    const wanted = BEGUN.test(typed) && !this.#dismissed;
    this.#found = wanted ? this.commands.filter(({ name }) => name.startsWith(typed.slice(1))) : [];
    this.#at = 0;
    if (this.#found.length === 1 && this.#whole()) this.#found = [];
    this.element.replaceChildren(...this.#found.map((one, index) => this.#option(one, index)));
    this.element.hidden = !this.#found.length;
    this.#mark();
  }

  /** @param {{name: string, about: string}} command @param {number} index */
  #option({ name, about }, index) {
    const option = h(
      "li",
      { id: `${this.element.id}-${index}`, role: "option" },
      h("code", {}, `/${name}`),
      h("span", { class: "muted" }, about),
    );
    // The field keeps the focus.
    option.addEventListener("pointerdown", (event) => [event.preventDefault(), this.#take(index)]);
    return option;
  }

  /** A command that is typed whole is sent by Enter. */
  #whole() {
    return this.#found[this.#at]?.name === this.field.value.slice(1);
  }

  #mark() {
    [...this.element.children].forEach((one, index) => {
      one.setAttribute("aria-selected", String(index === this.#at));
      if (index === this.#at) one.scrollIntoView({ block: "nearest" });
    });
    if (this.open) {
      this.field.setAttribute("aria-controls", this.element.id);
      this.field.setAttribute("aria-activedescendant", `${this.element.id}-${this.#at}`);
    } else this.field.removeAttribute("aria-activedescendant");
  }

  #hide() {
    this.element.hidden = true;
    this.field.removeAttribute("aria-activedescendant");
  }

  /** @param {number} index */
  #take(index) {
    this.onTaken(`/${this.#found[index].name} `);
    this.#hide();
  }

  /** Whether the key was for the menu. @param {KeyboardEvent} event */
  takes(event) {
    if (!this.open) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      this.#at = (this.#at + step + this.#found.length) % this.#found.length;
      this.#mark();
    } else if (event.key === "Enter" && !event.shiftKey && this.#whole()) {
      this.#hide();
      return false;
    } else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) this.#take(this.#at);
    else if (event.key === "Escape") [(this.#dismissed = this.field.value), this.#hide()];
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
}
