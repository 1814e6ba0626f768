/** What a question to people shows: why and by whom it is asked, what would run, how it ended. */

import { codeView } from "./blocks.js";
import { h, icon } from "./dom.js";
import { clip, fromNow, inFull } from "./format.js";
import { timeView } from "./parts.js";
import { link as route } from "./router.js";

/** Whether it is a question of the assistant's own, and not about a call.
 * @param {Approval | null} approval @param {Item} [item] */
export const asks = (approval, item) => ["question", "auth"].includes(approval?.kind ?? item?.gate_kind ?? "");

/** What the call in a headline is about: "Run `ls`?" has it between the outermost backticks.
 * @param {string} title @returns {[string, string, string] | null} */
function actionOf(title) {
  const [from, to] = [title.indexOf("`"), title.lastIndexOf("`")];
  return from < to ? [title.slice(0, from), title.slice(from + 1, to), title.slice(to + 1)] : null;
}

/** @param {Approval | null} approval @param {Item} [item] */
const isCall = (approval, item) => (approval?.kind ?? item?.gate_kind) === "approval";

/** The headline of a card, and the lines below it: "Run `ls`?" for a call; whatever was asked for anything else.
 * @param {Approval | null} approval @param {Item} [item] @returns {{title: (Node | string)[], reasons: string[]}} */
export function headlineOf(approval, item) {
  const [title, ...reasons] = (approval?.title ?? item?.title ?? "A question").split("\n");
  const action = isCall(approval, item) && actionOf(title);
  return { title: action ? [action[0], h("code", {}, action[1]), action[2]] : [title], reasons };
}

const NO_GRANT = "There is no grant for this call of ";

/** Why it was asked, once it is decided: a grant may have come since. @param {string} reason */
export const reasonThen = (reason) =>
  reason.startsWith(NO_GRANT) ? `It asked because no grant covered this call of ${reason.slice(NO_GRANT.length)}` : reason;

const REFUSED = /^(Denied|Rejected|Not approved|Stopped|Skipped|No answer)/;

/**
 * All of it in one line: ✓ ls · Approved by you · 0.1 s.
 * @param {Approval | null} approval @param {Item | undefined} item @param {string} how its call went, "" if nobody knows
 * @param {boolean} dated where no day stands above it
 */
export function settledLine(approval, item, how, dated) {
  const text = outcomeText(approval, item);
  const [title] = (approval?.title ?? item?.title ?? "").split("\n");
  const action = isCall(approval, item) && actionOf(title);
  const about = action ? h("code", {}, action[1]) : title;
  const at = approval?.outcome?.at;
  return h(
    "summary",
    { class: REFUSED.test(text) ? "settled-line bad" : "settled-line" },
    icon(REFUSED.test(text) ? "close" : "check"),
    h("span", { class: "settled-about", title: typeof about === "string" ? about : about.textContent }, about),
    h("span", { class: "outcome" }, h("span", {}, text)),
    how ? h("span", { class: "muted" }, how) : null,
    at ? timeView(at, dated ? inFull(at) : undefined) : null,
  );
}

/** @param {Approval | null} approval @param {Item} [item] */
function outcomeText(approval, item) {
  const { text, by, you } = approval?.outcome ?? { text: item?.outcome };
  if (!text) return approval ? "Closed." : "No longer open.";
  return you && by ? text.replace(` by ${by}`, " by you") : text;
}

/** Who asks, where and until when. @param {Approval} approval @param {string} [link] to the conversation */
export function aboutView(approval, link) {
  const who = clip(approval.requester.name || "somebody", 60);
  const open = approval.state === "open";
  const decided = !open && approval.outcome?.at;
  return h(
    "p",
    { class: "meta" },
    h("span", {}, `${asks(approval) ? "For" : "Asked by"} ${who} on ${approval.channel}`),
    open
      ? timeView(approval.expires_at, `expires ${fromNow(approval.expires_at)}`)
      : timeView(approval.opened_at, inFull(approval.opened_at)),
    decided ? h("span", {}, "decided ", timeView(decided, inFull(decided))) : null,
    open && approval.quorum > 1 ? h("span", {}, approvals(approval)) : null,
    approval.job_id ? h("a", { href: route("jobs", approval.job_id) }, "Show the changes") : null,
    link && !approval.job_id
      ? h("a", { href: link }, approval.kind === "settings" ? "Open settings" : "Open conversation")
      : null,
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
  const plain = asks(approval, item) || approval?.kind === "settings";
  const name = approval?.tool ?? (plain ? "" : "arguments");
  if (lines.length) yield codeView(lines.join("\n"), name);
}

/** How it ended. @param {Approval | null} approval @param {Item} [item] */
export function settledView(approval, item) {
  const at = approval?.outcome?.at;
  return h("p", { class: "outcome" }, h("span", {}, outcomeText(approval, item)), at ? timeView(at) : null);
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
