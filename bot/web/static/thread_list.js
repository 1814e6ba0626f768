/** The list of conversations beside a conversation. */

import { h } from "./dom.js";
import { clip, inFull, shortTime, titleOf, toDate } from "./format.js";
import { link } from "./router.js";
import { SearchList } from "./search_list.js";
import { ThreadPages } from "./thread_pages.js";

/**
 * @param {import("../console_types.js").Context} context
 * @param {{page: string, label: string, filter: {channel?: string}, empty: () => Node[], tools?: Node[]}} options
 */
export function threadList(context, { page, filter, ...options }) {
  return new SearchList(context, {
    ...options,
    pages: new ThreadPages(filter),
    row: (thread, current) => row(thread, current, page, filter.channel),
    version: (thread) => [
      thread.updated_at,
      thread.title,
      thread.preview,
      thread.turn?.state,
      thread.waiting,
    ],
    hints: ["thread_changed", "approval_needed", "approval_resolved"],
  });
}

/** @param {import("../console_types.js").Thread} thread @param {boolean} current @param {string} page @param {string | undefined} channel */
function row(thread, current, page, channel) {
  const title = titleOf(thread);
  const time = h(
    "time",
    { datetime: toDate(thread.updated_at).toISOString(), title: inFull(thread.updated_at) },
    shortTime(thread.updated_at),
  );
  const who = channel ? null : h("span", { class: "via" }, thread.channel);
  const name = channel ? "" : `${thread.group ? "Group" : thread.user.name} · `;
  return h(
    "a",
    { href: link(page, thread.id), "aria-current": current ? "page" : null },
    h("span", { class: "row-line" }, h("span", { class: "row-title", title }, title), time),
    h(
      "span",
      { class: "row-line" },
      who,
      h("span", { class: "row-preview", title: name + thread.preview }, name + clip(thread.preview, 160)),
      badge(thread),
    ),
  );
}

/** @param {import("../console_types.js").Thread} thread */
export function badge(thread) {
  if (thread.waiting) return h("span", { class: "badge attention" }, "decide");
  if (thread.turn?.state === "running") return h("span", { class: "badge busy" }, "working");
  if (thread.turn?.state === "stopping") return h("span", { class: "badge busy" }, "stopping");
  return null;
}
