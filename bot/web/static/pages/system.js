/** System: how the hub is, what `hubbub doctor` says, its log, a backup, and the switch of all tools. */

import * as api from "../api.js";
import { button, h } from "../dom.js";
import { EventStream } from "../event_stream.js";
import { inFull, size } from "../format.js";
import { download, failure, field, loading, note } from "../parts.js";
import { link } from "../router.js";
import { complain, toast } from "../toasts.js";

/** @typedef {{version: string, ready: boolean, hub: string, store: string, approvals: number,
 *   pairing_requests: number, at_work: number, channels: Object<string, {state: string}>,
 *   mcp: Object<string, {state: string}>, timers: {name: string, failures: number}[]}} Status */
/** @typedef {{what: string, health: string, message: string, fix: string}} Finding */

const BACKUP = "/api/backup";
const LEVELS = ["debug", "info", "warning", "error"];
const LINES = 200;
const LOOKS = { fine: "good", warning: "attention", broken: "bad" };
const OWN = new Set(["at", "level", "logger", "message", "trace"]);

/** @param {Context} context @returns {Page} */
export function systemPage(context) {
  return new SystemPage(context);
}

class SystemPage {
  #closed = false;
  /** The log from now on. @type {EventStream | null} */ #stream = null;
  /** What is shown, the newest first. @type {string[]} */ #shown = [];

  /** @param {Context} context */
  constructor(context) {
    this.state = h("div", { class: "section" }, note(loading()));
    this.findings = h("div", { class: "section", "aria-live": "polite" });
    this.log = h("div", { class: "section" }, note(loading()));
    const labels = LEVELS.map((level) => h("option", { selected: level === "info" }, level));
    this.following = h("p", { class: "muted", role: "status" });
    this.level = h("select", { on: { change: () => this.#follow() } }, ...labels);
    this.check = button("Check everything", () => this.#check());
    const copy = button("Download a backup", () => this.#copy());
    this.parts = h("div", { class: "section" });
    this.element = h(
      "div",
      { class: "page" },
      h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "System")),
      h(
        "div",
        { class: "cards" },
        card("Hub", this.state),
        card("Doctor", actions(this.check), this.findings),
        card("Backup", actions(copy), this.parts),
        card("Log", field("From level", this.level), this.following, this.log),
      ),
    );
    this.end = context.hub.on(["tools_changed", "channel_state", "refetch"], () => this.#look());
  }

  show() {
    this.#look();
    this.#parts();
    this.#follow();
  }

  close() {
    this.#closed = true;
    this.#stream?.close();
    this.end();
  }

  async #look() {
    try {
      const [status, tools] = await Promise.all([api.status(), api.tools()]);
      if (!this.#closed) this.state.replaceChildren(factsView(status, tools.paused), this.#switch(tools.paused));
    } catch (error) {
      if (!this.#closed) this.state.replaceChildren(note(...failure(error, () => this.#look())));
    }
  }

  async #parts() {
    try {
      this.parts.replaceChildren(...partsView(await api.backupParts()));
    } catch (error) {
      this.parts.replaceChildren(note(...failure(error, () => this.#parts())));
    }
  }

  /** The browser saves it, and shows how far it is. */
  async #copy() {
    const made = await download(BACKUP);
    if (made) toast(`The browser saves ${made.name}, about ${size(made.size_bytes)}, where it saves downloads.`);
  }

  /** @param {boolean} paused */
  #switch(paused) {
    const turn = async () => {
      try {
        await api.pauseTools(!paused);
        toast(paused ? "Tools can run again." : "All tools are paused.");
      } catch (error) {
        complain(error);
      }
      await this.#look();
    };
    return actions(button(paused ? "Unpause tools" : "Pause all tools", turn));
  }

  async #check() {
    this.check.disabled = true;
    this.findings.replaceChildren(loading());
    try {
      const found = await api.doctor();
      this.findings.replaceChildren(...findingsView(found));
    } catch (error) {
      this.findings.replaceChildren(note(...failure(error, () => this.#check())));
    } finally {
      this.check.disabled = false;
    }
  }

  /** Shows the newest lines of the level, and those to come. */
  #follow() {
    this.#stream?.close();
    const level = this.level.value;
    this.#stream = new EventStream(
      () => api.logUrl({ level }),
      (event) => event.type === "log" && this.#add(event.data),
      (state) => this.#state(state, level),
    );
  }

  /** What was missed is asked for at each connection. @param {string} state @param {string} level */
  #state(state, level) {
    this.following.textContent = state === "live" ? "New lines appear as they are written." : "Connecting…";
    if (state === "live") this.#lines(level);
  }

  /** @param {string} level */
  async #lines(level) {
    try {
      const { records } = await api.log({ level, limit: LINES });
      if (this.#closed || level !== this.level.value) return;
      this.#shown = records.map(lineOf).reverse();
      this.#draw();
    } catch (error) {
      if (!this.#closed) this.log.replaceChildren(note(...failure(error, () => this.#lines(level))));
    }
  }

  /** @param {Object<string, string>} record */
  #add(record) {
    const line = lineOf(record);
    if (this.#closed || this.#shown[0] === line) return;
    this.#shown = [line, ...this.#shown].slice(0, LINES);
    this.#draw();
  }

  #draw() {
    const known = this.log.querySelector("pre");
    if (known && this.#shown.length) return (known.textContent = this.#shown.join("\n"));
    const props = { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Newest lines" };
    const text = h("pre", props, this.#shown.join("\n"));
    return this.log.replaceChildren(this.#shown.length ? text : h("p", {}, "The log has no such line."));
  }
}

/** @param {string} title @param {...Node} parts */
const card = (title, ...parts) => h("section", { class: "card", "aria-label": title }, h("h2", {}, title), ...parts);

/** @param {Node} one */
const actions = (one) => h("div", { class: "card-actions" }, one);

/** What the download has, and what it has not. @param {{name: string, path: string, inside: boolean}[]} parts */
function partsView(parts) {
  return [true, false].flatMap((wanted) => {
    const rows = parts.filter(({ inside }) => inside === wanted).map(({ name, path }) =>
      h("li", {}, h("strong", {}, name), h("code", {}, path)));
    const words = wanted ? "In the download:" : "Not in it; copy these on the hub's machine, the keys to another place:";
    return [h("p", { class: "muted" }, words), h("ul", { class: "accounts" }, ...rows)];
  });
}

/** @param {number} count @param {string} what */
const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

/** @param {Status} status @param {boolean} paused */
function factsView(status, paused) {
  const failing = status.timers.filter((timer) => timer.failures > 0).map((timer) => timer.name);
  const facts = [
    ["Version", status.version],
    ["State", h("span", { class: `badge ${status.ready ? "good" : "bad"}` }, status.ready ? "ready" : status.store)],
    ["Tools", paused ? "paused" : "not paused"],
    ["At work", counted(status.at_work, "conversation")],
    ["Waiting", h("a", { href: link("approvals") }, counted(status.approvals, "request"))],
    ["Channels", statesOf(status.channels)],
    ["MCP servers", statesOf(status.mcp)],
    ["Failing timers", failing.join(", ") || "none"],
  ];
  return h("ul", { class: "accounts" }, ...facts.map(([name, value]) => h("li", {}, h("strong", {}, name), h("span", {}, value))));
}

/** @param {Object<string, {state: string}>} parts */
const statesOf = (parts) => Object.entries(parts).map(([name, { state }]) => `${name}: ${state}`).join(", ") || "none";

/** What is wrong comes first. @param {Finding[]} found @returns {Node[]} */
function findingsView(found) {
  const worst = Object.keys(LOOKS).reverse();
  const ordered = [...found].sort((one, other) => worst.indexOf(one.health) - worst.indexOf(other.health));
  const wrong = found.filter((one) => one.health !== "fine").length;
  const words = wrong ? `${wrong} of ${found.length} findings need attention.` : `All ${found.length} findings are fine.`;
  const rows = ordered.map((one) =>
    h(
      "li",
      {},
      h("span", { class: `badge ${LOOKS[one.health]}` }, one.health),
      h("strong", {}, one.what),
      h("span", {}, one.message),
      one.fix && h("span", { class: "muted" }, one.fix),
    ),
  );
  return [h("p", {}, words), h("ul", { class: "accounts", "aria-label": "Findings" }, ...rows)];
}

/** As `hubbub logs` prints it, in the reader's own time. @param {Object<string, string>} record */
function lineOf(record) {
  const fields = Object.entries(record).filter(([name]) => !OWN.has(name)).map(([name, value]) => `${name}=${value}`);
  const at = inFull(Date.parse(record.at) * 1000);
  const line = `${at} ${record.level.toUpperCase()} ${record.logger}: ${record.message}`;
  return [line, fields.length ? ` [${fields.join(" ")}]` : "", record.trace ? `\n${record.trace}` : ""].join("");
}
