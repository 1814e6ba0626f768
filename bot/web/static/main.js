/** Starts the console: who asks, then the pages. */

import * as api from "./api.js";
import { Connection } from "./connection.js";
import { HubEvents } from "./hub_events.js";
import { approvalsPage, countPending } from "./pages/approvals.js";
import { channelsPage } from "./pages/channels.js";
import { chatPage } from "./pages/chat.js";
import { jobsPage } from "./pages/jobs.js";
import { routinesPage } from "./pages/routines.js";
import { threadsPage } from "./pages/threads.js";
import { usagePage } from "./pages/usage.js";
import { whyPage } from "./pages/why.js";
import { navigate, parse } from "./router.js";
import * as session from "./session.js";
import { linkRefusedView, Shell, signedOutView, unreachableView } from "./shell.js";

const PAGES = {
  chat: chatPage,
  threads: threadsPage,
  approvals: approvalsPage,
  routines: routinesPage,
  jobs: jobsPage,
  channels: channelsPage,
  usage: usagePage,
  why: whyPage,
};

class Console {
  /** @type {Page | null} */ #page = null;
  #name = "";

  /** @param {Me} me */
  constructor(me) {
    const connection = new Connection();
    this.hub = new HubEvents(connection);
    this.context = { api, me, hub: this.hub, connection, navigate };
    this.shell = new Shell(this.context);
    document.body.replaceChildren(this.shell.element);
    this.follow = () => this.#route();
    window.addEventListener("hashchange", this.follow);
    countPending(this.context, (count) => this.shell.setPending(count));
    this.#route();
  }

  close() {
    window.removeEventListener("hashchange", this.follow);
    this.shell.tools.close();
    this.hub.close();
    this.#page?.close();
  }

  #route() {
    const route = parse(location.hash);
    const name = route.page in PAGES ? route.page : "chat";
    const other = name !== this.#name;
    if (other) {
      const first = this.#page === null;
      this.#page?.close();
      this.#name = name;
      const page = PAGES[name](this.context);
      this.#page = page;
      this.shell.main.replaceChildren(page.element);
      this.shell.mark(name);
      if (!first)
        /** @type {HTMLElement | null} */ (this.shell.main.querySelector("h1"))?.focus({
          preventScroll: true,
        });
    }
    this.#page?.show(route);
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

if (location.pathname === "/login") {
  const code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  // Neither the history nor a reload is to have it.
  history.replaceState(null, "", "/");
  logIn(code);
} else {
  start();
}
