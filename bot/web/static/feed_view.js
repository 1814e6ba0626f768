/** A conversation on the screen: grows at its end, keeps what people look at in place. */

import { approvalCard } from "./approval_card.js";
import { announce, button, h, icon, iconButton } from "./dom.js";
import { clip, dayKey, dayName, seconds } from "./format.js";
import { copyText } from "./blocks.js";
import { messageView, StepsView } from "./message_view.js";
import { PendingMessages } from "./pending_messages.js";

/** How far from the end still counts as reading the end. */
const NEAR_END_PX = 80;
/** Work that takes longer says how long it has taken. */
const LONG_US = 2_000_000;
const TICK_MS = 1_000;
/** The hub takes back that many turns in a row. */
const MAX_UNDO = 20;
const STEP_KINDS = new Set(["call", "result"]);
const TOLD = new Set(["assistant", "operator", "notice"]);

/** For those who listen. Questions are told of by the count of what waits, on every page. @param {Item} item */
export function tell(item) {
  const said = item.text || (item.files ?? []).map((file) => file.name).join(", ");
  if (said && TOLD.has(item.kind)) announce(clip(said, 280));
}

export class FeedView {
  /** @type {Map<string, StepsView>} by call id */ #calls = new Map();
  /** @type {Map<string, {element: HTMLElement, update: Function, outcome: Function}>} by gate id */ #cards =
    new Map();
  /** @type {StepsView | null} */ #steps = null;
  #day = "";
  #atEnd = true;
  #lastTop = 0;
  #unread = 0;

  /**
   * @param {import("./feed.js").Feed} feed
   * @param {{onOlder: () => Promise<void>, onLink?: (id: string) => string,
   *   onPress?: ((menuId: string, choice: number) => void) | null,
   *   onReply?: (item: Item) => void, onCommand?: ((text: string) => Promise<void>) | null,
   *   onEdit?: ((item: Item) => void) | null, at?: number}} actions `at`: the line to look at first
   */
  constructor(feed, actions) {
    this.feed = feed;
    this.actions = actions;
    this.list = h("div", { class: "feed-items" });
    this.note = h("div", { class: "live-note", hidden: true });
    this.output = h("pre", { class: "live-output", tabindex: "0", role: "region", "aria-label": "Output so far", hidden: true });
    this.live = h("div", { class: "message assistant live", hidden: true }, this.note, this.output);
    this.older = button("Show earlier messages", () => this.#older(), { class: "button quiet older" });
    const column = h("div", { class: "feed-column" }, this.older, this.list, this.live);
    this.pending = new PendingMessages(column);
    this.scroller = h(
      "div",
      { class: "feed", tabindex: "0", role: "region", "aria-label": "Messages" },
      column,
    );
    this.jump = h(
      "button",
      { type: "button", class: "jump", hidden: true, on: { click: () => this.toEnd() } },
      icon("down"),
      h("span", {}, "Latest"),
    );
    this.element = h("div", { class: "feed-frame" }, this.scroller, this.jump);
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.resized = new ResizeObserver(() => this.#follow());
    this.resized.observe(this.scroller);
    this.resized.observe(column);
    this.ticking = setInterval(() => this.live.hidden || this.#showLive(), TICK_MS);
    this.#rebuild();
    for (const said of feed.queued) this.pending.queued(said);
  }

  close() {
    this.resized.disconnect();
    clearInterval(this.ticking);
  }

  /** Looks at one line, such as one that was searched for. @param {number} seq */
  toLine(seq) {
    const lines = /** @type {HTMLElement[]} */ ([...this.list.querySelectorAll(".message[data-seq]")]);
    const found = lines.findLast((line) => Number(line.dataset.seq) <= seq) ?? lines[0];
    if (!found) return;
    this.#atEnd = false;
    for (const old of this.list.querySelectorAll(".found")) old.classList.remove("found");
    found.classList.add("found");
    found.scrollIntoView({ block: "center" });
    this.jump.hidden = this.#nothingBelow();
    this.#lastTop = this.scroller.scrollTop;
  }

  toEnd() {
    this.#atEnd = true;
    this.#follow();
    this.#setUnread(0);
  }

  /** A message on its way; see PendingMessages.sending. @param {string} text */
  sending(text) {
    const sent = this.pending.sending(text);
    this.toEnd();
    return sent;
  }

  /** @param {import("./feed.js").Change[]} changes */
  show(changes) {
    for (const change of changes) this.#change(change);
    if (changes.some(({ type }) => type === "items" || type === "marks")) this.#controls();
    this.#follow();
  }

  /** @param {import("./feed.js").Change} change */
  #change(change) {
    switch (change.type) {
      case "items":
        for (const item of change.added) this.#added(item);
        return;
      case "changed":
        return this.#changed(change.item);
      case "turn":
        if (this.feed.state === "idle") this.pending.turnOver(() => this.feed.state === "idle");
        return this.#showLive();
      case "live":
        return this.#showLive();
      case "step":
        return this.#calls.get(change.step.call_id)?.state(change.step.call_id, change.step.state);
      case "approval":
        return this.#approval(change.id);
      case "marks":
        for (const item of change.changed) this.#mark(item);
        return;
      case "failed":
        announce(change.text);
        return;
      default:
        return;
    }
  }

  /** @param {Item} item */
  #added(item) {
    if (item.kind === "user" || item.kind === "operator") this.pending.arrived(item);
    this.#append(item);
    if (!this.#atEnd) this.#setUnread(this.#unread + 1);
    tell(item);
  }

  /** @param {Item} item */
  #changed(item) {
    const shown = this.list.querySelector(`[data-seq="${item.seq}"]`);
    const focused = shown?.contains(document.activeElement);
    const view = this.#message(item);
    shown?.replaceWith(view);
    if (focused) view.querySelector("button")?.focus();
  }

  #rebuild() {
    this.list.replaceChildren();
    this.#calls.clear();
    this.#cards.clear();
    this.#steps = null;
    this.#day = "";
    for (const item of this.feed.items) this.#append(item);
    for (const approval of this.feed.waiting()) this.#approval(approval.gate_id);
    this.older.hidden = !this.feed.more;
    this.#controls();
    this.#showLive();
  }

  /** A line was undone, or brought back. @param {Item} item */
  #mark(item) {
    this.#calls.get(item.call_id ?? "")?.element.classList.toggle("undone", Boolean(item.undone));
    const shown = this.list.querySelector(`.message[data-seq="${item.seq}"]`);
    if (!shown) return;
    const focused = shown.contains(document.activeElement);
    shown.replaceWith(this.#message(item, null));
    if (focused) this.scroller.focus({ preventScroll: true });
  }

  /** @param {Item} item */
  #message(item, onPress = this.actions.onPress) {
    const { own, group } = this.feed.thread;
    const view = messageView(item, onPress, own && !group, this.actions.onReply);
    view.querySelector(".message-tools")?.append(...this.#tools(item));
    return view;
  }

  /** What can be done with a message's text. @param {Item} item */
  *#tools(item) {
    const { text } = item;
    if (!text) return;
    const props = { class: "icon-button small" };
    const word = h("span", { class: "visually-hidden", role: "status" });
    yield iconButton("copy", "Copy message", () => copyText(word, text), props);
    yield word;
    const { onEdit } = this.actions;
    // What was said while a turn ran is part of that turn, which others may have begun.
    if (onEdit && item.kind === "user" && item.turn && !item.undone && !text.startsWith("/"))
      yield iconButton("edit", "Edit and send again", () => onEdit(item), props);
  }

  /** The newest message that a person wrote here; "" for none. */
  get lastSaid() {
    return this.feed.items.findLast((item) => item.kind === "user" && item.text)?.text ?? "";
  }

  /** The newest card that asks. @returns {HTMLElement | undefined} */
  get openCard() {
    return [...this.#cards.values()].map((card) => card.element).findLast((one) => !one.classList.contains("closed"));
  }

  /** What can be taken back, brought back and tried again, on the messages that it is about. */
  #controls() {
    const { onCommand } = this.actions;
    if (!onCommand) return;
    const wanted = controls(this.feed.items);
    for (const place of /** @type {NodeListOf<HTMLElement>} */ (this.list.querySelectorAll(".message-actions"))) {
      const { seq } = /** @type {HTMLElement} */ (place.closest(".message")).dataset;
      const control = wanted.get(Number(seq));
      if ((place.dataset.does ?? "") === (control?.command ?? "")) continue;
      place.dataset.does = control?.command ?? "";
      const act = () => control && onCommand(control.command);
      const props = { class: "button quiet small", "aria-label": control?.about };
      place.replaceChildren(...(control ? [button(control.label, act, props)] : []));
    }
  }

  /** @param {Item} item */
  #append(item) {
    if (dayKey(item.at) !== this.#day) {
      this.#day = dayKey(item.at);
      this.list.append(h("p", { class: "day" }, dayName(item.at)));
      this.#steps = null;
    }
    if (STEP_KINDS.has(item.kind)) return this.#step(item);
    if (item.kind === "assistant" && !item.text && !item.blocks?.length) return;
    this.#steps = null;
    // Only the newest offer is still about what comes next.
    for (const old of this.list.querySelectorAll(".message.assistant .says:not(.stays)")) old.remove();
    if (item.kind === "gate") this.#gate(item);
    else this.list.append(this.#message(item));
  }

  /** @param {Item} item */
  #step(item) {
    const id = item.call_id ?? "";
    const known = this.#calls.get(id);
    if (item.kind === "result" && known) return known.result(id, item);
    if (!this.#steps) {
      this.#steps = new StepsView();
      this.list.append(this.#steps.element);
    }
    this.#calls.set(id, this.#steps);
    if (item.kind === "result") return this.#steps.result(id, item);
    this.#steps.call(item);
    const step = this.feed.steps.get(id);
    if (step) this.#steps.state(id, step.state);
  }

  /** A question's place in the conversation. @param {Item} item */
  #gate(item) {
    const id = item.gate_id ?? "";
    const known = this.#cards.get(id);
    const card = known ?? approvalCard(this.feed.approvals.get(id) ?? null, { item, place: "feed" });
    this.#cards.set(id, card);
    this.#adopt(card, item.call_id ?? this.feed.approvals.get(id)?.call_id);
    if (this.list.lastElementChild === card.element) return;
    const focused = card.element.contains(document.activeElement) ? document.activeElement : null;
    this.list.append(card.element);
    /** @type {HTMLElement | null} */ (focused)?.focus({ preventScroll: true });
  }

  /** A call that is asked about by itself is shown on its card, not beside it as well. @param {any} card
   * @param {string | null | undefined} call */
  #adopt(card, call) {
    const steps = this.#calls.get(call ?? "");
    if (steps?.count !== 1 || !steps.element.parentNode) return;
    if (this.#steps === steps) this.#steps = null;
    card.adopt(steps);
  }

  /** @param {string} id */
  #approval(id) {
    const approval = this.feed.approvals.get(id);
    const card = this.#cards.get(id);
    if (!approval)
      return card?.outcome(this.feed.items.find((item) => item.gate_id === id)?.outcome ?? null);
    const { call_id: call, arguments: given } = approval;
    if (call && given) this.#calls.get(call)?.changed(call, given);
    if (card) return card.update(approval);
    if (approval.state !== "open") return;
    // The question is known before its place in the conversation is: shown at the end until then.
    const early = approvalCard(approval, { place: "feed" });
    this.#cards.set(id, early);
    this.#steps = null;
    this.list.append(early.element);
    this.#adopt(early, call);
  }

  #showLive() {
    const { live, loop, state, failure, verbosity } = this.feed;
    const busy = state === "running" || state === "stopping";
    this.live.hidden = !live && !busy;
    const words = live?.text ?? (state === "stopping" ? "Stopping…" : `${this.#working()}${counted(loop)}`);
    let text = /** @type {HTMLElement | null} */ (this.live.querySelector(".prose p"));
    if (!text) {
      text = h("p");
      this.note.before(h("div", { class: "prose" }, text));
    }
    this.live.classList.toggle("thinking", !live);
    if (text) setText(text, words);
    this.#showOutput([...this.feed.outputs.values()].at(-1)?.text ?? "");
    const noted = failed(failure, verbosity);
    this.note.hidden = !noted;
    this.note.textContent = noted;
  }

  /** The end of what a running command printed; who scrolled up in it stays there. @param {string} text */
  #showOutput(text) {
    const { output } = this;
    const atEnd = output.hidden || output.scrollHeight - output.scrollTop - output.clientHeight < NEAR_END_PX;
    output.hidden = !text;
    setText(output, text);
    if (atEnd) output.scrollTop = output.scrollHeight;
  }

  /** What it is at, and for how long. */
  #working() {
    const { items, steps } = this.feed;
    const running = [...steps.values()].findLast((step) => step.state === "started");
    const call = running && items.findLast((item) => item.kind === "call" && item.call_id === running.call_id);
    const about = typeof call?.arguments === "object" ? Object.values(call.arguments)[0] : "";
    const what = running ? `Running ${clip(typeof about === "string" && about ? about : running.tool, 60)}…` : "Working…";
    const settled = [...this.feed.approvals.values()].map((one) => one.outcome?.at ?? 0);
    const since = Math.max(items.findLast(({ kind }) => kind !== "outcome")?.at ?? 0, ...settled);
    const tookUs = Date.now() * 1000 - since;
    return since && tookUs > LONG_US ? `${what} ${seconds(tookUs)}.` : what;
  }

  async #older() {
    const { scroller } = this;
    this.older.disabled = true;
    await this.actions.onOlder();
    const below = scroller.scrollHeight - scroller.scrollTop;
    this.#atEnd = false;
    this.#rebuild();
    this.older.disabled = false;
    scroller.scrollTop = scroller.scrollHeight - below;
    if (this.older.hidden) scroller.focus({ preventScroll: true });
  }

  #scrolled() {
    const { scrollTop } = this.scroller;
    // Only a person who scrolls up leaves the end: what grew below since the page was moved does not.
    if (this.#nothingBelow()) this.#atEnd = true;
    else if (scrollTop < this.#lastTop) this.#atEnd = false;
    this.#lastTop = scrollTop;
    if (this.#atEnd) this.#setUnread(0);
    else this.jump.hidden = false;
  }

  #follow() {
    if (this.#atEnd) this.scroller.scrollTop = this.scroller.scrollHeight;
    else if (!this.#nothingBelow()) this.jump.hidden = false;
  }

  #nothingBelow() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  }

  /** @param {number} count */
  #setUnread(count) {
    this.#unread = count;
    this.jump.hidden = this.#atEnd;
    /** @type {HTMLElement} */ (this.jump.lastElementChild).textContent = count ? `${count} new` : "Latest";
  }
}

/** Adds what is new instead of replacing all, so that a selection in it survives. */
function setText(node, text) {
  const old = node.firstChild;
  if (old instanceof Text && text.startsWith(old.data)) old.appendData(text.slice(old.data.length));
  else node.textContent = text;
}

/** What people see of a model that failed. @param {ModelFailure | null} failure @param {string} verbosity */
function failed(failure, verbosity) {
  if (!failure || verbosity === "off") return "";
  const why = verbosity === "full" ? ` (${failure.error})` : "";
  const last = failure.attempt === failure.total ? "It was the last one" : "Trying the next one";
  return `Model ${failure.model} failed${why}. ${failure.retry_in_s === null ? last : "Trying again"}.`;
}

/** What a run of tools has used so far. @param {Loop | null} loop */
function counted(loop) {
  if (!loop) return "";
  const of = (/** @type {number | null} */ most) => (most === null ? "" : ` of ${most}`);
  return ` Round ${loop.depth}${of(loop.max_rounds)}, ${loop.executed}${of(loop.max_tools)} tool calls.`;
}

/**
 * The commands that concern a message, by its position: to undo a turn and all after it, to redo what was undone
 * last, to try the newest again.
 * @param {Item[]} items
 */
function controls(items) {
  const found = new Map();
  const turns = new Set();
  let redo = false;
  let retry = false;
  for (const item of [...items].reverse()) {
    if (!item.turn || turns.size > MAX_UNDO) continue;
    if (item.undone) {
      if (!redo && !turns.size && item.kind === "user")
        found.set(item.seq, { label: "Redo", command: "/redo", about: "Bring back what was undone last" });
      redo ||= item.kind === "user";
    } else if (item.kind === "assistant") {
      if (!retry) found.set(item.seq, { label: "Retry", command: "/retry", about: "Answer the last message again" });
      retry = true;
    } else if (item.kind === "user") {
      retry = true;
      turns.add(item.turn);
      const about = "Undo this message and everything after it";
      found.set(item.seq, { label: "Undo", command: `/undo ${turns.size}`, about });
    }
  }
  return found;
}
