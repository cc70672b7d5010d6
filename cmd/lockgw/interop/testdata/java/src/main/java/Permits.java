import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** What a worker can be told to do with a semaphore, in the words of Locks. */
final class Permits {
    private final RedissonClient redisson;
    private final Map<String, String> ids = new ConcurrentHashMap<>(); // worker and name -> its permit

    Permits(RedissonClient redisson) {
        this.redisson = redisson;
    }

    String run(String[] words) throws Exception {
        String name = words[4];
        return words[3].equals("RSemaphore")
                ? run(redisson.getSemaphore(name), words)
                : run(redisson.getPermitExpirableSemaphore(name), words);
    }

    private static String run(RSemaphore semaphore, String[] words) throws Exception {
        return switch (words[2]) {
            case "permits" -> semaphore.trySetPermits(Integer.parseInt(words[5])) ? "done" : "nothing";
            case "lock" -> semaphore.tryAcquire(Long.parseLong(words[5]), TimeUnit.MILLISECONDS) ? "0" : "busy";
            case "unlock" -> {
                semaphore.release();
                yield "done";
            }
            case "force" -> semaphore.delete() ? "done" : "nothing";
            default -> throw new IllegalArgumentException("no operation " + words[2]);
        };
    }

    private String run(RPermitExpirableSemaphore semaphore, String[] words) throws Exception {
        String mine = words[1] + " " + words[4];
        return switch (words[2]) {
            case "permits" -> semaphore.trySetPermits(Integer.parseInt(words[5])) ? "done" : "nothing";
            case "lock" -> {
                String id = semaphore.tryAcquire(Long.parseLong(words[5]), Long.parseLong(words[6]), TimeUnit.MILLISECONDS);
                if (id != null) {
                    ids.put(mine, id);
                }
                yield id == null ? "busy" : "0";
            }
            case "unlock" -> {
                semaphore.release(ids.remove(mine));
                yield "done";
            }
            case "force" -> semaphore.delete() ? "done" : "nothing";
            default -> throw new IllegalArgumentException("no operation " + words[2]);
        };
    }
}
