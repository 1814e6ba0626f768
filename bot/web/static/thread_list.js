/** The list of conversations beside a conversation. */

import { h } from "./dom.js";
import { clip, shortTime, titleOf } from "./format.js";
import { rowLink, timeView } from "./parts.js";
import { link } from "./router.js";
import { SearchList } from "./search_list.js";
import { ThreadPages } from "./thread_pages.js";

/**
 * @param {Context} context
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

/** @param {Thread} thread @param {boolean} current @param {string} page @param {string | undefined} channel */
function row(thread, current, page, channel) {
  const name = channel ? "" : `${thread.group ? "Group" : thread.user.name} · `;
  return rowLink({
    href: link(page, thread.id),
    current,
    title: titleOf(thread),
    time: timeView(thread.updated_at, shortTime(thread.updated_at)),
    via: channel ? null : h("span", { class: "via" }, thread.channel),
    about: name + clip(thread.preview, 160),
    badge: badge(thread),
  });
}

/** @param {Thread} thread */
export function badge(thread) {
  if (thread.waiting) return h("span", { class: "badge attention" }, "needs answer");
  if (thread.turn?.state === "running") return h("span", { class: "badge busy" }, "working");
  if (thread.turn?.state === "stopping") return h("span", { class: "badge busy" }, "stopping");
  return null;
}
