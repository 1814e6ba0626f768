/**
 * What is known of one conversation: items in order, the reply that is being written, the questions. No DOM.
 *
 * Items are told apart by `seq`, which never changes and only grows: what comes again is dropped.
 */

/** @typedef {{type: "items", added: Item[]} | {type: "changed", item: Item} | {type: "live"} | {type: "turn"}
 *   | {type: "step", step: Step} | {type: "approval", id: string}
 *   | {type: "failed", text: string} | {type: "marks", changed: Item[]}
 *   | {type: "gap"}} Change */

/** The end of a running command's output that is kept. */
const OUTPUT_CHARS = 8_000;
const SPOKEN = new Set(["assistant", "notice", "gate"]);

export class Feed {
  /** @type {Item[]} */ items = [];
  /** @type {Map<string, Approval>} */ approvals = new Map();
  /** @type {Map<string, Step>} */ steps = new Map();
  /** What running calls printed so far. @type {Map<string, {text: string, length: number}>} */ outputs = new Map();
  /** @type {Thread} */ thread;
  /** @type {{turn: string, attempt: number, text: string, length: number} | null} */ live = null;
  /** The last failure of a model while the turn goes on. @type {ModelFailure | null} */ failure = null;
  /** How much is shown of the turn: "off", "on" or "full". */ verbosity = "off";
  /** How far the turn's run of tools has come. @type {Loop | null} */ loop = null;
  lastSeq = 0;
  more = false;
  /** Counts what was heard of turns: an answer that was asked for before is then out of date. */
  heard = 0;

  /** @param {Conversation} page */
  constructor(page) {
    this.thread = page.thread;
    this.items = page.items.filter((item) => item.kind !== "outcome");
    this.more = page.more;
    this.lastSeq = page.last_seq ?? 0;
    this.queued = page.waiting ?? [];
    this.firstSeq = page.first_seq ?? undefined;
    for (const approval of page.approvals) this.approvals.set(approval.gate_id, approval);
    this.#models(page);
    this.#resume(page.live);
  }

  /** @param {Conversation} page */
  #models({ model, models }) {
    /** The model that answers next. */ this.model = model;
    this.models = models;
  }

  get state() {
    return this.thread.turn?.state ?? "idle";
  }

  /** Older items. @param {Conversation} page */
  prepend(page) {
    const first = this.firstSeq ?? Infinity;
    const older = page.items.filter((item) => item.seq < first && item.kind !== "outcome");
    this.items = [...older, ...this.items];
    this.more = page.more;
    this.firstSeq = page.first_seq ?? this.firstSeq;
    for (const approval of page.approvals) {
      if (!this.approvals.has(approval.gate_id)) this.approvals.set(approval.gate_id, approval);
    }
    return older;
  }

  /**
   * How the turn is, for those who were not there when it changed. Items and questions come by the stream.
   * @param {Conversation} page
   * @param {number} heard what `heard` was when the page was asked for
   * @returns {Change[]}
   */
  refresh(page, heard) {
    if (heard !== this.heard) return [];
    this.thread = page.thread;
    this.#models(page);
    if (!page.thread.turn) this.live = null;
    return [{ type: "turn" }, { type: "live" }];
  }

  /** Which lines are undone now, as far as a page says. @param {Conversation} page @returns {Change[]} */
  marks(page) {
    this.thread = { ...page.thread, turn: this.thread.turn };
    this.#models(page);
    const undone = new Map(page.items.map((item) => [item.seq, Boolean(item.undone)]));
    const changed = this.items.filter((item) => (undone.get(item.seq) ?? item.undone ?? false) !== Boolean(item.undone));
    for (const item of changed) item.undone = undone.get(item.seq);
    return changed.length ? [{ type: "marks", changed }] : [];
  }

  /** @param {HubEvent} event @returns {Change[]} */
  apply(event) {
    const { data } = event;
    switch (event.type) {
      case "item":
        return this.#item(data);
      case "item_changed":
        return this.#changed(data);
      case "turn_started":
        this.live = this.failure = null;
        return [...this.#turn(data.turn, "running"), { type: "live" }];
      case "run_started":
        if (data.kind === "chat") this.verbosity = data.verbosity;
        return [];
      case "candidate_failed":
        if (data.run !== this.thread.turn?.id) return [];
        this.failure = data;
        return [{ type: "live" }];
      case "turn_delta":
        return this.#delta(data);
      case "turn_step":
        this.steps.set(data.call_id, data);
        if (data.state !== "started") this.outputs.delete(data.call_id);
        return [
          ...this.#turn(data.turn, data.state === "waiting" ? "waiting" : "running"),
          { type: "step", step: data },
        ];
      case "turn_output":
        return this.#printed(data);
      case "auto_loop_started":
      case "auto_loop_progress":
        this.loop = data;
        return [{ type: "live" }];
      case "auto_loop_finished":
      case "auto_loop_cancelled":
        this.loop = null;
        return [{ type: "live" }];
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

  /** @param {Item} item @returns {Change[]} */
  #item(item) {
    if (item.seq <= this.lastSeq) return [];
    this.lastSeq = item.seq;
    if (item.kind === "outcome") return this.#outcome(item);
    this.items.push(item);
    /** @type {Change[]} */ const changes = [{ type: "items", added: [item] }];
    if (SPOKEN.has(item.kind) && this.live) {
      this.live = null;
      changes.push({ type: "live" });
    }
    return changes;
  }

  /** A line that is changed in place, such as one that shows a job. @param {Item} item @returns {Change[]} */
  #changed(item) {
    const at = this.items.findIndex((known) => known.seq === item.seq);
    if (at < 0) return [];
    this.items[at] = item;
    return [{ type: "changed", item }];
  }

  /** A question got its answer: that belongs on its card. @param {any} item @returns {Change[]} */
  #outcome({ gate_id: id, text, by, at }) {
    const asked = this.items.find((item) => item.gate_id === id);
    if (asked) asked.outcome = text;
    const known = this.approvals.get(id);
    if (known) this.approvals.set(id, { ...known, state: "closed", outcome: { text, by, at } });
    return [{ type: "approval", id }];
  }

  /**
   * A higher attempt replaces what an earlier one wrote. Offsets count code points.
   * @param {{turn: string, attempt: number, offset: number, text: string}} delta @returns {Change[]}
   */
  #delta({ turn, attempt, offset, text }) {
    const changes = this.#turn(turn, "running");
    const known = this.live?.turn === turn ? this.live : null;
    if (known && attempt < known.attempt) return changes;
    const here = known?.attempt === attempt ? known : null;
    if (offset > 0 && (!here || offset > here.length)) return [...changes, { type: "gap" }];
    const kept =
      offset === 0
        ? ""
        : offset === here?.length
          ? here.text
          : [...(here?.text ?? "")].slice(0, offset).join("");
    if (!here) this.failure = null;
    this.live = { turn, attempt, text: kept + text, length: offset + [...text].length };
    return [...changes, { type: "live" }];
  }

  /** Offsets count code points. What was cut away before is said. @param {{call_id: string, offset: number, text: string}} piece @returns {Change[]} */
  #printed({ call_id: id, offset, text }) {
    const known = this.outputs.get(id);
    const length = offset + [...text].length;
    if (known && length <= known.length) return [];
    const before = known?.length === offset ? known.text : offset ? "…\n" : "";
    this.outputs.set(id, { text: (before + text).slice(-OUTPUT_CHARS), length });
    return [{ type: "live" }];
  }

  /** @param {string} id @param {"running" | "waiting"} state @returns {Change[]} */
  #turn(id, state) {
    this.heard++;
    const now = this.thread.turn;
    if (now?.id === id && (now.state === state || now.state === "stopping")) return [];
    this.thread.turn = { id, state };
    return [{ type: "turn" }];
  }

  /** @param {string} how @returns {Change[]} */
  #ended(how) {
    this.heard++;
    this.live = this.loop = this.failure = null;
    this.outputs.clear();
    const waits = how === "turn_rested" && this.waiting().length > 0;
    this.thread.turn = waits && this.thread.turn ? { id: this.thread.turn.id, state: "waiting" } : null;
    return [{ type: "live" }, { type: "turn" }];
  }

  /** Open questions, oldest first. */
  waiting() {
    return [...this.approvals.values()].filter((approval) => approval.state === "open");
  }

  /** @param {Approval} approval @returns {Change} */
  #approval(approval) {
    const known = this.approvals.get(approval.gate_id);
    // A question is settled once and for all: what was under way before does not open it again.
    if (!(known?.state === "closed" && approval.state === "open"))
      this.approvals.set(approval.gate_id, approval);
    return { type: "approval", id: approval.gate_id };
  }

  /** @param {Live | null} live */
  #resume(live) {
    if (!live) return;
    const text = live.text ?? "";
    this.live = text
      ? { turn: live.turn, attempt: live.attempt, text, length: (live.offset ?? 0) + [...text].length }
      : null;
    for (const step of live.steps ?? []) this.steps.set(step.call_id, step);
  }
}
