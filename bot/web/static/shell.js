/** What stands around every page: navigation, theme, sign-out, the word when the connection is cut. */

import * as api from "./api.js";
import { announce, button, h, icon, iconButton, roving } from "./dom.js";
import { link } from "./router.js";
import { complain, toast, toastRegion } from "./toasts.js";
import { ToolsSwitch } from "./tools_switch.js";

/** The pages, each with its name and other words by which people look for it. */
const PAGES = /** @type {const} */ ([
  ["home", "Home", "start today overview dashboard"],
  ["chat", "Inbox", "conversations messages threads rename title chat history"],
  ["approvals", "Approvals", "grants allow deny permissions history decisions requests"],
  ["routines", "Routines", "schedule timer cron reminder automatic calendar webhook"],
  ["jobs", "Jobs", "tasks background containers project"],
  ["channels", "Channels", "people members guests users persons invite role telegram slack discord pairing accounts extensions mcp"],
  ["tools", "Tools", "permissions members shell allow disable mcp failing"],
  ["memory", "Memory", "notes remembered forget facts documents"],
  ["usage", "Usage", "cost money price budget spending tokens bill"],
  ["settings", "Settings", "configuration model key provider password secrets vault quiet hours notices limits budget preset login"],
  ["system", "System", "backup log logs doctor health version stop pause restore key"],
  ["audit", "Audit", "record log history who export"],
  ["why", "Why", "ignored refused unanswered explain message"],
]);
/** @type {Map<string, string>} */
export const WORDS = new Map(PAGES.map(([page, , words]) => [page, words]));
/** All that members see: their own conversations, approvals they may decide, what is remembered for them. */
export const OF_MEMBERS = new Set(["chat", "approvals", "memory"]);
/** As many pages have room on a phone. */
const AT_HAND = 5;
/** Behind "More" where there is no room for all. */
const LESS_OFTEN = new Set(["channels", "tools", "memory", "usage", "settings", "system", "audit", "why"]);
const THEMES = ["auto", "light", "dark"];

export class Shell {
  /** @param {Context} context */
  constructor(context) {
    const pages = PAGES.filter(([page]) => context.me.role === "owner" || OF_MEMBERS.has(page));
    this.links = new Map(pages.map(([page, label]) => [page, navLink(page, label)]));
    this.pending = h("span", { class: "nav-count", hidden: true });
    this.unread = h("span", { class: "nav-count unread", hidden: true });
    this.links.get("approvals")?.append(this.pending);
    this.links.get("chat")?.append(this.unread);
    const items = [...this.links].map(([page, one]) => h("li", { class: this.links.size > AT_HAND && LESS_OFTEN.has(page) ? "less" : null }, one));
    this.nav = h("ul", {}, ...items);
    roving(this.nav, "a");
    roving(this.nav, "a", { axis: "x" });
    const brand = h("p", { class: "brand", "aria-hidden": "true" }, "hubbub");
    this.tools = new ToolsSwitch(context);
    const foot = h(
      "div",
      { class: "nav-foot" },
      this.tools.turn,
      themeButton(),
      iconButton("leave", "Log out", () => this.#leave()),
    );
    this.main = h("main", { id: "main", tabindex: "-1" });
    this.banner = this.#banner(context);
    const skip = h(
      "a",
      { class: "skip", href: "#main", on: { click: (/** @type {Event} */ event) => this.#skip(event) } },
      "Skip to content",
    );
    this.element = h(
      "div",
      { class: "app" },
      skip,
      this.#bar(brand, foot),
      h("div", { class: "stage" }, this.banner, this.tools.banner, this.main),
      toastRegion(),
    );
  }

  /** @param {Node} brand @param {Node} foot */
  #bar(brand, foot) {
    const bar = h("nav", { class: "nav", "aria-label": "Pages" }, brand, this.nav);
    const more = iconButton("more", "More", () => this.#more(bar, more), { class: "icon-button nav-more" });
    more.setAttribute("aria-expanded", "false");
    bar.append(more, foot);
    // There is nothing to scroll here but in a low window: the page is meant.
    const scrolls = (/** @type {WheelEvent} */ event) => bar.scrollHeight <= bar.clientHeight && this.main.scrollBy(0, event.deltaY);
    bar.addEventListener("wheel", scrolls, { passive: true });
    this.nav.addEventListener("click", () => bar.classList.contains("open") && this.#more(bar, more));
    return bar;
  }

  /** @param {HTMLElement} bar @param {HTMLElement} button */
  #more(bar, button) {
    button.setAttribute("aria-expanded", String(bar.classList.toggle("open")));
  }

  /** @param {string} page */
  mark(page) {
    for (const [name, one] of this.links) {
      one.tabIndex = name === page ? 0 : -1;
      if (name === page) one.setAttribute("aria-current", "page");
      else one.removeAttribute("aria-current");
    }
    this.page = PAGES.find(([name]) => name === page)?.[1] ?? "";
    this.#name();
  }

  /** @param {number} count */
  setPending(count) {
    this.waiting = count;
    counted(this.pending, count, "waiting");
    this.#name();
  }

  /** @param {number} count of conversations */
  setUnread(count) {
    this.news = count;
    counted(this.unread, count, "unread");
    this.#name();
  }

  /** The title counts all that asks for attention. */
  #name() {
    const count = (this.waiting ?? 0) + (this.news ?? 0);
    document.title = `${count ? `(${count}) ` : ""}${this.page} · hubbub`;
  }

  /** @param {Context} context */
  #banner(context) {
    const banner = h("div", { class: "banner", role: "status", hidden: true });
    context.connection.subscribe((up) => {
      banner.hidden = up;
      if (up) return toast("Reconnected.");
      const again = button("Try now", () => context.connection.retry(), { class: "button small" });
      banner.replaceChildren(
        icon("alert"),
        h("span", {}, "Not connected. This page may be out of date; reconnecting."),
        again,
      );
      return undefined;
    });
    return banner;
  }

  /** @param {Event} event */
  #skip(event) {
    event.preventDefault();
    this.main.focus();
  }

  async #leave() {
    try {
      await api.logout();
      api.signedOut();
    } catch (error) {
      complain(error);
    }
  }
}

/** @param {typeof PAGES[number][0]} page @param {string} label */
function navLink(page, label) {
  return h(
    "a",
    { href: link(page), class: "nav-link" },
    icon(page),
    h("span", { class: "nav-label" }, label),
  );
}

/** @param {HTMLElement} badge @param {number} count @param {string} of */
function counted(badge, count, of) {
  badge.hidden = count === 0;
  badge.replaceChildren(String(count > 99 ? "99+" : count), h("span", { class: "visually-hidden" }, ` ${of}`));
}

function themeButton() {
  const root = document.documentElement;
  const words = () => `Theme: ${root.dataset.theme ?? "auto"}`;
  const one = iconButton("theme", words(), () => {
    const now = THEMES.indexOf(root.dataset.theme ?? "auto");
    const next = THEMES[(now + 1) % THEMES.length];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    localStorage.setItem("theme", next);
    one.setAttribute("aria-label", words());
    one.title = words();
    announce(words());
  });
  return one;
}

/** All there is to see for those the hub does not know. */
export function signedOutView() {
  return askForLink("You are logged out");
}

/** @param {string} message @param {(() => void) | null} back for who is logged in all the same */
export function linkRefusedView(message, back) {
  if (back === null) return askForLink("Not logged in", h("p", {}, message));
  return h(
    "main",
    { class: "signed-out" },
    h("p", { class: "brand" }, "hubbub"),
    h("h1", {}, "You are already logged in"),
    h("p", {}, message),
    button("Open the console", back, { class: "button primary" }),
  );
}

/** @param {string} heading @param {...(Node | null)} words */
function askForLink(heading, ...words) {
  return h(
    "main",
    { class: "signed-out" },
    h("p", { class: "brand" }, "hubbub"),
    h("h1", {}, heading),
    ...words,
    h("p", {}, "On the hub's machine, run"),
    h("p", {}, h("code", { class: "command" }, "hubbub login")),
    h("p", {}, "and open the link it prints. The link works once and expires after 15 minutes."),
    h("p", {}, "If you were invited, ask the owner for a new invitation."),
  );
}

/** @param {string} message @param {() => void} again */
export function unreachableView(message, again) {
  return h(
    "main",
    { class: "signed-out" },
    h("p", { class: "brand" }, "hubbub"),
    h("h1", {}, "The hub does not respond"),
    h("p", {}, message),
    button("Try again", again, { class: "button primary" }),
  );
}
