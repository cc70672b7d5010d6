"""A Python program that locks with redis-py as it is told on its input (see README.md): peer.py MODE ADDRESS"""

import queue
import sys
import threading
import time

import redis
from redis.exceptions import LockError

PATIENCE = 60
LEASE = 5
host, port = sys.argv[2].rsplit(":", 1)
client = redis.Redis(host=host, port=int(port), decode_responses=True)
output = threading.Lock()


def say(line):
    with output:
        print(line, flush=True)


class Worker:
    """One caller: it does one thing after the other and knows its own locks."""

    def __init__(self):
        self.tasks = queue.Queue()
        self.locks = {}
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            words = self.tasks.get()
            try:
                say(f"{words[0]} ok {getattr(self, words[2])(words[4], *words[5:])}")
            except LockError:
                say(f"{words[0]} ok nothold")
            except Exception as e:
                say(f"{words[0]} error {e!r}")

    def lock(self, name, wait, lease):
        lock = client.lock(name, timeout=int(lease) / 1000, sleep=0.01, thread_local=False)
        if not lock.acquire(blocking=wait != "0", blocking_timeout=int(wait) / 1000):
            return "busy"
        self.locks[name] = lock
        return "0"

    def unlock(self, name):
        self.locks.pop(name).release()
        return "done"

    def extend(self, name, lease):
        self.locks[name].extend(int(lease) / 1000, replace_ttl=True)
        return "done"

    def add(self, name, counter, times):
        for _ in range(int(times)):
            with client.lock(name, timeout=LEASE, sleep=0.001, blocking_timeout=PATIENCE):
                if not client.set(counter + ":inside", "python", nx=True):
                    raise RuntimeError("somebody else is inside: " + client.get(counter + ":inside"))
                client.set(counter, int(client.get(counter) or 0) + 1)
                client.delete(counter + ":inside")
        return "done"

    def tries(self, name, ms):
        end, got = time.monotonic() + int(ms) / 1000, 0
        while time.monotonic() < end:
            lock = client.lock(name, timeout=30, thread_local=False)
            if lock.acquire(blocking=False):
                got += 1
                lock.release()
        return got


workers = {}
client.ping()
say("ready")
for line in sys.stdin:
    words = line.split()
    if words[1] not in workers:
        workers[words[1]] = Worker()
    workers[words[1]].tasks.put(words)
