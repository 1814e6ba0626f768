/** Routines: what the hub does by itself; one of them open, a new one, or the times to come. */

import { h, icon } from "../dom.js";
import { newLink } from "../parts.js";
import { link } from "../router.js";
import { RoutineCalendar } from "../routine_calendar.js";
import { RoutineEditor } from "../routine_editor.js";
import { routineList } from "../routine_list.js";
import { RoutineView } from "../routine_view.js";
import { SplitPage } from "../split_page.js";

/** @param {Context} context @returns {Page} */
export function routinesPage(context) {
  const tools = [
    h(
      "a",
      {
        class: "icon-button only-narrow",
        href: link("routines", "calendar"),
        "aria-label": "Upcoming runs",
        title: "Upcoming runs",
      },
      icon("routines"),
    ),
    newLink(link("routines", "new")),
  ];
  return new SplitPage(context, {
    page: "routines",
    heading: "Routines",
    list: routineList(context, tools),
    open: (id) => {
      if (!id || id === "calendar") return new RoutineCalendar(context);
      return id === "new" ? new RoutineEditor(context, null) : new RoutineView(context, id);
    },
  });
}
