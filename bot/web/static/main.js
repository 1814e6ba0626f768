/** Starts the console: who asks, then the pages. */

import * as api from "./api.js";
import { Connection } from "./connection.js";
import { titleOf } from "./format.js";
import { HubEvents } from "./hub_events.js";
import { Keys } from "./keys.js";
import { Notifications } from "./notifications.js";
import { inboxPage } from "./pages/inbox.js";
import { failure, note } from "./parts.js";
import { watchPending } from "./pending.js";
import { link, navigate, parse } from "./router.js";
import * as session from "./session.js";
import { linkRefusedView, Shell, signedOutView, unreachableView } from "./shell.js";
import { endToasts } from "./toasts.js";
import { Unread } from "./unread.js";

/** The first page comes with the console, the others when they are opened. @type {Object<string, () => any>} */
const PAGES = {
  chat: () => inboxPage,
  home: async () => (await import("./pages/home.js")).homePage,
  approvals: async () => (await import("./pages/approvals.js")).approvalsPage,
  routines: async () => (await import("./pages/routines.js")).routinesPage,
  jobs: async () => (await import("./pages/jobs.js")).jobsPage,
  channels: async () => (await import("./pages/channels.js")).channelsPage,
  tools: async () => (await import("./pages/tools.js")).toolsPage,
  memory: async () => (await import("./pages/memory.js")).memoryPage,
  usage: async () => (await import("./pages/usage.js")).usagePage,
  settings: async () => (await import("./pages/settings.js")).settingsPage,
  audit: async () => (await import("./pages/audit.js")).auditPage,
  system: async () => (await import("./pages/system.js")).systemPage,
  why: async () => (await import("./pages/why.js")).whyPage,
};
/** Old addresses. @type {Object<string, string>} */
const ALIASES = { threads: "chat" };

class Console {
  /** @type {Page | null} */ #page = null;
  #name = "";
  /** The last line that was told of, by conversation. @type {Map<string, number>} */ #told = new Map();

  /** @param {Me} me */
  constructor(me) {
    const connection = new Connection();
    this.hub = new HubEvents(connection);
    this.unread = new Unread(this.hub);
    this.context = { api, me, hub: this.hub, connection, navigate, unread: this.unread };
    this.shell = new Shell(this.context);
    this.notifications = new Notifications(navigate);
    this.keys = new Keys(this.context, this.shell);
    document.body.replaceChildren(this.shell.element);
    this.follow = () => this.#route();
    window.addEventListener("hashchange", this.follow);
    this.unwatch = watchPending(this.hub, (waiting, added) => this.#pending(waiting, added));
    this.unread.subscribe(() => this.#unread());
    this.#route();
  }

  close() {
    window.removeEventListener("hashchange", this.follow);
    this.unwatch();
    this.unread.close();
    this.notifications.close();
    this.keys.close();
    this.shell.tools.close();
    this.hub.close();
    this.#page?.close();
  }

  async #route() {
    const route = parse(location.hash);
    const wanted = ALIASES[route.page] ?? route.page;
    const name = wanted in PAGES && this.shell.links.has(wanted) ? wanted : "chat";
    if (name !== this.#name) {
      const first = this.#page === null;
      if (!first) endToasts();
      this.#page?.close();
      this.#page = null;
      this.#name = name;
      this.shell.mark(name);
      const page = await this.#made(name);
      // Somebody went on while it was loaded.
      if (name !== this.#name) return page?.close();
      if (!page) return undefined;
      this.#page = page;
      this.shell.main.replaceChildren(page.element);
      if (!first)
        /** @type {HTMLElement | null} */ (this.shell.main.querySelector("h1"))?.focus({
          preventScroll: true,
        });
      this.#page.show(parse(location.hash));
    } else this.#page?.show(route);
    return undefined;
  }

  /** @param {string} name @returns {Promise<Page | null>} */
  async #made(name) {
    try {
      return (await PAGES[name]())(this.context);
    } catch (error) {
      const again = () => [(this.#name = ""), this.#route()];
      const words = new Error(`This page could not be loaded: ${error.message}`);
      if (name === this.#name) this.shell.main.replaceChildren(note(...failure(words, again)));
      return null;
    }
  }

  /** @param {Approval[]} waiting @param {Approval | null} added */
  #pending(waiting, added) {
    this.shell.setPending(waiting.length);
    if (added) this.notifications.tell("hubbub needs an approval", added.title.split("\n")[0], link("approvals"));
  }

  #unread() {
    const { threads } = this.unread;
    this.shell.setUnread(threads.length);
    for (const thread of threads) {
      const known = this.#told.get(thread.id) ?? 0;
      this.#told.set(thread.id, thread.last_seq);
      // A question is told of by itself.
      if (thread.last_seq > known && !thread.waiting)
        this.notifications.tell(titleOf(thread), "There is something new in this conversation.", link("chat", thread.id));
    }
  }
}

/** @type {Console | null} */ let running = null;

/** @param {Node} view */
function signedOut(view = signedOutView()) {
  running?.close();
  running = null;
  document.title = "Logged out · hubbub";
  document.body.replaceChildren(view);
}

async function start() {
  if (!session.secret()) return signedOut();
  try {
    const me = await api.me();
    running?.close();
    running = new Console(me);
  } catch (error) {
    if (error.status === 401) return undefined;
    document.body.replaceChildren(unreachableView(error.message, start));
  }
  return undefined;
}

/** Uses a login link's code, which is good once. @param {string} code */
async function logIn(code) {
  try {
    await api.logIn(code);
  } catch (error) {
    const again = error.status ? null : () => logIn(code);
    if (again) return document.body.replaceChildren(unreachableView(error.message, again));
    return signedOut(linkRefusedView(error.message, session.secret() ? start : null));
  }
  return start();
}

api.whenSignedOut(() => signedOut());

// What another tab did: logged in (again), or out.
window.addEventListener("storage", (event) => {
  if (event.key !== session.NAME) return;
  if (!event.newValue) signedOut();
  else if (!running) start();
});

// Where it is missing, as on a plain address of another machine, all works but for opening without a network.
navigator.serviceWorker?.register("/worker.js").catch(() => {});

if (location.pathname === "/login") {
  const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  // Neither the history nor a reload is to have it.
  history.replaceState(null, "", "/");
  logIn(code);
} else {
  start();
}
