// Sessions: all of this gateway for an administrator, otherwise as far as locks tell of them.

import { byId, cell, el, rows, setChildren, setText } from "./dom.js";
import { linkTo } from "./locks.js";
import { atLeast, duration, moment, number, plural, sessionOf, who } from "./text.js";

const mostNames = 20; // of a session, as the gateway tells

/** sessionsOf groups holders and waiters by their session. */
export function sessionsOf(locks) {
  const all = new Map();
  const at = (h) => {
    const uuid = sessionOf(h.owner);
    if (!all.has(uuid)) all.set(uuid, { uuid, id: uuid.slice(0, 8), client: who(h), about: "", locks: [], queues: [] });
    return all.get(uuid);
  };
  for (const lock of locks) {
    if (lock.holder?.owner) at(lock.holder).locks.push(lock.name); // a program outside lockgw has no session
    for (const waiter of lock.queue) at(waiter).queues.push(lock.name);
  }
  for (const session of all.values()) {
    const [locks, queues] = [session.locks, session.queues];
    Object.assign(session, { holds: locks.length, waits: queues.length, locks: locks.slice(0, mostNames), queues: queues.slice(0, mostNames) });
  }
  return [...all.values()].sort((a, b) => a.client.localeCompare(b.client) || a.uuid.localeCompare(b.uuid));
}

/** someUnnamed: of a lock that several hold, a list names the newest only, and who waits on other machines it only counts. */
const someUnnamed = (locks) => locks.some((lock) => lock.holders > 1 || lock.waiters > lock.queue.length);

/** told is a session that the gateway has listed; its locks may tell more of its client. */
function told(session, seen) {
  const meta = Object.entries(session.meta ?? {}).map(([key, value]) => `${key}=${value}`);
  const known = seen.get(session.uuid)?.client ?? (session.pid ? who(session) : "");
  const about = [...(known && session.name ? [session.name] : []), ...meta].join(", ");
  return { ...session, client: known || session.name || "a client over TCP", about };
}

function life(session, age) {
  switch (session.life) {
    case "process": return `process ${session.bound_pid}`;
    case "keepalive":
      return `keepalive, ${duration(Math.max(0, session.keepalive_left_ms - age))} of ${duration(session.keepalive_ms)} left`;
    case "connection": return session.connections > 1 ? plural(session.connections, "connection") : "connection";
    default: return `the bound of its hold${session.max_hold_ms ? `, ${duration(session.max_hold_ms)}` : ""}`;
  }
}

function make(session, end) {
  const button = el("button", { type: "button", className: "small danger" }, "End");
  button.addEventListener("click", () => end(button.session));
  return el("tr", {},
    cell("Client", "wide title"),
    cell("Session", "", el("span", { className: "code", title: session.uuid })),
    cell("Lives by", "told"),
    cell("Open for", "told"),
    cell("Holds", "names"),
    cell("Waits for", "names"),
    cell("", "told action", button),
  );
}

function update(row, session, age, now) {
  const [client, id, livesBy, open, holds, waits, action] = row.cells;
  setChildren(client, `${session.client}\n${session.about}`, () =>
    [session.client, ...(session.about ? [el("span", { className: "sub" }, session.about)] : [])]);
  setText(id.firstElementChild, session.id);
  setNames(holds, session.locks, session.holds);
  setNames(waits, session.queues, session.waits);
  for (const node of [livesBy, open, action]) node.hidden = !session.life;
  if (!session.life) return;
  action.firstElementChild.session = session;
  action.firstElementChild.setAttribute("aria-label", `End the session ${session.id}`);
  setText(livesBy, life(session, age));
  setText(open, duration(now - Date.parse(session.since)));
}

/** setNames shows names; of very many the gateway tells the first and how many there are. */
function setNames(node, names, count) {
  const more = Math.max(0, count - names.length);
  setChildren(node, `${names.join("\n")} ${more}`, () => names.length === 0 ? ["-"] : [el("ul", {},
    ...names.map((name) => el("li", {}, el("a", { href: linkTo(name) }, name))), ...(more ? [el("li", {}, `and ${more} more`)] : []))]);
}

/** showSessions draws what the gateway has listed, null: what the locks tell. end is called with a session that is to end. */
export function showSessions(view, end) {
  const seen = sessionsOf(view.part);
  const byUUID = new Map(seen.map((session) => [session.uuid, session]));
  const all = view.sessions?.map((session) => told(session, byUUID)) ?? seen;
  const table = byId("sessions-table");
  for (const head of table.tHead.querySelectorAll(".told")) head.hidden = !view.sessions;
  const age = performance.now() - view.sessionsAt;
  rows(table.tBodies[0], all, (s) => s.uuid, (s) => make(s, end), (row, s) => update(row, s, age, view.sessionsTold + age));
  table.hidden = all.length === 0;
  const known = view.sessions !== null || view.partOf !== null;
  const partly = !view.sessions && view.partOf?.locks > view.part.length;
  const unnamed = !view.sessions && someUnnamed(view.part);
  byId("sessions-part").hidden = !partly && !unnamed;
  setText(byId("sessions-part"), [
    partly ? `Of ${number(view.part.length)} of ${atLeast(view.partLacks)}${number(view.partOf.locks)} locks: there are more sessions than these.` : "",
    unnamed ? "Of those who hold a lock together only the newest is here, and of those who wait only the ones on this machine." : "",
  ].join(" ").trim());
  byId("sessions-empty").hidden = all.length > 0 || !known;
  byId("sessions-more").hidden = !(view.sessions && view.moreSessions);
  setText(byId("sessions-empty"), view.sessions ? "Nobody has a session here." : "No session holds a lock or waits for one.");
  setText(byId("sessions-count"), known ? `${atLeast(partly || unnamed)}${plural(all.length, "session")}` : "");
  setText(byId("sessions-note"), view.sessions ? "Every session of this gateway. A session ends by itself when what it lives by is over."
    : "Sessions that hold a lock or wait for one. With the admin token: every session of this gateway, what it lives by, and a way to end it.");
}

/** endFacts is what the dialog asks about. */
export const endFacts = (session) => [
  ["Session", session.id], ["Client", session.client], ["About", session.about], ["Lives by", life(session, 0)],
  ["Opened", moment(session.since)], ["Holds", namesText(session.locks, session.holds)], ["Waits for", namesText(session.queues, session.waits)],
];

const namesText = (names, count) => names.length === 0 ? "nothing"
  : names.join(", ") + (count > names.length ? ` and ${count - names.length} more` : "");
