/**
 * What is known of one conversation: items in order, the reply that is being written, the questions. No DOM.
 *
 * Items are told apart by `seq`, which never changes and only grows: what comes again is dropped.
 */

/** @typedef {{type: "items", added: import("./types.js").Item[]} | {type: "live"} | {type: "turn"}
 *   | {type: "step", step: import("./types.js").Step} | {type: "approval", id: string}
 *   | {type: "outcome", item: import("./types.js").Item} | {type: "failed", text: string}
 *   | {type: "gap"}} Change */

const SPOKEN = new Set(["assistant", "notice", "prompt"]);

export class Feed {
  /** @type {import("./types.js").Item[]} */ items = [];
  /** @type {Map<string, import("./types.js").Approval>} */ approvals = new Map();
  /** @type {Map<string, import("./types.js").Step>} */ steps = new Map();
  /** @type {import("./types.js").Thread} */ thread;
  /** @type {{turn: string, text: string, length: number} | null} */ live = null;
  lastSeq = 0;
  more = false;

  /** @param {import("./types.js").Conversation} page */
  constructor(page) {
    this.thread = page.thread;
    this.items = page.items;
    this.more = page.more;
    this.lastSeq = page.last_seq ?? 0;
    for (const approval of page.approvals) this.approvals.set(approval.prompt_id, approval);
    this.#resume(page.live);
  }

  get firstSeq() {
    return this.items.length ? this.items[0].seq : undefined;
  }

  get state() {
    return this.thread.turn?.state ?? "idle";
  }

  /** Older items. @param {import("./types.js").Conversation} page */
  prepend(page) {
    const first = this.firstSeq ?? Infinity;
    const older = page.items.filter((item) => item.seq < first);
    this.items = [...older, ...this.items];
    this.more = page.more;
    for (const approval of page.approvals) {
      if (!this.approvals.has(approval.prompt_id)) this.approvals.set(approval.prompt_id, approval);
    }
    return older;
  }

  /**
   * What may have changed while nothing was heard, but for items, which are resumed by their `seq`.
   * @param {import("./types.js").Conversation} page @returns {Change[]}
   */
  refresh(page) {
    /** @type {Change[]} */ const changes = [{ type: "turn" }, { type: "live" }];
    this.thread = page.thread;
    if (!page.thread.turn) this.live = null;
    for (const approval of page.approvals) changes.push(this.#approval(approval));
    for (const item of page.items) {
      const known = this.items.find((one) => one.seq === item.seq);
      if (known?.kind !== "prompt" || known.outcome === item.outcome) continue;
      known.outcome = item.outcome;
      changes.push({ type: "outcome", item: known });
    }
    return changes;
  }

  /** @param {import("./types.js").HubEvent} event @returns {Change[]} */
  apply(event) {
    const { data } = event;
    switch (event.type) {
      case "item":
        return this.#item(data);
      case "turn_delta":
        return this.#delta(data);
      case "turn_step":
        this.steps.set(data.call_id, data);
        return [
          ...this.#turn(data.turn, data.state === "waiting" ? "waiting" : "running"),
          { type: "step", step: data },
        ];
      case "turn_finished":
      case "turn_rested":
        return this.#ended(event.type);
      case "turn_failed":
        return [...this.#ended(event.type), { type: "failed", text: data.text }];
      case "approval_needed":
      case "approval_resolved":
      case "gate_required":
        return [this.#approval(data)];
      default:
        return [];
    }
  }

  /** @param {import("./types.js").Item} item @returns {Change[]} */
  #item(item) {
    if (item.seq <= this.lastSeq) return [];
    this.lastSeq = item.seq;
    this.items.push(item);
    /** @type {Change[]} */ const changes = [{ type: "items", added: [item] }];
    if (SPOKEN.has(item.kind) && this.live) {
      this.live = null;
      changes.push({ type: "live" });
    }
    return changes;
  }

  /** Offsets count code points. @param {{turn: string, offset: number, text: string}} delta @returns {Change[]} */
  #delta({ turn, offset, text }) {
    const changes = this.#turn(turn, "running");
    const here = this.live?.turn === turn ? this.live : null;
    if (offset > 0 && (!here || offset > here.length)) return [...changes, { type: "gap" }];
    const kept =
      offset === 0
        ? ""
        : offset === here?.length
          ? here.text
          : [...(here?.text ?? "")].slice(0, offset).join("");
    this.live = { turn, text: kept + text, length: offset + [...text].length };
    return [...changes, { type: "live" }];
  }

  /** @param {string} id @param {"running" | "waiting"} state @returns {Change[]} */
  #turn(id, state) {
    const now = this.thread.turn;
    if (now?.id === id && (now.state === state || now.state === "stopping")) return [];
    this.thread.turn = { id, state };
    return [{ type: "turn" }];
  }

  /** @param {string} how @returns {Change[]} */
  #ended(how) {
    this.live = null;
    const waits = how === "turn_rested" && this.waiting().length > 0;
    this.thread.turn = waits && this.thread.turn ? { id: this.thread.turn.id, state: "waiting" } : null;
    return [{ type: "live" }, { type: "turn" }];
  }

  /** Open questions, oldest first. */
  waiting() {
    return [...this.approvals.values()].filter((approval) => approval.state === "open");
  }

  /** @param {import("./types.js").Approval} approval @returns {Change} */
  #approval(approval) {
    const known = this.approvals.get(approval.prompt_id);
    // A question is settled once and for all: what was under way before does not open it again.
    if (!(known?.state === "closed" && approval.state === "open"))
      this.approvals.set(approval.prompt_id, approval);
    return { type: "approval", id: approval.prompt_id };
  }

  /** @param {import("./types.js").Live | null} live */
  #resume(live) {
    if (!live) return;
    const text = live.text ?? "";
    this.live = text ? { turn: live.turn, text, length: (live.offset ?? 0) + [...text].length } : null;
    for (const step of live.steps ?? []) this.steps.set(step.call_id, step);
  }
}
