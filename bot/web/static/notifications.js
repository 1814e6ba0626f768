/** Notifications of the browser while nobody looks at the page. Permission is asked for when one was missed. */

import { toast } from "./toasts.js";

/** "off" once somebody declined here. */
const STORED = "hubbub-notifications";
const TAG = "hubbub";

export class Notifications {
  #missed = false;

  /** @param {(hash: string) => void} navigate */
  constructor(navigate) {
    this.navigate = navigate;
    this.onVisibility = () => this.#offer();
    this.onMessage = (/** @type {MessageEvent} */ event) => event.data?.open && navigate(event.data.open);
    window.addEventListener("focus", this.onVisibility);
    document.addEventListener("visibilitychange", this.onVisibility);
    navigator.serviceWorker?.addEventListener("message", this.onMessage);
  }

  close() {
    window.removeEventListener("focus", this.onVisibility);
    document.removeEventListener("visibilitychange", this.onVisibility);
    navigator.serviceWorker?.removeEventListener("message", this.onMessage);
  }

  /** Something happened. Who looks at the page has seen it. @param {string} title @param {string} body @param {string} hash */
  async tell(title, body, hash) {
    if (!document.hidden && document.hasFocus()) return;
    if (!("Notification" in window) || Notification.permission === "denied") return;
    if (Notification.permission === "default") {
      this.#missed = true;
      return;
    }
    const options = { body, tag: `${TAG} ${hash}`, icon: "/static/icon.svg", data: { open: hash } };
    const worker = await navigator.serviceWorker?.getRegistration();
    // Phones show notifications of a worker only.
    if (worker?.active) return worker.showNotification(title, options);
    const shown = new Notification(title, options);
    shown.onclick = () => [window.focus(), this.navigate(hash), shown.close()];
  }

  #offer() {
    if (document.hidden || !this.#missed || localStorage.getItem(STORED) === "off") return;
    this.#missed = false;
    const work = async () => {
      const answer = await Notification.requestPermission();
      if (answer === "denied") localStorage.setItem(STORED, "off");
      else if (answer === "granted") toast("This browser notifies you while this page is open.");
    };
    toast("Something happened while you were away.", { action: { label: "Notify me next time", work } });
  }
}
