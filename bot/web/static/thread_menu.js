/** What can be done with a whole conversation: its name, its settings, where it goes. */

import * as api from "./api.js";
import { button, confirmButton, h, icon } from "./dom.js";
import { titleOf } from "./format.js";
import { complaint, field, form } from "./parts.js";
import { link, navigate } from "./router.js";
import { toast } from "./toasts.js";

const EXPORT_PAGE = 200;
const NO_TOOLS = "none";
const ENDS = "End this conversation? It takes no further messages until you reopen it.";
const LIMITS = { max_rounds: "Rounds", max_tools: "Tool calls", loop_timeout_s: "Seconds in one turn" };
const LISTS = { whitelist: "Whitelist", dangerous_tools: "Dangerous tools" };
const PRESETS = ["manual", "whitelist", "auto_loop", "auto"];

export class ThreadMenu {
  /**
   * @param {Thread} thread
   * @param {{onChange: (thread: any) => void, command: ((text: string) => Promise<void>) | null}} actions
   *   `command`: sends a command as the conversation's own person
   */
  constructor(thread, actions) {
    this.thread = thread;
    this.actions = actions;
    this.problem = complaint();
    this.body = h("div", { class: "menu-body" });
    this.line = h("summary", { class: "icon-button", "aria-label": "Conversation menu" }, icon("more"));
    this.element = h("details", { class: "menu" }, this.line, this.body);
    this.element.addEventListener("toggle", () => this.element.open && this.#show());
    const outside = (/** @type {Event} */ event) => {
      if (this.element.isConnected && this.element.contains(/** @type {Node} */ (event.target))) return;
      this.element.open = false;
      document.removeEventListener("pointerdown", outside);
    };
    this.element.addEventListener("toggle", () => this.element.open && document.addEventListener("pointerdown", outside));
    this.element.addEventListener("keydown", (event) => event.key === "Escape" && this.#close());
  }

  /** The field of the title comes first and is selected. */
  rename() {
    this.element.open = true;
  }

  #close() {
    this.element.open = false;
    this.body.replaceChildren(); // opened again, it shows nothing of before
    this.line.focus();
  }

  #show() {
    const { thread, actions } = this;
    const title = h("input", { maxlength: "80", required: true });
    title.value = thread.title || titleOf(thread);
    const tags = h("input", { placeholder: "Words, with spaces between them" });
    tags.value = (thread.tags ?? []).join(" ");
    const save = () => this.#change({ title: title.value.trim(), tags: words(tags.value) });
    const closed = thread.state === "completed";
    this.problem.hidden = true;
    this.body.replaceChildren(
      form("Save", save, field("Title", title), field("Tags", tags)),
      h(
        "div",
        { class: "card-actions" },
        button(thread.archived ? "Unarchive" : "Archive", () => this.#change({ archived: !thread.archived })),
        closed
          ? button("Reopen", () => this.#change({ closed: false }))
          : confirmButton("End conversation", ENDS, () => this.#change({ closed: true }), { class: "button", title: ENDS }),
        actions.command ? button("Model…", () => this.#work(() => actions.command?.("/model"))) : null,
        actions.command ? button("Branch", () => this.#work(() => actions.command?.("/branch"))) : null,
        button("Export", () => this.#work(() => download(thread))),
        confirmButton("Delete", "Delete it for good, not exported?", () => this.#work(() => this.#delete()), {
          class: "button",
        }),
      ),
      approvalSettings(thread.id),
      this.problem,
    );
    title.select();
  }

  /** @param {Object<string, any>} changes */
  #change(changes) {
    return this.#work(async () => {
      await api.changeThread(this.thread.id, changes);
      const { thread } = await api.thread(this.thread.id, { limit: 1 });
      this.actions.onChange(thread);
      toast("Saved.");
    });
  }

  async #delete() {
    await api.deleteThread(this.thread.id);
    toast("Deleted.");
    navigate(link("chat"));
  }

  /** @param {() => Promise<any> | undefined} work */
  async #work(work) {
    try {
      await work();
      this.#close();
    } catch (error) {
      this.problem.textContent = error.message;
      this.problem.hidden = false;
    }
  }
}

/** How the conversation's tools are approved: blank fields are as configured. @param {string} id */
function approvalSettings(id) {
  const body = h("div");
  const element = h("details", { class: "settings" }, h("summary", {}, "Approvals"), body);
  const show = async () => body.replaceChildren(...approvalForm(id, await api.approvalPolicy(id), body));
  element.addEventListener("toggle", () => {
    if (element.open) show().catch((error) => body.replaceChildren(h("p", { class: "problem bad" }, error.message)));
  });
  return element;
}

/** @param {string} id @param {any} policy @param {HTMLElement} body */
function approvalForm(id, { thread, effective }, body) {
  const preset = h("select", {}, h("option", { value: "" }, "As configured"), ...PRESETS.map((name) => h("option", {}, name)));
  preset.value = thread.preset ?? "";
  const limits = each(LIMITS, (name) => {
    const input = h("input", { type: "number", min: "1", placeholder: effective[name] ?? "No limit" });
    input.value = thread[name] ?? "";
    return input;
  });
  const lists = each(LISTS, (name) => {
    const input = h("input", { placeholder: effective[name].join(" ") || NO_TOOLS });
    input.value = thread[name] && (thread[name].join(" ") || NO_TOOLS);
    return input;
  });
  const times = h("input", { placeholder: "shell 60, http 10" });
  times.value = Object.entries(thread.tool_timeouts ?? {})
    .map((one) => one.join(" "))
    .join(", ");
  const problem = complaint();
  const save = async () => {
    const given = {
      preset: preset.value || null,
      ...each(LIMITS, (name) => Number(limits[name].value) || null),
      ...each(LISTS, (name) => listed(lists[name].value)),
      tool_timeouts: timed(times.value),
    };
    try {
      const policy = await api.setApprovalPolicy(id, given);
      body.replaceChildren(...approvalForm(id, policy, body));
      body.querySelector("button")?.focus();
      toast("Saved.");
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  };
  const fields = Object.entries({ ...LIMITS, ...LISTS }).map(([name, label]) => field(label, (limits[name] ?? lists[name])));
  return [
    h("p", { class: "muted" }, `In effect: ${effective.preset}. Leave a field empty for the configured value.`),
    form("Save approvals", save, field("Preset", preset), ...fields, field("Time limits in seconds", times)),
    problem,
  ];
}

/** @param {Object<string, string>} names @param {(name: string) => any} work */
const each = (names, work) => Object.fromEntries(Object.keys(names).map((name) => [name, work(name)]));

/** @param {string} text */
const words = (text) => text.split(/[\s,]+/).filter(Boolean);

/** @param {string} text */
function listed(text) {
  const tools = words(text);
  return tools.length ? tools.filter((tool) => tool !== NO_TOOLS) : null;
}

/** @param {string} text */
function timed(text) {
  const pairs = words(text);
  if (!pairs.length) return null;
  return Object.fromEntries(pairs.flatMap((tool, at) => (at % 2 ? [] : [[tool, Number(pairs[at + 1])]])));
}

/** All lines as the console shows them, undone ones too, in one file. @param {Thread} thread */
async function download(thread) {
  const items = [];
  for (let before; ; ) {
    const page = await api.thread(thread.id, { before, limit: EXPORT_PAGE });
    items.unshift(...page.items);
    if (!page.more) break;
    before = page.first_seq;
  }
  const file = new Blob([JSON.stringify({ thread, items }, null, 2)], { type: "application/json" });
  const href = URL.createObjectURL(file);
  h("a", { href, download: `conversation-${thread.id}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(href));
}

const MICRO_USD = 1_000_000;

/** What the conversation has used; its price where prices are known. @param {Thread} thread */
export function costView({ tokens, cost_micro_usd: cost }) {
  if (!tokens) return null;
  const used = `${tokens.toLocaleString()} tokens`;
  const usd = `$${(cost / MICRO_USD).toFixed(cost < MICRO_USD ? 4 : 2)}`;
  return h("span", { title: cost ? `This conversation used ${used}` : "No price is configured for its models" }, cost ? usd : used);
}

/** Names the model that answers next; who may speak here changes it. @param {{model: string, models: string[]}} feed
 * @param {((name: string) => void) | null} choose */
export function modelView({ model, models }, choose) {
  if (!choose || models.length < 2) return h("span", { class: "model", title: "Model" }, model);
  const options = models.map((name) => h("option", { selected: name === model }, name));
  const select = h("select", { class: "model", "aria-label": "Model of this conversation" }, ...options);
  select.addEventListener("change", () => choose(select.value));
  return select;
}

/** How much of its model's window the conversation takes. @param {Thread} thread */
export function contextMeter({ context }) {
  if (!context) return null;
  const { tokens, window_tokens: window } = context;
  const said = `Context: ${tokens.toLocaleString()} of ${window.toLocaleString()} tokens`;
  const meter = h("meter", { min: "0", max: String(window), value: String(tokens), "aria-label": said });
  return h("span", { class: "context", title: said }, meter, ` ${Math.round((100 * tokens) / window)} %`);
}
