// What this page asks of its gateway. The admin token is in this module's memory
// and nowhere else.

let adminToken = "";

export const isAdmin = () => adminToken !== "";

export function forgetToken() { adminToken = ""; }

/** Problem is an answer that is an error, or none at all. */
export class Problem extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

async function ask(path, { token = "", ...options } = {}) {
  const headers = new Headers(options.headers);
  // A header takes bytes, each as a character.
  if (token) headers.set("Authorization", `Bearer ${String.fromCharCode(...new TextEncoder().encode(token))}`);
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch (err) {
    if (options.signal?.aborted && err.name !== "TimeoutError") throw err;
    throw new Problem(0, "no_answer", "The gateway does not answer.");
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Problem(answer.status, told.code ?? "", told.detail ?? `The gateway answered ${answer.status}.`);
}

const soon = () => AbortSignal.timeout(10_000);

async function json(path) {
  return (await ask(path, { signal: soon() })).json();
}

/** locks is a page of a list: {contains, state, sort, order, cursor, limit}; what is "" is left out. */
export const locks = (query) =>
  json(`/v1/locks?${new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""))}`);

export const pathOf = (name) => `/v1/locks/${encodeURIComponent(name)}`;

/** isStep: a browser takes such a part of an address for a step in it, however it is encoded, and asks for something else. */
export const isStep = (name) => name === "." || name === "..";

export const lock = (name) => json(pathOf(name));

/** lockHistory is the newest attempts of this gateway's callers at a lock, at most limit. */
export const lockHistory = (name, since, limit) => json(`${pathOf(name)}/history?${new URLSearchParams({ since, limit })}`);

/** mostContended are the locks that were waited for most. */
export const mostContended = (since) => json(`/v1/history?${new URLSearchParams({ since, limit: 50 })}`);

export const version = () => json("/version");

/** health is the answer of /readyz, whether it is good or not. */
export async function health() {
  const answer = await fetch("/readyz?verbose", { signal: soon() });
  return answer.json();
}

/** sessions is a page of all sessions, for an administrator, and when it was told, by the gateway's clock. */
export async function sessions(limit) {
  const answer = await ask(`/v1/sessions?${new URLSearchParams({ limit })}`, { token: adminToken, signal: soon() });
  return { ...await answer.json(), told: Date.parse(answer.headers.get("Date")) };
}

/** endSession ends the session of somebody else. */
export async function endSession(id, token) {
  token ||= adminToken;
  await ask(`/v1/sessions/${encodeURIComponent(id)}`, { method: "DELETE", token, signal: soon() });
  adminToken = token;
}

/** breakLock takes a lock from the holder that was shown. A token that works is kept. */
export async function breakLock(lock, token) {
  token ||= adminToken;
  const headers = { "If-Match": `"${lock.fence}"` };
  const query = new URLSearchParams({ force: true });
  if (lock.holder.owner) query.set("owner", lock.holder.owner);
  await ask(`${pathOf(lock.name)}?${query}`, { method: "DELETE", headers, token, signal: soon() });
  adminToken = token;
}

/**
 * events calls told for each event, first for those that the gateway still knows
 * of, until the stream ends. opened is called when the token was accepted. An
 * EventSource cannot send a token, so the stream is read by hand.
 */
export async function events(token, seen, signal, opened, told) {
  token ||= adminToken;
  const headers = { Accept: "text/event-stream", "Last-Event-ID": seen || "0-0" };
  const answer = await ask("/v1/events", { headers, token, signal });
  adminToken = token;
  opened();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const event of blocks.map(parse)) {
      if (event) told(event);
    }
  }
}

function parse(block) {
  const event = {};
  for (const line of block.split("\n")) {
    const at = line.indexOf(": ");
    const [field, value] = [line.slice(0, at), line.slice(at + 2)];
    if (field === "id") event.id = value;
    if (field === "event") event.type = value;
    if (field === "data") Object.assign(event, JSON.parse(value));
  }
  return event.type ? event : null; // other lines are comments
}
