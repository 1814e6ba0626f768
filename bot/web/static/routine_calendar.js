/** The times to come of all schedules, day by day. */

import * as api from "./api.js";
import { button, h, settled } from "./dom.js";
import { failure, loading, note, pane, timeView } from "./parts.js";
import { link } from "./router.js";

const WEEK = 7;
const MONTH = 28;
/** So many of one routine on one day stand for that many or more. */
const MAX_A_DAY = 24;
/** Routines named on one day. */
const SHOWN_A_DAY = 10;
const HINTS_MS = 500;
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short" });

export class RoutineCalendar {
  #days = WEEK;

  /** @param {Context} context */
  constructor(context) {
    this.title = h("h2", { tabindex: "-1" }, "Upcoming runs");
    this.about = h("p", { class: "muted about" });
    this.longer = button("Four weeks", () => this.#more(), { class: "button small" });
    this.note = note(loading());
    this.list = h("ol", { class: "calendar" });
    const body = h("div", { class: "routine-body" }, this.note, this.list);
    this.element = pane("Upcoming runs", link("routines"), [this.title, this.about], [body], this.longer);
    const renew = settled(() => this.#load(), HINTS_MS);
    this.end = context.hub.on(["routine_changed", "routine_run", "refetch"], renew);
    this.ready = this.#load();
  }

  close() {
    this.end();
  }

  focus() {
    this.title.focus();
  }

  #more() {
    this.#days = this.#days === WEEK ? MONTH : WEEK;
    this.longer.textContent = this.#days === WEEK ? "Four weeks" : "One week";
    this.#load();
  }

  async #load() {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    try {
      const page = await api.routineCalendar({ days: this.#days, timezone: timeZone || "UTC" });
      const more = page.more ? " · only the 100 schedules that run soonest" : "";
      this.about.textContent = `Times in ${page.timezone}${more}`;
      this.about.title = this.about.textContent;
      this.list.replaceChildren(...(page.days.length ? wholeWeeks(page.days, this.#days).map(dayView) : []));
      this.note.replaceChildren(h("p", { class: "muted" }, "No runs are scheduled in this period."));
      this.note.hidden = page.days.length > 0;
    } catch (error) {
      this.note.replaceChildren(...failure(error, () => this.#load()));
      this.note.hidden = false;
    }
  }
}

/** Every day from today on, so that weekdays stand below one another. @param {{date: string, routines: any[]}[]} days
 * @param {number} count */
function wholeWeeks(days, count) {
  const known = new Map(days.map((day) => [day.date, day]));
  const first = new Date();
  return Array.from({ length: count }, (_, ahead) => {
    const then = new Date(first.getFullYear(), first.getMonth(), first.getDate() + ahead, 12);
    const pad = (/** @type {number} */ number) => String(number).padStart(2, "0");
    const date = `${then.getFullYear()}-${pad(then.getMonth() + 1)}-${pad(then.getDate())}`;
    return known.get(date) ?? { date, routines: [] };
  });
}

/** @param {{date: string, routines: any[]}} day */
function dayView(day) {
  const date = new Date(`${day.date}T12:00:00`);
  const rest = day.routines.length - SHOWN_A_DAY;
  const today = date.toDateString() === new Date().toDateString();
  return h(
    "li",
    { class: day.routines.length ? "calendar-day" : "calendar-day empty" },
    h("h3", {}, today ? "Today" : weekday.format(date)),
    h("ul", {}, ...day.routines.slice(0, SHOWN_A_DAY).map(slotsView)),
    rest > 0 ? h("p", { class: "calendar-times" }, `and ${rest} more`) : null,
  );
}

/** @param {{routine_id: string, name: string, slots: number[], count: number}} one */
function slotsView(one) {
  const more = one.count - one.slots.length;
  const rest = more ? ` and ${one.count >= MAX_A_DAY ? "many" : more} more` : "";
  const times = one.slots.flatMap((at, index) => [index ? ", " : "", timeView(at)]);
  return h(
    "li",
    {},
    h("span", { class: "calendar-times" }, ...times, rest),
    h("a", { href: link("routines", one.routine_id) }, one.name),
  );
}
