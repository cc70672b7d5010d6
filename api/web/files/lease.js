// The bar of a lease. A status says how much of the lease is left, not how long it was at
// first, so the full bar is the longest rest that was seen of this grant, rounded up to a
// common length.

import { el, setText } from "./dom.js";
import { duration } from "./text.js";

const usual = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 21600, 86400].map((s) => s * 1000);
const longest = new Map(); // name -> {fence, ms}

function full(lock) {
  const known = longest.get(lock.name);
  const ms = known?.fence === lock.fence ? Math.max(known.ms, lock.ttl_ms) : lock.ttl_ms;
  longest.set(lock.name, { fence: lock.fence, ms });
  return usual.find((u) => u >= ms) ?? ms;
}

export function forget(name) { longest.delete(name); }

export function leaseBar() {
  return el("div", { className: "lease" }, el("progress", { max: 1, value: 0 }), el("span"));
}

/** showLease draws what is left now; age is how old the gateway's answer is. */
export function showLease(node, lock, age) {
  const [bar, text] = node.children;
  const endless = lock.state !== "held" || lock.ttl_ms === 0;
  bar.hidden = endless;
  if (endless) {
    setText(text, lock.state === "held" ? "without end" : "-");
    return;
  }
  const left = Math.max(0, lock.ttl_ms - age);
  bar.max = full(lock);
  bar.value = left;
  bar.setAttribute("aria-label", `Lease of ${lock.name}`);
  bar.setAttribute("aria-valuetext", `${duration(left)} left`);
  setText(text, `${duration(left)} left`);
}
