/** Audit: is the chain of records intact, who did what, and all of it as a file. */

import * as api from "../api.js";
import { button, composing, h } from "../dom.js";
import { clip, inFull } from "../format.js";
import { complaint, download, failure, field, form, loading, note, timeView } from "../parts.js";
import { link } from "../router.js";
import { complain } from "../toasts.js";

/** @typedef {{record: string, at: number, kind: string, actor: string | null, actor_name: string | null,
 *   subject: string, thread_id: string | null, detail: Object<string, any>}} AuditRecord */
/** @typedef {{records: AuditRecord[], next: number | null, kinds: string[]}} AuditListing */
/** @typedef {{ok: boolean, records: number, waiting: number, first: number | null, head: string | null,
 *   findings: {record: number | null, problem: string}[], more: number}} AuditState */

const EXPORT = "/api/audit/export";
const SHOWN_CHARS = 280;

/** @param {Context} context @returns {Page} */
export function auditPage(context) {
  return new AuditPage(context);
}

class AuditPage {
  /** Names by user id. @type {Map<string, string>} */ #names = new Map();
  #verified = new AbortController();
  #asked = new AbortController();

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.head = h("input", { type: "text", maxlength: "200", autocomplete: "off", spellcheck: "false" });
    this.state = h("div", { class: "section", "aria-live": "polite" });
    this.problem = complaint();
    this.text = h("input", { type: "search", maxlength: "200", autocomplete: "off" });
    this.text.addEventListener("keydown", (event) => composing(event) && event.stopPropagation());
    this.kind = h("select", {}, h("option", { value: "" }, "Everything"));
    this.results = h("div", { class: "why-results" });
    const look = () => context.navigate(link("audit", "", { q: this.text.value.trim(), kind: this.kind.value }));
    this.kind.addEventListener("change", look);
    const search = form("Search", look, field("Text, person or ID", this.text), field("Kind", this.kind));
    search.setAttribute("role", "search");
    search.className = "search-form";
    const save = button("Export all records", () => download(EXPORT), { class: "button" });
    this.element = h(
      "div",
      { class: "page" },
      h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Audit"), save),
      this.#chain(),
      search,
      this.results,
    );
    this.#verify();
  }

  #chain() {
    const check = form("Verify", () => this.#verify(), field("A head you kept", this.head));
    const why = "Verify prints the newest record's head. Keep it on another machine: with it, a removed end shows.";
    const kept = h("details", {}, h("summary", {}, "Compare with a head"), h("p", { class: "muted" }, why), check);
    return h("section", { class: "card", "aria-label": "Chain" }, h("h2", {}, "Chain"), this.state, this.problem, kept);
  }

  /** @param {import("../router.js").Route} route */
  show(route) {
    this.text.value = route.query.get("q") ?? "";
    this.wanted = { query: this.text.value, kind: route.query.get("kind") ?? "" };
    this.#load();
  }

  close() {
    this.#verified.abort();
    this.#asked.abort();
  }

  async #verify() {
    this.#verified.abort();
    this.#verified = new AbortController();
    const { signal } = this.#verified;
    this.problem.hidden = true;
    this.state.replaceChildren(loading());
    try {
      const found = await api.auditState({ head: this.head.value.trim(), signal });
      if (!signal.aborted) this.state.replaceChildren(...stateView(found));
    } catch (error) {
      if (signal.aborted) return;
      this.state.replaceChildren();
      this.problem.textContent = error.message;
      this.problem.hidden = false;
    }
  }

  async #load() {
    this.#asked.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    this.results.replaceChildren(note(loading()));
    try {
      const [page, users] = await Promise.all([api.audit({ ...this.wanted, signal }), api.users()]);
      if (signal.aborted) return;
      this.#names = new Map(users.map((/** @type {{id: string, name: string}} */ { id, name }) => [id, name]));
      this.#kinds(page.kinds);
      if (!page.records.length) return this.results.replaceChildren(note(h("p", {}, "No record matches.")));
      const list = h("ol", { class: "events", "aria-label": "Records" });
      this.results.replaceChildren(list);
      this.#add(list, page, signal);
    } catch (error) {
      if (!signal.aborted) this.results.replaceChildren(note(...failure(error, () => this.#load())));
    }
    return undefined;
  }

  /** @param {string[]} kinds */
  #kinds(kinds) {
    const options = kinds.map((kind) => h("option", { value: kind }, wordsOf(kind)));
    this.kind.replaceChildren(this.kind.options[0], ...options);
    this.kind.value = this.wanted?.kind ?? "";
  }

  /** @param {HTMLElement} list @param {AuditListing} page @param {AbortSignal} signal */
  #add(list, page, signal) {
    list.append(...page.records.map((one) => recordView(one, this.#names)));
    if (page.next === null) return;
    const more = button("Older records", async () => {
      more.disabled = true;
      try {
        const next = await api.audit({ ...this.wanted, before: page.next, signal });
        if (signal.aborted) return;
        more.remove();
        this.#add(list, next, signal);
      } catch (error) {
        if (!signal.aborted) complain(error);
        more.disabled = false;
      }
    });
    this.results.append(more);
  }
}

/** @param {AuditState} found @returns {Node[]} */
function stateView(found) {
  const head = found.head && h("p", {}, "Head: ", h("code", {}, found.head));
  if (found.ok) {
    const count = found.records === 1 ? "1 record" : `${found.records.toLocaleString()} records`;
    const since = (found.first ?? 1) > 1 ? `, from record ${found.first}` : "";
    const waiting = found.waiting ? `, ${found.waiting} not chained yet` : "";
    const badge = h("span", { class: "badge good" }, "intact");
    return [h("p", {}, badge, ` The audit log is intact: ${count}${since}${waiting}.`), head].filter(Boolean);
  }
  const rows = found.findings.map(({ record, problem }) => h("li", {}, record === null ? problem : `${record}: ${problem}`));
  if (found.more) rows.push(h("li", {}, `… and ${found.more} more`));
  const badge = h("span", { class: "badge bad" }, "not intact");
  return [h("p", {}, badge, " The audit log is not intact."), h("ul", { "aria-label": "Findings" }, ...rows)];
}

/** @param {string} kind */
const wordsOf = (kind) => kind.replaceAll("_", " ");

/** A moment in the reader's own time, a user by name; anything else as it is. @param {string} name
 * @param {any} value @param {Map<string, string>} names */
function valueOf(name, value, names) {
  if (Array.isArray(value)) return value.map((/** @type {any} */ one) => valueOf(name, one, names)).join(", ");
  if (typeof value === "number" && name.endsWith("_at")) return inFull(value);
  return typeof value === "string" ? names.get(value) || value : JSON.stringify(value);
}

/** @param {AuditRecord} one @param {Map<string, string>} names */
function recordView(one, names) {
  const who = one.actor_name ?? one.actor ?? "the hub";
  const told = Object.entries(one.detail).filter(([, value]) => value !== null && String(value) !== "");
  const detail = told.map(([name, value]) => `${name}=${valueOf(name, value, names)}`).join(" ");
  const head = h(
    "p",
    { class: "event-head" },
    h("span", { class: "via" }, wordsOf(one.kind)),
    h("span", { class: "name", title: one.actor ?? who }, who),
    timeView(one.at, inFull(one.at)),
  );
  const thread = one.thread_id && h("p", {}, h("a", { href: link("chat", one.thread_id) }, "Open conversation"));
  const place = h("p", { class: "event-key" }, `Record ${one.record} · `, h("code", { title: one.subject }, names.get(one.subject) || one.subject));
  return h("li", { class: "event" }, head, detail && h("p", { class: "event-text" }, clip(detail, SHOWN_CHARS)), thread, place);
}
