/** Threads: the conversations of all people on all channels, to read along and to step in. */

import * as api from "../api.js";
import { ConversationView } from "../conversation.js";
import { h } from "../dom.js";
import { clip } from "../format.js";
import { link } from "../router.js";
import { SplitPage } from "../split_page.js";
import { threadList } from "../thread_list.js";
import { speak as speakHere } from "./chat.js";

/** @param {Context} context @returns {Page} */
export function threadsPage(context) {
  const list = threadList(context, {
    page: "threads",
    label: "All threads",
    filter: {},
    empty: () => [
      h("p", {}, "No conversations yet."),
      h("p", { class: "muted" }, "Messages from all channels appear here."),
    ],
  });
  return new SplitPage(context, {
    page: "threads",
    heading: "Threads",
    list,
    open: (id) => (id ? new ConversationView(context, id, { back: link("threads"), speak }) : new Blank()),
  });
}

/** One's own conversation goes on; in other people's the owner speaks as the owner. @param {Thread} thread */
function speak(thread) {
  if (thread.own && thread.channel === "web") return speakHere(thread);
  return {
    label: "Answer as the owner",
    placeholder: `Answer on ${thread.channel} as the owner`,
    hint: `Goes to ${thread.group ? "the group" : clip(thread.user.name, 40)} on ${thread.channel}, from you, not from the assistant.`,
    files: false,
    send: (text, _uploads, key) => api.answer(thread.id, text, key),
  };
}

class Blank {
  constructor() {
    this.element = h(
      "section",
      { class: "pane conversation blank", "aria-label": "Conversation" },
      h("p", { class: "note muted" }, "Select a conversation to read it."),
    );
  }

  close() {}

  focus() {}
}
