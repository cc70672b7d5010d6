import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;

/** Jedis against a lockgw socket: JedisCheck PATH */
public final class JedisCheck {
    private static Path path;

    public static void main(String[] args) throws Exception {
        path = Path.of(args[0]);
        for (RedisProtocol protocol : new RedisProtocol[] {null, RedisProtocol.RESP2, RedisProtocol.RESP3}) {
            check(protocol);
        }
        System.out.println("ok " + Path.of(Jedis.class.getProtectionDomain().getCodeSource().getLocation().toURI()).getFileName());
    }

    private static Jedis connect(RedisProtocol protocol, String token) {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder().password(token);
        if (protocol != null) {
            config.protocol(protocol);
        }
        return new Jedis(() -> new UnixSocket(path), config.build());
    }

    private static Object call(Jedis jedis, String name, String... args) {
        ProtocolCommand command = () -> name.getBytes(StandardCharsets.UTF_8);
        Object reply = jedis.sendCommand(command, args);
        return reply instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : reply;
    }

    private static void check(RedisProtocol protocol) throws Exception {
        try (Jedis a = connect(protocol, null); Jedis b = connect(protocol, null)) {
            Expect.same("PING", a.ping(), "PONG");
            long fence = (Long) call(a, "LOCK", "java", "WAIT", "1", "NOTE", "two words");
            Expect.that("LOCK", fence, fence > 0);
            Expect.same("LOCK of a held name", call(b, "LOCK", "java"), null);
            Expect.same("re-entry", call(a, "LOCK", "java"), fence);
            Expect.same("UNLOCK", call(a, "UNLOCK", "java"), 1L);
            Expect.same("UNLOCK", call(a, "UNLOCK", "java"), 0L);
            try {
                Expect.same("UNLOCK of nothing", call(a, "UNLOCK", "java"), "an error");
            } catch (JedisDataException e) {
                Expect.that("UNLOCK of nothing", e, e.getMessage().startsWith("NOTHELD "));
            }
            Expect.that("FULL", "nothing", call(a, "LOCK", "java", "FULL") != null);
            call(a, "UNLOCK", "java");
            events(protocol, a);
            call(a, "SESSION", "END");
            String token = (String) call(a, "SESSION", "NEW");
            try (Jedis c = connect(protocol, token)) {
                Expect.same("the same session", call(c, "LOCK", "shared"), call(a, "LOCK", "shared"));
            }
            call(a, "SESSION", "END");
        }
    }

    private static void events(RedisProtocol protocol, Jedis a) throws Exception {
        CompletableFuture<String> seen = new CompletableFuture<>();
        JedisPubSub listener = new JedisPubSub() {
            @Override
            public void onPSubscribe(String pattern, int count) {
                call(a, "LOCK", "seen");
            }

            @Override
            public void onPMessage(String pattern, String channel, String message) {
                seen.complete(channel + " " + message);
                punsubscribe();
            }
        };
        try (Jedis events = connect(protocol, null)) {
            Thread thread = new Thread(() -> events.psubscribe(listener, "lock:*"));
            thread.start();
            String event = seen.get(5, TimeUnit.SECONDS);
            Expect.that("event", event, event.startsWith("lock:seen ") && event.contains("\"event\":\"acquired\""));
            thread.join();
        }
    }
}
