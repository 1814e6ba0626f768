/** Files on their way to the hub, as chips above the message they belong to. */

import * as api from "./api.js";
import { announce, h, iconButton } from "./dom.js";
import { size } from "./format.js";
import { pictureView } from "./message_view.js";
import { toast } from "./toasts.js";

/** The hub takes no larger ones. */
const LIMIT_BYTES = 20 * 1024 * 1024;
const MAX_FILES = 10;

/** @typedef {{id: string | null, failed: boolean, cancel: AbortController}} Upload */

export class Uploads {
  /** @type {Map<HTMLElement, Upload>} */ #chips = new Map();

  /** @param {{onChange: () => void, onRemoved: () => void}} options onRemoved: a person took one back */
  constructor({ onChange, onRemoved }) {
    this.onChange = onChange;
    this.onRemoved = onRemoved;
    this.element = h("ul", { class: "chips", "aria-label": "Attachments", hidden: true });
  }

  /** @returns {string[]} what can be sent */
  get ids() {
    return [...this.#chips.values()].flatMap((chip) => (chip.id ? [chip.id] : []));
  }

  get underWay() {
    return [...this.#chips.values()].some((chip) => !chip.id && !chip.failed);
  }

  get failed() {
    return [...this.#chips.values()].some((chip) => chip.failed);
  }

  /** @param {Iterable<File>} files */
  add(files) {
    for (const file of files) {
      if (this.#chips.size >= MAX_FILES) return toast(`You can attach at most ${MAX_FILES} files.`, { bad: true });
      this.#start(file);
    }
  }

  /** Hands over what can be sent; `putBack` if it was not. @returns {{ids: string[], putBack: () => void}} */
  take() {
    const { ids } = this;
    const taken = [...this.#chips];
    this.#chips.clear();
    this.#changed();
    const putBack = () => {
      this.#chips = new Map([...taken, ...this.#chips]);
      this.#changed();
    };
    return { ids, putBack };
  }

  /** @param {File} file */
  #start(file) {
    const state = h("span", { class: "muted" }, "0 %");
    const remove = iconButton("close", `Remove ${file.name}`, () => this.#remove(chip));
    const chip = h(
      "li",
      { class: "chip", "aria-busy": "true" },
      pictureView(file),
      h("span", { class: "name", title: file.name }, file.name),
      state,
      remove,
    );
    /** @type {Upload} */ const entry = { id: null, failed: false, cancel: new AbortController() };
    this.#chips.set(chip, entry);
    this.#changed();
    if (file.size > LIMIT_BYTES) return this.#fail(entry, chip, state, `over ${size(LIMIT_BYTES)}`);
    const progress = (/** @type {number} */ share) => (state.textContent = `${Math.round(share * 100)} %`);
    api.upload(file, progress, entry.cancel.signal).then(
      (kept) => {
        entry.id = kept.id;
        chip.ariaBusy = "false";
        state.textContent = size(kept.size_bytes);
        this.#changed();
      },
      (error) => this.#fail(entry, chip, state, error.message),
    );
  }

  #fail(entry, chip, state, words) {
    entry.failed = true;
    chip.ariaBusy = "false";
    chip.classList.add("bad");
    state.textContent = words;
    announce(words);
    this.#changed();
  }

  #remove(chip) {
    this.#chips.get(chip)?.cancel.abort();
    this.#chips.delete(chip);
    this.#changed();
    this.onRemoved();
  }

  #changed() {
    this.element.replaceChildren(...this.#chips.keys());
    this.element.hidden = this.#chips.size === 0;
    this.onChange();
  }
}
