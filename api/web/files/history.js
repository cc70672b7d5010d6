// What has happened to locks: told by the gateway's events where this page may
// follow them, otherwise what it saw change between two looks.

import { who } from "./text.js";

const keptOfLock = 200;
const keptLocks = 2000;

const told = new Map(); // name -> events, newest first
const seen = new Map();

function add(all, name, event) {
  const list = all.get(name) ?? [];
  list.unshift(event);
  list.length = Math.min(list.length, keptOfLock);
  all.delete(name); // so that the name without an event for longest is forgotten first
  all.set(name, list);
  if (all.size > keptLocks) all.delete(all.keys().next().value);
}

const people = new Map(); // owner -> who that is, as far as an answer has shown it

/** meet remembers whose the owner ids are that events name. */
export function meet(locks) {
  for (const lock of locks) {
    for (const one of lock.holder ? [lock.holder, ...lock.queue] : lock.queue) people.set(one.owner, who(one));
  }
  while (people.size > keptLocks) people.delete(people.keys().next().value);
}

/** whoDid is what is known of the owner that an event is about: an answer may know more than the event, which is older. */
export const whoDid = (event) => people.get(event.owner) ?? (event.holder ? who(event.holder) : event.owner ?? "");

/** tell adds an event of the gateway. Renewals are left out: they say nothing new. */
export function tell(event) {
  if (event.lock && event.type !== "renewed") add(told, event.lock, event);
}

/** changes is what differs between two states of one lock; was or is may be missing. */
export function changes(was, is) {
  const out = [];
  const [before, now] = [was?.holder, is?.holder];
  if (now && (!before || was.fence !== is.fence)) {
    out.push({ type: "acquired", fence: is.fence, owner: now.owner, said: `is held by ${who(now)}` });
  } else if (before && !now) {
    out.push({ type: "free", fence: was.fence, owner: before.owner, said: "is free" });
  }
  const more = (is?.waiters ?? 0) - (was?.waiters ?? 0);
  if (more > 0) {
    out.push({ type: "queued", owner: is.queue.at(-1)?.owner ?? "on another machine", said: `has ${is.waiters} waiting` });
  }
  return out;
}

/** look keeps what has changed, as this page saw it. */
export function look(name, changed) {
  for (const change of changed) add(seen, name, { ...change, time: Date.now() });
}

/** of is the history of a lock, newest first: what the gateway told, or what was seen. */
export const of = (name, followed) => (followed ? told : seen).get(name) ?? [];
