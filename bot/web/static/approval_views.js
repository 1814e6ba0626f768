/** What a question to people shows: why and by whom it is asked, what would run, how it ended. */

import { codeView } from "./blocks.js";
import { h } from "./dom.js";
import { clip, fromNow } from "./format.js";
import { timeView } from "./parts.js";

/** Whether it is a question of the assistant's own, and not about a call.
 * @param {Approval | null} approval @param {Item} [item] */
export const asks = (approval, item) => ["question", "auth"].includes(approval?.kind ?? item?.gate_kind ?? "");

/** Who asks, where and until when. @param {Approval} approval @param {string} [link] to the conversation */
export function aboutView(approval, link) {
  const who = clip(approval.requester.name || "somebody", 60);
  const open = approval.state === "open";
  return h(
    "p",
    { class: "meta" },
    h("span", {}, `${asks(approval) ? "For" : "Asked by"} ${who} on ${approval.channel}`),
    open
      ? timeView(approval.expires_at, `expires ${fromNow(approval.expires_at)}`)
      : timeView(approval.opened_at),
    open && approval.quorum > 1 ? h("span", {}, approvals(approval)) : null,
    link ? h("a", { href: link }, "Open conversation") : null,
  );
}

/** The call itself, the calls asked about together, or what was shown of them. @param {Approval | null} approval
 * @param {Item} [item] */
export function* callViews(approval, item) {
  if (approval?.tool && approval.arguments && !asks(approval)) {
    yield argumentsView(approval.tool, approval.shown);
    return;
  }
  if (approval?.calls.length) {
    yield* approval.calls.map(askedCall);
    return;
  }
  const lines = approval?.details.length ? approval.details : (item?.lines ?? []);
  const name = approval?.tool ?? (asks(approval, item) ? "" : "arguments");
  if (lines.length) yield codeView(lines.join("\n"), name);
}

/** How it ended. @param {Approval | null} approval @param {Item} [item] */
export function settledView(approval, item) {
  const outcome = approval?.outcome;
  const text = outcome?.text ?? item?.outcome;
  if (text) return h("p", { class: "outcome" }, h("span", {}, text), outcome ? timeView(outcome.at) : null);
  return h("p", { class: "outcome muted" }, approval ? "Closed." : "No longer open.");
}

/** An answer in one's own words. @param {boolean | undefined} secret @param {(text: string) => void} onAnswer */
export function freeTextForm(secret, onAnswer) {
  const field = h("input", {
    type: secret ? "password" : "text",
    autocomplete: "off",
    "aria-label": "Your answer",
    placeholder: "Your answer",
    maxlength: "4000",
  });
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (field.value.trim()) onAnswer(field.value.trim());
  };
  return h(
    "form",
    { class: "free-text", on: { submit } },
    field,
    h("button", { type: "submit", class: "button primary" }, "Answer"),
  );
}

/** One of several calls that are asked about together. */
function askedCall({ tool, reason, lines }, index) {
  const heading = h("h4", {}, `${index + 1}. ${tool}`);
  const why = reason ? h("p", { class: "reason" }, reason) : null;
  return h("section", { class: "asked-call" }, heading, why, codeView(lines.join("\n"), tool));
}

/** @param {Approval} approval */
function approvals({ votes, quorum }) {
  return `${votes.length} of ${quorum} approved${votes.length ? `: ${clip(votes.join(", "), 80)}` : ""}`;
}

/** A single text is the call in full; several are shown by name. @param {string} tool @param {Approval["shown"]} shown */
function argumentsView(tool, shown) {
  if (!shown.length) return h("p", { class: "muted" }, `${tool}, without arguments`);
  if (shown.length === 1) return codeView(shown[0].text, shown[0].name);
  return h(
    "dl",
    { class: "arguments" },
    ...shown.flatMap(({ name, text }) => [h("dt", {}, name), h("dd", {}, text)]),
  );
}
