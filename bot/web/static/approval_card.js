/** A question to people: what is asked, the exact arguments, the answers, an edit before saying yes. */

import * as api from "./api.js";
import { aboutView, asks, callViews, freeTextForm, headlineOf, reasonThen, settledLine, settledView } from "./approval_views.js";
import { ArgumentsForm } from "./arguments_form.js";
import { announce, button, h, icon } from "./dom.js";
import { complaint } from "./parts.js";

const GOES_ON = new Set(["approve", "happened", "continue"]);
/** A second click comes within it: until then nothing slides under the pointer. */
const CLICK_MS = 700;

/**
 * @param {Approval | null} approval null: only what was shown is known
 * @param {{item?: Item, place: "feed" | "page", link?: string}} options
 *   Settled, it folds to a line; where it was decided on a page of many, it stays as it was.
 */
export function approvalCard(approval, options) {
  const card = new ApprovalCard(approval, options);
  return {
    element: card.element,
    update: (/** @type {Approval} */ now) => card.update(now),
    outcome: (/** @type {string | null} */ text) => card.outcome(text),
    adopt: (/** @type {import("./message_view.js").StepsView} */ steps) => card.adopt(steps),
  };
}

class ApprovalCard {
  /** @type {ArgumentsForm | null} */ #form = null;
  #busy = false;
  /** What the call that is asked about came to. @type {import("./message_view.js").StepsView | null} */ #steps = null;
  #unfolded = false;

  /** See approvalCard. @param {Approval | null} approval @param {any} options */
  constructor(approval, { item, place, link }) {
    this.approval = approval;
    this.item = item;
    this.link = link;
    this.dated = place === "page";
    this.folds = place === "feed" || approval?.state !== "open";
    this.id = approval?.gate_id ?? item?.gate_id ?? "";
    this.body = h("div", { class: "card-body" });
    this.actions = h("div", { class: "card-actions" });
    this.problem = complaint();
    const title = h("h3", { id: `card-${place}-${this.id}` });
    this.title = title;
    this.element = h(
      "article",
      {
        class: "card approval",
        tabindex: place === "page" ? "-1" : null,
        "aria-labelledby": title.id,
        data: { gate: this.id },
      },
    );
    this.header = h("header", {}, icon(this.#asks ? "why" : "approvals"), title);
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.#render();
  }

  /** Shows what the call came to with its card, instead of beside it. @param {import("./message_view.js").StepsView} steps */
  adopt(steps) {
    this.#steps = steps;
    steps.element.remove();
    steps.onChange = () => !this.#open && this.#render();
    this.#render();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!this.#form || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.#approveEdited();
  }

  /** @param {Approval} approval */
  update(approval) {
    const before = this.approval;
    // A decision is final: a page asked for before it may come in after it.
    if (before && before.state !== "open" && approval.state === "open") return;
    this.approval = approval;
    if (before && JSON.stringify(before) === JSON.stringify(approval)) return;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    const held = this.element.contains(focused) && focused !== this.element;
    // Whoever has a hand on a button meant the call as it was: only on the same call it stays there.
    const same = before?.choices[0]?.index === approval.choices[0]?.index;
    const action = (same && focused?.dataset.action) || "";
    this.#form = null;
    this.#busy = false;
    this.#render();
    if (held) this.#refocus(action);
  }

  /** @param {string | null} text */
  outcome(text) {
    if (this.approval || !this.item) return;
    this.item = { ...this.item, outcome: text };
    this.#render();
  }

  /** @param {string} action */
  #refocus(action) {
    const again = action && this.actions.querySelector(`[data-action="${action}"]`);
    if (again) return /** @type {HTMLElement} */ (again).focus();
    if (!this.element.hasAttribute("tabindex")) this.element.tabIndex = -1;
    this.element.focus();
  }

  get #open() {
    return this.approval?.state === "open";
  }

  get #asks() {
    return asks(this.approval, this.item);
  }

  #render() {
    const { approval, item } = this;
    const { title, reasons } = headlineOf(approval, item);
    this.title.replaceChildren(...title);
    const closes = !this.#open && !this.element.classList.contains("closed");
    if (closes) this.#keepHeight();
    this.element.classList.toggle("closed", !this.#open);
    this.#say("");
    // What "always" covers is of the call as it stands, not as somebody is editing it.
    const grants = this.#open && !this.#form && approval?.may_decide && approval.always;
    this.body.replaceChildren(
      ...reasons.map((line) => h("p", { class: "reason" }, this.#open ? line : reasonThen(line))),
      ...(approval ? [aboutView(approval, this.link)] : []),
      ...this.#what(),
      ...(grants ? [h("p", {}, grants)] : []),
    );
    if (!this.#open && this.folds) return this.#fold();
    this.#asked();
    this.actions.replaceChildren(...(this.#open ? this.#answers() : [settledView(approval, item)]));
    this.element.replaceChildren(this.header, this.body, this.problem, this.actions);
    return undefined;
  }

  #fold() {
    const line = settledLine(this.approval, this.item, this.#steps?.how(this.approval?.outcome?.at) ?? "", this.dated);
    const whole = h("details", { open: this.#unfolded }, line, this.header, this.body);
    whole.addEventListener("toggle", () => (this.#unfolded = whole.open));
    this.element.replaceChildren(whole);
  }

  /** Notes since when this very call is asked about. */
  #asked() {
    const first = String(this.approval?.choices[0]?.index ?? "");
    if (this.element.dataset.first === first) return;
    this.element.dataset.first = first;
    this.element.dataset.asked = String(performance.now());
  }

  /** Settled under a pointer, it gives its room up only after the time of a second click. */
  #keepHeight() {
    const { element } = this;
    if (!element.matches(":hover")) return;
    element.style.minHeight = `${element.offsetHeight}px`;
    setTimeout(() => (element.style.minHeight = ""), CLICK_MS);
  }

  /** The call itself, or the form in which it is edited. */
  *#what() {
    if (this.#form && this.approval?.tool && !this.#asks) yield this.#form.element;
    else if (!this.#open && this.#steps) yield this.#steps.rows;
    else yield* callViews(this.approval, this.item);
  }

  *#answers() {
    const approval = /** @type {Approval} */ (this.approval);
    if (!approval.may_decide) {
      const words = approval.voted ? "You approved this. It needs more approvals." : "Someone else must decide this.";
      yield h("p", { class: "muted" }, words);
      return;
    }
    if (this.#form) {
      const keys = { title: "Ctrl Enter" };
      yield this.#button("Approve as edited", "primary", () => this.#approveEdited(), keys);
      yield this.#button("Cancel edit", "", () => this.#edit(false));
      return;
    }
    if (approval.link) {
      yield h("a", { class: "button primary", href: approval.link, target: "_blank", rel: "noopener noreferrer" }, "Sign in");
    }
    for (const choice of approval.choices) {
      const action = choice.option ?? String(choice.index);
      // By its position, which is no answer any more once somebody has changed the call that is shown.
      const decide = () => this.#decide({ action: String(choice.index) });
      yield this.#button(choice.label, GOES_ON.has(action) ? "primary" : "", decide, { data: { action } });
    }
    if (approval.editable && approval.arguments) {
      yield this.#button("Edit…", "quiet", () => this.#edit(true), { data: { action: "edit" } });
    }
    const answer = (/** @type {string} */ text) => this.#decide({ action: "0", text });
    if (approval.free_text) yield freeTextForm(approval.secret, answer);
  }

  /** @param {string} label @param {string} look @param {() => void} onClick */
  #button(label, look, onClick, props = {}) {
    return button(label, onClick, { class: `button ${look}`, disabled: this.#busy, ...props });
  }

  /** @param {boolean} on */
  #edit(on) {
    this.#form = on ? new ArgumentsForm(this.approval?.arguments ?? {}, this.id) : null;
    this.#render();
    if (this.#form) this.#form.focus();
    else /** @type {HTMLElement | null} */ (this.actions.querySelector('[data-action="edit"]'))?.focus();
  }

  #approveEdited() {
    const edited = this.#form?.read();
    // By its position: see the buttons.
    const approve = this.approval?.choices.find((choice) => choice.option === "approve");
    if (edited) this.#decide({ action: String(approve?.index ?? "approve"), arguments: edited });
  }

  /** @param {{action: string, arguments?: Object<string, any>, text?: string}} decision */
  async #decide(decision) {
    if (this.#busy) return;
    this.#setBusy(true);
    this.#say("");
    try {
      const decided = await api.resolve({ request_id: this.id, ...decision });
      announce(decided.outcome ?? "Decided.");
      this.#counted(decided.outcome);
    } catch (error) {
      this.#setBusy(false);
      this.#refused(error);
    }
  }

  /** The hub tells everybody of the outcome; where it says nothing, more people have to answer. */
  #counted(text) {
    if (!this.#open) return;
    this.#say(text ?? "", false);
    this.#setBusy(false);
  }

  /** @param {api.ApiError} error */
  #refused(error) {
    if (this.#form && error.field) return this.#form.complain(error.field, error.message);
    this.#say(error.message);
    if (error.status === 409) this.#lookAgain(error.message);
  }

  /** It may be settled or changed, and this page not have heard of it. @param {string} refusal */
  async #lookAgain(refusal) {
    const now = (await this.#among("decided", 50)) ?? (await this.#among("pending", 100));
    if (!now || !this.#open) return;
    announce(now.outcome?.text ?? "");
    this.update(now);
    if (now.state === "open") this.#say(refusal);
  }

  /** @param {"decided" | "pending"} state @param {number} limit */
  async #among(state, limit) {
    const page = await api.approvals({ state, limit }).catch(() => null);
    return page?.approvals.find((one) => one.gate_id === this.id);
  }

  /** @param {string} text */
  #say(text, bad = true) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
    this.problem.classList.toggle("bad", bad);
  }

  /** @param {boolean} busy */
  #setBusy(busy) {
    this.#busy = busy;
    this.element.toggleAttribute("aria-busy", busy);
    // aria-disabled keeps the focus where it is.
    for (const one of this.actions.querySelectorAll("button"))
      one.setAttribute("aria-disabled", String(busy));
  }
}
