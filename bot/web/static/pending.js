/** How many questions wait for a person: for the navigation, the title and notifications. */

import * as api from "./api.js";
import { announce, settled } from "./dom.js";

const HINTS_MS = 150;
const COUNTED = 100;

/**
 * @param {import("./hub_events.js").HubEvents} hub
 * @param {(waiting: Approval[], added: Approval | null) => void} tell `added`: the newest, if there is one more
 */
export function watchPending(hub, tell) {
  /** @type {Set<string> | null} */ let known = null;
  const count = async () => {
    const page = await api.approvals({ state: "pending", limit: COUNTED }).catch(() => null);
    if (!page) return;
    /** @type {Approval[]} */ const waiting = page.approvals;
    const before = known;
    known = new Set(waiting.map((one) => one.gate_id));
    const added = before ? (waiting.findLast((one) => !before.has(one.gate_id)) ?? null) : null;
    if (added) announce(`New approval request: ${added.title}`);
    tell(waiting, added);
  };
  const soon = settled(count, HINTS_MS);
  const end = hub.on(["approval_needed", "approval_resolved", "refetch"], soon);
  count();
  return () => [end(), soon.cancel()];
}
