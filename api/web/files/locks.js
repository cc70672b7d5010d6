// The list of all locks.

import { byId, cell, el, mark, rows, setChildren, setText } from "./dom.js";
import { leaseBar, showLease } from "./lease.js";
import { atLeast, duration, fewer, noteBeside, number, plural, stateInList, who } from "./text.js";

const nobody = "-";

export const perPage = 100;

export const linkTo = (name) => `#/locks/${encodeURIComponent(name)}`;

// What is asked for. cursors has one for each page before the present one.
const asked = { sort: "name", order: "asc", cursors: [] };

/** ascends: without an order texts do, and numbers do not. */
const ascends = (sort) => sort === "name" || sort === "holder" || sort === "lease";

/** query is what to ask the gateway for. */
export const query = () => ({
  contains: byId("find").value.trim(), state: byId("state").value, sort: asked.sort, order: asked.order,
  cursor: asked.cursors.at(-1) ?? "", limit: perPage,
});

/** answers: the list that is shown is the answer to such a query. */
export const answers = (view, asked) => JSON.stringify(asked) === JSON.stringify(view.query);

/** useList calls again when something else is to be asked for; next is the cursor after the present page, "" before that is there. */
export function useList(next, again) {
  const begin = (delay) => {
    asked.cursors = [];
    again(delay);
  };
  byId("filter").addEventListener("submit", (event) => event.preventDefault());
  byId("find").addEventListener("input", () => begin(true));
  byId("state").addEventListener("change", () => begin(false));
  byId("sort").addEventListener("change", () => {
    [asked.sort, asked.order] = byId("sort").value.split(" ");
    begin(false);
  });
  for (const button of document.querySelectorAll("button.sort")) {
    button.addEventListener("click", () => {
      const { sort } = button.dataset;
      const up = asked.sort === sort ? asked.order === "desc" : ascends(sort);
      Object.assign(asked, { sort, order: up ? "asc" : "desc" });
      begin(false);
    });
  }
  byId("page-back").addEventListener("click", () => {
    asked.cursors.pop();
    again(false);
  });
  byId("page-on").addEventListener("click", () => {
    if (next()) asked.cursors.push(next());
    again(false);
  });
}

/** firstPage goes back there, as when the present page is gone. */
export function firstPage() {
  asked.cursors = [];
}

function make(lock) {
  return el("tr", {},
    cell("Lock", "wide title", el("a", { href: linkTo(lock.name), title: lock.name }, lock.name)),
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
  const word = stateInList(lock);
  setChildren(state, `${lock.state} ${word}`, () => [mark(lock.state), word]);
  const h = lock.holder;
  setChildren(holder, h ? `${who(h)}\n${h.note ?? ""}` : nobody, () => holderText(h));
  holder.title = h ? `${who(h)} ${noteBeside(h)}`.trim() : "";
  setText(held, h?.since ? duration(h.held_ms + age) : nobody);
  showLease(lease.firstElementChild, lock, age);
  setText(waiters, number(lock.waiters) + (lock.waiters_at_least ? "+" : ""));
  setText(fence, lock.fence ? String(lock.fence) : nobody);
}

function holderText(holder) {
  if (!holder) return [nobody];
  const note = noteBeside(holder);
  return [who(holder), ...(note ? [el("span", { className: "sub" }, note)] : [])];
}

/** showLocks draws a page of the list. */
export function showLocks(view) {
  const { locks, counts } = view;
  rows(byId("locks-table").tBodies[0], locks, (lock) => lock.name, make, (row, lock) => update(row, lock, view.age));
  setText(byId("locks-count"), view.known ? `${atLeast(fewer(view))}${number(counts.held)} held, ${atLeast(counts.at_least)}${plural(counts.waiting, "caller")} waiting` : "");
  byId("locks-table").hidden = locks.length === 0;
  byId("locks-incomplete").hidden = !view.incomplete;
  setText(byId("locks-incomplete"), `The list is incomplete: ${view.incomplete}`);
  showOrder();
  showPager(view);
  const empty = byId("locks-empty");
  empty.hidden = locks.length > 0;
  const { contains, state } = view.query;
  setChildren(empty, `${view.known} ${contains} ${state}`, () => emptyText(view.known, contains, state));
}

function showOrder() {
  for (const button of document.querySelectorAll("button.sort")) {
    const head = button.closest("th");
    if (button.dataset.sort !== asked.sort) head.removeAttribute("aria-sort");
    else head.setAttribute("aria-sort", asked.order === "asc" ? "ascending" : "descending");
  }
  const chosen = `${asked.sort} ${asked.order}`;
  const select = byId("sort");
  if ([...select.options].some((option) => option.value === chosen)) select.value = chosen;
}

function showPager(view) {
  if (!answers(view, query())) return; // the rows are still those of the page before
  const before = asked.cursors.length;
  byId("pager").hidden = before === 0 && view.next === "";
  byId("page-back").disabled = before === 0;
  byId("page-on").disabled = view.next === "";
  const first = before * perPage + 1;
  const last = view.next === "" ? Math.max(view.counts.locks, first) : before * perPage + perPage;
  setText(byId("page-of"), `${number(first)} to ${number(last)} of ${atLeast(fewer(view))}${number(view.counts.locks)}`);
}

function emptyText(known, contains, state) {
  if (!known) return ["Asking the gateway."];
  if (contains) return ["No lock that is held or waited for has ", el("code", {}, contains), " in its name."];
  if (state === "waited") return ["Nobody waits for a lock."];
  return ["No lock is held. To take one until you press Ctrl-C: ",
    el("code", {}, `curl -N -X POST ${location.host}/v1/locks/nightly/hold`)];
}
