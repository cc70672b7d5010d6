// Texts for values.

/** duration is 12s, 3m 12s, 4h 5m, 2d 4h. */
export function duration(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
  if (d > 0) return `${d}d ${h}h`;
  if (h > 0) return `${h}h ${m}m`;
  if (m > 0) return `${m}m ${s % 60}s`;
  return `${s}s`;
}

/** number is 5,100. */
export const number = (n) => n.toLocaleString("en");

export const plural = (n, one, many = one + "s") => `${number(n)} ${n === 1 ? one : many}`;

/** atLeast stands before a number that may be too low. */
export const atLeast = (low) => (low ? "at least " : "");

/** fewer: locks are missing in the counts of a list, not only callers that wait. */
export const fewer = (view) => view.counts.at_least && (view.incomplete !== "" || view.query.state === "waited");

const two = (n) => String(n).padStart(2, "0");

/** clock is the time of day where the reader is. */
export function clock(time) {
  const t = new Date(time);
  return [t.getHours(), t.getMinutes(), t.getSeconds()].map(two).join(":");
}

/** moment is the day and the time, the year first. */
export function moment(time) {
  const t = new Date(time);
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())} ${clock(time)}`;
}

/** state of a lock, and how many hold it where several may. */
export function state(lock) {
  if (lock.mode === "shared") return `held, shared by ${lock.holders}`;
  if (lock.mode === "semaphore") return `held, ${lock.holders} of ${lock.limit}`;
  return lock.state;
}

/** stateInList is the same for a narrow column: without "held" where several hold it. */
export const stateInList = (lock) => state(lock).replace(/^held, /, "");

/** command is the note of a process of lockgw itself: it tells more than its name. */
export const command = (holder) => (holder.command === "lockgw" && holder.note) || holder.command;

/** who is the machine, process and command of a holder or a waiter, as far as they are known. A program outside lockgw has a note alone. */
export function who(holder) {
  const parts = [];
  if (holder.node) parts.push(holder.node);
  if (holder.pid) parts.push(`pid ${holder.pid}`);
  if (command(holder)) parts.push(`(${command(holder)})`);
  return parts.join(" ") || holder.owner || holder.note || "";
}

/** noteBeside is the note, if who does not already show it. */
export const noteBeside = (holder) => ([command(holder), who(holder)].includes(holder.note) ? "" : holder.note ?? "");

/** sessionOf is the part of an owner id that names the session. */
export const sessionOf = (owner) => owner.slice(0, Math.max(0, owner.lastIndexOf(":"))) || owner;

/** quoted is text as one word of a POSIX shell. */
export const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
