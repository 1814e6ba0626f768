/** Channels: how each is doing, who asks to be let in, and who is in. */

import * as api from "../api.js";
import { channelForm } from "../channel_form.js";
import { button, confirmButton, h, icon, settled } from "../dom.js";
import { fromNow, inFull, shortTime } from "../format.js";
import { inviteAgain, inviteForm } from "../invitations.js";
import { complaint, failure, field, form, loading, note, timeView } from "../parts.js";
import { link } from "../router.js";
import { complain, toast } from "../toasts.js";

const HINTS_MS = 150;
const WEB = "web";
const EFFORTS = ["off", "low", "medium", "high"];
const PHASES = { running: "good", starting: "busy", "backing off": "attention", failed: "bad", stopped: "" };

/** @param {Context} context @returns {Page} */
export function channelsPage(context) {
  return new ChannelsPage(context);
}

class ChannelsPage {
  /** @type {{id: string, name: string}[]} */ known = [];

  /** @param {Context} context */
  constructor(context) {
    this.models = context.me.models;
    this.channels = new Section("Channels", async () => (await api.channels()).channels, channelCard, [
      "No channel is configured.",
      "People can use the hub here in the console. Add a chat platform below.",
    ]);
    this.channels.element.append(channelForm());
    this.requests = new Section(
      "Pairing requests",
      () => this.#asking(),
      (one) => this.#request(one),
      ["No pairing requests."],
      { stays: "No longer open." },
    );
    this.people = new Section(
      "People",
      () => this.#known(),
      (one) => this.#person(one),
      ["No users yet."],
    );
    this.people.element.append(inviteForm(() => this.#people()));
    this.extensions = new Section(
      "Extensions",
      () => api.extensions(),
      (one) => extensionCard(one, (work, problem) => this.#changeExtension(work, problem)),
      ["No MCP server is connected.", "Ask the assistant for one, or run hubbub extensions add."],
    );
    const head = h("header", { class: "page-head" }, h("h1", { tabindex: "-1" }, "Channels"));
    this.element = h(
      "div",
      { class: "page" },
      head,
      this.requests.element,
      this.channels.element,
      this.people.element,
      this.extensions.element,
      this.#newExtension(),
    );
    const channels = settled(() => this.channels.load(), HINTS_MS);
    const people = settled(() => this.#people(), HINTS_MS);
    this.end = [
      context.hub.on(["channel_state"], channels),
      context.hub.on(["pairing_changed"], people),
      context.hub.on(["refetch"], () => [channels(), people()]),
    ];
  }

  /** @param {import("../router.js").Route} route */
  show(route) {
    this.wanted = route.query.get("person") ?? "";
    this.requests.renew();
    this.channels.load();
    this.extensions.load();
    this.#people();
  }

  close() {
    this.end.forEach((end) => end());
  }

  #people() {
    this.people.load().then(() => [this.requests.load(), this.#toWanted()]);
  }

  /** The person somebody asked for, once. */
  #toWanted() {
    const cards = /** @type {HTMLElement[]} */ ([...this.people.element.querySelectorAll("[data-person]")]);
    const card = this.wanted && cards.find((one) => one.dataset.person === this.wanted);
    if (!card) return;
    this.wanted = "";
    card.scrollIntoView({ block: "center" });
    card.focus({ preventScroll: true });
  }

  /** By address only: a command is shown and approved in a conversation, or added on the hub's machine. */
  #newExtension() {
    const name = h("input", { maxlength: "24", required: true });
    const url = h("input", { type: "url", maxlength: "500", required: true, placeholder: "https://" });
    const problem = complaint();
    const add = () => this.#changeExtension(() => api.addExtension(name.value.trim(), url.value.trim()), problem);
    return h(
      "details",
      { class: "settings" },
      h("summary", {}, "Add an extension by its address"),
      form("Add extension", add, field("Name", name), field("Address", url)),
      problem,
    );
  }

  /** @param {() => Promise<any>} work @param {HTMLElement} problem */
  async #changeExtension(work, problem) {
    problem.hidden = true;
    try {
      toast((await work()).outcome ?? "Done.");
      await this.extensions.load();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }

  async #asking() {
    const page = await api.pairing();
    return page.requests ?? page;
  }

  async #known() {
    const page = await api.users();
    const users = (page.users ?? page).map(onPlatforms);
    this.known = users;
    return users.filter((user) => user.accounts.length || user.role !== "owner");
  }

  #request(request) {
    const name = h("span", { class: "name" }, request.name || "No name");
    const handle = request.username ? h("span", { class: "muted" }, `@${request.username}`) : null;
    const problem = complaint();
    const decide = (/** @type {() => Promise<any>} */ work) => this.#decideRequest(work, row, problem);
    const row = h(
      "li",
      { class: "card" },
      h("header", {}, h("h3", {}, name), handle),
      h(
        "p",
        { class: "meta" },
        h("span", {}, request.channel),
        h("span", {}, `account ${request.platform_user_id}`),
        h("span", {}, "code ", h("code", {}, request.code)),
        timeView(request.expires_at, `expires ${fromNow(request.expires_at)}`),
      ),
      problem,
      h(
        "div",
        { class: "card-actions" },
        button("Member", () => decide(() => api.approvePairing(request.code, "member")), {
          class: "button primary",
        }),
        button("This is me", () => decide(() => api.approvePairing(request.code, "me"))),
        button("Deny", () => decide(() => api.denyPairing(request.code))),
      ),
    );
    return row;
  }

  /**
   * A decided request stays where it is, without buttons: nothing slides under a second click.
   * @param {() => Promise<any>} work @param {HTMLElement} row @param {HTMLElement} problem
   */
  async #decideRequest(work, row, problem) {
    const enable = (/** @type {boolean} */ on) =>
      row.querySelectorAll("button").forEach((one) => (one.disabled = !on));
    enable(false);
    const decided = await this.#decide(async () => {
      const done = await work();
      settle(row, done.outcome ?? "Done.");
      return done;
    }, problem);
    if (!decided) enable(true);
  }

  /** @param {() => Promise<any>} work @param {HTMLElement} problem */
  async #decide(work, problem) {
    problem.hidden = true;
    try {
      toast((await work()).outcome ?? "Done.");
      this.#people();
      this.requests.heading.focus();
      return true;
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
      return false;
    }
  }

  #person(user) {
    const accounts = user.accounts.map((account) => this.#account(user, account));
    const role = h("span", { class: "badge" }, user.role);
    return h(
      "li",
      { class: "card", tabindex: "-1", data: { person: user.id } },
      h("header", {}, h("h3", {}, h("span", { class: "name" }, user.name || "No name")), role),
      accounts.length
        ? h("ul", { class: "accounts" }, ...accounts)
        : h("p", { class: "muted" }, "No accounts yet."),
      h("p", {}, h("a", { href: link("tools", "", { user: user.id }) }, `Tools of ${user.name || "this person"}`)),
      user.role === "owner" ? null : this.#role(user),
      this.#model(user),
    );
  }

  /** A member's or guest's; the configuration names the owner. */
  #role(user) {
    const problem = complaint();
    const [to, words] = user.role === "member" ? ["guest", "Make a guest"] : ["member", "Make a member"];
    const change = () => this.#setRole(user, to, problem);
    const role = button(words, change, { class: "button quiet small", "aria-label": `${words}: ${user.name}` });
    const invite = user.role === "member" ? inviteAgain(user) : null;
    return h("div", { class: "person-actions" }, role, invite, problem);
  }

  /** At once; the role before comes back by Undo. */
  async #setRole(user, role, problem) {
    problem.hidden = true;
    const put = async (/** @type {string} */ wanted) => {
      await api.setRole(user.id, wanted);
      this.#people();
    };
    try {
      await put(role);
      const undo = () => put(user.role).then(() => toast("Undone."), complain);
      toast(`${user.name || "This person"} is a ${role} now.`, { action: { label: "Undo", work: undo } });
      this.people.heading.focus();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }

  /** The model and effort of all of a person's conversations, unless they choose others there. */
  #model(user) {
    const known = [...new Set([...this.models, user.model].filter(Boolean))];
    const model = h("select", {}, h("option", { value: "" }, "As configured"), ...known.map((name) => h("option", {}, name)));
    model.value = user.model ?? "";
    const effort = h("select", {}, h("option", { value: "" }, "As configured"), ...EFFORTS.map((one) => h("option", {}, one)));
    effort.value = user.thinking ?? "";
    const problem = complaint();
    const choose = () =>
      api.chooseModel({ user_id: user.id, model: model.value || null, thinking: effort.value || null });
    const chosen = [user.model, user.thinking && `thinking ${user.thinking}`].filter(Boolean).join(", ");
    return h(
      "details",
      { class: "settings" },
      h("summary", {}, `Model: ${chosen || "as configured"}`),
      form("Save model", () => this.#decide(choose, problem), field("Model", model), field("Thinking", effort)),
      problem,
    );
  }

  #account(user, account) {
    const words = account.channel === WEB ? "the console" : `${account.channel} ${account.platform_user_id}`;
    const problem = complaint();
    const mayRevoke = account.via === "paired" || account.via === "linked";
    const revoke = () => this.#remove(account, words, problem);
    return h(
      "li",
      {},
      h("span", { class: "name" }, account.name || account.platform_user_id),
      h("span", { class: "muted" }, `${words} · ${account.via}`),
      mayRevoke ? button("Remove access", revoke, { class: "button quiet small", "aria-label": `Remove access: ${words}` }) : null,
      account.channel !== WEB && mayRevoke ? this.#move(user, account, words, problem) : null,
      problem,
    );
  }

  /** At once; a click that was not meant is undone where it is told. */
  async #remove(account, words, problem) {
    problem.hidden = true;
    try {
      const { undo } = await api.revoke(account.channel, account.platform_user_id);
      toast(`Access removed: ${words}.`, { action: { label: "Undo", work: () => this.#restore(undo) } });
      this.people.heading.focus();
      this.#people();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  }

  async #restore(undo) {
    try {
      toast((await api.restoreAccess(undo)).outcome);
      this.#people();
    } catch (error) {
      complain(error);
    }
  }

  /** An account that belongs to somebody else who is known: their conversations and settings are its from now on. */
  #move(user, account, words, problem) {
    const others = this.known.filter((one) => one.id !== user.id);
    if (!others.length) return null;
    const to = h("select", {}, ...others.map((one) => h("option", { value: one.id }, one.name || one.id)));
    const link = () => this.#decide(() => api.linkAccount(account.channel, account.platform_user_id, to.value), problem);
    return h("details", { class: "settings" }, h("summary", {}, "This is someone else"), form("Link", link, field(`${words} belongs to`, to)));
  }
}

/** Without the accounts that are the hub's own doors: the owner's console, and the command line. */
function onPlatforms(user) {
  const own = (/** @type {string} */ channel) =>
    channel.startsWith("(") || (channel === WEB && user.role === "owner");
  return { ...user, accounts: user.accounts.filter(({ channel }) => !own(channel)) };
}

/** The row's buttons make room for how it ended. @param {HTMLElement} row @param {string} text */
function settle(row, text) {
  row.querySelector(".card-actions, .outcome")?.replaceWith(h("p", { class: "outcome" }, text));
}

/** A heading with a list that is loaded, loaded again, empty, or failed to load. */
class Section {
  /** By what is shown, so that what stays the same stays in place, with the focus. @type {Map<string, HTMLElement>} */
  #shown = new Map();

  /**
   * @param {string} heading @param {() => Promise<any[]>} fetch @param {(entry: any) => HTMLElement} view @param {string[]} empty
   * @param {{stays?: string}} [options] `stays`: rows never move. What is gone keeps its place, with these words
   *   for its buttons, until the page is opened again; what is new comes last.
   */
  constructor(heading, fetch, view, empty, options = {}) {
    this.stays = options.stays;
    this.fetch = fetch;
    this.view = view;
    this.empty = empty;
    this.heading = h("h2", { tabindex: "-1" }, heading);
    this.count = h("span", { class: "count" });
    this.list = h("ul", { class: "cards" });
    this.note = note(loading());
    this.element = h(
      "section",
      { class: "section", "aria-label": heading },
      h("div", { class: "section-head" }, this.heading, this.count),
      this.note,
      this.list,
    );
  }

  async load() {
    try {
      const entries = await this.fetch();
      this.#show(entries);
      this.count.textContent = entries.length ? String(entries.length) : "";
      this.note.replaceChildren(...this.empty.map((line) => h("p", { class: "muted" }, line)));
      this.note.hidden = entries.length > 0;
    } catch (error) {
      this.note.replaceChildren(...failure(error, () => this.load()));
      this.note.hidden = false;
    }
  }

  /** @param {any[]} entries */
  #show(entries) {
    const before = this.#shown;
    this.#shown = new Map();
    for (const entry of entries) {
      const key = JSON.stringify(entry);
      this.#shown.set(key, before.get(key) ?? this.view(entry));
      before.delete(key);
    }
    if (this.stays) return this.#append(before);
    for (const gone of before.values()) gone.remove();
    [...this.#shown.values()].forEach((element, place) => {
      const there = this.list.children[place] ?? null;
      if (there !== element) this.list.insertBefore(element, there);
    });
  }

  /** @param {Map<string, HTMLElement>} gone */
  #append(gone) {
    for (const row of gone.values()) if (row.querySelector(".card-actions")) settle(row, this.stays ?? "");
    for (const row of this.#shown.values()) if (row.parentNode !== this.list) this.list.append(row);
  }

  /** Forget the rows of what is gone. */
  renew() {
    this.list.replaceChildren(...this.#shown.values());
  }
}

/** @param {{name: string, platform: string, phase: string, reason: string | null, since: number, failures: number}} channel */
function channelCard(channel) {
  const look = PHASES[channel.phase] ?? "";
  const platform = channel.platform !== channel.name ? h("span", { class: "muted" }, channel.platform) : null;
  const failures = channel.failures
    ? h("span", {}, `${channel.failures} ${channel.failures === 1 ? "failure" : "failures"} in a row`)
    : null;
  const reason = channel.reason
    ? h("p", { class: "reason" }, icon("alert"), h("span", {}, channel.reason))
    : null;
  return h(
    "li",
    { class: "card" },
    h(
      "header",
      {},
      h("h3", {}, channel.name),
      platform,
      h("span", { class: `badge ${look}` }, channel.phase),
    ),
    h(
      "p",
      { class: "meta" },
      h("span", { title: inFull(channel.since) }, `since ${shortTime(channel.since)}`),
      failures,
    ),
    reason,
  );
}

/**
 * @param {{name: string, users: string[], server: string | null, enabled: boolean, state: string, configured: boolean, signs_in: boolean, package: boolean}} one
 * @param {(work: () => Promise<any>, problem: HTMLElement) => Promise<void>} change
 */
function extensionCard(one, change) {
  const problem = complaint();
  const turn = one.enabled ? "disable" : "enable";
  const failed = one.state.startsWith("failed") || one.state.startsWith("not used");
  const signIn = button("Sign in", async () => {
    problem.hidden = true;
    try {
      const { link } = await api.signIn(one.name);
      const page = h("a", { class: "button primary", href: link, target: "_blank", rel: "noopener noreferrer" }, "Open sign-in page");
      signIn.replaceWith(page);
      page.focus();
    } catch (error) {
      problem.textContent = error.message;
      problem.hidden = false;
    }
  });
  const own = [
    button(one.enabled ? "Disable" : "Enable", () => change(() => api.changeExtension(one.name, turn), problem)),
    confirmButton("Remove", `Remove the extension ${one.name}?`, () =>
      change(() => api.changeExtension(one.name, "remove"), problem),
    ),
  ];
  const actions = [...(one.signs_in ? [signIn] : []), ...(one.configured ? [] : own)];
  return h(
    "li",
    { class: "card" },
    h(
      "header",
      {},
      h("h3", {}, h("span", { class: "name" }, one.name)),
      h("span", { class: "muted" }, one.package ? "Python package" : one.configured ? "set by the operator" : `of ${one.users.join(", ")}`),
      h("span", { class: `badge ${failed ? "bad" : one.state.startsWith("ready") ? "good" : ""}` }, one.package ? "installed" : one.enabled ? "enabled" : "disabled"),
    ),
    h("p", { class: "meta" }, h("span", {}, one.state)),
    one.server ? h("p", { class: "meta" }, h("code", {}, one.server)) : null,
    problem,
    actions.length ? h("div", { class: "card-actions" }, ...actions) : null,
  );
}
