// A Node program that locks with redlock over ioredis as it is told on its input (see README.md): peer.mjs MODE ADDRESS
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import Redlock from "redlock";

const patience = 60_000;
const lease = 5_000;
const [host, port] = process.argv[3].split(":");
const client = new Redis({ host, port: Number(port) });
const retryDelay = 10;

// What a worker does comes one after the other; two workers do not wait for each other.
const workers = new Map();
const worker = (name) => {
  if (!workers.has(name)) workers.set(name, { held: new Map(), last: Promise.resolve() });
  return workers.get(name);
};

const acquire = async (name, wait, lease) => {
  const redlock = new Redlock([client], { retryCount: Math.ceil(wait / retryDelay), retryDelay, retryJitter: 2 });
  redlock.on("error", () => {}); // each refusal of a server; what counts is how the call ends
  try {
    return await redlock.acquire([name], lease);
  } catch (e) {
    if (e.name === "ExecutionError") return null;
    throw e;
  }
};

const operations = {
  async lock(me, name, wait, lease) {
    const lock = await acquire(name, Number(wait), Number(lease));
    if (!lock) return "busy";
    me.held.set(name, lock);
    return "0";
  },
  async unlock(me, name) {
    const lock = me.held.get(name);
    me.held.delete(name);
    try {
      await lock.release();
      return "done";
    } catch (e) {
      if (e.name === "ExecutionError") return "nothold";
      throw e;
    }
  },
  async extend(me, name, lease) {
    me.held.set(name, await me.held.get(name).extend(Number(lease)));
    return "done";
  },
  async add(me, name, counter, times) {
    for (let i = 0; i < Number(times); i++) {
      const lock = await acquire(name, patience, lease);
      if (!lock) throw new Error(`no lock in ${patience} ms`);
      if (!(await client.set(`${counter}:inside`, "node", "NX"))) throw new Error("somebody else is inside");
      await client.set(counter, Number(await client.get(counter)) + 1);
      await client.del(`${counter}:inside`);
      await lock.release();
    }
    return "done";
  },
  async tries(me, name, ms) {
    let got = 0;
    for (const end = Date.now() + Number(ms); Date.now() < end; ) {
      const lock = await acquire(name, 0, 30_000);
      if (lock) {
        got++;
        await lock.release();
      }
    }
    return got;
  },
};

const answer = async (me, [id, , operation, , name, ...args]) => {
  try {
    console.log(`${id} ok ${await operations[operation](me, name, ...args)}`);
  } catch (e) {
    console.log(`${id} error ${String(e).replaceAll("\n", " ")}`);
  }
};

await client.ping();
console.log("ready");
createInterface({ input: process.stdin })
  .on("line", (line) => {
    const words = line.split(" ");
    const me = worker(words[1]);
    me.last = me.last.then(() => answer(me, words));
  })
  .on("close", () => process.exit(0));
