/** One open conversation: loads it, follows it live, resumes it by position, and lets people write in it. */

import * as api from "./api.js";
import { Composer } from "./composer.js";
import { announce, fill, h, settled } from "./dom.js";
import { EventStream } from "./event_stream.js";
import { Feed } from "./feed.js";
import { FeedView, tell } from "./feed_view.js";
import { titleOf } from "./format.js";
import { failure, loading, note, pane } from "./parts.js";
import { contextMeter, costView, modelView, ThreadMenu } from "./thread_menu.js";
import { complain } from "./toasts.js";

const PAGE = 100;
/** A hidden page lets its connection go after this; browsers allow only a few of them. */
const HIDDEN_MS = 30_000;
/** What the hub keeps in the place of a credential. */
const WITHHELD = "[not kept]";
/** After these events earlier lines may be undone or back again, and the context another. */
const MARKING = new Set(["user", "notice", "summary"]);
const ENDED = new Set(["turn_finished", "turn_failed"]);
const MARKS_MS = 150;
const MARKS_PAGE = 200;

export class ConversationView {
  /** @type {Feed | null} */ #feed = null;
  /** @type {FeedView | null} */ #view = null;
  /** @type {EventStream | null} */ #stream = null;
  #closed = false;
  #known = "";
  #hidden = 0;
  /** @type {() => void} */ #unlist = () => {};

  /**
   * @param {Context} context
   * @param {string} id
   * @param {{back: string, unheard?: boolean, at?: number, speak: (thread: Thread) => {label: string, placeholder: string,
   *   hint?: string, files: boolean, commands?: {name: string, about: string}[],
   *   send: (text: string, uploads: string[], key: string, about: import("./composer.js").About) => Promise<any>}}} options
   *   `at`: the line to look at first
   */
  constructor(context, id, options) {
    this.context = context;
    this.id = id;
    this.options = options;
    this.title = h("h2", { tabindex: "-1" }, "…");
    this.about = h("p", { class: "muted about" });
    this.body = h("div", { class: "conversation-body" }, note(loading()));
    this.menu = h("div", { class: "menu-place" });
    this.element = pane("Conversation", options.back, [this.title, this.about], [this.body], this.menu);
    this.remark = settled(() => this.#marks(), MARKS_MS);
    this.onVisibility = () => this.#visibility();
    document.addEventListener("visibilitychange", this.onVisibility);
    this.ready = this.#load();
    this.unsubscribe = context.connection.subscribe((up) => up && this.composer?.reconnected());
    this.#takeDrops();
  }

  /** Looks at a line, if it is among those that are here. @param {number} seq */
  look(seq) {
    const { firstSeq } = this.#feed ?? {};
    if (!seq || !firstSeq || seq < firstSeq) return false;
    this.#view?.toLine(seq);
    return true;
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#hidden);
    this.remark.cancel();
    document.removeEventListener("visibilitychange", this.onVisibility);
    this.#disconnect();
    this.#view?.close();
    this.unsubscribe();
    this.context.unread.open("");
  }

  focus() {
    if (this.composer && !matchMedia("(pointer: coarse)").matches) this.composer.focus();
    else this.title.focus();
  }

  async #load() {
    try {
      const { at } = this.options;
      // What comes after these lines comes by the stream.
      const page = await api.thread(this.id, { limit: PAGE, before: at ? at + PAGE / 2 : undefined });
      if (!this.#closed) this.#open(page);
    } catch (error) {
      if (!this.#closed) this.#failed(error);
    }
  }

  /** @param {api.ApiError} error */
  #failed(error) {
    const gone = error.status === 404;
    this.title.textContent = gone ? "Conversation not found" : "Not loaded";
    const again = () => {
      this.body.replaceChildren(note(loading()));
      this.#load();
    };
    const words = gone ? [h("p", {}, "It does not exist, or you don't have access to it.")] : failure(error, again);
    this.body.replaceChildren(note(...words));
  }

  /** @param {Conversation} page */
  #open(page) {
    this.#feed = new Feed(page);
    const { own, channel } = this.#feed.thread;
    const command = own && channel === "web" ? (/** @type {string} */ text) => this.#command(text) : null;
    this.#view = new FeedView(this.#feed, {
      onOlder: () => this.#older(),
      onPress: own && channel === "web" ? (menuId, choice) => this.#press(menuId, choice) : null,
      onReply: (item) => this.composer?.reply(item),
      onCommand: command,
      onEdit: command && ((item) => this.composer?.edit(item.text ?? "", item.turn ?? "")),
    });
    const onChange = (/** @type {Thread} */ thread) => {
      const feed = /** @type {Feed} */ (this.#feed);
      feed.thread = { ...thread, turn: feed.thread.turn };
      this.#head();
    };
    this.threadMenu = new ThreadMenu(this.#feed.thread, { onChange, command });
    this.menu.replaceChildren(this.threadMenu.element);
    this.title.addEventListener("click", () => this.threadMenu?.rename());
    this.title.classList.add("renames");
    const speak = this.options.speak(this.#feed.thread);
    this.composer = new Composer({
      ...speak,
      draft: this.id,
      onSend: (text, uploads, about) => this.#send(speak.send, text, uploads, about),
      onStop: () => this.#stop(),
      onUp: () => this.#up(),
    });
    this.body.replaceChildren(this.#view.element, this.composer.element);
    if (this.options.unheard) this.#feed.items.forEach(tell);
    if (this.options.at) this.look(this.options.at);
    this.#looked();
    this.#head();
    this.#connect();
  }

  /** Who has the page before them has seen all that is there. */
  #looked() {
    const feed = /** @type {Feed} */ (this.#feed);
    if (!document.hidden) this.context.unread.open(this.id, Math.max(feed.lastSeq, feed.thread.last_seq));
  }

  /** From an empty field to the question that waits, or back to what was written last. */
  #up() {
    const card = this.#view?.openCard;
    if (card) {
      card.tabIndex = -1;
      card.focus();
    } else if (this.#view?.lastSaid) this.composer?.write(this.#view.lastSaid);
  }

  #head() {
    const thread = /** @type {Feed} */ (this.#feed).thread;
    const title = titleOf(thread);
    this.title.textContent = title;
    this.title.title = this.threadMenu ? `${title} (click to rename)` : title;
    const who =
      thread.own && !thread.group
        ? []
        : [thread.group ? "Group" : `${thread.user.name} (${thread.user.role})`];
    this.about.title = thread.own && thread.channel === "web" ? "" : [...who, thread.channel].join(" · ");
    this.#facts(thread);
    if (this.threadMenu) this.threadMenu.thread = thread;
    const { state } = /** @type {Feed} */ (this.#feed);
    this.composer?.setBusy(state !== "idle");
  }

  /** Who and where, the model, and what was used. Somebody who chooses a model is not disturbed. @param {Thread} thread */
  #facts(thread) {
    const { model, models } = /** @type {Feed} */ (this.#feed);
    const { command } = this.threadMenu?.actions ?? {};
    const choose = command ? (/** @type {string} */ name) => command(`/model ${name}`) : null;
    const known = JSON.stringify([this.about.title, model, models, thread.context, thread.tokens, thread.cost_micro_usd]);
    if (known === this.#known || this.about.contains(document.activeElement)) return;
    this.#known = known;
    const facts = [this.about.title || null, modelView({ model, models }, choose), contextMeter(thread), costView(thread)];
    fill(this.about, ...facts.filter(Boolean).flatMap((fact, at) => (at ? [" · ", fact] : [fact])));
  }

  #connect() {
    const feed = /** @type {Feed} */ (this.#feed);
    this.#stream = new EventStream(
      () => api.eventsUrl({ thread: this.id, after: feed.lastSeq }),
      (event) => this.#event(event),
      (state) => this.#state(state),
    );
    this.#unlist = this.context.connection.add(this.#stream);
  }

  #disconnect() {
    this.#stream?.close();
    this.#stream = null;
    this.#unlist();
    this.context.connection.forget(this);
  }

  /** @param {string} state */
  #state(state) {
    this.context.connection.report(this, state);
    if (state === "signed_out") api.signedOut();
    if (state === "live") this.#refresh();
  }

  /** @param {HubEvent} event */
  #event(event) {
    if (!this.#feed || !this.#view) return;
    const changes = this.#feed.apply(event);
    this.#view.show(changes);
    if (event.type === "item") this.#looked();
    if (changes.some((change) => change.type === "turn" || change.type === "approval")) this.#head();
    if (changes.some((change) => change.type === "gap")) this.#stream?.reconnect();
    if (ENDED.has(event.type) || (event.type === "item" && MARKING.has(event.data.kind))) this.remark();
  }

  /** Items and questions come by their positions; how the turn is has none, and is asked for. */
  async #refresh() {
    const feed = /** @type {Feed} */ (this.#feed);
    try {
      const { heard } = feed;
      const page = await api.thread(this.id, { limit: 1 });
      if (this.#closed) return;
      this.#view?.show(feed.refresh(page, heard));
      this.#head();
      this.remark();
    } catch {
      // The stream notices what is wrong and comes back here.
    }
  }

  /** Looks for lines that were undone or brought back, among all that are shown. */
  async #marks() {
    const feed = /** @type {Feed} */ (this.#feed);
    try {
      for (let before; ; ) {
        const page = await api.thread(this.id, { before, limit: MARKS_PAGE });
        if (this.#closed) return;
        this.#view?.show(feed.marks(page));
        before = page.first_seq ?? 0;
        if (!page.more || before <= (feed.firstSeq ?? 0)) break;
      }
      this.#head();
    } catch {
      // The next event asks again.
    }
  }

  /** @param {string} text */
  async #command(text) {
    try {
      this.#follow(await retried((key) => api.send({ text, thread_id: this.id, client_key: key })));
    } catch (error) {
      complain(error);
    }
  }

  async #older() {
    const feed = /** @type {Feed} */ (this.#feed);
    try {
      feed.prepend(await api.thread(this.id, { before: feed.firstSeq, limit: PAGE }));
    } catch (error) {
      complain(error);
    }
  }

  async #send(send, text, uploads, about) {
    // A credential that was asked for is not shown, here or by the hub.
    const secret = this.#feed?.waiting().some((one) => one.secret);
    const shown = this.#view?.sending(secret ? WITHHELD : text);
    const sent = await retried((key) => send(text, uploads, key, about)).catch((error) => {
      shown?.gone();
      throw error;
    });
    shown?.taken(sent?.outcome === "waiting");
    this.#follow(sent);
  }

  /** Goes where it is answered, such as a branch. Who went elsewhere meanwhile stays there. @param {any} sent */
  #follow(sent) {
    if (this.#closed || !sent?.thread_id || sent.thread_id === this.id) return;
    this.context.navigate(`#/chat/${sent.thread_id}`);
  }

  /** @param {string} menuId @param {number} choice */
  async #press(menuId, choice) {
    try {
      await retried((key) => api.press({ menu_id: menuId, choice, client_key: key }));
    } catch (error) {
      complain(error);
    }
  }

  async #stop() {
    try {
      await api.stop(this.id);
      announce("Stopping.");
    } catch (error) {
      complain(error);
    }
  }

  #visibility() {
    clearTimeout(this.#hidden);
    if (document.hidden) this.#hidden = setTimeout(() => this.#disconnect(), HIDDEN_MS);
    else if (this.#feed && !this.#stream && !this.#closed) {
      this.#connect();
    }
    if (!document.hidden && this.#feed && !this.#closed) this.#looked();
  }

  /** Files may be dropped anywhere on the conversation. */
  #takeDrops() {
    const over = (/** @type {boolean} */ on) => this.element.classList.toggle("dropping", on);
    this.element.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files") || !this.composer?.options.files) return;
      event.preventDefault();
      over(true);
    });
    this.element.addEventListener("dragleave", () => over(false));
    this.element.addEventListener("drop", (event) => {
      over(false);
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.composer?.attach(event.dataTransfer.files);
    });
  }
}

/**
 * Sends once more if the hub could not be reached: with the same key it takes the message only once.
 * @param {(key: string) => Promise<any>} send
 */
export async function retried(send) {
  const key = api.newKey();
  try {
    return await send(key);
  } catch (error) {
    if (error.code !== "unreachable") throw error;
    return send(key);
  }
}
