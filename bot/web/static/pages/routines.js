/** Routines: what the hub does by itself; one of them open, a new one, or the times to come. */

import { h, icon } from "../dom.js";
import { link } from "../router.js";
import { RoutineCalendar } from "../routine_calendar.js";
import { RoutineEditor } from "../routine_editor.js";
import { routineList } from "../routine_list.js";
import { RoutineView } from "../routine_view.js";
import { SplitPage } from "../split_page.js";

/** @param {import("../../console_types.js").Context} context @returns {import("../../console_types.js").Page} */
export function routinesPage(context) {
  const tools = [
    h(
      "a",
      {
        class: "icon-button only-narrow",
        href: link("routines", "calendar"),
        "aria-label": "Times to come",
        title: "Times to come",
      },
      icon("routines"),
    ),
    h("a", { class: "button primary", href: link("routines", "new") }, icon("plus"), h("span", {}, "New")),
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
