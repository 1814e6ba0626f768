/** Inbox: one's own conversations with the assistant, and those of everybody else to read along and to step in. */

import * as api from "../api.js";
import { Composer } from "../composer.js";
import { ConversationView, retried } from "../conversation.js";
import { button, h } from "../dom.js";
import { clip } from "../format.js";
import { messageView } from "../message_view.js";
import { newLink, pane } from "../parts.js";
import { link } from "../router.js";
import { SplitPage } from "../split_page.js";
import { ThreadList } from "../thread_list.js";
import { modelView } from "../thread_menu.js";

const CHANNEL = "web";
const HINT = "Enter sends, Shift+Enter starts a new line. / lists the commands, ? the keys.";
/** Members have no commands unless their role is given them. */
const COMMAND = "run: ls";
const IDEAS = [COMMAND, "What time is it?", "/help"];

/** @param {Context} context @returns {Page} */
export function inboxPage(context) {
  const fresh = () => context.navigate(link("chat", "new"));
  const list = new ThreadList(context, {
    label: "Conversations",
    tools: [newLink(link("chat", "new"))],
    empty: () => [
      h("p", {}, "No conversations yet."),
      button("Start one", fresh, { class: "button only-narrow" }),
    ],
  });
  // What was answered before its page was there is told there: nobody has heard it yet.
  let begun = "";
  const speak = (/** @type {Thread} */ thread) => speaking(context, thread);
  const open = (/** @type {string} */ id, /** @type {import("../router.js").Route} */ route) => {
    const at = Number(route.query.get("at")) || 0;
    return id && id !== "new"
      ? new ConversationView(context, id, { back: link("chat"), speak, at, unheard: id === begun })
      : new Beginning(context, (thread) => {
          begun = thread;
          list.pages.renew();
        });
  };
  const page = new SplitPage(context, { page: "chat", heading: "Inbox", list, open });
  return {
    element: page.element,
    close: () => page.close(),
    show: (route) => {
      if (route.page === "threads") list.choose({ show: "all" });
      page.show(route);
    },
  };
}

/** One's own conversation goes on; in other people's the owner speaks as the owner. @param {Context} context
 * @param {Thread} thread */
function speaking(context, thread) {
  if (thread.own && thread.channel === CHANNEL) return speaksHere(context, thread);
  return {
    label: "Answer as the owner",
    placeholder: `Answer on ${thread.channel} as the owner`,
    hint: `Goes to ${thread.group ? "the group" : clip(thread.user.name, 40)} on ${thread.channel}, from you, not from the assistant.`,
    files: false,
    send: (text, _uploads, key) => api.answer(thread.id, text, key),
  };
}

/** @param {Context} context @param {Thread} thread */
function speaksHere(context, thread) {
  return {
    label: "Message",
    placeholder: "Message the assistant",
    hint: HINT,
    files: true,
    commands: context.me.commands,
    send: (text, attachments, key, about) =>
      api.send({ text, thread_id: thread.id, client_key: key, attachments, ...about }),
  };
}

/** A conversation that has not begun. */
class Beginning {
  #left = false;
  /** The model that was chosen for it, if one was. @type {string | undefined} */ model;

  /** @param {Context} context @param {(thread: string) => void} onBegun */
  constructor(context, onBegun) {
    this.context = context;
    this.onBegun = onBegun;
    this.composer = new Composer({
      label: "Message",
      placeholder: "Message the assistant",
      hint: HINT,
      draft: "new",
      files: true,
      commands: context.me.commands,
      onSend: (text, attachments) => this.#send(text, attachments),
      onStop: () => {},
    });
    const offered = IDEAS.filter((idea) => context.me.role === "owner" || idea !== COMMAND);
    const ideas = offered.map((idea) =>
      h(
        "li",
        {},
        button(idea, () => this.#take(idea), { class: "button idea" }),
      ),
    );
    const welcome = h(
      "div",
      { class: "welcome" },
      h("p", {}, "Send the assistant a message. Before it does something that needs your approval, it asks you here."),
      h("ul", { class: "ideas", "aria-label": "Things to try" }, ...ideas),
    );
    this.body = welcome;
    const body = h("div", { class: "conversation-body" }, welcome, this.composer.element);
    const about = h("p", { class: "muted about" }, modelView(context.me, (name) => (this.model = name)));
    this.element = pane("New conversation", link("chat"), [h("h2", {}, "New conversation"), about], [body]);
    this.#takeDrops();
  }

  close() {
    this.#left = true;
  }

  focus() {
    this.composer.focus();
  }

  /** @param {string} idea */
  #take(idea) {
    this.composer.write(idea);
    this.composer.focus();
  }

  async #send(text, attachments) {
    const sent = await retried((key) => api.send({ text, new: true, model: this.model, client_key: key, attachments }));
    if (this.#left) return; // somebody who went elsewhere meanwhile stays there
    if (sent.thread_id) {
      this.onBegun(sent.thread_id);
      this.context.navigate(link("chat", sent.thread_id), { replace: true });
    } else if (sent.answer) this.#answered(text, sent.answer);
  }

  /** What the hub answers by itself begins no conversation. @param {string} said @param {string} answer */
  #answered(said, answer) {
    const line = { seq: 0, at: Date.now() * 1000, turn: null };
    const mine = messageView({ ...line, kind: "user", text: said }, null, true);
    const heard = messageView({ ...line, kind: "notice", text: answer });
    this.body.replaceChildren(h("div", { class: "feed-items", role: "log", "aria-label": "Messages" }, mine, heard));
  }

  #takeDrops() {
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.composer.attach(event.dataTransfer?.files ?? []);
    });
  }
}
