import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RBucket;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** What a worker, which is a thread, can be told to do: ID WORKER OPERATION KIND NAME ARGUMENT... */
final class Locks {
    /** Longer than all others need, for nobody has to let in one who does not stand in a queue. */
    private static final long PATIENCE_MS = 300_000;
    private final List<RedissonClient> servers;
    private final RedissonClient redisson; // the first of them

    Locks(List<RedissonClient> servers) {
        this.servers = servers;
        this.redisson = servers.get(0);
    }

    String run(String[] words) throws Exception {
        String kind = words[3];
        String name = words[4];
        return switch (words[2]) {
            case "lock" -> lock(lockOf(kind, name), Long.parseLong(words[5]), Long.parseLong(words[6]));
            case "unlock" -> unlock(lockOf(kind, name));
            case "force" -> lockOf(kind, name).forceUnlock() ? "done" : "nothing";
            case "add" -> add(lockOf(kind, name), words[5], Integer.parseInt(words[6]));
            case "tries" -> tries(lockOf(kind, name), Long.parseLong(words[5]));
            case "sleepers" -> new Sleepers(redisson).of(name);
            case "between" -> new Sleepers(redisson).between();
            case "barge" -> barge(lockOf(kind, name), Long.parseLong(words[5]));
            default -> throw new IllegalArgumentException("no operation " + words[2]);
        };
    }

    private RLock lockOf(String kind, String name) {
        return switch (kind) {
            case "RFencedLock" -> redisson.getFencedLock(name);
            case "RFairLock" -> redisson.getFairLock(name);
            case "RSpinLock" -> redisson.getSpinLock(name);
            case "readLock" -> redisson.getReadWriteLock(name).readLock();
            case "writeLock" -> redisson.getReadWriteLock(name).writeLock();
            case "RedissonMultiLock" -> new RedissonMultiLock(everywhere(name));
            case "RedissonRedLock" -> new RedissonRedLock(everywhere(name));
            case "RLocks" -> new RedissonMultiLock(redisson.getLock(name), redisson.getLock(name + ".second"));
            default -> redisson.getLock(name);
        };
    }

    /** The lock of that name on each of the servers. */
    private RLock[] everywhere(String name) {
        return servers.stream().map(s -> s.getLock(name)).toArray(RLock[]::new);
    }

    /** Answers the fence, 0 of a lock without one, or busy. A lease of 0 is one that the watchdog renews. */
    private static String lock(RLock lock, long waitMs, long leaseMs) throws InterruptedException {
        long lease = leaseMs == 0 ? -1 : leaseMs;
        if (lock instanceof RFencedLock fenced) {
            Long token = fenced.tryLockAndGetToken(waitMs, lease, TimeUnit.MILLISECONDS);
            return token == null ? "busy" : token.toString();
        }
        return lock.tryLock(waitMs, lease, TimeUnit.MILLISECONDS) ? "0" : "busy";
    }

    private static String unlock(RLock lock) {
        lock.unlock();
        return "done";
    }

    /** Adds 1 to a counter, times times, in steps that only a lock makes one. */
    private String add(RLock lock, String counter, int times) throws InterruptedException {
        RBucket<String> value = redisson.getBucket(counter, StringCodec.INSTANCE);
        RBucket<String> inside = redisson.getBucket(counter + ":inside", StringCodec.INSTANCE);
        for (int i = 0; i < times; i++) {
            if (!lock.tryLock(PATIENCE_MS, TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("no lock in " + PATIENCE_MS + " ms");
            }
            if (!inside.setIfAbsent("java")) {
                throw new IllegalStateException("somebody else is inside: " + inside.get());
            }
            String now = value.get();
            value.set(Long.toString(now == null ? 1 : Long.parseLong(now) + 1));
            inside.delete();
            lock.unlock();
        }
        return "done";
    }

    /** Takes the lock whenever it can be had, for so long, and answers how often. */
    private static String tries(RLock lock, long forMs) {
        long times = 0;
        for (long end = System.nanoTime() + forMs * 1_000_000; System.nanoTime() < end; ) {
            if (lock.tryLock()) {
                times++;
                lock.unlock();
            }
        }
        return Long.toString(times);
    }

    /** Gives back and takes a held lock for so long without a pause, and answers how often. */
    private static String barge(RLock lock, long forMs) throws InterruptedException {
        long times = 0;
        lock.unlock();
        for (long end = System.nanoTime() + forMs * 1_000_000; System.nanoTime() < end; ) {
            if (lock.tryLock(PATIENCE_MS, TimeUnit.MILLISECONDS)) {
                times++;
                lock.unlock();
            }
        }
        return Long.toString(times);
    }
}
