/** The list of conversations beside a conversation: whose, where, and those that ask for something. */

import { button, h } from "./dom.js";
import { around, clip, shortTime, titleOf, unmarked } from "./format.js";
import { marked, rowLink, timeView } from "./parts.js";
import { link } from "./router.js";
import { SearchList } from "./search_list.js";
import { ThreadPages } from "./thread_pages.js";

/** @typedef {import("./thread_pages.js").ThreadFilter} ThreadFilter */

const STORED = "inbox";
const SHOWN = /** @type {const} */ ([
  ["mine", "Mine"],
  ["all", "All"],
  ["waiting", "Waiting"],
]);

export class ThreadList extends SearchList {
  /**
   * @param {Context} context
   * @param {{label: string, empty: () => Node[], tools?: Node[]}} options
   */
  constructor(context, options) {
    const filter = recalled();
    const pages = new ThreadPages(filter);
    const { unread } = context;
    super(context, {
      ...options,
      pages,
      row: (one, current) => row(one, current, unread.is(one), pages.words),
      version: (one) => [one.updated_at, one.title, one.preview, one.turn?.state, one.waiting, unread.is(one), one.hits && pages.query],
      hints: ["thread_changed", "approval_needed", "approval_resolved"],
      filters: h("div", { class: "list-filters" }),
      empty: () => (filter.show === "waiting" ? [h("p", {}, "Nothing is waiting for an answer.")] : options.empty()),
    });
    this.filter = filter;
    this.marked = unread.subscribe(() => this.rows.refresh());
    this.#offer(context.me);
  }

  close() {
    super.close();
    this.marked();
  }

  /** @param {Partial<ThreadFilter>} changes */
  choose(changes) {
    if (Object.entries(changes).every(([name, value]) => this.filter[name] === value)) return;
    Object.assign(this.filter, changes);
    sessionStorage.setItem(STORED, JSON.stringify(this.filter));
    for (const one of this.shown) one.setAttribute("aria-pressed", String(one.dataset.show === this.filter.show));
    this.channel.value = this.filter.channel;
    this.pages.search(this.pages.query);
  }

  /** @param {Me} me */
  #offer(me) {
    const owner = me.role === "owner";
    const wanted = SHOWN.filter(([show]) => owner || show !== "all");
    this.shown = wanted.map(([show, label]) =>
      button(label, () => this.choose({ show }), {
        class: "filter",
        "aria-pressed": String(show === this.filter.show),
        data: { show },
      }),
    );
    const channels = me.channels.map((name) => h("option", { value: name }, name));
    this.channel = h("select", { "aria-label": "Channel" }, h("option", { value: "" }, "Every channel"), ...channels);
    this.channel.value = this.filter.channel;
    this.channel.addEventListener("change", () => this.choose({ channel: this.channel.value }));
    const group = h("div", { class: "filters", role: "group", "aria-label": "Show" }, ...this.shown);
    this.options.filters?.replaceChildren(group, ...(me.channels.length > 1 ? [this.channel] : []));
  }
}

/** @returns {ThreadFilter} */
function recalled() {
  try {
    return { show: "mine", channel: "", ...JSON.parse(sessionStorage.getItem(STORED) ?? "{}") };
  } catch {
    return { show: "mine", channel: "" };
  }
}

/** Of a conversation with a message that was found, the row leads to that one.
 * @param {Thread & {hits?: any[]}} thread @param {boolean} current @param {boolean} unread
 * @param {string[]} words that were looked for */
function row(thread, current, unread, words) {
  const name = thread.own && !thread.group ? "" : `${thread.group ? "Group" : thread.user.name} · `;
  const { hits = [] } = thread;
  const [hit] = hits;
  const found = hits.length > 1 ? [`${hits.length} messages`] : hits.map(() => "message");
  const marks = [...(thread.channel === "web" ? [] : [thread.channel]), ...found];
  const one = rowLink({
    href: link("chat", thread.id, hit ? { at: String(hit.seq) } : {}),
    current,
    title: titleOf(thread),
    time: timeView(thread.updated_at, shortTime(thread.updated_at)),
    via: marks.length ? h("span", { class: "via" }, marks.join(" · ")) : null,
    about: name + clip(unmarked(thread.preview), 160),
    badge: badge(thread),
  });
  if (hit) one.querySelector(".row-preview")?.replaceChildren(...marked(around(hit.excerpt, words), words));
  one.classList.toggle("unread", unread);
  if (unread) one.firstElementChild?.prepend(h("span", { class: "dot", role: "img", "aria-label": "Unread" }));
  return one;
}

/** @param {Thread} thread */
export function badge(thread) {
  if (thread.waiting) return h("span", { class: "badge attention" }, "needs answer");
  if (thread.turn?.state === "running") return h("span", { class: "badge busy" }, "working");
  if (thread.turn?.state === "stopping") return h("span", { class: "badge busy" }, "stopping");
  return null;
}
