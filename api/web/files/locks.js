// The list of all locks.

import { byId, cell, el, mark, rows, setChildren, setText } from "./dom.js";
import { leaseBar, showLease } from "./lease.js";
import { duration, noteBeside, plural, state as stateOf, who } from "./text.js";

const nobody = "-";

export const linkTo = (name) => `#/locks/${encodeURIComponent(name)}`;

function make(lock) {
  return el("tr", {},
    cell("Lock", "wide title", el("a", { href: linkTo(lock.name) }, lock.name)),
    cell("State", ""),
    cell("Holder", "wide"),
    cell("Held for", ""),
    cell("Lease", "", leaseBar()),
    cell("Waiters", "number"),
    cell("Fence", "number"),
  );
}

function update(row, lock, age) {
  const [, state, holder, held, lease, waiters, fence] = row.cells;
  setChildren(state, stateOf(lock), () => [mark(lock.state), stateOf(lock)]);
  const h = lock.holder;
  setChildren(holder, h ? `${who(h)}\n${h.note ?? ""}` : nobody, () => holderText(h));
  setText(held, h?.since ? duration(h.held_ms + age) : nobody);
  showLease(lease.firstElementChild, lock, age);
  setText(waiters, String(lock.waiters));
  setText(fence, lock.fence ? String(lock.fence) : nobody);
}

function holderText(holder) {
  if (!holder) return [nobody];
  const note = noteBeside(holder);
  return [who(holder), ...(note ? [el("span", { className: "sub" }, note)] : [])];
}

/** showLocks draws what matches the filter of the page. */
export function showLocks(view) {
  const wanted = byId("state").value;
  const shown = view.locks.filter((lock) =>
    wanted === "held" ? lock.state === "held" : wanted === "waited" ? lock.waiters > 0 : true);
  rows(byId("locks-table").tBodies[0], shown, (lock) => lock.name, make, (row, lock) => update(row, lock, view.age));
  const waiting = shown.reduce((sum, lock) => sum + lock.waiters, 0);
  const held = shown.filter((lock) => lock.state === "held").length;
  setText(byId("locks-count"), view.known ? `${held} held, ${plural(waiting, "caller")} waiting` : "");
  byId("locks-table").hidden = shown.length === 0;
  byId("locks-more").hidden = !view.more;
  byId("locks-incomplete").hidden = !view.incomplete;
  setText(byId("locks-incomplete"), `The list is incomplete: ${view.incomplete}`);
  const empty = byId("locks-empty");
  empty.hidden = shown.length > 0;
  setChildren(empty, `${view.known} ${view.prefix} ${wanted}`, () => emptyText(view, wanted));
}

function emptyText(view, wanted) {
  if (!view.known) return ["Asking the gateway."];
  if (view.prefix) return ["No lock that is held or waited for begins with ", el("code", {}, view.prefix), "."];
  if (wanted === "waited") return ["Nobody waits for a lock."];
  return ["No lock is held. To take one until you press Ctrl-C: ",
    el("code", {}, `curl -N -X POST ${location.host}/v1/locks/nightly/hold`)];
}
