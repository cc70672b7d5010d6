import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/**
 * A Java program that locks with Redisson as it is told on its input (see README.md): Peer MODE ADDRESS[,ADDRESS...] [MASTER].
 * In mode redlock each address is a server that knows nothing of the others.
 */
public final class Peer {
    private static final long WATCHDOG_MS = 3000;

    public static void main(String[] args) throws Exception {
        List<RedissonClient> servers = new ArrayList<>();
        for (String addresses : args[0].equals("redlock") ? args[1].split(",") : new String[] {args[1]}) {
            servers.add(Redisson.create(config(args, addresses.split(","))));
        }
        Locks locks = new Locks(servers);
        Permits permits = new Permits(servers.get(0));
        Map<String, ExecutorService> workers = new ConcurrentHashMap<>();
        say("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            workers.computeIfAbsent(words[1], w -> Executors.newSingleThreadExecutor()).execute(() -> answer(locks, permits, words));
        }
        System.exit(0); // holds are left as they are
    }

    private static Config config(String[] args, String[] addresses) {
        for (int i = 0; i < addresses.length; i++) {
            addresses[i] = "redis://" + addresses[i];
        }
        Config config = new Config();
        config.setLockWatchdogTimeout(WATCHDOG_MS);
        switch (args[0]) {
            case "single", "redlock" -> config.useSingleServer().setAddress(addresses[0]);
            case "sentinel" -> config.useSentinelServers().addSentinelAddress(addresses).setMasterName(args[2]).setReadMode(ReadMode.MASTER);
            case "cluster" -> config.useClusterServers().addNodeAddress(addresses).setReadMode(ReadMode.MASTER);
            default -> throw new IllegalArgumentException("mode " + args[0]);
        }
        return config;
    }

    private static void answer(Locks locks, Permits permits, String[] words) {
        try {
            say(words[0] + " ok " + (words[3].endsWith("Semaphore") ? permits.run(words) : locks.run(words)));
        } catch (IllegalMonitorStateException e) {
            say(words[0] + " ok nothold");
        } catch (Exception e) {
            say(words[0] + " error " + String.valueOf(e).replace('\n', ' '));
        }
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
