"""redis-py against a lockgw socket: check.py PATH"""

import json
import sys

import redis

path = sys.argv[1]


def expect(what, got, ok):
    if not ok:
        sys.exit(f"redis-py: {what} = {got!r}")


def connect(**options):
    return redis.Redis(
        connection_pool=redis.ConnectionPool(
            connection_class=redis.UnixDomainSocketConnection, path=path, decode_responses=True, **options
        ),
        single_connection_client=True,
    )


def check(protocol):
    options = {} if protocol is None else {"protocol": protocol}
    a, b = connect(**options), connect(**options)
    expect("PING", a.ping(), True)
    fence = a.execute_command("LOCK", "py", "WAIT", 1, "NOTE", "two words")
    expect("LOCK", fence, isinstance(fence, int) and fence > 0)
    expect("LOCK of a held name", got := b.execute_command("LOCK", "py"), got is None)
    expect("re-entry", got := a.execute_command("LOCK", "py"), got == fence)
    expect("UNLOCK", got := a.execute_command("UNLOCK", "py"), got == 1)
    expect("UNLOCK", got := a.execute_command("UNLOCK", "py"), got == 0)
    try:
        expect("UNLOCK of nothing", a.execute_command("UNLOCK", "py"), False)
    except redis.ResponseError as e:
        expect("UNLOCK of nothing", e, str(e).startswith("NOTHELD "))
    full = a.execute_command("LOCK", "py", "FULL")
    if protocol == 2:
        full = dict(zip(full[::2], full[1::2]))
    expect("FULL", full, full["name"] == "py" and full["fence"] > fence)
    a.execute_command("UNLOCK", "py")

    events = redis.Redis(unix_socket_path=path, decode_responses=True, **options).pubsub()
    events.psubscribe("lock:*")
    expect("PSUBSCRIBE", got := events.get_message(timeout=5), got and got["type"] == "psubscribe")
    a.execute_command("LOCK", "seen")
    got = events.get_message(timeout=5)
    expect("event", got, got and got["channel"] == "lock:seen" and json.loads(got["data"])["event"] == "acquired")
    events.close()

    token = a.execute_command("SESSION", "NEW") if a.execute_command("SESSION", "END") else None
    c = connect(password=token, **options)
    fence = a.execute_command("LOCK", "shared")
    expect("the same session", got := c.execute_command("LOCK", "shared"), got == fence)
    a.execute_command("SESSION", "END")
    for client in (a, b, c):
        client.close()


for protocol in (None, 2, 3):
    check(protocol)
print("ok redis-py", redis.__version__)
