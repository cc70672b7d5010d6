import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.redisson.Redisson;
import org.redisson.RedissonLockEntry;
import org.redisson.api.RedissonClient;
import org.redisson.pubsub.LockPubSub;

/** What Redisson keeps in memory of those who wait for a lock. */
final class Sleepers {
    private final LockPubSub pubSub;

    Sleepers(RedissonClient redisson) {
        pubSub = ((Redisson) redisson).getCommandExecutor().getConnectionManager().getSubscribeService().getLockPubSub();
    }

    /** Answers wake-ups that nobody has taken yet, and waiters that none has come for: "1 1" is one that was missed. */
    String of(String name) throws ReflectiveOperationException {
        Map<?, ?> entries = (Map<?, ?>) field(LockPubSub.class.getSuperclass(), pubSub, "entries");
        for (Map.Entry<?, ?> e : entries.entrySet()) {
            if (e.getKey().toString().endsWith(":" + name)) {
                Object entry = e.getValue();
                Semaphore latch = (Semaphore) field(RedissonLockEntry.class, entry, "latch");
                Collection<?> listeners = (Collection<?>) field(RedissonLockEntry.class, entry, "listeners");
                return latch.availablePermits() + " " + listeners.size();
            }
        }
        return "nobody";
    }

    /** Has a message of a release and a waiter that lies down meet so often, and answers how often they missed each other. */
    String race(int times) throws Exception {
        Method onMessage = LockPubSub.class.getDeclaredMethod("onMessage", RedissonLockEntry.class, Long.class);
        onMessage.setAccessible(true);
        AtomicReference<RedissonLockEntry> message = new AtomicReference<>();
        Thread publisher = new Thread(() -> publish(onMessage, message));
        publisher.setDaemon(true);
        publisher.start();
        int missed = 0;
        for (int i = 0; i < times; i++) {
            RedissonLockEntry entry = new RedissonLockEntry(new CompletableFuture<>());
            AtomicBoolean woken = new AtomicBoolean();
            message.set(entry);
            for (int j = i % 100; j > 0; j--) {
                Thread.onSpinWait();
            }
            if (entry.getLatch().tryAcquire()) { // as RedissonFencedLock.tryLockAsync does
                woken.set(true);
            } else {
                entry.addListener(() -> woken.set(true));
            }
            while (message.get() != null) {
                Thread.yield();
            }
            if (!woken.get()) {
                missed++;
            }
        }
        publisher.interrupt();
        return Integer.toString(missed);
    }

    private void publish(Method onMessage, AtomicReference<RedissonLockEntry> message) {
        while (!Thread.interrupted()) {
            RedissonLockEntry entry = message.get();
            if (entry == null) {
                Thread.yield();
                continue;
            }
            try {
                onMessage.invoke(pubSub, entry, LockPubSub.UNLOCK_MESSAGE);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
            message.set(null);
        }
    }

    private static Object field(Class<?> type, Object of, String name) throws ReflectiveOperationException {
        Field f = type.getDeclaredField(name);
        f.setAccessible(true);
        return f.get(of);
    }
}
