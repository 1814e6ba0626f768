/** The kill switch, on every page: a banner while all tools are paused, and one button in one place for the owner to pause and unpause them. */

import { button, h, icon } from "./dom.js";
import { complain, toast } from "./toasts.js";

export class ToolsSwitch {
  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    const owner = context.me.role === "owner";
    this.label = h("span", { class: "nav-label" });
    const turn = { type: "button", class: "nav-link tools-switch", hidden: true, on: { click: () => this.#set(!this.paused) } };
    this.turn = h("button", turn, icon("stop"), this.label);
    // Where the navigation folds it away.
    const unpause = owner ? button("Unpause tools", () => this.#set(false), { class: "button small only-narrow" }) : null;
    const stops = "All tools are paused: no tool runs in chats, jobs or routines. Answers still come.";
    const told = owner ? stops : `${stops} Only the owner can unpause them.`;
    this.banner = h(
      "div",
      { class: "banner", role: "status", hidden: true, data: { tools: "paused" } },
      icon("alert"),
      h("span", {}, told),
      unpause,
    );
    this.owner = owner;
    this.end = context.hub.on(["tools_changed", "refetch"], () => this.#look());
    this.#look();
  }

  close() {
    this.end();
  }

  /** @param {boolean} paused */
  #show(paused) {
    this.paused = paused;
    this.banner.hidden = !paused;
    this.turn.hidden = !this.owner;
    this.label.textContent = paused ? "Unpause tools" : "Pause tools";
  }

  async #look() {
    try {
      this.#show((await this.context.api.tools()).paused);
    } catch {
      // What was shown stays: the other banner says that it may be old, and "refetch" comes with the connection.
    }
  }

  /** @param {boolean} paused */
  async #set(paused) {
    try {
      await this.context.api.pauseTools(paused);
      toast(paused ? "All tools are paused." : "Tools can run again.");
    } catch (error) {
      complain(error);
    }
    await this.#look();
  }
}
