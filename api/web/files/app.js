// Asks the gateway, keeps what it said, and draws the view that the address names.

import { confirm, useAdminDialog, useConfirmDialog } from "./dialogs.js";
import { byId, setText } from "./dom.js";
import * as gateway from "./gateway.js";
import { showHealth } from "./health.js";
import * as history from "./history.js";
import { lookBack, showContended, showLate, useRanges } from "./late.js";
import { forget } from "./lease.js";
import { breakEffect, breakFacts, showLock } from "./lock.js";
import { answers, firstPage, query, showLocks, useList } from "./locks.js";
import { showPlace } from "./place.js";
import { endFacts, showSessions } from "./sessions.js";
import { clock, plural, who } from "./text.js";

const lookEvery = 2000; // ms
const mostLocks = 1000; // from whose holders and waiters the list of sessions is made
const mostSessions = 500;

const view = {
  locks: [], counts: { locks: 0, held: 0, waiting: 0, at_least: false }, next: "", query: {}, known: false, incomplete: "", age: 0, at: 0,
  lock: null, lockAt: 0, wrongName: "",
  part: [], partOf: null, partLacks: false, partAt: 0, // the locks from which the list of sessions is made, their counts, and whether some are missing
  sessions: null, moreSessions: false, sessionsAt: 0, sessionsTold: 0, // null: the gateway was not asked, or refused
  ready: null, version: null,
  followed: false, trouble: "", pause: lookEvery,
};

// The address.

const pages = { locks: "Locks", lock: "", contended: "Contention", sessions: "Sessions", health: "Health", nowhere: "No such page" };

function route() {
  if (["", "#", "#/", "#main"].includes(location.hash)) return { page: "locks" };
  const [, kind, slash, name] = location.hash.match(/^#\/(locks|contended|sessions|health)(\/(.*))?$/) ?? [];
  try {
    if (kind && !slash) return { page: kind };
    if (kind === "locks" && name) return { page: "lock", name: decodeURIComponent(name) };
  } catch {
    // a percent sign without two digits
  }
  return { page: "nowhere", name: location.hash };
}

let here = {};

function go() {
  const first = here.page === undefined;
  if (!first && location.hash && !location.hash.startsWith("#/")) return; // the skip link
  here = route();
  for (const page of Object.keys(pages)) byId(page).hidden = page !== here.page;
  for (const link of document.querySelectorAll("nav a")) {
    const current = link.hash === `#/${here.page === "lock" ? "locks" : here.page}`;
    current ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
  }
  view.lock = gateway.isStep(here.name) ? null : view.locks.find((lock) => lock.name === here.name) ?? null;
  view.lockAt = view.at;
  view.wrongName = "";
  setText(byId("nowhere-text"), here.name === "#/locks/" ? "The address names no lock: it ends after #/locks/."
    : `This page has nothing at ${here.name ?? ""}. It has the locks, the sessions and the health of the gateway.`);
  showTitle();
  draw();
  if (!first) byId(`${here.page}-title`).focus();
  look();
}

function showTitle() {
  document.title = [pages[here.page] || here.name, view.version?.node, "lockgw"].filter(Boolean).join(" - ");
}

// Drawing: after each answer, and each second for the times that go on.

function draw() {
  const now = performance.now();
  view.age = now - view.at;
  if (here.page === "locks") showLocks(view);
  if (here.page === "lock") showLock(here.name, view.lock, now - view.lockAt, view.followed, view.wrongName);
  if (here.page === "lock") showLate(here.name);
  if (here.page === "contended") showContended();
  if (here.page === "sessions") showSessions(view, askToEnd);
  if (here.page === "health") showHealth(view.ready, view.version);
  showPlace(view.version);
}

// Asking. The page waits four times as long as the last answer took before it asks again,
// so that a page that is left open costs a slow store little.

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
  await Promise.all([lookAtPage(), lookAtSessions(), lookAtHealth()]);
  looking = false;
  view.pause = Math.max(lookEvery, 4 * (performance.now() - begun));
  if (view.trouble === "") answered();
  warn();
  draw();
  if (!document.hidden) timer = setTimeout(look, again ? 50 : view.pause);
  again = false;
}

let soon = 0;
const lookSoon = () => {
  clearTimeout(soon);
  soon = setTimeout(look, 150); // many events come at once
};

/** lookAtPage asks for what is shown, and for nothing else. */
async function lookAtPage() {
  try {
    if (here.page === "lock") await Promise.all([lookAtLock(here.name), lookBack(here.name)]);
    else if (here.page === "contended") await Promise.all([lookBack(""), gateway.version()]); // whether it answers
    else if (here.page === "sessions") await lookAtPart();
    else if (here.page === "locks") await lookAtLocks(query());
    else await gateway.version(); // whether it answers
    view.trouble = "";
  } catch (err) {
    unanswered(err);
  }
}

async function lookAtLock(name) {
  if (gateway.isStep(name)) return gateway.version(); // whether it answers
  try {
    const lock = await gateway.lock(name);
    history.meet([lock]);
    if (name !== here.name) return;
    if (view.lock?.name === name) tell(name, history.changes(view.lock, lock));
    Object.assign(view, { lock, lockAt: performance.now(), wrongName: "" });
  } catch (err) {
    if (err.status !== 400) throw err;
    if (name === here.name) view.wrongName = err.message; // no lock can have that name
  }
}

async function lookAtLocks(asked) {
  const list = await gateway.locks(asked);
  if (list.items.length === 0 && asked.cursor !== "") { // the last page is gone
    firstPage();
    again = true;
    return;
  }
  history.meet(list.items);
  const whole = asked.cursor === "" && list.next === "";
  if (view.known && answers(view, asked)) compare(view.locks, list.items, whole && view.next === "");
  Object.assign(view, {
    locks: list.items, counts: list.counts, next: list.next, query: asked, incomplete: list.incomplete ?? "",
    known: true, at: performance.now(),
  });
}

/** lookAtPart asks for the locks of the sessions: they say more about the clients, and without the admin token they are all there is. */
async function lookAtPart() {
  const list = await gateway.locks({ limit: mostLocks });
  Object.assign(view, { part: list.items, partOf: list.counts, partLacks: Boolean(list.incomplete), partAt: performance.now() });
}

/** lookAtSessions asks only where they are shown: there may be very many. */
async function lookAtSessions() {
  if (!gateway.isAdmin()) view.sessions = null;
  if (!gateway.isAdmin() || here.page !== "sessions") return;
  try {
    const page = await gateway.sessions(mostSessions);
    Object.assign(view, { sessions: page.items, moreSessions: page.next !== "", sessionsAt: performance.now(), sessionsTold: page.told });
  } catch (err) {
    if (err.status === 403) view.sessions = null; // for other errors the old list stays, and the banner says of when it is
  }
}

async function lookAtHealth() {
  try {
    [view.ready, view.version] = await Promise.all([gateway.health(), gateway.version()]);
    showTitle();
  } catch {
    view.ready = null;
  }
}

/** compare announces and keeps what has changed; whole: both lists are complete, so that a missing lock is free. */
function compare(before, now, whole) {
  const was = new Map(before.map((lock) => [lock.name, lock]));
  const is = new Map(now.map((lock) => [lock.name, lock]));
  const said = [];
  for (const name of new Set([...was.keys(), ...is.keys()])) {
    if (!whole && !(was.has(name) && is.has(name))) continue;
    const changed = history.changes(was.get(name), is.get(name));
    history.look(name, changed);
    said.push(...changed.map((change) => `${name} ${change.said}`));
    if (!is.has(name)) forget(name);
  }
  if (said.length > 0) say(said.length > 3 ? `${plural(said.length, "change")} in the list of locks` : said.join(". "));
}

/** tell announces and keeps what has changed of one lock. */
function tell(name, changed) {
  history.look(name, changed);
  if (changed.length > 0) say(changed.map((change) => `${name} ${change.said}`).join(". "));
}

const say = (text) => setText(byId("announce"), text);

// What is shown at the top of the page.

function answered() {
  byId("live-mark").dataset.state = "good";
  setText(byId("live"), view.followed ? "Live, by events" : `Live, every ${Math.ceil(view.pause / 1000)} s`);
}

/** shownAt is when the gateway told what this page shows, 0: not yet. */
function shownAt() {
  if (here.page === "locks" && view.known) return view.at;
  if (here.page === "lock" && view.lock) return view.lockAt;
  if (here.page === "sessions" && view.sessions) return view.sessionsAt;
  return here.page === "sessions" && view.partOf ? view.partAt : 0;
}

function unanswered(err) {
  const at = shownAt();
  const since = at ? ` What is shown is of ${clock(Date.now() - (performance.now() - at))}.` : "";
  view.trouble = `${err.message}${since}`;
  byId("live-mark").dataset.state = "bad";
  setText(byId("live"), "Not live");
}

/** warn shows what is wrong, even if the locks can still be read. */
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
  if (event.type !== "renewed" && !document.hidden) lookSoon();
}

function setFollowed(on) {
  view.followed = on;
  setText(byId("admin"), gateway.isAdmin() ? "Administrator: on" : "Administrator");
  if (view.trouble === "") answered();
  draw();
}

function unfollow() {
  following?.abort();
  gateway.forgetToken();
  setFollowed(false);
  look();
}

// What an administrator does to others.

/** askToBreak asks the gateway once more first: who is next may have changed since the last look. */
async function askToBreak(name) {
  const lock = await gateway.lock(name).catch(() => view.lock);
  if (here.name !== name || !lock?.holder) return look();
  confirm({
    title: "Break this lock?", verb: "Break the lock", about: breakFacts(lock), hasToken: view.version?.admin_token,
    warning: `${breakEffect(lock)} The holder is told that it has lost it, but a program that does not`
      + " listen works on: be sure that it is dead, or that what it works on compares fences.",
    act: (token) => gateway.breakLock(lock, token),
    done: () => done(`${lock.name} is taken from ${who(lock.holder)}`),
  });
}

function askToEnd(session) {
  confirm({
    title: "End this session?", verb: "End the session", about: endFacts(session), hasToken: view.version?.admin_token,
    warning: "What it waits for ends, and what it holds goes to those who are next. Its client is told, but a program that"
      + " does not listen works on: be sure that it is dead, or that what it works on compares fences.",
    act: (token) => gateway.endSession(session.id, token),
    done: () => {
      byId("sessions-title").focus(); // the button disappears with its row
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

useAdminDialog(follow, unfollow, () => view.version?.admin_token);
useConfirmDialog();
useRanges(look);
useList(() => (answers(view, query()) ? view.next : ""), (delay) => (delay ? lookSoon() : look()));
byId("lock-break").addEventListener("click", () => view.lock?.holder && askToBreak(view.lock.name));
addEventListener("hashchange", go);
document.addEventListener("visibilitychange", () => document.hidden || look());
setInterval(draw, 1000);
go();
