/** Tools: what each does, who is asked for it, a person's settings, and the tools left out after failures. */

import * as api from "../api.js";
import { button, h, settled } from "../dom.js";
import { failure, field, loading, note, timeView } from "../parts.js";
import { link } from "../router.js";
import { complain, toast } from "../toasts.js";

/** @typedef {"always_allow" | "ask_each_time" | "disabled" | null} Setting */
/** @typedef {{name: string, about: string, source: string, effect: string, now: "runs" | "asks" | "refused",
 *   reason: string, rated: boolean, always_asks: boolean,
 *   unattended: boolean, setting: Setting, offered: Setting[], remedy: string}} Tool */
/** @typedef {{name: string, failures: number, error: string, at: number, left_out_at: number | null}} Failing */
/** @typedef {{name: string, state: string, enabled: boolean, package: boolean}} Extension */

const TYPING_MS = 100;
const SETTINGS = /** @type {const} */ ([
  ["", "No own setting"],
  ["always_allow", "Allow"],
  ["ask_each_time", "Ask each time"],
  ["disabled", "Disabled"],
]);
const NOW = { runs: "runs without asking", asks: "asks", refused: "not available" };
const EFFECTS = { none: "changes nothing", idempotent: "changes something, safe to repeat", effect: "has an effect" };
const OWN = "The hub's own tools";

/** @param {Context} context @returns {Page} */
export function toolsPage(context) {
  return new ToolsPage(context);
}

class ToolsPage {
  /** @type {Tool[]} */ #tools = [];
  #closed = false;

  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    this.user = context.me.user_id;
    const choose = () => context.navigate(link("tools", "", { user: this.people.value }));
    this.people = h("select", { on: { change: choose } });
    this.query = h("input", { type: "search", "aria-label": "Find a tool", placeholder: "Find a tool", maxlength: "100" });
    this.query.addEventListener("input", settled(() => this.#draw(), TYPING_MS));
    this.failing = h("div", {});
    this.servers = h("div", {});
    this.preset = h("p", { class: "muted" });
    this.list = h("div", {}, note(loading()));
    this.element = h(
      "div",
      { class: "page" },
      h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Tools")),
      this.failing,
      field("Tools of", this.people),
      h("div", { class: "why-row", role: "search" }, this.query),
      this.preset,
      this.list,
      this.servers,
    );
    this.end = context.hub.on(["refetch"], () => this.#load());
  }

  /** @param {import("../router.js").Route} route */
  show(route) {
    this.user = route.query.get("user") || this.context.me.user_id;
    this.#people();
    this.#load();
    this.#failures();
    this.#servers();
  }

  close() {
    this.#closed = true;
    this.end();
  }

  async #people() {
    try {
      const users = await api.users();
      const option = (/** @type {{id: string, name: string}} */ { id, name }) => h("option", { value: id, selected: id === this.user }, name || id);
      this.people.replaceChildren(...users.map(option));
    } catch (error) {
      complain(error);
    }
  }

  async #load() {
    const { user } = this;
    try {
      const page = await api.toolCatalog(user);
      if (this.#closed || user !== this.user) return;
      this.#tools = page.tools;
      this.preset.replaceChildren(`Approval preset: ${page.preset}. A setting here goes before it. `, h("a", { href: link("settings") }, "Change the preset"));
      this.#draw();
    } catch (error) {
      this.list.replaceChildren(note(...failure(error, () => this.#load())));
    }
  }

  #draw() {
    const words = this.query.value.trim().toLowerCase();
    const found = this.#tools.filter(({ name, about }) => `${name} ${about}`.toLowerCase().includes(words));
    const sources = [...new Set(found.map(({ source }) => source))];
    const groups = sources.map((source) => group(source || OWN, found.filter((one) => one.source === source).map((one) => this.#row(one))));
    this.list.replaceChildren(...(groups.length ? groups : [note(h("p", {}, "No tool matches."))]));
  }

  /** @param {Tool} tool */
  #row(tool) {
    const own = tool.setting ?? "";
    // A choice without an effect is not offered; the one that stands is shown all the same.
    const offered = SETTINGS.filter(([value]) => !value || value === own || tool.offered.includes(value));
    const options = offered.map(([value, label]) => h("option", { value, selected: value === own }, label));
    const select = h("select", { "aria-label": `Setting for ${tool.name}` }, ...options);
    select.addEventListener("change", () => this.#set(tool, /** @type {Setting} */ (select.value || null), select));
    const asks = tool.now === "asks" && tool.always_asks ? "always asks" : NOW[tool.now];
    const facts = [
      tool.rated && tool.now !== "refused" ? `${asks}; arguments can require more` : asks,
      EFFECTS[tool.effect],
      !tool.unattended && "not for jobs and routines",
    ].filter(Boolean);
    const [line] = tool.about.split("\n");
    const about = /^.*[.!?](?= )/.exec(`${line} `)?.[0] ?? line; // the sentences that end there
    const rest = tool.about.slice(about.length).trim();
    return h(
      "li",
      { class: "card tool" },
      h(
        "header",
        {},
        h("h3", {}, h("code", {}, tool.name)),
        h("span", { class: `badge ${tool.now === "runs" ? "good" : ""}` }, tool.setting === "disabled" ? "disabled" : tool.now),
        h("span", { class: "meta" }, facts.join(" · ")),
      ),
      h("p", {}, about),
      rest && h("details", { class: "settings" }, h("summary", {}, "What the model reads"), h("p", { class: "remembered" }, rest)),
      tool.now === "refused" && h("p", { class: "muted" }, tool.reason),
      tool.remedy && h("p", { class: "muted" }, tool.remedy),
      offered.length > 1 && h("div", { class: "card-actions" }, select),
    );
  }

  /** In force at once; what it was comes back by Undo. @param {Tool} tool @param {Setting} setting @param {HTMLSelectElement} select */
  async #set(tool, setting, select) {
    const { user } = this;
    const before = tool.setting;
    const put = async (/** @type {Setting} */ wanted) => {
      await api.setPermission({ user_id: user, tool: tool.name, setting: wanted });
      await this.#load();
    };
    try {
      await put(setting);
      const label = SETTINGS.find(([value]) => value === (setting ?? ""))?.[1];
      const whose = this.people.selectedOptions[0]?.textContent ?? "";
      toast(`${tool.name} for ${whose}: ${label}.`, { action: { label: "Undo", work: () => put(before).then(() => toast("Undone."), complain) } });
      /** @type {HTMLElement | null} */ (this.list.querySelector(`[aria-label="Setting for ${tool.name}"]`))?.focus();
    } catch (error) {
      select.value = before ?? "";
      complain(error);
    }
  }

  async #failures() {
    try {
      const failing = await api.failingTools();
      const rows = failing.map((one) => this.#failing(one));
      this.failing.replaceChildren(...(rows.length ? [group("Failing in jobs and routines", rows)] : []));
    } catch (error) {
      complain(error);
    }
  }

  /** @param {Failing} one */
  #failing(one) {
    const reset = async () => {
      try {
        toast((await api.resetTool(one.name)).outcome);
        await this.#failures();
      } catch (error) {
        complain(error);
      }
    };
    return h(
      "li",
      { class: "card" },
      h(
        "header",
        {},
        h("h3", {}, h("code", {}, one.name)),
        h("span", { class: `badge ${one.left_out_at ? "bad" : "attention"}` }, one.left_out_at ? "left out" : "failing"),
      ),
      h("p", { class: "reason" }, one.error),
      h("p", { class: "meta" }, `${one.failures} ${one.failures === 1 ? "failure" : "failures"} in a row`, timeView(one.at)),
      h("div", { class: "card-actions" }, button("Reset", reset, { class: "button small", "aria-label": `Reset ${one.name}` })),
    );
  }

  async #servers() {
    try {
      const found = await api.extensions();
      const rows = found.map(serverRow);
      const manage = h("p", {}, h("a", { href: link("channels") }, "Add, disable or remove servers on the page Channels"));
      const none = h("p", { class: "muted" }, "No MCP server and no package brings tools.");
      this.servers.replaceChildren(group("Servers and packages", rows, rows.length ? manage : none));
    } catch (error) {
      complain(error);
    }
  }
}

/** @param {string} heading @param {HTMLElement[]} rows @param {...Node} rest */
function group(heading, rows, ...rest) {
  const head = h("div", { class: "section-head" }, h("h2", {}, heading), h("span", { class: "count" }, rows.length || ""));
  return h("section", { class: "section", "aria-label": heading }, head, h("ul", { class: "cards" }, ...rows), ...rest);
}

/** @param {Extension} one */
function serverRow(one) {
  const look = one.state.startsWith("ready") ? "good" : one.state.startsWith("failed") || one.state.startsWith("not used") ? "bad" : "";
  return h(
    "li",
    { class: "card" },
    h("header", {}, h("h3", {}, one.name), h("span", { class: `badge ${look}` }, one.package ? "package" : one.enabled ? "enabled" : "disabled")),
    h("p", { class: "meta" }, one.state),
  );
}
