/** Chat: the owner's own conversations with the assistant, here in the console. */

import * as api from "../api.js";
import { Composer } from "../composer.js";
import { ConversationView, retried } from "../conversation.js";
import { announce, button, h, icon } from "../dom.js";
import { link } from "../router.js";
import { SplitPage } from "../split_page.js";
import { threadList } from "../thread_list.js";

const CHANNEL = "web";
const HINT = "Enter sends, Shift+Enter begins a new line. /help lists the commands.";
const IDEAS = ["run: ls", "What time is it?", "/help"];

/** @param {import("../../console_types.js").Context} context @returns {import("../../console_types.js").Page} */
export function chatPage(context) {
  const fresh = () => context.navigate(link("chat", "new"));
  const newLink = h(
    "a",
    { class: "button primary", href: link("chat", "new") },
    icon("plus"),
    h("span", {}, "New"),
  );
  const list = threadList(context, {
    page: "chat",
    label: "Conversations",
    filter: { channel: CHANNEL },
    tools: [newLink],
    empty: () => [
      h("p", {}, "No conversation yet."),
      button("Start one", fresh, { class: "button only-narrow" }),
    ],
  });
  const open = (/** @type {string} */ id) =>
    id && id !== "new"
      ? new ConversationView(context, id, { back: link("chat"), speak })
      : new Beginning(context);
  return new SplitPage(context, { page: "chat", heading: "Chat", list, open });
}

/** @param {import("../../console_types.js").Thread} thread */
function speak(thread) {
  return {
    label: "Message",
    placeholder: "Write to the assistant",
    hint: HINT,
    files: true,
    send: (text, attachments, key) =>
      api.send({ text, thread_id: thread.id, client_key: key, attachments }),
  };
}

/** A conversation that has not begun. */
class Beginning {
  /** @param {import("../../console_types.js").Context} context */
  constructor(context) {
    this.context = context;
    this.composer = new Composer({
      label: "Message",
      placeholder: "Write to the assistant",
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
    const back = h(
      "a",
      { class: "icon-button back", href: link("chat"), "aria-label": "Back to the list" },
      icon("back"),
    );
    this.element = h(
      "section",
      { class: "pane conversation", "aria-label": "New conversation" },
      h(
        "header",
        { class: "pane-head" },
        back,
        h("div", { class: "titles" }, h("h2", {}, "New conversation")),
      ),
      h(
        "div",
        { class: "conversation-body" },
        h(
          "div",
          { class: "welcome" },
          h(
            "p",
            {},
            "Write to the assistant. Before it does something that needs your consent, it asks you here.",
          ),
          h("ul", { class: "ideas", "aria-label": "Things to try" }, ...ideas),
        ),
        this.composer.element,
      ),
    );
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
    if (sent.thread_id) this.context.navigate(link("chat", sent.thread_id), { replace: true });
    else if (sent.answer) announce(sent.answer);
  }

  #takeDrops() {
    this.element.addEventListener("dragover", (event) => event.preventDefault());
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      this.composer.attach(event.dataTransfer?.files ?? []);
    });
  }
}
