/** The fields of a routine, by what fires it, and the definition they make. */

import { h } from "./dom.js";

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

const when = /** @type {const} */ ({ part: "when" });

/** @type {Object<string, {label: string, fields: Field[]}>} */
export const TRIGGERS = {
  cron: {
    label: "The clock",
    fields: [
      {
        ...when,
        ...text("0 9 * * 1-5"),
        path: "trigger.schedule",
        label: "Schedule",
        hint: "Minute, hour, day, month, weekday; or such as “every 2 hours”.",
      },
      { ...when, ...text("Europe/Berlin"), path: "trigger.timezone", label: "Time zone" },
      {
        ...when,
        ...choice({
          one_catch_up: "Run once, afterwards",
          skip: "Leave them out",
          all: "Make up for all of them",
        }),
        path: "trigger.downtime",
        label: "Times missed while the hub was down",
      },
    ],
  },
  event: {
    label: "A message",
    fields: [
      { ...when, ...text("deploy (\\w+)"), path: "trigger.pattern", label: "Pattern found in it" },
      { ...when, ...check(false), path: "trigger.ignore_case", label: "Capitals or not is the same" },
      { ...when, ...text("any"), path: "trigger.channel", label: "Channel" },
      { ...when, ...text("anybody"), path: "trigger.sender", label: "Sender" },
      {
        ...when,
        ...choice({ also_chat: "Goes to the chat, too", consume: "Is the routine's alone" }),
        path: "trigger.on_match",
        label: "The message",
      },
    ],
  },
  system_event: {
    label: "An event",
    fields: [
      { ...when, ...text("github"), path: "trigger.source", label: "Source" },
      { ...when, ...text("push"), path: "trigger.event_type", label: "Type" },
    ],
  },
  webhook: {
    label: "A webhook",
    fields: [
      { ...when, ...text("github"), path: "trigger.path", label: "Path behind /api/webhooks/" },
      { ...when, ...text(), path: "trigger.secret_name", label: "Name of its secret" },
      {
        ...when,
        ...choice({ hubbub: "hubbub's own", github: "GitHub", gitlab: "GitLab", stripe: "Stripe" }),
        path: "trigger.signature",
        label: "Signature",
      },
    ],
  },
  manual: { label: "A person alone", fields: [] },
};

/** @type {Field[]} */
const ALWAYS = [
  { part: "what", ...text("morning"), path: "name", label: "Name" },
  { part: "what", ...area("4"), path: "action.prompt", label: "What the model is asked" },
  { part: "more", ...text(), path: "description", label: "Description" },
  {
    part: "more",
    ...lines,
    path: "action.context_paths",
    label: "Files of the workspace it reads",
    hint: "One path a line.",
  },
  {
    part: "more",
    ...number("300"),
    path: "guardrails.cooldown_s",
    label: "Seconds it rests after it fired",
  },
  { part: "more", ...number("1"), path: "guardrails.max_concurrent", label: "Runs at a time" },
  { part: "more", ...text("22:00-07:00"), path: "notify.quiet_hours", label: "Quiet hours" },
  { part: "more", ...check(true), path: "notify.on_attention", label: "Tell me what it found" },
  { part: "more", ...check(true), path: "notify.on_failure", label: "Tell me when it fails" },
];

/** @param {string} kind */
export const fieldsOf = (kind) => [...ALWAYS, ...(TRIGGERS[kind]?.fields ?? [])];

/**
 * The definition that the fields say; what they do not know of it stays as it was given.
 * @param {string} kind @param {any} given @param {(path: string) => any} read
 */
export function definitionOf(kind, given, read) {
  const trigger = given.trigger.type === kind ? given.trigger : { type: kind };
  /** @type {any} */ const page = {
    ...given,
    trigger: { ...trigger },
    action: { ...given.action },
    guardrails: { ...given.guardrails },
    notify: { ...given.notify },
  };
  for (const { path } of fieldsOf(kind)) {
    const value = read(path);
    const [part, name] = path.includes(".") ? path.split(".") : ["", path];
    (part ? page[part] : page)[name] = value === undefined ? null : value;
  }
  return { ...page, name: page.name ?? "", action: { ...page.action, prompt: page.action.prompt ?? "" } };
}
