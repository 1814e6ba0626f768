/** Where a message is written: grows with it, keeps drafts, takes files, and never sends half a word. */

import { composing, h, icon, iconButton } from "./dom.js";
import { clip } from "./format.js";
import { complaint } from "./parts.js";
import { Uploads } from "./uploads.js";

const DRAFT = "draft:";
/** The hub takes no longer ones. */
const MAX_CHARS = 20_000;

export class Composer {
  /**
   * @param {{label: string, placeholder: string, hint?: string, draft: string, files: boolean,
   *   onSend: (text: string, uploads: string[], replyTo?: number) => Promise<void>, onStop: () => void}} options
   */
  constructor(options) {
    this.options = options;
    // The button that was pressed is gone with its file; the focus must not be.
    this.uploads = new Uploads({ onChange: () => this.#refresh(), onRemoved: () => this.focus() });
    this.field = this.#makeField();
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
    const above = [this.problem, this.replying, this.uploads.element];
    return h("form", { class: "composer", on: { submit } }, ...above, row, hint);
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
    if (event.key !== "Enter" || event.shiftKey || composing(event)) return;
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
    this.#changed();
    try {
      await this.options.onSend(text, ids, this.replyTo);
      if (this.replyTo) this.reply(null);
    } catch (error) {
      this.#complain(error.message);
      putBack();
      if (!this.field.value) this.write(text);
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
