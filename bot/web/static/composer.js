/** Where a message is written: grows with it, keeps drafts, takes files, and never sends half a word. */

import { CommandsMenu } from "./commands_menu.js";
import { button, composing, h, icon, iconButton } from "./dom.js";
import { clip } from "./format.js";
import { complaint } from "./parts.js";
import { Uploads } from "./uploads.js";

const DRAFT = "draft:";
/** The hub takes no longer ones. */
const MAX_CHARS = 20_000;

/**
 * What a message is about: the turn that an edited one replaces, the line that one replies to.
 * @typedef {{instead_of?: string, reply_to?: number}} About
 */

export class Composer {
  /**
   * @param {{label: string, placeholder: string, hint?: string, draft: string, files: boolean,
   *   commands?: {name: string, about: string}[],
   *   onSend: (text: string, uploads: string[], about: About) => Promise<void>, onStop: () => void,
   *   onUp?: () => void}} options
   *   `onUp`: ↑ in an empty field
   */
  constructor(options) {
    this.options = options;
    // The button that was pressed is gone with its file; the focus must not be.
    this.uploads = new Uploads({ onChange: () => this.#refresh(), onRemoved: () => this.focus() });
    this.field = this.#makeField();
    const taken = (/** @type {string} */ text) => this.write(text);
    this.menu = new CommandsMenu(this.field, options.commands ?? [], taken);
    this.sendButton = h(
      "button",
      { type: "submit", class: "icon-button primary", "aria-label": "Send", title: "Send (Enter)" },
      icon("send"),
    );
    this.stopButton = iconButton("stop", "Stop", () => options.onStop(), {
      hidden: true,
      class: "icon-button stop",
    });
    this.problem = complaint();
    this.replying = h("p", { class: "replying", hidden: true });
    this.instead = "";
    this.editing = h("p", { class: "hint editing", role: "status", hidden: true });
    this.element = this.#form();
    this.#refresh();
    requestAnimationFrame(() => this.#grow());
  }

  focus() {
    this.field.focus();
  }

  /** @param {boolean} busy */
  setBusy(busy) {
    this.stopButton.hidden = !busy;
  }

  /** @param {Iterable<File>} files */
  attach(files) {
    if (this.options.files) this.uploads.add(files);
  }

  /** What is sent next is a reply to that line. @param {Item | null} item */
  reply(item) {
    this.replyTo = item?.seq;
    const end = iconButton("close", "Don't reply", () => this.reply(null));
    this.replying.replaceChildren(...(item ? [h("span", {}, `Reply to: ${clip(item.text ?? "", 80)}`), end] : []));
    this.replying.hidden = !item;
    this.focus();
  }

  /** @param {string} text */
  write(text) {
    this.field.value = text;
    this.#changed();
  }

  /** An earlier message is written anew: sending it undoes that turn and all after it. @param {string} text @param {string} turn */
  edit(text, turn) {
    this.instead = turn;
    this.editing.replaceChildren(
      h("span", {}, "Editing an earlier message. Sending it undoes that message and everything after it."),
      button("Cancel", () => [this.#edited(), this.write(""), this.focus()], { class: "button quiet small" }),
    );
    this.editing.hidden = false;
    this.write(text);
    this.focus();
  }

  #edited() {
    this.instead = "";
    this.editing.hidden = true;
  }

  /** What could not be reached is there again: what was not sent can be. */
  reconnected() {
    if (!this.problem.hidden && this.field.value) this.#complain("Connected again. Press Send to send your message.");
  }

  #makeField() {
    const { label, placeholder, draft } = this.options;
    const field = h("textarea", {
      rows: "1",
      "aria-label": label,
      placeholder,
      maxlength: MAX_CHARS,
      enterkeyhint: "send",
    });
    field.value = sessionStorage.getItem(DRAFT + draft) ?? "";
    field.addEventListener("input", () => this.#changed());
    field.addEventListener("keydown", (event) => this.#key(event));
    field.addEventListener("paste", (/** @type {ClipboardEvent} */ event) => this.#pasted(event));
    return field;
  }

  #form() {
    const row = h(
      "div",
      { class: "composer-row" },
      ...this.#attaching(),
      this.field,
      this.stopButton,
      this.sendButton,
    );
    const hint = this.options.hint ? h("p", { class: "hint" }, this.options.hint) : null;
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      this.#send();
    };
    const parts = [this.problem, this.editing, this.replying, this.uploads.element, this.menu.element, row, hint];
    return h("form", { class: "composer", on: { submit } }, ...parts);
  }

  *#attaching() {
    if (!this.options.files) return;
    const picker = h("input", {
      type: "file",
      multiple: true,
      hidden: true,
      "aria-label": "Files to attach",
      tabindex: "-1",
    });
    picker.addEventListener("change", () => {
      this.uploads.add(picker.files ?? []);
      picker.value = "";
    });
    yield picker;
    yield iconButton("attach", "Attach files", () => picker.click());
  }

  /** Enter sends, but not while an input method composes; Shift+Enter begins a line. @param {KeyboardEvent} event */
  #key(event) {
    if (composing(event) || this.menu.takes(event)) return;
    if (event.key === "ArrowUp" && !this.field.value && this.options.onUp) {
      event.preventDefault();
      return this.options.onUp();
    }
    if (event.key !== "Enter" || event.shiftKey) return;
    if (matchMedia("(pointer: coarse)").matches && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    this.#send();
  }

  /** @param {ClipboardEvent} event */
  #pasted(event) {
    const files = event.clipboardData?.files;
    if (!files?.length || !this.options.files) return;
    event.preventDefault();
    this.uploads.add(files);
  }

  async #send() {
    const text = this.field.value.trim();
    const { uploads } = this;
    this.#complain("");
    if (uploads.underWay) return this.#complain("A file is still uploading.");
    if (uploads.failed) return this.#complain("A file could not be uploaded. Remove it to send the message.");
    if (!text && !uploads.ids.length) return;
    this.field.value = "";
    const { ids, putBack } = uploads.take();
    const { instead, replyTo } = this;
    this.#edited();
    this.#changed();
    try {
      await this.options.onSend(text, ids, { instead_of: instead || undefined, reply_to: replyTo });
      if (replyTo) this.reply(null);
    } catch (error) {
      this.#complain(error.message);
      putBack();
      if (this.field.value) return;
      if (instead) this.edit(text, instead);
      else this.write(text);
    }
  }

  #changed() {
    const { draft } = this.options;
    if (this.field.value) sessionStorage.setItem(DRAFT + draft, this.field.value);
    else sessionStorage.removeItem(DRAFT + draft);
    this.#grow();
    this.#refresh();
  }

  #grow() {
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight + 2}px`;
  }

  #refresh() {
    const empty = !this.field.value.trim() && !this.uploads.ids.length;
    this.sendButton?.setAttribute("aria-disabled", String(empty));
  }

  /** @param {string} words */
  #complain(words) {
    this.problem.textContent = words;
    this.problem.hidden = !words;
  }
}
