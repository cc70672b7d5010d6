// Why was my job late? A timeline of who waited for a lock and who held it, and a list
// of the locks that were waited for most: what the gateway remembers of its callers.

import { byId, cell, el, rows, setChildren, setText } from "./dom.js";
import { isStep, lockHistory, mostContended } from "./gateway.js";
import { clock, duration, moment, noteBeside, number, plural, who } from "./text.js";

const askEvery = 10_000; // ms; the gateway reads files for it
const mostBars = 40;

let told = null; // of the lock, or why there is nothing
let contended = null;
let askedAt = -Infinity;
let askedFor = "";
let toldOf = ""; // the lock

const range = () => byId("late-range").value;

/** lookBack asks for the history of a lock, or with "" for the list, unless it has just asked. */
export async function lookBack(name) {
  const asked = JSON.stringify([name, range(), byId("contended-range").value]);
  if (asked === askedFor && performance.now() - askedAt < askEvery) return;
  if (asked !== askedFor) told = null;
  askedAt = performance.now();
  askedFor = asked;
  toldOf = name;
  if (isStep(name)) return;
  try {
    const answer = name ? await lockHistory(name, range(), mostBars) : await mostContended(byId("contended-range").value);
    if (asked !== askedFor) return; // the page shows another lock or range by now
    if (name) told = answer;
    else contended = answer;
  } catch (err) {
    if (name) told = { trouble: err.message };
    else contended = { trouble: err.message };
  }
}

/** useRanges has look called when another range is chosen. */
export function useRanges(look) {
  for (const id of ["late-range", "contended-range"]) byId(id).addEventListener("change", look);
}

/** took is a duration in as much detail as a reader needs. */
export function took(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return duration(ms);
}

const time = (text) => (text ? Date.parse(text) : NaN);

/** cutOff: the gateway ended before the attempt did, so that nobody knows for how long it went on. */
const cutOff = (a) => a.outcome === "unknown";

/**
 * endOf is when an attempt ended; if it goes on, when it was told of, by the gateway's clock; and the last that is
 * known if it was cut off.
 */
const endOf = (a) => {
  if (a.ended) return time(a.ended);
  const last = time(a.granted ?? a.asked);
  return cutOff(a) ? last : last + (a.granted ? a.held_ms : a.waited_ms);
};

const outcome = (a) => a.outcome.replace("_", " ") + (a.reason ? ` (${a.reason})` : "");

/** showLate draws the timeline of a lock. */
export function showLate(name) {
  if (name !== toldOf) told = null;
  const box = byId("late-bars");
  const items = told?.items ?? [];
  setText(byId("late-note"), note());
  setChildren(box, JSON.stringify([askedFor, told]), () => {
    if (items.length === 0) return [];
    const [from, until] = bounds(items);
    const all = [...items].reverse().map((a) => bar(a, from, until));
    const far = told.elsewhere.filter((s) => !(time(s.until) < from)).map((s) => elsewhere(s, from, until));
    return [axis(from, until), ...far, ...all];
  });
}

function note() {
  if (!told) return "";
  if (told.trouble) return told.trouble;
  const t = told.totals;
  if (t.attempts === 0) return "Nobody has asked for this lock here in that time.";
  const parts = [`${plural(t.attempts, "attempt")} on ${told.node}`, `waited ${spread(t.waited)}`, `held ${spread(t.held)}`];
  if (t.refused) parts.push(`${number(t.refused)} refused or given up`);
  if (t.lost) parts.push(`${number(t.lost)} lost or broken`);
  if (told.counted) parts.push(`${number(told.counted)} only counted`);
  if (told.next) parts.push(`the newest ${mostBars} are drawn`);
  return `${parts.join("; ")}.`;
}

const spread = (q) => (q.worst_ms === 0 ? "not at all" : `${took(q.p50_ms)} (p50), ${took(q.p99_ms)} (p99), ${took(q.worst_ms)} at worst`);

function bounds(items) {
  const begins = items.map((a) => time(a.asked ?? a.granted ?? a.ended)).filter((t) => !Number.isNaN(t));
  const ends = items.map(endOf);
  const from = Math.min(...begins);
  return [from, Math.max(...ends, from + 1000)];
}

function axis(from, until) {
  const label = until - from > 20 * 3600_000 ? moment : clock;
  const line = el("li", { className: "late-axis", "aria-hidden": "true" });
  line.append(el("span", {}), el("span", { className: "late-ends" }, el("span", {}, label(from)), el("span", {}, label(until))));
  return line;
}

/** piece is a part of a bar between two times. */
function piece(kind, begin, end, from, until) {
  const node = el("span", { className: `late-${kind}` });
  const share = (t) => (100 * (Math.min(Math.max(t, from), until) - from)) / (until - from);
  node.style.left = `${share(begin)}%`;
  node.style.width = `${Math.max(share(end) - share(begin), 0)}%`;
  return node;
}

function bar(a, from, until) {
  const end = endOf(a);
  const granted = time(a.granted);
  const asked = a.asked ? time(a.asked) : granted;
  const track = el("span", { className: "late-track", "aria-hidden": "true" });
  const waitedUntil = Number.isNaN(granted) ? end : granted;
  if (waitedUntil > asked || Number.isNaN(granted)) track.append(piece(Number.isNaN(granted) ? "vain" : "waited", asked, waitedUntil, from, until));
  if (!Number.isNaN(granted)) track.append(piece(["lost", "broken"].includes(a.outcome) ? "lost" : "held", granted, end, from, until));
  const facts = [...(noteBeside(a) ? [noteBeside(a)] : []), `asked ${moment(asked)}`];
  if (a.granted || !cutOff(a)) facts.push(a.waited_ms > 0 ? `waited ${took(a.waited_ms)}` : "did not wait");
  if (a.granted && !cutOff(a)) facts.push(`held ${took(a.held_ms)}`);
  facts.push(outcome(a));
  const behind = a.behind.map(who).join(", ");
  if (behind && a.waited_ms > 0) facts.push(`behind ${behind}${a.behind_more ? ` and ${a.behind_more} more` : ""}`);
  return el("li", {}, el("span", { className: "late-who" }, who(a), el("span", { className: "sub" }, facts.join(", "))), track);
}

function elsewhere(s, from, until) {
  const track = el("span", { className: "late-track", "aria-hidden": "true" });
  const begin = time(s.from);
  track.append(piece("far", begin, s.until ? time(s.until) : begin, from, until));
  const facts = `held it on another machine from ${moment(begin)}${s.until ? ` to ${moment(time(s.until))}` : ", as far as was told"}`;
  return el("li", {}, el("span", { className: "late-who" }, who(s), el("span", { className: "sub" }, facts)), track);
}

/** showContended draws the list of the locks that were waited for most. */
export function showContended() {
  const items = contended?.items ?? [];
  byId("contended-table").hidden = items.length === 0;
  const empty = contended?.trouble ?? (contended && items.length === 0 ? "Nobody has asked for a lock here in that time." : "");
  byId("contended-empty").hidden = empty === "";
  setText(byId("contended-empty"), empty);
  setText(byId("contended-count"), items.length > 0 ? `waiting and holding times of the callers on ${contended.node}` : "");
  rows(byId("contended-table").tBodies[0], items, (item) => item.name, makeRow, fillRow);
}

function makeRow(item) {
  const link = el("a", { href: `#/locks/${encodeURIComponent(item.name)}` }, item.name);
  const row = el("tr", {}, cell("Lock", "wide title", link));
  for (const label of ["Attempts", "Waited p50", "Waited p99", "Waited worst", "Held p50", "Held p99", "Held worst", "Refused", "Lost"]) {
    row.append(cell(label, "number"));
  }
  return row;
}

function fillRow(row, item) {
  const values = [
    number(item.attempts), ...[item.waited, item.held].flatMap((q) => [took(q.p50_ms), took(q.p99_ms), took(q.worst_ms)]),
    number(item.refused), number(item.lost),
  ];
  values.forEach((value, i) => setText(row.cells[i + 1], value));
}
