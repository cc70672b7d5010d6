// Sessions, as far as locks tell of them.

import { byId, cell, el, rows, setChildren, setText } from "./dom.js";
import { linkTo } from "./locks.js";
import { plural, sessionOf, who } from "./text.js";

/** sessionsOf groups holders and waiters by their session. */
export function sessionsOf(locks) {
  const all = new Map();
  const at = (h) => {
    const id = sessionOf(h.owner);
    if (!all.has(id)) all.set(id, { id, holder: h, holds: [], waits: [] });
    return all.get(id);
  };
  for (const lock of locks) {
    if (lock.holder) at(lock.holder).holds.push(lock.name);
    for (const waiter of lock.queue) at(waiter).waits.push(lock.name);
  }
  return [...all.values()].sort((a, b) => who(a.holder).localeCompare(who(b.holder)) || a.id.localeCompare(b.id));
}

function make(session) {
  return el("tr", {},
    cell("Client", "wide title"),
    cell("Session", "", el("span", { className: "code", title: session.id }, session.id.slice(0, 8))),
    cell("Holds", "names"),
    cell("Waits for", "names"),
  );
}

function update(row, session) {
  const [client, , holds, waits] = row.cells;
  setChildren(client, who(session.holder), () => [who(session.holder)]);
  for (const [node, names] of [[holds, session.holds], [waits, session.waits]]) {
    setChildren(node, names.join("\n") || "-", () => names.length === 0 ? ["-"]
      : [el("ul", {}, ...names.map((name) => el("li", {}, el("a", { href: linkTo(name) }, name))))]);
  }
}

export function showSessions(view) {
  const all = sessionsOf(view.locks);
  rows(byId("sessions-table").tBodies[0], all, (s) => s.id, make, update);
  byId("sessions-table").hidden = all.length === 0;
  byId("sessions-empty").hidden = all.length > 0 || !view.known;
  setText(byId("sessions-count"), view.known ? plural(all.length, "session") : "");
}
