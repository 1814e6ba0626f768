/** Approvals: what waits for a person, what was decided, and what was allowed for good. */

import * as api from "../api.js";
import { approvalCard } from "../approval_card.js";
import { codeView } from "../blocks.js";
import { button, confirmButton, h, icon, roving, settled } from "../dom.js";
import { clip, inFull, shortTime } from "../format.js";
import { decisionsPlot, failure, field, loading, note, timeView } from "../parts.js";
import { link } from "../router.js";
import { complain, toast } from "../toasts.js";

/** @typedef {import("../api.js").DryRun} DryRun */

const PAGE = 50;
const TABS = ["", "history", "grants", "test"];
const PRESETS = ["manual", "whitelist", "auto_loop", "auto"];
const HINTS_MS = 150;
const DAYS = 30;
const TYPING_MS = 200;
const OUTCOMES = [
  ["", "Every outcome"],
  ["approved", "Approved"],
  ["refused", "Not approved"],
];

/** @param {Context} context @returns {Page} */
export function approvalsPage(context) {
  return new ApprovalsPage(context);
}

class ApprovalsPage {
  /** @type {Map<string, {element: HTMLElement, update: Function}>} */ #cards = new Map();
  #tab = "";
  /** @type {string | null} */ #next = null;

  /** @param {Context} context */
  constructor(context) {
    this.me = context.me;
    this.list = h("div", { class: "cards" });
    this.note = note();
    this.search = this.#makeSearch();
    this.trial = this.#makeTrial();
    this.plot = h("div", {});
    this.older = button("Show older", () => this.#load(true), { hidden: true });
    this.tabs = [tab("Pending", "approvals", ""), tab("History", "approvals", "history"), tab("Grants", "approvals", "grants")];
    if (context.me.role === "owner") this.tabs.push(tab("What if", "approvals", "test"));
    this.element = h(
      "div",
      { class: "page" },
      h(
        "header",
        { class: "page-head" },
        h("h1", { tabindex: "-1" }, "Approvals"),
        h("nav", { class: "tabs", "aria-label": "Approvals" }, ...this.tabs),
      ),
      this.plot,
      this.search,
      this.trial,
      this.note,
      this.list,
      this.older,
    );
    this.walk = roving(this.list, "article.card");
    const renew = settled(() => this.#tab === "" && this.#load(false), HINTS_MS);
    this.end = [
      context.hub.on(["approval_needed", "approval_resolved"], (event) => this.#hint(event.data, renew)),
      context.hub.on(["refetch"], renew),
    ];
  }

  /** What of the history is shown. */
  #makeSearch() {
    this.query = h("input", { type: "search", "aria-label": "Search the history", placeholder: "Search", maxlength: "200" });
    this.outcome = h(
      "select",
      { "aria-label": "Outcome" },
      ...OUTCOMES.map(([value, label]) => h("option", { value }, label)),
    );
    const again = () => {
      this.#clear();
      this.#load(false);
    };
    this.query.addEventListener("input", settled(again, TYPING_MS));
    this.outcome.addEventListener("change", again);
    return h("div", { class: "why-row history-search", role: "search" }, this.query, this.outcome);
  }

  /** What would have been asked under another preset. */
  #makeTrial() {
    const options = PRESETS.map((one) => h("option", {}, one));
    this.preset = h("select", {}, h("option", { value: "" }, "The configured one"), ...options);
    this.preset.addEventListener("change", () => [this.#clear(), this.#load(false)]);
    const about = "Past calls, judged by today's rules and grants, and by the preset you choose. Nothing runs, and nothing is changed.";
    return h("div", { class: "section" }, h("p", { class: "muted" }, about), field("Approval preset", this.preset));
  }

  /** @param {string} preset @param {DryRun} found */
  #tried(preset, { judged, otherwise }) {
    if (this.#tab !== "test" || preset !== this.preset.value) return;
    this.older.hidden = true;
    this.list.replaceChildren(...otherwise.map(changedCard));
    this.note.replaceChildren(h("p", {}, `${otherwise.length} of ${judged} past calls would be decided differently.`));
    this.note.hidden = false;
    this.walk.refresh();
  }

  #clear() {
    this.#cards.clear();
    this.list.replaceChildren();
    this.note.replaceChildren(loading());
    this.note.hidden = false;
  }

  /** @param {import("../router.js").Route} route */
  show(route) {
    this.#tab = TABS.slice(0, this.tabs.length).includes(route.detail) ? route.detail : "";
    this.tabs.forEach((one, index) => {
      if (TABS[index] === this.#tab) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
    });
    this.search.hidden = this.#tab !== "history";
    this.plot.hidden = this.search.hidden;
    this.trial.hidden = this.#tab !== "test";
    if (!this.plot.hidden) api.decisions(DAYS).then((hours) => this.plot.replaceChildren(...decisionsPlot(hours, DAYS)), complain);
    this.#clear();
    this.#load(false);
  }

  close() {
    this.end.forEach((end) => end());
  }

  /** @param {Approval | undefined} approval @param {() => void} renew */
  #hint(approval, renew) {
    const card = this.#cards.get(approval?.gate_id ?? "");
    if (card && approval?.choices) card.update(approval);
    else renew();
  }

  /** @param {boolean} older */
  async #load(older) {
    const tab = this.#tab;
    const words = [this.query.value.trim(), this.outcome.value];
    const [query, outcome] = tab ? words : ["", ""];
    const wanted = /** @type {const} */ ({ state: tab ? "decided" : "pending", limit: PAGE, query, outcome });
    try {
      if (tab === "grants") {
        const [grants, users] = await Promise.all([api.grants(), this.me.role === "owner" ? api.users() : []]);
        return this.#grants(grants, new Map(users.map(({ id, name }) => [id, name])));
      }
      if (tab === "test") return this.#tried(this.preset.value, await api.dryRun(this.preset.value));
      const page = await api.approvals({ ...wanted, before: older ? (this.#next ?? undefined) : undefined });
      const same = query === this.query.value.trim() && outcome === this.outcome.value;
      if (tab !== this.#tab || (tab && !same)) return;
      this.#next = page.next;
      this.#show(page.approvals, older);
    } catch (error) {
      this.note.replaceChildren(...failure(error, () => this.#load(older)));
      this.note.hidden = false;
    }
  }

  /** @param {Approval[]} approvals @param {boolean} older */
  #show(approvals, older) {
    if (!older && this.#tab === "") this.#dropSettled(new Set(approvals.map((one) => one.gate_id)));
    for (const approval of approvals) this.#card(approval);
    this.older.hidden = !this.#next;
    this.note.replaceChildren(...(this.list.childElementCount ? [] : this.#empty()));
    this.note.hidden = this.list.childElementCount > 0;
    if (!this.list.querySelector('[tabindex="0"]')) this.walk.refresh();
  }

  /** @param {Grant[]} grants @param {Map<string, string>} names of people */
  #grants(grants, names) {
    if (this.#tab !== "grants") return;
    const revoke = async (/** @type {string} */ id) => {
      // What is left is shown anew either way.
      await api.revokeGrant(id).then(() => toast("Grant revoked."), complain);
      this.#load(false);
    };
    this.older.hidden = true;
    this.list.replaceChildren(...grants.map((grant) => grantCard(grant, names, () => revoke(grant.id))));
    this.note.replaceChildren(h("p", {}, "There are no grants. “Always allow” on an approval request creates one."));
    this.note.hidden = grants.length > 0;
    this.walk.refresh();
  }

  /** What is no longer pending stays where it was decided until the page is left, if it was seen here. */
  #dropSettled(pending) {
    for (const [id, card] of this.#cards) {
      if (pending.has(id) || card.element.classList.contains("closed")) continue;
      card.element.remove();
      this.#cards.delete(id);
    }
  }

  /** @param {Approval} approval */
  #card(approval) {
    const known = this.#cards.get(approval.gate_id);
    if (known) return known.update(approval);
    const card = approvalCard(approval, { place: "page", link: placeOf(approval) });
    this.#cards.set(approval.gate_id, card);
    this.list.append(card.element);
  }

  #empty() {
    const sought = this.query.value || this.outcome.value;
    if (this.#tab) return [h("p", {}, sought ? "No decision matches." : "No decisions yet.")];
    return [
      h("p", { class: "calm" }, icon("check"), h("span", {}, "Nothing is waiting for you.")),
      h("p", { class: "muted" }, "When the assistant needs an approval, the request appears here."),
    ];
  }
}

/** Where it was asked. @param {Approval} approval */
const placeOf = ({ kind, thread_id }) => (kind === "settings" ? link("settings") : link("chat", thread_id));

/** @param {Grant} grant @param {Map<string, string>} names @param {() => void} revoke */
function grantCard({ tool, pattern, covers: words, user_id, thread_id, subject, created_at, granted_by }, names, revoke) {
  const where = subject ?? (thread_id ? "one conversation" : "everywhere");
  const [whose, by] = [user_id, granted_by].map((id) => names.get(id) ?? id);
  const who = names.size ? `For ${whose}, ${where} · given by ${by}` : `For you, ${where}`;
  const covers = `${tool}: ${words}`;
  const whole = pattern && pattern !== words && h("details", { class: "settings" }, h("summary", {}, "Exact pattern"), codeView(pattern, "pattern"));
  return h(
    "article",
    { class: "card grant", tabindex: "-1" },
    h("header", {}, h("h3", {}, covers)),
    whole,
    h("p", { class: "meta" }, who, timeView(created_at, inFull(created_at))),
    h("div", { class: "card-actions" }, confirmButton("Revoke", `Revoke ${covers}?`, revoke, { class: "button small" })),
  );
}

/** @param {DryRun["otherwise"][number]} one */
function changedCard({ tool, about, was, now, reason, name, thread_id, at }) {
  return h(
    "article",
    { class: "card", tabindex: "-1" },
    h("header", {}, h("h3", {}, h("code", {}, tool), " ", h("code", {}, clip(about))), h("span", { class: "badge" }, `${was} → ${now}`)),
    reason && h("p", {}, reason),
    h("p", { class: "meta" }, name, timeView(at, shortTime(at)), h("a", { href: link("chat", thread_id) }, "Open conversation")),
  );
}

/** @param {string} label @param {string} page @param {string} detail */
function tab(label, page, detail) {
  return h("a", { class: "tab", href: link(page, detail) }, label);
}
