/** The list of routines, in order of name. */

import * as api from "./api.js";
import { h } from "./dom.js";
import { shortTime } from "./format.js";
import { ListPages } from "./list_pages.js";
import { rowLink, timeView } from "./parts.js";
import { link } from "./router.js";
import { SearchList } from "./search_list.js";

const PAGE = 100;
const LOOKS = {
  active: "good",
  running: "busy",
  attention: "attention",
  failing: "bad",
  paused: "bad",
  unreadable: "bad",
};

class RoutinePages extends ListPages {
  /** See ListPages. */
  async fetch({ query, cursor, signal }) {
    const items = await api.routines({ query, after: cursor, limit: PAGE, signal });
    return { items, next: items.length < PAGE ? null : items[items.length - 1].name };
  }

  /** The first page is as it is now; what comes behind it stays. */
  merge({ items, next }) {
    if (next === null) this.items = items;
    else this.items = [...items, ...this.items.filter((routine) => routine.name > next)];
    if (this.items.length === items.length) this.next = next;
  }
}

/** @param {Context} context @param {Node[]} tools */
export function routineList(context, tools) {
  return new SearchList(context, {
    label: "All routines",
    pages: new RoutinePages(),
    row,
    version: (routine) => [routine.version, routine.status, routine.next_at, routine.last_run_at],
    hints: ["routine_run", "routine_changed"],
    tools,
    empty: () => [
      h("p", {}, "No routines yet."),
      h("p", { class: "muted" }, "Routines run automatically: on a schedule, a message, or an event."),
    ],
  });
}

/** @param {Routine} routine @param {boolean} current */
function row(routine, current) {
  return rowLink({
    href: link("routines", routine.id),
    current,
    title: routine.name,
    time: routine.next_at ? timeView(routine.next_at, shortTime(routine.next_at)) : null,
    about: routine.fires_on,
    badge: statusBadge(routine.status),
  });
}

/** @param {string} status */
export function statusBadge(status) {
  return h("span", { class: `badge ${LOOKS[status] ?? ""}` }, status);
}
