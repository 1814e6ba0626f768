/** Invitations to the console: a link that lets one member in, once. */

import * as api from "./api.js";
import { button, h, shape } from "./dom.js";
import { fromNow } from "./format.js";
import { complaint, field, form } from "./parts.js";
import { toast } from "./toasts.js";

/** For somebody new. @param {() => void} done called when the member was added */
export function inviteForm(done) {
  const name = h("input", { maxlength: "200", required: true });
  const invited = h("div", {});
  const problem = complaint();
  const invite = async () => {
    if (!(await shown({ name: name.value.trim() }, invited, problem))) return;
    name.value = "";
    done();
  };
  return h(
    "details",
    { class: "settings" },
    h("summary", {}, "Invite a member to the console"),
    h("p", { class: "muted" }, "Members see their own conversations and the approvals they may decide."),
    form("Make a link", invite, field("Name", name)),
    problem,
    invited,
  );
}

/** For a member who has none yet, or needs another link. @param {{id: string}} user */
export function inviteAgain(user) {
  const invited = h("div", {});
  const problem = complaint();
  const invite = button("New console link", () => shown({ user_id: user.id }, invited, problem), {
    class: "button quiet small",
  });
  return h("div", {}, invite, problem, invited);
}

/**
 * @param {{name?: string, user_id?: string}} member @param {HTMLElement} place where the link goes
 * @param {HTMLElement} problem
 */
async function shown(member, place, problem) {
  problem.hidden = true;
  try {
    place.replaceChildren(...linkView(await api.invite(member)));
    place.querySelector("input")?.select();
    return true;
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
    return false;
  }
}

/** @param {Awaited<ReturnType<typeof api.invite>>} page */
function linkView({ url, name, expires_at, here_only, qr }) {
  const link = h("input", { type: "url", readonly: true });
  link.value = url;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(url);
      toast("Link copied.");
    } catch {
      link.select();
      toast("Your browser does not allow copying. The link is selected: copy it by hand.", { bad: true });
    }
  };
  const here = "Only the hub's machine can open it: set public_url in [http] for others.";
  return [
    field(`Link for ${name}`, link),
    h("p", { class: "muted" }, `It works once and expires ${fromNow(expires_at)}. It is not shown again.`),
    here_only ? h("p", { class: "muted" }, here) : qrView(qr, `QR code of the link for ${name}`),
    button("Copy link", copy, { class: "button small" }),
  ].filter((one) => one !== null);
}

/** Readers need dark on light, and this much of a light border, in modules. */
const QUIET = 4;

/** @param {string[]} rows of dark (1) and light (0) modules @param {string} label */
function qrView(rows, label) {
  const size = rows.length + 2 * QUIET;
  const svg = shape("svg", { viewBox: `0 0 ${size} ${size}`, class: "qr", role: "img", "aria-label": label, "shape-rendering": "crispEdges" });
  const dark = rows.flatMap((row, y) => [...row].map((one, x) => (one === "1" ? `M${x + QUIET} ${y + QUIET}h1v1h-1z` : "")));
  svg.append(shape("rect", { width: size, height: size, fill: "#fff" }), shape("path", { d: dark.join(""), fill: "#000" }));
  return svg;
}
