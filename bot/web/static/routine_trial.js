/** A message that nobody wrote, tried on a routine while it is typed. */

import { h, settled } from "./dom.js";

const TYPING_MS = 250;
let count = 0;

export class TrialField {
  #asked = new AbortController();

  /**
   * @param {(text: string, signal: AbortSignal) => Promise<Trial | null>} ask
   *   null: nothing can be said
   */
  constructor(ask) {
    this.ask = ask;
    count += 1;
    this.field = h("textarea", {
      id: `trial-${count}`,
      rows: "2",
      maxlength: "8000",
      placeholder: "A sample message",
      "aria-describedby": `verdict-${count}`,
    });
    this.verdict = h("div", { class: "verdict", id: `verdict-${count}`, role: "status" });
    this.later = settled(() => this.renew(), TYPING_MS);
    this.field.addEventListener("input", this.later);
    this.element = h(
      "div",
      { class: "trial" },
      h("label", { class: "visually-hidden", for: this.field.id }, "A message to test"),
      this.field,
      this.verdict,
    );
  }

  close() {
    this.later.cancel();
    this.#asked.abort();
  }

  get text() {
    return this.field.value;
  }

  /** Ask again for what stands there. */
  async renew() {
    this.#asked.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    if (!this.text) return this.show(null);
    try {
      const trial = await this.ask(this.text, signal);
      if (!signal.aborted) this.show(trial);
    } catch (error) {
      if (!signal.aborted) this.verdict.replaceChildren(h("p", {}, error.message));
    }
    return undefined;
  }

  /** @param {Trial | null} trial */
  show(trial) {
    const open = this.verdict.querySelector("details")?.open ?? false;
    this.verdict.replaceChildren(...(trial ? verdict(trial, open) : []));
  }
}

/** @param {Trial} trial @param {boolean} open */
function verdict(trial, open) {
  const word = trial.fires ? "Fires" : "Does not fire";
  const said = h(
    "p",
    {},
    h("span", { class: `outcome-word ${trial.fires ? "good" : "quiet"}` }, word),
    `: ${trial.why}.`,
  );
  if (trial.input === null) return [said];
  const asked = h(
    "details",
    { class: "steps", open },
    h("summary", {}, "Prompt for the model"),
    h("div", { class: "steps-rows" }, h("p", { class: "prompt" }, `${trial.system}\n\n${trial.input}`)),
  );
  return [said, asked];
}
