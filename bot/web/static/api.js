/** The hub's HTTP API. Every function returns what the hub answers, or throws ApiError. */

import { CREDENTIALS, keep, proof, secret } from "./session.js";

/** A refusal of the hub, or that it could not be reached (`code` "unreachable", `status` 0). */
export class ApiError extends Error {
  /** @param {number} status @param {string} code @param {string} message @param {string} [field] */
  constructor(status, code, message, field) {
    super(message);
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

/** Called once, when the hub no longer knows who asks. */
let onSignedOut = () => {};

/** @param {() => void} handler */
export function whenSignedOut(handler) {
  onSignedOut = handler;
}

/** The login is gone: whoever notices says so here. */
export function signedOut() {
  onSignedOut();
}

/** @param {string} path @param {Object<string, any>} [query] */
function withQuery(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => ![undefined, null, "", false].includes(value));
  return given.length ? `${path}?${new URLSearchParams(given.map(([k, v]) => [k, String(v)]))}` : path;
}

/** @param {string} path @param {RequestInit} [init] @returns {Promise<any>} */
async function ask(path, init = {}) {
  const held = secret();
  const headers = { ...init.headers, ...proof(held) };
  const response = await reached(`/api${path}`, { ...init, headers });
  const page = await response.json().catch(() => null);
  if (response.ok && page) return page;
  if (response.ok) throw unreachable(); // it was cut off in the middle
  if (response.status === 401 && held === secret()) onSignedOut();
  throw errorOf(response.status, page);
}

/** @param {string} path @param {RequestInit} init */
async function reached(path, init) {
  try {
    return await fetch(path, { credentials: CREDENTIALS, cache: "no-store", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
}

const unreachable = () => new ApiError(0, "unreachable", "Can't reach the hub. Is it running?");

/** @param {number} status @param {any} page */
function errorOf(status, page) {
  const { code = "failed", message = `The hub responded with HTTP ${status}.`, field } = page?.error ?? {};
  return new ApiError(status, code, message, field);
}

const JSON_BODY = { "Content-Type": "application/json" };

/** @param {string} path @param {unknown} [body] @param {string} [method] @param {AbortSignal} [signal] */
function change(path, body = {}, method = "POST", signal = undefined) {
  return ask(path, { method, headers: JSON_BODY, body: JSON.stringify(body), signal });
}

/** Hands in a link's code, once, and keeps the secret it is exchanged for. @param {string} code */
export async function logIn(code) {
  const init = { method: "POST", headers: { ...JSON_BODY, ...proof() }, body: JSON.stringify({ code }) };
  const response = await reached("/login", init);
  const page = await response.json().catch(() => ({}));
  if (!response.ok) throw errorOf(response.status, page);
  keep(page.secret);
}

export const me = () => ask("/me");
export const logout = () => change("/logout").then(() => keep(""));

/** @param {{query?: string, channel?: string, mine?: boolean, waiting?: boolean, before?: string, limit?: number,
 *   signal?: AbortSignal}} wanted */
export const threads = ({ signal, ...query }) => ask(withQuery("/threads", query), { signal });
/** Messages. @param {{query: string, limit?: number, signal?: AbortSignal}} wanted */
export const search = ({ signal, ...query }) => ask(withQuery("/search", query), { signal });
/** @param {string} id @param {{before?: number, limit?: number, signal?: AbortSignal}} [wanted] */
export const thread = (id, { signal, ...query } = {}) =>
  ask(withQuery(`/threads/${encodeURIComponent(id)}`, query), { signal });
/** @param {string} id @param {{title?: string, tags?: string[], archived?: boolean, closed?: boolean}} changes */
export const changeThread = (id, changes) => change(`/threads/${encodeURIComponent(id)}`, changes, "PATCH");
/** @param {string} id */
export const deleteThread = (id) => change(`/threads/${encodeURIComponent(id)}`, {}, "DELETE");
/** @param {string} id */
export const approvalPolicy = (id) => ask(`/threads/${encodeURIComponent(id)}/approval-policy`);
/** @param {string} id @param {Object<string, any>} settings */
export const setApprovalPolicy = (id, settings) =>
  change(`/threads/${encodeURIComponent(id)}/approval-policy`, settings, "PUT");
/** @param {string} id @param {string} text @param {string} clientKey */
export const answer = (id, text, clientKey) =>
  change(`/threads/${encodeURIComponent(id)}/answer`, { text, client_key: clientKey });
/** @param {string} id */
export const stop = (id) => change(`/threads/${encodeURIComponent(id)}/stop`);
/** @param {{text: string, thread_id?: string, new?: boolean, client_key: string, attachments?: string[],
 *   instead_of?: string, reply_to?: number, model?: string}} message */
export const send = (message) => change("/chat/send", message);
/** @param {{menu_id: string, choice: number, client_key?: string}} press */
export const press = (press) => change("/chat/press", press);

/** @param {{state: "pending" | "decided", query?: string, outcome?: string, before?: string, limit?: number}} query */
/** @typedef {{judged: number, left_out: number, otherwise: {at: number, thread_id: string, name: string, tool: string, about: string,
 *   was: string, now: string, reason: string}[]}} DryRun */

/** @param {string} preset "" for the configured one @returns {Promise<DryRun>} */
export const dryRun = (preset) => ask(withQuery("/policy/test", { preset }));
/** @param {number} days @returns {Promise<{at: number, approved: number, refused: number}[]>} */
export const decisions = (days) => ask(withQuery("/approvals/decisions", { days }));
export const approvals = (query) => ask(withQuery("/approvals", query));
/** @param {{request_id: string, action: string, arguments?: Object<string, any>, text?: string}} decision */
export const resolve = (decision) => change("/chat/gate/resolve", decision);

export const grants = () => ask("/grants");
/** @param {string} id */
export const revokeGrant = (id) => change("/grants/revoke", { id });

export const channels = () => ask("/channels");
/** Platforms of which no channel is configured. */
export const platforms = () => ask("/channels/platforms");
/** @param {{platform: string, tokens: Object<string, string>, api_base_url: string | null}} channel */
export const addChannel = (channel) => change("/channels", channel);
export const pairing = () => ask("/pairing");
export const users = () => ask("/users");
/** @param {{name?: string, user_id?: string}} member
 *  @returns {Promise<{url: string, user_id: string, name: string, expires_at: number, here_only: boolean, qr: string[]}>} */
export const invite = (member) => change("/invitations", member);
/** @param {{user_id: string, model: string | null, thinking: string | null}} choice */
export const setRole = (user_id, role) => change("/users/role", { user_id, role });
export const chooseModel = (choice) => change("/users/model", choice);
export const extensions = () => ask("/extensions");
/** @param {string} name @param {"enable" | "disable" | "remove"} what */
export const changeExtension = (name, what) => change("/extensions/change", { name, change: what });
/** @param {string} name @returns {Promise<{link: string}>} */
export const signIn = (name) => change("/extensions/auth", { name });
/** @param {string} name @param {string} url */
export const addExtension = (name, url) => change("/extensions", { name, url });
/** @param {string} code @param {"me" | "member"} as */
export const approvePairing = (code, as) => change("/pairing/approve", { code, as });
/** @param {string} code */
export const denyPairing = (code) => change("/pairing/reject", { code });
/** @param {string} channel @param {string} id */
export const revoke = (channel, id) => change("/pairing/revoke", { channel, platform_user_id: id });
/** @param {string} undo */
export const restoreAccess = (undo) => change("/pairing/restore", { undo });
/** @param {string} channel @param {string} id @param {string} user_id */
export const linkAccount = (channel, id, user_id) => change("/users/link", { channel, platform_user_id: id, user_id });
/** @param {{by: string, days: number, signal?: AbortSignal}} wanted */
export const usage = ({ signal, ...query }) => ask(withQuery("/usage", query), { signal });
/** @param {{query?: string, limit?: number, signal?: AbortSignal}} wanted */
export const why = ({ signal, ...query }) => ask(withQuery("/why", query), { signal });

/** @param {string} id @param {string} [action] */
const ofRoutine = (id, action = "") => `/routines/${encodeURIComponent(id)}${action}`;
/** @param {{query?: string, after?: string, limit?: number, signal?: AbortSignal}} wanted */
export const routines = ({ signal, ...query }) => ask(withQuery("/routines", query), { signal });
/** @param {string} id */
export const routine = (id) => ask(ofRoutine(id));
/** @param {string} id "" for a new one @param {Object<string, any>} page */
export const saveRoutine = (id, page) =>
  id ? change(ofRoutine(id), page, "PATCH") : change("/routines", page);
/** @param {string} id */
export const deleteRoutine = (id) => change(ofRoutine(id), {}, "DELETE");
/** @param {string} id @param {boolean} enabled */
export const switchRoutine = (id, enabled) => change(ofRoutine(id, enabled ? "/enable" : "/disable"));
/** @param {string} id */
export const fireRoutine = (id) => change(ofRoutine(id, "/fire"));
/** @param {string} id @param {number} limit */
export const routineRuns = (id, limit) => ask(withQuery(ofRoutine(id, "/runs"), { limit }));
/** @param {string} id @param {string} text @param {AbortSignal} signal */
export const tryRoutine = (id, text, signal) => change(ofRoutine(id, "/test"), { text }, "POST", signal);
/** @param {Object<string, any>} definition @param {string | null} text @param {AbortSignal} signal */
export const draftRoutine = (definition, text, signal) =>
  change("/routine-drafts", { definition, text }, "POST", signal);
/** @param {{days: number, timezone: string}} query */
export const routineCalendar = (query) => ask(withQuery("/routine-calendar", query));

/** @param {string} id @param {string} [action] */
const ofJob = (id, action = "") => `/jobs/${encodeURIComponent(id)}${action}`;
/** @param {{limit: number, signal?: AbortSignal}} wanted */
export const jobs = ({ signal, ...query }) => ask(withQuery("/jobs", query), { signal });
/** @param {string} id */
export const job = (id) => ask(ofJob(id));
/** @param {string} id */
export const jobParts = (id) => ask(ofJob(id, "/parts"));
/** @param {string} id @returns {Promise<JobContainer>} */
export const jobContainer = (id) => ask(ofJob(id, "/container"));
/** @param {string} id @returns {Promise<{digest: string, diff: string}>} */
export const jobChanges = (id) => ask(ofJob(id, "/changes"));
/** @param {string} id @param {string} action what its endpoint is called @param {Object<string, any>} [body] */
export const actOnJob = (id, action, body) => change(ofJob(id, `/${action}`), body);
/** @param {string} id @param {number} after */
export const jobStreamUrl = (id, after) => `/api${withQuery(ofJob(id, "/stream"), { after })}`;

/**
 * An address from which the browser downloads a file, for a minute.
 * @param {string} url the file's own, which begins with /api/ @returns {Promise<{url: string}>}
 */
export const fileLink = (url) => change(url.slice("/api".length));
/** Whether all tools are paused. @returns {Promise<{paused: boolean}>} */
export const tools = () => ask("/tools");
/** All tools, as a person has them. @param {string} user_id */
export const toolCatalog = (user_id) => ask(withQuery("/tools/catalog", { user_id }));
/** @param {{user_id: string, tool: string, setting: string | null}} setting */
export const setPermission = (setting) => change("/permissions", setting);
export const failingTools = () => ask("/tools/failing");
/** @param {string} name */
export const resetTool = (name) => change("/tools/reset", { name });
/** What is remembered for the caller. @param {{query?: string, id?: string, limit?: number, signal?: AbortSignal}} wanted */
export const memory = ({ signal, ...query }) => ask(withQuery("/memory", query), { signal });
/** @param {string} id @returns {Promise<{undo: string}>} */
export const forgetMemory = (id) => change("/memory/forget", { id });
/** @param {string} undo */
export const restoreMemory = (undo) => change("/memory/restore", { undo });
/** @param {boolean} paused */
export const pauseTools = (paused) => change(paused ? "/tools/pause" : "/tools/unpause");

/** The configuration file. @param {{signal: AbortSignal}} how */
export const settings = ({ signal }) => ask("/settings", { signal });
/** The names of the vault's secrets. @param {{signal: AbortSignal}} how */
export const secrets = ({ signal }) => ask("/secrets", { signal });
/** @param {{name: string, value: string}} secret */
export const setSecret = (secret) => change("/secrets", secret);
/** @param {string} name */
export const dropSecret = (name) => change("/secrets/delete", { name });
/** Tries a model before it is saved. @param {{version: string, changes: Object<string, any>, place: number}} body */
export const tryModel = (body) => change("/settings/try", body);
/** @param {string} where "" or "/undo" @param {Object<string, any>} body */
export const changeSettings = (where, body) => change(`/settings${where}`, body);
export const testModels = () => change("/models/test");

export const backupParts = () => ask("/backup/parts");
export const status = () => ask("/status");
export const doctor = () => change("/doctor");
/** The log from now on. @param {{level: string}} query */
export const logUrl = (query) => withQuery("/api/log/stream", query);
/** The newest lines of the log. @param {{level: string, limit: number}} query */
export const log = (query) => ask(withQuery("/log", query));

/** Records of the audit. @param {{query: string, kind: string, before?: number | null, signal: AbortSignal}} wanted */
export const audit = ({ signal, ...query }) => ask(withQuery("/audit", query), { signal });
/** Verifies it. @param {{head: string, signal: AbortSignal}} wanted */
export const auditState = ({ signal, head }) => ask(withQuery("/audit/state", { head }), { signal });

/** A file as it is, for pages that show it. @param {string} url the file's own @returns {Promise<Blob>} */
export async function file(url) {
  const response = await reached(url, { headers: proof() });
  if (!response.ok) throw errorOf(response.status, await response.json().catch(() => null));
  return response.blob();
}

/** Where events come from. @param {{thread?: string, after?: number}} query */
export const eventsUrl = (query) => withQuery("/api/events", query);

/**
 * Uploads one file; `onProgress` gets the share that is done, 0 to 1.
 * @param {File} file @param {(share: number) => void} onProgress @param {AbortSignal} signal
 * @returns {Promise<{id: string, name: string, media_type: string, size_bytes: number}>}
 */
export function upload(file, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", withQuery("/api/uploads", { name: file.name }));
    request.setRequestHeader("Content-Type", file.type || "application/octet-stream");
    for (const [name, value] of Object.entries(proof())) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.onprogress = (event) => onProgress(event.total ? event.loaded / event.total : 0);
    request.onerror = () => reject(new ApiError(0, "unreachable", "Can't reach the hub."));
    request.onload = () => {
      if (request.status < 300) return resolve(request.response);
      if (request.status === 401) onSignedOut();
      return reject(errorOf(request.status, request.response));
    };
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/** A key by which the hub knows a message that is sent again. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
