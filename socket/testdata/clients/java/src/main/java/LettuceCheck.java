import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Lettuce against a lockgw socket: LettuceCheck PATH */
public final class LettuceCheck {
    public static void main(String[] args) throws Exception {
        RedisClient client = RedisClient.create();
        try {
            check(client, args[0]);
            checkGivenUp(client, args[0]);
        } finally {
            client.shutdown(0, 2, TimeUnit.SECONDS);
        }
        System.out.println("ok lettuce " + RedisClient.class.getPackage().getImplementationVersion());
    }

    private static StatefulRedisConnection<String, String> connect(RedisClient client, String path, String token) {
        RedisURI.Builder uri = RedisURI.Builder.socket(path);
        if (token != null) {
            uri.withPassword(token.toCharArray());
        }
        return client.connect(uri.build());
    }

    private record Command(String name) implements ProtocolKeyword {
        @Override
        public byte[] getBytes() {
            return name.getBytes(StandardCharsets.US_ASCII);
        }
    }

    private static <T> T call(
            StatefulRedisConnection<String, String> c, CommandOutput<String, String, T> output, String name, String... args) {
        CommandArgs<String, String> all = new CommandArgs<>(StringCodec.UTF8);
        for (String arg : args) {
            all.add(arg);
        }
        return c.sync().dispatch(new Command(name), output, all);
    }

    private static Long number(StatefulRedisConnection<String, String> c, String name, String... args) {
        return call(c, new IntegerOutput<>(StringCodec.UTF8), name, args);
    }

    private static String text(StatefulRedisConnection<String, String> c, String name, String... args) {
        return call(c, new StatusOutput<>(StringCodec.UTF8), name, args);
    }

    /** As checkGivenUp of ../node/check.mjs. */
    private static void checkGivenUp(RedisClient client, String path) {
        StatefulRedisConnection<String, String> a = connect(client, path, null);
        StatefulRedisConnection<String, String> impatient = connect(client, path, null);
        Expect.same("timeout", impatient.getTimeout(), Duration.ofSeconds(60));
        number(a, "LOCK", "given-up");
        impatient.setTimeout(Duration.ofMillis(200));
        try {
            Expect.same("LOCK given up", number(impatient, "LOCK", "given-up", "WAIT", "60"), "an error");
        } catch (RedisCommandTimeoutException e) {
            Expect.that("LOCK given up", e, true);
        }
        number(a, "UNLOCK", "given-up");
        Expect.same("LOCK of what the connection has got", number(a, "LOCK", "given-up"), null);
        impatient.close();
        Long fence = number(a, "LOCK", "given-up", "WAIT", "50");
        Expect.that("LOCK of what the connection has left", fence, fence != null && fence > 0);
        a.close();
    }

    private static void check(RedisClient client, String path) throws Exception {
        StatefulRedisConnection<String, String> a = connect(client, path, null);
        StatefulRedisConnection<String, String> b = connect(client, path, null);
        Expect.same("PING", a.sync().ping(), "PONG");
        Long fence = number(a, "LOCK", "lettuce", "WAIT", "1", "NOTE", "two words");
        Expect.that("LOCK", fence, fence > 0);
        Expect.same("LOCK of a held name", number(b, "LOCK", "lettuce"), null);
        Expect.same("re-entry", number(a, "LOCK", "lettuce"), fence);
        Expect.same("UNLOCK", number(a, "UNLOCK", "lettuce"), 1L);
        Expect.same("UNLOCK", number(a, "UNLOCK", "lettuce"), 0L);
        try {
            Expect.same("UNLOCK of nothing", number(a, "UNLOCK", "lettuce"), "an error");
        } catch (RedisCommandExecutionException e) {
            Expect.that("UNLOCK of nothing", e, e.getMessage().startsWith("NOTHELD "));
        }
        CompletableFuture<String> seen = new CompletableFuture<>();
        try (StatefulRedisPubSubConnection<String, String> events = client.connectPubSub(RedisURI.Builder.socket(path).build())) {
            events.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String pattern, String channel, String message) {
                    seen.complete(channel + " " + message);
                }
            });
            events.sync().psubscribe("lock:*");
            number(b, "LOCK", "seen");
            String event = seen.get(5, TimeUnit.SECONDS);
            Expect.that("event", event, event.startsWith("lock:seen ") && event.contains("\"event\":\"acquired\""));
        }
        String token = text(a, "SESSION", "NEW");
        StatefulRedisConnection<String, String> c = connect(client, path, token);
        Expect.same("the same session", number(c, "LOCK", "shared"), number(a, "LOCK", "shared"));
        text(a, "SESSION", "END");
        a.close();
        b.close();
        c.close();
    }
}
