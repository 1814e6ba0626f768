/** Adding a channel: what a platform wants, the token tried on it, and what is left to do. */

import * as api from "./api.js";
import { h } from "./dom.js";
import { linked } from "./linked.js";
import { complaint, field, form } from "./parts.js";
import { link } from "./router.js";
import { toast } from "./toasts.js";

/** @typedef {{name: string, steps: string, tokens: {key: string, about: string}[]}} Platform */
/** @typedef {{what: string, health: string, message: string, fix: string}} Finding */

/** @returns {HTMLElement} */
export function channelForm() {
  const place = h("div", {});
  const element = h("details", { class: "settings" }, h("summary", {}, "Add a channel"), place);
  const problem = complaint();
  const open = async () => {
    if (!element.open) return;
    problem.hidden = true;
    try {
      place.replaceChildren(chosen(await api.platforms()), problem);
    } catch (error) {
      place.replaceChildren(problem);
      problem.textContent = error.message;
      problem.hidden = false;
    }
  };
  element.addEventListener("toggle", open);
  return element;
}

/** @param {Platform[]} platforms */
function chosen(platforms) {
  if (!platforms.length) return h("p", { class: "muted" }, "Every platform has its channel.");
  const rest = h("div", {});
  const select = h("select", {}, ...platforms.map(({ name }) => h("option", {}, name)));
  const show = () => rest.replaceChildren(...tokensOf(/** @type {Platform} */ (platforms.find(({ name }) => name === select.value))));
  select.addEventListener("change", show);
  show();
  return h("div", {}, field("Platform", select), rest);
}

/** @param {Platform} platform */
function tokensOf(platform) {
  const secret = () => h("input", { type: "password", required: true, maxlength: "500", autocomplete: "off", spellcheck: "false" });
  const inputs = platform.tokens.map((token) => ({ token, input: secret() }));
  const url = h("input", { type: "url", maxlength: "500", placeholder: "The platform's own" });
  const result = h("div", { role: "status" });
  const problem = complaint();
  const add = async () => {
    problem.hidden = true;
    result.replaceChildren(h("p", { class: "muted" }, `Trying it on ${platform.name}…`));
    const tokens = Object.fromEntries(inputs.map(({ token, input }) => [token.key, input.value.trim()]));
    try {
      const done = await api.addChannel({ platform: platform.name, tokens, api_base_url: url.value.trim() || null });
      result.replaceChildren(...outcome(platform.name, done));
      if (done.gate_id) return toast("This channel waits for your approval.");
      if (!done.added) return inputs[0].input.focus();
      toast(`${platform.name} was added to the configuration.`);
      inputs.forEach(({ input }) => (input.value = ""));
    } catch (error) {
      result.replaceChildren();
      problem.textContent = error.message;
      problem.hidden = false;
    }
    return undefined;
  };
  const fields = inputs.map(({ token, input }) => field(sentence(token.about), input));
  const advanced = h("details", {}, h("summary", {}, "Another server"), field("API address", url));
  const words = h("p", {}, ...linked(platform.steps));
  return [words, form("Try it and add the channel", add, ...fields, advanced), problem, result];
}

/** @param {string} name @param {{added: boolean, findings: Finding[], next_start: string[], gate_id: string | null}} done */
function outcome(name, { added, findings, next_start, gate_id }) {
  if (gate_id) {
    const words = "The token goes to that server, and the channel into the configuration, once you have approved it. ";
    return [h("p", {}, words, h("a", { href: link("approvals") }, "Open the request"))];
  }
  const rows = findings.map(({ message, fix, health }) =>
    h("li", {}, h("span", { class: `badge ${health === "fine" ? "good" : "bad"}` }, health), h("span", {}, [message, fix].filter(Boolean).join("; "))),
  );
  const list = h("ul", { class: "accounts", "aria-label": "What the platform answered" }, ...rows);
  if (!added) return [list, h("p", {}, "Nothing was changed.")];
  const left = [
    next_start.length ? "It waits for a restart of the hub: until then, the bot does not answer." : "",
    `Then send the bot a message on ${name} and choose This is me at your request above.`,
  ];
  return [list, h("p", {}, "The token is in the vault, and the configuration names it."), h("p", {}, left.join(" "))];
}

/** @param {string} words */
const sentence = (words) => words[0].toUpperCase() + words.slice(1);
