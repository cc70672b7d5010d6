// Asks the gateway, keeps what it said, and draws the view that the address names.

import { confirm, useAdminDialog, useConfirmDialog } from "./dialogs.js";
import { byId, setText } from "./dom.js";
import * as gateway from "./gateway.js";
import { showHealth } from "./health.js";
import * as history from "./history.js";
import { forget } from "./lease.js";
import { breakFacts, showLock } from "./lock.js";
import { showLocks } from "./locks.js";
import { endFacts, showSessions } from "./sessions.js";
import { clock, plural, who } from "./text.js";

const lookEvery = 2000; // ms
const mostLocks = 500;
const mostSessions = 500;

const view = {
  locks: [], known: false, more: false, incomplete: "", prefix: "", age: 0, at: 0,
  lock: null, lockAt: 0,
  sessions: null, moreSessions: false, sessionsAt: 0, // null: the gateway was not asked, or did not tell
  ready: null, version: null,
  followed: false, trouble: "",
};

// The address.

function route() {
  const [, kind, name] = location.hash.match(/^#\/(locks|sessions|health)(?:\/(.+))?$/) ?? [null, "locks"];
  try {
    return kind === "locks" && name ? { page: "lock", name: decodeURIComponent(name) } : { page: kind };
  } catch {
    return { page: "locks" }; // half a percent sign
  }
}

let here = {};

function go() {
  if (location.hash && !location.hash.startsWith("#/")) return; // the skip link
  const first = here.page === undefined;
  here = route();
  for (const page of ["locks", "lock", "sessions", "health"]) byId(page).hidden = page !== here.page;
  for (const link of document.querySelectorAll("nav a")) {
    const current = link.hash === `#/${here.page === "lock" ? "locks" : here.page}`;
    current ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  view.lock = view.locks.find((lock) => lock.name === here.name) ?? null;
  view.lockAt = view.at;
  document.title = `${{ locks: "Locks", lock: here.name, sessions: "Sessions", health: "Health" }[here.page]} - lockgw`;
  draw();
  if (!first) byId(`${here.page}-title`).focus();
  look();
}

// Drawing: after each answer, and each second for what counts by itself.

function draw() {
  const now = performance.now();
  view.age = now - view.at;
  if (here.page === "locks") showLocks(view);
  if (here.page === "lock") showLock(here.name, view.lock, now - view.lockAt, view.followed);
  if (here.page === "sessions") showSessions(view, askToEnd);
  if (here.page === "health") showHealth(view.ready, view.version);
}

// Looking. The next look waits for ten times as long as the last one took, so
// that a page that is left open costs a slow store little.

let timer = 0;
let looking = false;
let again = false;

async function look() {
  if (looking) {
    again = true;
    return;
  }
  clearTimeout(timer);
  looking = true;
  const begun = performance.now();
  await Promise.all([lookAtLocks(), lookAtSessions(), lookAtHealth()]);
  looking = false;
  warn();
  draw();
  const pause = again ? 50 : Math.max(lookEvery, 10 * (performance.now() - begun));
  again = false;
  if (!document.hidden) timer = setTimeout(look, pause);
}

let soon = 0;
const lookSoon = () => {
  clearTimeout(soon);
  soon = setTimeout(look, 150); // many events come at once
};

async function lookAtLocks() {
  const { page, name } = here;
  const prefix = byId("prefix").value.trim();
  try {
    const [list, one] = await Promise.all([
      gateway.locks(prefix, mostLocks), page === "lock" ? gateway.lock(name) : null]);
    const locks = list.items.sort((a, b) => (a.name < b.name ? -1 : 1));
    history.meet(one ? [...locks, one] : locks);
    if (view.known && prefix === view.prefix) compare(view.locks, locks);
    Object.assign(view, { locks, more: list.next !== "", incomplete: list.incomplete ?? "", known: true, prefix, at: performance.now() });
    if (one && name === here.name) Object.assign(view, { lock: one, lockAt: performance.now() });
    answered();
  } catch (err) {
    unanswered(err);
  }
}

/** lookAtSessions asks only where they are shown: there may be very many. */
async function lookAtSessions() {
  if (!gateway.isAdmin()) view.sessions = null;
  if (!gateway.isAdmin() || here.page !== "sessions") return;
  try {
    const page = await gateway.sessions(mostSessions);
    Object.assign(view, { sessions: page.items, moreSessions: page.next !== "", sessionsAt: performance.now() });
  } catch (err) {
    if (err.status === 403) view.sessions = null; // otherwise the banner tells of when it is what is shown
  }
}

async function lookAtHealth() {
  try {
    view.ready = await gateway.health();
    view.version ??= await gateway.version();
  } catch {
    view.ready = null;
  }
}

/** compare says and keeps what is new. */
function compare(before, now) {
  const was = new Map(before.map((lock) => [lock.name, lock]));
  const is = new Map(now.map((lock) => [lock.name, lock]));
  const said = [];
  for (const name of new Set([...was.keys(), ...is.keys()])) {
    const changed = history.changes(was.get(name), is.get(name));
    history.look(name, changed);
    said.push(...changed.map((change) => `${name} ${change.said}`));
    if (!is.has(name)) forget(name);
  }
  if (said.length > 0) say(said.length > 3 ? `${plural(said.length, "change")} in the list of locks` : said.join(". "));
}

const say = (text) => setText(byId("announce"), text);

// What is told at the top of the page.

function answered() {
  view.trouble = "";
  byId("live-mark").dataset.state = "good";
  setText(byId("live"), view.followed ? "Live, by events" : "Live, every 2 s");
}

function unanswered(err) {
  const since = view.known ? ` What is shown is of ${clock(Date.now() - (performance.now() - view.at))}.` : "";
  view.trouble = `${err.message}${since}`;
  byId("live-mark").dataset.state = "bad";
  setText(byId("live"), "Not live");
}

/** warn says what is wrong, also if the locks can be read all the same. */
function warn() {
  const unready = view.ready && view.ready.status !== "ready" ? view.ready.detail : "";
  setText(byId("banner"), view.trouble || unready);
  byId("banner").hidden = !(view.trouble || unready);
}

// Following, with the admin token.

let following = null;
let lastEvent = "";

/** follow settles when the gateway has accepted the token; the stream then goes on. */
function follow(token) {
  following?.abort();
  following = new AbortController();
  const { signal } = following;
  return new Promise((accepted, refused) => {
    gateway.events(token, lastEvent, signal, () => {
      setFollowed(true);
      accepted();
    }, heard).catch((err) => {
      if (token === "" && err.status === 403) gateway.forgetToken(); // it was changed meanwhile
      refused(err);
    }).finally(() => {
      if (signal.aborted) return;
      setFollowed(false);
      if (gateway.isAdmin()) setTimeout(() => signal.aborted || follow("").catch(() => {}), lookEvery);
    });
  });
}

function heard(event) {
  lastEvent = event.id ?? lastEvent;
  history.tell(event);
  if (event.type !== "renewed") lookSoon();
}

function setFollowed(on) {
  view.followed = on;
  setText(byId("admin"), gateway.isAdmin() ? "Administrator: on" : "Administrator");
  draw();
}

function unfollow() {
  following?.abort();
  gateway.forgetToken();
  setFollowed(false);
  answered();
  look();
}

// What is done to others.

function askToBreak(lock) {
  confirm({
    title: "Break this lock?", verb: "Break the lock", about: breakFacts(lock),
    warning: "The next in the queue gets the lock. The holder is told that it has lost it, but a program that does not"
      + " listen works on: be sure that it is dead, or that what it works on compares fences.",
    act: (token) => gateway.breakLock(lock.name, lock.fence, token),
    done: () => done(`${lock.name} is taken from ${who(lock.holder)}`),
  });
}

function askToEnd(session) {
  confirm({
    title: "End this session?", verb: "End the session", about: endFacts(session),
    warning: "What it waits for ends, and what it holds goes to those who are next. Its client is told, but a program that"
      + " does not listen works on: be sure that it is dead, or that what it works on compares fences.",
    act: (token) => gateway.endSession(session.id, token),
    done: () => {
      byId("sessions-title").focus(); // the button goes with its row
      done(`The session ${session.id} has ended`);
    },
  });
}

function done(what) {
  say(what);
  if (!view.followed) follow("").catch(() => {});
  look();
}

// The parts of the page.

useAdminDialog(follow, unfollow);
useConfirmDialog();
byId("lock-break").addEventListener("click", () => view.lock?.holder && askToBreak(view.lock));
byId("filter").addEventListener("submit", (event) => event.preventDefault());
byId("prefix").addEventListener("input", lookSoon);
byId("state").addEventListener("change", draw);
addEventListener("hashchange", go);
document.addEventListener("visibilitychange", () => document.hidden || look());
setInterval(draw, 1000);
go();
