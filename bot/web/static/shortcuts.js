/** The sheet of keyboard shortcuts. */

import { button, h } from "./dom.js";

const KEYS = [
  ["Anywhere", [["Ctrl K or ⌘ K", "Go to, do, or find"], ["?", "This sheet"]]],
  ["Writing", [
    ["Enter", "Send"],
    ["Shift Enter", "New line"],
    ["/", "Commands, at the beginning of a message"],
    ["↑", "In an empty message: the request that waits, else your last message again"],
    ["Escape", "Back to the list"],
  ]],
  ["An approval request, outside of fields", [
    ["a", "Approve"],
    ["d", "Deny"],
    ["A", "Always allow"],
    ["e", "Edit the arguments; Ctrl Enter approves them as edited"],
  ]],
  ["Lists", [["↑ ↓ Home End", "Walk through"], ["Enter", "Open"]]],
];

export function openSheet() {
  const close = button("Close", () => sheet.close(), { class: "button primary" });
  const sheet = h(
    "dialog",
    { class: "sheet", "aria-label": "Keyboard shortcuts" },
    h("h2", {}, "Keyboard shortcuts"),
    ...KEYS.flatMap(([heading, keys]) => [
      h("h3", {}, heading),
      h("dl", {}, ...keys.flatMap(([key, does]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, does)])),
    ]),
    close,
  );
  sheet.addEventListener("close", () => sheet.remove());
  document.body.append(sheet);
  sheet.showModal();
  close.focus();
}
