/** Chat: the owner's own conversations with the assistant, here in the console. */

import * as api from "../api.js";
import { Composer } from "../composer.js";
import { ConversationView, retried } from "../conversation.js";
import { announce, button, h } from "../dom.js";
import { newLink, pane } from "../parts.js";
import { link } from "../router.js";
import { SplitPage } from "../split_page.js";
import { threadList } from "../thread_list.js";

const CHANNEL = "web";
const HINT = "Enter sends, Shift+Enter starts a new line. Type /help for the commands.";
const IDEAS = ["run: ls", "What time is it?", "/help"];

/** @param {Context} context @returns {Page} */
export function chatPage(context) {
  const fresh = () => context.navigate(link("chat", "new"));
  const list = threadList(context, {
    page: "chat",
    label: "Conversations",
    filter: { channel: CHANNEL },
    tools: [newLink(link("chat", "new"))],
    empty: () => [
      h("p", {}, "No conversations yet."),
      button("Start one", fresh, { class: "button only-narrow" }),
    ],
  });
  // What was answered before its page was there is told there: nobody has heard it yet.
  let begun = "";
  const open = (/** @type {string} */ id) =>
    id && id !== "new"
      ? new ConversationView(context, id, { back: link("chat"), speak, unheard: id === begun })
      : new Beginning(context, (thread) => (begun = thread));
  return new SplitPage(context, { page: "chat", heading: "Chat", list, open });
}

/** In a conversation of one's own. @param {Thread} thread */
export function speak(thread) {
  return {
    label: "Message",
    placeholder: "Message the assistant",
    hint: HINT,
    files: true,
    send: (text, attachments, key, replyTo) =>
      api.send({ text, thread_id: thread.id, client_key: key, attachments, reply_to: replyTo }),
  };
}

/** A conversation that has not begun. */
class Beginning {
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
      onSend: (text, attachments) => this.#send(text, attachments),
      onStop: () => {},
    });
    const ideas = IDEAS.map((idea) =>
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
    const body = h("div", { class: "conversation-body" }, welcome, this.composer.element);
    this.element = pane("New conversation", link("chat"), [h("h2", {}, "New conversation")], [body]);
    this.#takeDrops();
  }

  close() {}

  focus() {
    this.composer.focus();
  }

  /** @param {string} idea */
  #take(idea) {
    this.composer.write(idea);
    this.composer.focus();
  }

  async #send(text, attachments) {
    const sent = await retried((key) => api.send({ text, new: true, client_key: key, attachments }));
    if (sent.thread_id) {
      this.onBegun(sent.thread_id);
      this.context.navigate(link("chat", sent.thread_id), { replace: true });
    } else if (sent.answer) announce(sent.answer);
  }

  #takeDrops() {
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.composer.attach(event.dataTransfer?.files ?? []);
    });
  }
}
