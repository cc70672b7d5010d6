// One lock: its holder, its queue, what happened to it, and how to use it.

import { byId, cell, el, facts, mark, rows, setChildren, setText } from "./dom.js";
import { isStep, pathOf } from "./gateway.js";
import * as history from "./history.js";
import { leaseBar, showLease } from "./lease.js";
import { clock, command, duration, moment, noteBeside, number, plural, quoted, state, who } from "./text.js";

let shown = { name: null, bar: null, held: null };

/** showLock draws a lock; before the first answer lock is null. wrong: why no lock can have that name. */
export function showLock(name, lock, age, followed, wrong) {
  if (shown.name !== name) start(name);
  byId("lock-break").disabled = lock?.state !== "held" || !lock.fence;
  if (lock) {
    setChildren(byId("lock-state"), state(lock), () => [mark(lock.state), state(lock)]);
    showHolder(lock, age);
    showHolders(lock, age);
    showQueue(lock, age);
  }
  setText(byId("lock-trouble"), trouble(name, lock, wrong));
  showHistory(name, followed);
}

function trouble(name, lock, wrong) {
  if (isStep(name)) return `A browser cannot ask for a lock with this name: it takes it for a step in the address. The list of locks has its holder, lockgw status ${name} all of it.`;
  return wrong ? `No lock can have this name: ${wrong}` : lock?.trouble ?? unknown(lock);
}

/** unknown is the text for a name that nobody ever held, as far as the store remembers. */
const unknown = (lock) => (lock && lock.state === "free" && !lock.fence && lock.waiters === 0
  ? "Nobody holds this lock, and the store remembers no earlier holder: look whether the name is right." : "");

function start(name) {
  shown = { name, bar: leaseBar(), held: el("span") };
  setText(byId("lock-title"), name);
  for (const id of ["lock-state", "lock-facts", "lock-holders", "lock-holders-note", "lock-trouble", "lock-queue", "lock-queue-note"]) {
    byId(id).replaceChildren();
    delete byId(id).dataset.key;
  }
  byId("lock-curl").replaceChildren(...commands(name).map(commandLine));
}

function showHolder(lock, age) {
  const h = lock.holder;
  const key = h ? JSON.stringify([h.owner, h.pid, h.note, h.since, lock.fence]) : `free ${lock.fence}`;
  setChildren(byId("lock-facts"), key, () => {
    const list = el("dl");
    facts(list, h ? holderFacts(h, lock) : [["Holder", "nobody"], ["Newest fence", lock.fence ? String(lock.fence) : "none"]]);
    return [...list.children];
  });
  if (h?.since) setText(shown.held, `${duration(h.held_ms + age)}, since ${moment(h.since)}`);
  showLease(shown.bar, lock, age);
}

/** showHolders lists those who hold the lock together, in place of the newest of them. */
function showHolders(lock, age) {
  const all = lock.holders_list ?? [];
  const several = all.length > 1;
  setText(byId("holder-title"), several ? "Holders" : "Holder");
  byId("lock-facts").hidden = several;
  byId("lock-holders").hidden = !several;
  setChildren(byId("lock-holders"), JSON.stringify(all.map((h) => [h.owner, h.fence])), () =>
    all.map((h) => el("li", {}, who(h), ...(noteBeside(h) ? [` ${noteBeside(h)}`] : []), el("span", { className: "sub" }))));
  [...byId("lock-holders").children].forEach((item, i) => {
    const since = all[i].since ? `for ${duration(all[i].held_ms + age)}, ` : "";
    setText(item.lastElementChild, `${since}fence ${all[i].fence}, ${duration(all[i].ttl_ms - age)} of the lease left`);
  });
  const more = several ? lock.holders - all.length : 0;
  setText(byId("lock-holders-note"), more > 0 ? `${plural(more, "more holder is", "more holders are")} not listed.` : "");
}

function holderFacts(h, lock) {
  return [
    ["Holder", h.owner ? "" : who(h)],
    ["Machine", h.node ?? ""],
    ["Process", [h.pid ? `pid ${h.pid}` : "", command(h) ? `(${command(h)})` : ""].join(" ").trim()],
    ["User", h.uid === undefined ? "" : `uid ${h.uid}`],
    ["Note", noteBeside(h)],
    ["Held for", h.since ? shown.held : ""],
    ["Lease", shown.bar],
    ["Fence", lock.fence ? String(lock.fence) : h.owner && "none: this store cannot order grants"],
    ["Owner", h.owner && el("span", { className: "code" }, h.owner)],
  ];
}

function showQueue(lock, age) {
  setChildren(byId("lock-queue"), JSON.stringify(lock.queue.map((w) => w.owner + w.since)), () =>
    lock.queue.map((w) => el("li", {}, who(w), ...(noteBeside(w) ? [` ${noteBeside(w)}`] : []), el("span", { className: "sub" }))));
  [...byId("lock-queue").children].forEach((item, i) =>
    setText(item.lastElementChild, `waiting for ${duration(lock.queue[i].held_ms + age)}`));
  byId("lock-queue").start = (lock.ahead || 0) + 1;
  const elsewhere = Math.max(0, lock.waiters - lock.queue.length);
  const note = lock.waiters === 0 ? "Nobody waits." : elsewhere > 0
    ? `${plural(elsewhere, "more caller waits", "more callers wait")} on other machines.` : "";
  setText(byId("lock-queue-note"), [note, ...(lock.silent ?? []).map(silence)].join(" ").trim());
}

/** silence says of which machine the page shows what was, and since when. */
const silence = (n) => `${n.node ?? "A machine that waits"} does not answer: what is shown of it is as of ${n.as_of ? moment(n.as_of) : "its last write"}.`;

function showHistory(name, followed) {
  const events = history.of(name, followed);
  const source = followed
    ? "What this gateway still knows of and what it tells now, newest first. Renewals are left out."
    : "What this page has seen since it was opened, newest first. With the admin token: every event of this gateway.";
  setText(byId("history-note"), events.length > 0 ? source : `${source} Nothing so far.`);
  byId("history-table").tHead.hidden = events.length === 0;
  rows(byId("history-table").tBodies[0], events, (e) => e.id ?? `${e.time} ${e.type}`, makeEvent, () => {});
}

function makeEvent(e) {
  return el("tr", {},
    cell("Time", "", el("time", { dateTime: new Date(e.time).toISOString(), title: moment(e.time) }, clock(e.time))),
    cell("What", "", mark(e.type), e.type.replaceAll("_", " ")),
    cell("Who and why", "wide", history.whoDid(e) || "-", ...(e.reason ? [el("span", { className: "sub" }, e.reason)] : [])),
    cell("Fence", "number", e.fence ? String(e.fence) : "-"),
  );
}

function commands(name) {
  const asIs = isStep(name) ? "--path-as-is " : ""; // curl would take the step, too
  const url = (query) => quoted(`${location.origin}${pathOf(name)}${query}`);
  return [
    ["Acquire it in a script, and keep the token; without the lock the script ends",
      `T=$(curl ${asIs}-fsS -X PUT -H 'Accept: text/plain' ${url("?wait=30s&max_hold=2h")}) || exit 75`],
    ["Release it", `curl ${asIs}-fsS -X DELETE --oauth2-bearer "$T" ${url("")}`],
    ["Hold it until Ctrl-C", `curl ${asIs}-N -X POST ${url("/hold")}`],
  ];
}

function commandLine([what, text]) {
  const code = el("code", {}, text);
  const button = el("button", { type: "button", className: "small" }, "Copy");
  button.setAttribute("aria-label", `Copy: ${what}`);
  button.addEventListener("click", () => copy(text, code, button));
  return el("div", { className: "curl" }, el("p", {}, what), button, el("pre", {}, code));
}

/** copy selects the text where the browser offers no clipboard, as over plain HTTP from another machine. */
async function copy(text, code, button) {
  try {
    await navigator.clipboard.writeText(text);
    setText(button, "Copied");
  } catch {
    getSelection().selectAllChildren(code);
    setText(button, "Selected");
  }
  setTimeout(() => setText(button, "Copy"), 2000);
}

/** breakEffect is what becomes of the lock. The hold that is broken is the one with the fence that is shown. */
export const breakEffect = (lock) => (lock.holders > 1
  ? `The newest of its ${number(lock.holders)} holders loses the lock; the others keep it.` : "The next in the queue gets the lock.");

/** breakFacts is what the dialog asks about. */
export const breakFacts = (lock) => [
  ["Lock", lock.name], ["Holder", who(lock.holder)], ["Note", noteBeside(lock.holder)],
  ["Held for", lock.holder.since ? duration(lock.holder.held_ms) : ""], ["Fence", String(lock.fence)],
  ["Next", next(lock)],
];

const next = (lock) => {
  if (lock.next) return who(lock.next);
  if (lock.next_elsewhere) return "a caller on another machine";
  return lock.waiters > 0 ? "not known" : "nobody waits";
};
