import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.StringJoiner;
import java.util.concurrent.CyclicBarrier;
import java.util.function.ToLongFunction;

/** ACDC under a collector of the Java virtual machine: the mutator of src/workloads/acdc, object by object. */
public final class Acdc {
  private final Options options;
  private final ProcFiles proc = new ProcFiles();
  private final Pauses pauses;
  private final StringJoiner metrics = new StringJoiner(",");
  private final Mutator[] mutators;
  private volatile Throwable failure;
  private Books books;
  private double[] usageBefore;
  private long start;

  public static void main(String[] words) throws InterruptedException {
    Pauses pauses = new Pauses(System.getProperty("heaplab.safepoints"));
    if (words.length == 1 && words[0].equals("--version")) {
      System.out.println(version());
      return;
    }
    try {
      System.exit(new Acdc(new Options(words), pauses).run());
    } catch (UsageError error) {
      System.err.println("acdc: " + error.getMessage());
      System.exit(2);
    }
  }

  /** The machine and the collector at work. */
  private static String version() {
    StringJoiner collectors = new StringJoiner(", ");
    ManagementFactory.getGarbageCollectorMXBeans().forEach(each -> collectors.add(each.getName()));
    return System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version") + ": " + collectors;
  }

  private Acdc(Options options, Pauses pauses) {
    this.options = options;
    this.pauses = pauses;
    mutators = new Mutator[(int) options.whole("threads")];
  }

  private int run() throws InterruptedException {
    books = new Books(options, proc);
    CyclicBarrier drift = new CyclicBarrier(mutators.length);
    CyclicBarrier begin = new CyclicBarrier(mutators.length, this::startClock);
    Thread[] threads = new Thread[mutators.length];
    for (int i = 0; i < threads.length; i++) {
      mutators[i] = new Mutator(options, i, mutators, drift, books);
      threads[i] = new Thread(work(mutators[i], begin));
    }
    for (Thread each : threads) each.start();
    for (Thread each : threads) each.join();
    long wall = System.nanoTime() - start;
    if (failure != null) return fail(String.valueOf(failure.getMessage()));
    report(wall / 1e9);
    for (Mutator each : mutators) each.dropRest();
    if (sum(each -> each.allocatedObjects) != sum(each -> each.freedObjects))
      return fail("self-check failed: as many objects freed as allocated");
    if (!options.accounts.isEmpty()) write(options.accounts, books.tables(mutators));
    if (!options.json.isEmpty()) write(options.json, sample());
    return 0;
  }

  private Runnable work(Mutator mutator, CyclicBarrier begin) {
    return () -> {
      try {
        Mutator.await(begin);
        mutator.run();
      } catch (Throwable error) {
        failure = error;
        System.exit(fail(String.valueOf(error.getMessage()))); // others may wait for this thread
      }
    };
  }

  private void startClock() {
    pauses.begin();
    usageBefore = proc.usage();
    start = System.nanoTime();
  }

  private static int fail(String why) {
    System.err.println("acdc: " + why);
    return 1;
  }

  private long sum(ToLongFunction<Mutator> count) {
    long sum = 0;
    for (Mutator each : mutators) sum += count.applyAsLong(each);
    return sum;
  }

  private void report(double wall) {
    double[] used = proc.usage();
    for (int i = 0; i < used.length; i++) used[i] -= usageBefore[i];
    add("wall_time", wall, "s");
    add("user_time", used[2], "s");
    add("system_time", used[3], "s");
    add("cpu_time", used[2] + used[3], "s");
    add("minor_faults", used[0], "1");
    add("major_faults", used[1], "1");
    add("peak_memory", proc.peakAnonymous(), "B");
    add("end_memory", proc.anonymous(), "B");
    add("page_tables", proc.pageTables(), "B");
    addTime("allocation_time", sum(each -> each.allocation));
    addTime("deallocation_time", sum(each -> each.deallocation));
    addTime("allocator_time", sum(each -> each.allocation + each.deallocation));
    addTime("access_time", sum(each -> each.access));
    add("allocated_objects", sum(each -> each.allocatedObjects), "1");
    add("freed_objects", sum(each -> each.freedObjects), "1");
    add("remotely_freed_objects", sum(each -> each.remotelyFreed), "1");
    add("allocated_bytes", sum(each -> each.allocatedBytes), "B");
    add("freed_bytes", sum(each -> each.freedBytes), "B");
    add("accessed_objects", sum(Mutator::accessed), "1");
    add("written_objects", sum(Mutator::written), "1");
    add("average_memory", books.averageMemory(), "B");
    add("average_memory_per_thread", books.averageMemory() / mutators.length, "B");
    add("average_live_bytes", books.averageLiveBytes(), "B");
    if (pauses.known()) addPauses(pauses.since(), wall);
  }

  private void addPauses(double[] sorted, double wall) {
    double total = 0;
    for (double each : sorted) total += each;
    add("pauses", sorted.length, "1");
    add("pause_time", total, "s");
    add("pause_share", total / wall, "1");
    if (sorted.length == 0) return;
    add("pause_p50", sorted[(sorted.length - 1) / 2], "s");
    add("pause_p99", sorted[(int) Math.ceil(0.99 * sorted.length) - 1], "s");
    add("pause_max", sorted[sorted.length - 1], "s");
  }

  private void addTime(String name, long nanoseconds) {
    add(name, nanoseconds / 1e9 / mutators.length, "s");
  }

  private void add(String name, double value, String unit) {
    metrics.add("\"" + name + "\":{\"value\":" + value + ",\"unit\":\"" + unit + "\"}");
  }

  private String sample() {
    StringJoiner parameters = new StringJoiner(",");
    options.all().forEach((name, value) ->
        parameters.add("\"" + name + "\":" + (value instanceof String ? "\"" + value + "\"" : value)));
    return "{\"schema\":1,\"workload\":\"acdc\",\"parameters\":{" + parameters + "},\"seed\":"
        + options.whole("seed") + ",\"metrics\":{" + metrics + "},\"series\":{" + books.series()
        + "},\"served_by\":{}}\n";
  }

  private static void write(String where, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    String path = where.equals("-") ? "/proc/self/fd/1" : where.replaceFirst("^fd:", "/proc/self/fd/");
    try (FileOutputStream file = new FileOutputStream(path)) {
      file.write(bytes);
    } catch (IOException error) {
      throw new UsageError(where + ": cannot be written");
    }
  }
}
