/** The fields of a routine, by what fires it, and the definition they make. */

import { button, h } from "./dom.js";

/**
 * @typedef {{path: string, label: string, part: "what" | "when" | "more", hint?: string,
 *   input: (value: any, props: Object<string, any>) => any, read: (input: any) => any}} Field
 */

/** @param {any} input */
const textOf = (input) => input.value.trim() || null;

/** @param {string} placeholder */
const text = (placeholder = "") => ({
  input: (value, props) => {
    const more = { type: "text", placeholder, spellcheck: "false", autocapitalize: "off" };
    const one = h("input", { ...props, ...more });
    one.value = value ?? "";
    return one;
  },
  read: textOf,
});

/** Text of several lines. @param {string} rows */
const area = (rows) => ({
  input: (value, props) => {
    const one = h("textarea", { ...props, rows });
    one.value = Array.isArray(value) ? value.join("\n") : (value ?? "");
    return one;
  },
  read: textOf,
});

/** @param {string} usual */
const number = (usual) => ({
  input: (value, props) => {
    const one = h("input", { ...props, type: "text", inputmode: "numeric", placeholder: usual });
    one.value = value ?? "";
    return one;
  },
  // What is no number goes as text: the hub says what is wrong with it.
  read: (input) => (/^\d+$/.test(input.value.trim()) ? Number(input.value) : textOf(input)),
});

/** @param {boolean} usual */
const check = (usual) => ({
  input: (value, props) => {
    const one = h("input", { ...props, type: "checkbox" });
    one.checked = value ?? usual;
    return one;
  },
  read: (input) => input.checked,
});

/** @param {Object<string, string>} options the usual one first */
const choice = (options) => ({
  input: (value, props) => {
    const all = Object.entries(options).map(([word, label]) =>
      h("option", { value: word, selected: word === value }, label),
    );
    return h("select", props, ...all);
  },
  read: (input) => input.value,
});

/** Lines as a list. */
const lines = {
  ...area("2"),
  read: (input) => (textOf(input) ?? "").split(/\s*\n\s*/).filter(Boolean),
};

const HIDDEN = /[^\P{C}\n\t]|[^\P{Z} ]/gu;

/** The text as it was given, unless somebody changed it: a field would put other line ends in it. @param {any} field */
const exact = (field) =>
  field.value === field.defaultValue.replace(/\r\n?/g, "\n") ? field.defaultValue : field.value;

/** A text that is shown whole, and named below it what of it cannot be seen. @param {string} given @param {string} label */
function exactText(given, label) {
  const rows = given.split("\n").reduce((sum, line) => sum + 1 + Math.floor(line.length / 60), 0);
  const field = h("textarea", { "aria-label": label, rows, spellcheck: "false", autocapitalize: "off" });
  const hidden = h("p", { class: "hint" });
  const tell = () => {
    const codes = [...new Set(exact(field).match(HIDDEN))].map((one) => one.codePointAt(0)?.toString(16));
    hidden.textContent = codes.length ? `Holds hidden characters: U+${codes.join(", U+").toUpperCase()}` : "";
  };
  field.defaultValue = given;
  field.addEventListener("input", tell);
  tell();
  return h("div", {}, field, hidden);
}

/** Texts of any number of lines, each kept as it is. @param {string} label @param {string} each */
const exactTexts = (label, each) => ({
  input: (value, props) => {
    const add = button("Add", () => {
      const one = exactText("", each);
      add.before(one);
      one.querySelector("textarea")?.focus();
    });
    const all = { ...props, class: "exact-texts", role: "group", "aria-label": label, tabindex: "-1" };
    return h("div", all, ...(value ?? []).map((one) => exactText(one, each)), add);
  },
  read: (list) => [...list.querySelectorAll("textarea")].map(exact).filter((text) => text.trim()),
});

const when = /** @type {const} */ ({ part: "when" });

/** @type {Object<string, {label: string, fields: Field[]}>} */
export const TRIGGERS = {
  cron: {
    label: "Schedule",
    fields: [
      {
        ...when,
        ...text("0 9 * * 1-5"),
        path: "trigger.schedule",
        label: "Schedule",
        hint: "Minute, hour, day, month, weekday; or text such as “every 2 hours”.",
      },
      { ...when, ...text("Europe/Berlin"), path: "trigger.timezone", label: "Time zone" },
      {
        ...when,
        ...choice({
          one_catch_up: "Run once to catch up",
          skip: "Skip them",
          all: "Run all of them",
        }),
        path: "trigger.downtime",
        label: "Runs missed while the hub was down",
      },
    ],
  },
  event: {
    label: "Message",
    fields: [
      { ...when, ...text("deploy (\\w+)"), path: "trigger.pattern", label: "Pattern to match" },
      { ...when, ...check(false), path: "trigger.ignore_case", label: "Ignore case" },
      { ...when, ...text("any"), path: "trigger.channel", label: "Channel" },
      { ...when, ...text("anyone"), path: "trigger.sender", label: "Sender" },
      {
        ...when,
        ...choice({ also_chat: "Also goes to the chat", consume: "Goes to the routine only" }),
        path: "trigger.on_match",
        label: "Matching message",
      },
    ],
  },
  system_event: {
    label: "Event",
    fields: [
      { ...when, ...text("github"), path: "trigger.source", label: "Source" },
      { ...when, ...text("push"), path: "trigger.event_type", label: "Type" },
    ],
  },
  webhook: {
    label: "Webhook",
    fields: [
      { ...when, ...text("github"), path: "trigger.path", label: "Path after /api/webhooks/" },
      { ...when, ...text(), path: "trigger.secret_name", label: "Name of the signing secret" },
      {
        ...when,
        ...choice({ hubbub: "hubbub's own", github: "GitHub", gitlab: "GitLab", stripe: "Stripe" }),
        path: "trigger.signature",
        label: "Signature",
      },
    ],
  },
  manual: { label: "Manual", fields: [] },
};

const what = /** @type {const} */ ({ part: "what" });

/** @type {Field[]} */
const TOOLS = [
  {
    ...what,
    ...lines,
    path: "action.allowed_tools",
    label: "Tools that may need approval",
    hint: "One name per line. Tools that need no approval are available without being named.",
  },
  {
    ...what,
    ...exactTexts("Grants", "Grant"),
    path: "action.grants",
    label: "Grants",
    hint: "Calls that run without approval: a tool, a space, and a pattern or the exact line. Clear a grant to remove it.",
  },
];

/** What a run does. @type {Object<string, {label: string, fields: Field[]}>} */
export const ACTIONS = {
  lightweight: {
    label: "Ask the model",
    fields: [
      { ...what, ...area("4"), path: "action.prompt", label: "Prompt for the model" },
      { ...what, ...check(false), path: "action.use_tools", label: "Use tools" },
      ...TOOLS,
      {
        part: "more",
        ...lines,
        path: "action.context_paths",
        label: "Workspace files to include",
        hint: "One path per line.",
      },
    ],
  },
  full_job: {
    label: "Dispatch a job",
    fields: [
      { ...what, ...text("Nightly tests"), path: "action.title", label: "Title of the job" },
      { ...what, ...area("4"), path: "action.description", label: "Task of the job" },
      { ...what, ...number("25"), path: "action.max_iterations", label: "Maximum rounds" },
      ...TOOLS,
    ],
  },
  reminder: {
    label: "Send a reminder",
    fields: [{ ...what, ...area("2"), path: "action.text", label: "Text to send" }],
  },
};

/** @type {Field[]} */
const ALWAYS = [
  { ...what, ...text("morning"), path: "name", label: "Name" },
  { part: "more", ...text(), path: "description", label: "Description" },
  {
    part: "more",
    ...number("300"),
    path: "guardrails.cooldown_s",
    label: "Cooldown in seconds",
  },
  { part: "more", ...number("1"), path: "guardrails.max_concurrent", label: "Concurrent runs" },
  { part: "more", ...text("22:00-07:00"), path: "notify.quiet_hours", label: "Quiet hours" },
  { part: "more", ...check(true), path: "notify.on_attention", label: "Notify me of results" },
  { part: "more", ...check(true), path: "notify.on_failure", label: "Notify me of failures" },
];

/** @param {string} kind @param {string} action */
export const fieldsOf = (kind, action) => {
  const [name, ...more] = ALWAYS;
  return [name, ...(ACTIONS[action]?.fields ?? []), ...more, ...(TRIGGERS[kind]?.fields ?? [])];
};

/** Texts without which an action makes no sense: empty, so that the hub says so. @type {Object<string, string[]>} */
const NEEDED = { lightweight: ["prompt"], full_job: ["title", "description"], reminder: ["text"] };

/**
 * The definition that the fields say; what they do not know of it stays as it was given.
 * @param {string} kind @param {string} does @param {any} given @param {(path: string) => any} read
 */
export function definitionOf(kind, does, given, read) {
  const action = given.action.type === does ? given.action : { type: does };
  const trigger = given.trigger.type === kind ? given.trigger : { type: kind };
  /** @type {any} */ const page = {
    ...given,
    trigger: { ...trigger },
    action: { ...action },
    guardrails: { ...given.guardrails },
    notify: { ...given.notify },
  };
  for (const { path } of fieldsOf(kind, does)) {
    const value = read(path);
    const [part, name] = path.includes(".") ? path.split(".") : ["", path];
    (part ? page[part] : page)[name] = value === undefined ? null : value;
  }
  for (const needed of NEEDED[does] ?? []) page.action[needed] ??= "";
  return { ...page, name: page.name ?? "" };
}
