/** Times, sizes and states in words, in the reader's own locale and zone. */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const clock = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const dayOfWeek = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dateWithYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });

/** @param {number} atUs */
export const toDate = (atUs) => new Date(atUs / 1000);

/** @param {number} atUs */
export const timeOfDay = (atUs) => clock.format(toDate(atUs));

/** @param {number} atUs */
export const inFull = (atUs) => full.format(toDate(atUs));

/** As `inFull`; in another zone than the reader's, by the clock there and with its name.
 * @param {number} atUs @param {string | null | undefined} zone */
export function inZone(atUs, zone) {
  const here = full.resolvedOptions().timeZone;
  if (!zone || zone === here) return `${inFull(atUs)} ${here}`;
  const there = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone: zone });
  return `${there.format(toDate(atUs))} ${zone}`;
}

/** @param {number} atUs */
export const dayKey = (atUs) => toDate(atUs).toDateString();

/** Today, Yesterday, or the date. @param {number} atUs */
export function dayName(atUs) {
  const then = toDate(atUs);
  if (then.toDateString() === new Date().toDateString()) return "Today";
  if (then.toDateString() === new Date(Date.now() - DAY_MS).toDateString()) return "Yesterday";
  return (then.getFullYear() === new Date().getFullYear() ? date : dateWithYear).format(then);
}

/** As short as a list wants it: a time today, a weekday this week, a date before. @param {number} atUs */
export function shortTime(atUs) {
  const then = toDate(atUs);
  const age = Date.now() - then.getTime();
  if (then.toDateString() === new Date().toDateString()) return clock.format(then);
  if (age < 6 * DAY_MS) return dayOfWeek.format(then);
  return (age < 300 * DAY_MS ? date : dateWithYear).format(then);
}

/** "in 23 hr.", "5 min. ago". @param {number} atUs */
export function fromNow(atUs) {
  const minutes = Math.round((toDate(atUs).getTime() - Date.now()) / MINUTE_MS);
  if (Math.abs(minutes) < 60) return relative.format(minutes, "minute");
  const hours = Math.round(minutes / 60);
  return Math.abs(hours) < 48
    ? relative.format(hours, "hour")
    : relative.format(Math.round(hours / 24), "day");
}

/** How long something took. @param {number} durationUs */
export function seconds(durationUs) {
  const whole = Math.max(0, durationUs) / 1_000_000;
  if (whole < 10) return `${whole.toFixed(1)} s`;
  return whole < 120 ? `${Math.round(whole)} s` : `${Math.round(whole / 60)} min`;
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const [value, unit] = bytes < 1024 ** 2 ? [bytes / 1024, "KiB"] : [bytes / 1024 ** 2, "MiB"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** One line of at most `limit` characters. @param {string} text */
export function clip(text, limit = 120) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > limit ? `${line.slice(0, limit - 1)}…` : line;
}

/** As much of a text around the first of the words in it as a row has room for. @param {string} text
 * @param {string[]} words in lower case */
export function around(text, words, before = 16, limit = 160) {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
  const first = places.length ? Math.min(...places) : 0;
  const from = first > before ? Math.max(text.lastIndexOf(" ", first - before) + 1, first - 2 * before) : 0;
  return `${from ? "…" : ""}${clip(text.slice(from), limit)}`;
}

/** What somebody looks for, word by word, in lower case. @param {string} query */
export const wordsOf = (query) => query.toLowerCase().split(/\s+/).filter(Boolean);

/** Text without the marks of Markdown, for one line of a list. @param {string} text */
export const unmarked = (text) =>
  text
    .replace(/^(?:#{1,6}|>|[-*]) |^```\w*$/gm, "")
    .replace(/\*\*([^*\n]+)\*\*|`([^`\n]+)`|\[([^[\]\n]+)\]\([^()\s]+\)/g, "$1$2$3");

/** A title for threads that have none. @param {{title: string, preview?: string}} thread */
export const titleOf = (thread) => unmarked(thread.title) || clip(unmarked(thread.preview || ""), 60) || "Untitled conversation";
