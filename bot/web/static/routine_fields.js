/** The fields of a routine, by what fires it and what it does, and the definition they make. */

import { button, h } from "./dom.js";

/**
 * @typedef {{path: string, label: string, part: "what" | "when" | "more" | "notices", hint?: string,
 *   input: (value: any, props: Object<string, any>) => any, read: (input: any) => any}} Field
 */

const MICRO_USD = 1_000_000;

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

/** Text with what is often chosen. @param {string} placeholder @param {string} id @param {() => [string, string][]} options */
const suggested = (placeholder, id, options) => ({
  ...text(placeholder),
  input: (value, props) => {
    const one = text(placeholder).input(value, { ...props, list: id });
    const all = options().map(([word, label]) => h("option", { value: word }, label));
    one.suggestions = h("datalist", { id }, ...all);
    return one;
  },
});

/** Money, in the hub's smallest unit. @param {string} usual */
const usd = (usual) => ({
  input: (value, props) => {
    const one = h("input", { ...props, type: "text", inputmode: "decimal", placeholder: usual });
    one.value = value ? String(value / MICRO_USD) : "";
    return one;
  },
  read: (input) => (Number(input.value) > 0 ? Math.round(Number(input.value) * MICRO_USD) : textOf(input)),
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

/** What the hub offers in the place of the usual one, which each draft says. @param {string} usual */
const offered = (usual) => ({
  input: (value, props) => {
    const one = h("select", props);
    let drawn = "";
    const draw = (/** @type {string[]} */ words, /** @type {string} */ now) => {
      const all = [...new Set(["", ...words, now])];
      const options = all.map((word) => h("option", { value: word, selected: word === now }, word || usual));
      one.replaceChildren(...options);
      drawn = words.join();
    };
    draw([], value ?? "");
    one.offer = (/** @type {string[]} */ words) => {
      if (words.join() !== drawn) draw(words, one.value);
      return one.options.length > 1;
    };
    return one;
  },
  read: textOf,
});

/** Lines as a list. */
const lines = {
  ...area("2"),
  read: (input) => (textOf(input) ?? "").split(/\s*\n\s*/).filter(Boolean),
};

/** Lines such as `branch = main`, as names with values. */
const pairs = {
  input: (value, props) => area("2").input(Object.entries(value ?? {}).map((pair) => pair.join(" = ")), props),
  read: (input) => {
    const given = lines.read(input).map((line) => line.split(/\s*=\s*/));
    return given.length ? Object.fromEntries(given.map(([name, ...rest]) => [name, rest.join("=")])) : null;
  },
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
const what = /** @type {const} */ ({ part: "what" });
const more = /** @type {const} */ ({ part: "more" });
const notices = /** @type {const} */ ({ part: "notices" });
const filters = {
  ...pairs,
  path: "trigger.filters",
  label: "Only if",
  hint: "One field of the payload per line, such as “repository.name = hubbub”.",
};

const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const SPOKEN = /^(?:every )?([a-z]+?)s? at (\d{1,2})(?::(\d\d))? ?(am|pm)?$/;

/** A time of the day as people say it, in the five fields of a schedule; anything else as it is. @param {string} text */
function spoken(text) {
  const [, day, hour, minute, half] = SPOKEN.exec(text.toLowerCase()) ?? [];
  const days = { day: "*", daily: "*", weekday: "1-5", weekend: "0,6" }[day] ?? DAYS.indexOf(day);
  if (!day || days === -1) return text;
  const late = half === "pm" && hour !== "12" ? 12 : half === "am" && hour === "12" ? -12 : 0;
  return `${Number(minute ?? 0)} ${Number(hour) + late} * * ${days}`;
}

/** @type {[string, string][]} */
const SCHEDULES = [
  ["0 9 * * *", "Every day at 9:00"],
  ["0 9 * * 1-5", "Monday to Friday at 9:00"],
  ["0 18 * * 5", "Friday at 18:00"],
  ["0 9 1 * *", "The first of the month at 9:00"],
  ["every 15 m", "Every 15 minutes"],
  ["every 2 hours", "Every 2 hours"],
  ["in 20 m", "Once, in 20 minutes"],
  ["at 09:00", "Once, the next time it is 9:00"],
];

/** @type {Object<string, {label: string, fields: Field[]}>} */
export const TRIGGERS = {
  cron: {
    label: "Schedule",
    fields: [
      {
        ...when,
        ...suggested("for example 0 9 * * 1-5", "routine-schedules", () => SCHEDULES),
        read: (input) => spoken(textOf(input) ?? "") || null,
        path: "trigger.schedule",
        label: "Schedule",
        hint: "“every weekday at 9”, “every 2 hours”, or minute, hour, day, month, weekday. Once: “at 2030-12-01 09:00”, “in 20 m”.",
      },
      {
        ...when,
        ...suggested("UTC", "routine-zones", () => Intl.supportedValuesOf("timeZone").map((zone) => [zone, ""])),
        path: "trigger.timezone",
        label: "Time zone",
      },
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
      { ...more, ...number("10"), path: "trigger.catch_up_limit", label: "Missed runs at most" },
      { ...more, ...number("0"), path: "trigger.jitter_s", label: "Start up to this many seconds late" },
    ],
  },
  event: {
    label: "Message",
    fields: [
      { ...when, ...text("deploy (\\w+)"), path: "trigger.pattern", label: "Pattern to match" },
      { ...when, ...check(false), path: "trigger.ignore_case", label: "Ignore case" },
      { ...when, ...text("any"), path: "trigger.channel", label: "Channel" },
      { ...when, ...text("anyone"), path: "trigger.sender", label: "Sender" },
      { ...more, ...text("any"), path: "trigger.thread_id", label: "Only in the conversation with this ID" },
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
      { ...when, ...filters },
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
      { ...when, ...filters },
      {
        ...when,
        ...lines,
        path: "trigger.fields",
        label: "Fields for the model",
        hint: "One field of the payload per line; none for the whole payload.",
      },
    ],
  },
  manual: { label: "Manual", fields: [] },
};

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

/** @type {Object<string, {label: string, fields: Field[]}>} */
export const ACTIONS = {
  lightweight: {
    label: "Ask the model",
    fields: [
      { ...what, ...area("4"), path: "action.prompt", label: "Prompt for the model" },
      { ...what, ...check(false), path: "action.use_tools", label: "Use tools" },
      ...TOOLS,
      { ...more, ...lines, path: "action.context_paths", label: "Workspace files to include", hint: "One path per line." },
      { ...more, ...number("3"), path: "action.max_tool_rounds", label: "Rounds of tool calls at most" },
      { ...more, ...number("4096"), path: "action.max_tokens", label: "Tokens of one reply at most" },
    ],
  },
  reminder: {
    label: "Send a reminder",
    fields: [{ ...what, ...area("3"), path: "action.text", label: "Text" }],
  },
  full_job: {
    label: "Dispatch a job",
    fields: [
      { ...what, ...text(), path: "action.title", label: "Title of the job" },
      { ...what, ...area("4"), path: "action.description", label: "Task" },
      { ...more, ...number("25"), path: "action.max_iterations", label: "Rounds at most" },
      { ...more, ...text("none"), path: "action.sandbox", label: "Work in a container, on a copy of this directory" },
      { ...more, ...offered("hubbub's own worker"), path: "action.mode", label: "What works in the container" },
      { ...more, ...offered("the usual one"), path: "action.image", label: "Image of the container" },
      ...TOOLS,
    ],
  },
};

/** @type {Field} */
const NAME = { ...what, ...text("for example morning"), path: "name", label: "Name" };

/** @type {Field[]} */
const ALWAYS = [
  { ...more, ...text(), path: "description", label: "Description" },
  { ...more, ...number("300"), path: "guardrails.cooldown_s", label: "Cooldown in seconds" },
  { ...more, ...number("1"), path: "guardrails.max_concurrent", label: "Concurrent runs" },
  { ...more, ...number("300"), path: "guardrails.timeout_s", label: "Time limit of a run in seconds" },
  { ...more, ...number("off"), path: "guardrails.dedup_window_s", label: "Ignore equal input for seconds" },
  { ...more, ...number("5"), path: "guardrails.pause_after_failures", label: "Pause after failures in a row" },
  { ...more, ...number("no limit"), path: "guardrails.daily_runs", label: "Runs a day" },
  { ...more, ...number("no limit"), path: "guardrails.daily_tokens", label: "Tokens a day" },
  { ...more, ...usd("no limit"), path: "guardrails.daily_budget_micro_usd", label: "US dollars a day" },
  { ...more, ...check(false), path: "guardrails.rerun_interrupted", label: "Continue an interrupted run" },
  {
    ...notices,
    ...text("for example 22:00-07:00"),
    path: "notify.quiet_hours",
    label: "Quiet hours",
    hint: "In your time zone, {timezone}. Notices are held back in these hours, and sent when they end.",
  },
  { ...notices, ...check(true), path: "notify.on_attention", label: "Notify me of results" },
  { ...notices, ...check(true), path: "notify.on_failure", label: "Notify me of failures" },
  { ...notices, ...check(false), path: "notify.on_success", label: "Notify me of runs with nothing to report" },
  { ...notices, ...text("where I am"), path: "notify.channel", label: "Notices go to this channel" },
  { ...notices, ...text(), path: "notify.address", label: "Address on that channel" },
  { ...notices, ...text(), path: "notify.thread_id", label: "Conversation with this ID" },
  { ...notices, ...check(false), path: "notify.own_thread", label: "Notices in a thread of their own, where the platform has threads" },
];

/** @param {string} kind @param {string} action */
export const fieldsOf = (kind, action) => [
  NAME,
  ...(ACTIONS[action]?.fields ?? []),
  ...(TRIGGERS[kind]?.fields ?? []),
  ...ALWAYS,
];

/** What a text of the action has to be, if it is empty. @type {Object<string, string[]>} */
const NEEDED = { lightweight: ["prompt"], reminder: ["text"], full_job: ["title", "description"] };

/**
 * The definition that the fields say; what they do not know of it stays as it was given.
 * @param {string} kind @param {string} does @param {any} given @param {(path: string) => any} read
 */
export function definitionOf(kind, does, given, read) {
  const trigger = given.trigger.type === kind ? given.trigger : { type: kind };
  const action = given.action.type === does ? given.action : { type: does };
  /** @type {any} */ const page = {
    ...given,
    trigger: { ...trigger },
    action: { ...action },
    guardrails: { ...given.guardrails },
    notify: { ...given.notify },
  };
  for (const { path } of fieldsOf(kind, does)) {
    const value = read(path);
    if (value === undefined) continue;
    const [part, name] = path.includes(".") ? path.split(".") : ["", path];
    (part ? page[part] : page)[name] = value;
  }
  for (const name of NEEDED[does] ?? []) page.action[name] ??= "";
  return { ...page, name: page.name ?? "" };
}
