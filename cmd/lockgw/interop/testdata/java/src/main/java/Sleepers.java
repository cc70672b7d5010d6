import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
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

    /**
     * Has a waiter lie down, by the calls of RedissonFencedLock.tryLockAsync, between the two steps of a message of a
     * release, and answers whether that has woken it.
     */
    String between() throws ReflectiveOperationException {
        AtomicBoolean woken = new AtomicBoolean();
        RedissonLockEntry entry = new RedissonLockEntry(new CompletableFuture<>()) {
            private boolean lies;

            @Override
            public Semaphore getLatch() { // the message comes here when it has found no listener
                if (!lies) {
                    lies = true;
                    if (super.getLatch().tryAcquire()) {
                        woken.set(true);
                    } else {
                        addListener(() -> woken.set(true));
                    }
                }
                return super.getLatch();
            }
        };
        Method onMessage = LockPubSub.class.getDeclaredMethod("onMessage", RedissonLockEntry.class, Long.class);
        onMessage.setAccessible(true);
        onMessage.invoke(pubSub, entry, LockPubSub.UNLOCK_MESSAGE);
        return woken.get() ? "woken" : "not woken";
    }

    private static Object field(Class<?> type, Object of, String name) throws ReflectiveOperationException {
        Field f = type.getDeclaredField(name);
        f.setAccessible(true);
        return f.get(of);
    }
}
