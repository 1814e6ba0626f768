/** The kill switch, on every page: a banner while all tools are paused, and a button for the owner to pause them. */

import { button, h, icon, iconButton } from "./dom.js";
import { complain, toast } from "./toasts.js";

export class ToolsSwitch {
  /** @param {Context} context */
  constructor(context) {
    this.context = context;
    const owner = context.me.role === "owner";
    this.pause = iconButton("stop", "Pause all tools", () => this.#set(true));
    this.pause.hidden = true;
    this.unpause = owner ? button("Unpause tools", () => this.#set(false), { class: "button small" }) : null;
    const told = owner
      ? "All tools are paused. No tool runs until you unpause them."
      : "All tools are paused. Only the owner can unpause them.";
    this.banner = h(
      "div",
      { class: "banner", role: "status", hidden: true, data: { tools: "paused" } },
      icon("alert"),
      h("span", {}, told),
      this.unpause,
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
    this.banner.hidden = !paused;
    this.pause.hidden = paused || !this.owner;
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
