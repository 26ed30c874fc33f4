import java.util.StringJoiner;
import java.util.function.ToLongBiFunction;

/** Memory by tick of thread 0, and the tables of --accounts as src/workloads/acdc/accounts.cpp prints them. */
final class Books {
  private final ProcFiles proc;
  private final long warmUp;
  private final long[][] rows; // null without --accounts
  private final long start = System.nanoTime();
  private final long stride; // every such tick is a point of the series
  private final StringJoiner memory = new StringJoiner(",");
  private final StringJoiner live = new StringJoiner(",");
  private double memorySum;
  private double liveSum;
  private long samples;

  Books(Options options, ProcFiles proc) {
    this.proc = proc;
    warmUp = 2 * options.whole("max-liveness");
    rows = options.accounts.isEmpty() ? null : new long[(int) options.whole("ticks")][];
    stride = (options.whole("ticks") + 499) / 500;
  }

  void sample(long tick, Mutator[] all) {
    long resident = proc.anonymous();
    long bytes = 0;
    for (Mutator each : all) bytes += each.allocatedBytes - each.freedBytes;
    if (tick % stride == 0) {
      double now = (System.nanoTime() - start) / 1e9;
      memory.add("[" + now + "," + resident + "]");
      live.add("[" + now + "," + bytes + "]");
    }
    if (tick < warmUp) return;
    memorySum += resident;
    liveSum += bytes;
    samples++;
  }

  void note(long tick, Mutator first) {
    if (rows == null) return;
    rows[(int) tick - 1] =
        new long[] {tick, first.allocatedBytes, first.freedBytes, first.allocatedObjects, first.freedObjects};
  }

  double averageMemory() {
    return memorySum / samples;
  }

  double averageLiveBytes() {
    return liveSum / samples;
  }

  String series() {
    return "\"memory\":{\"unit\":\"B\",\"points\":[" + memory + "]},\"live_bytes\":{\"unit\":\"B\",\"points\":["
        + live + "]}";
  }

  String tables(Mutator[] all) {
    StringBuilder text = new StringBuilder("tick\tallocated_bytes\tfreed_bytes\tallocated_objects\tfreed_objects\n");
    for (long[] row : rows) {
      StringJoiner line = new StringJoiner("\t", "", "\n");
      for (long number : row) line.add(Long.toString(number));
      text.append(line);
    }
    table(text, "liveness\tobjects\n", all[0].byLiveness.length, all, (one, i) -> one.byLiveness[i]);
    table(text, "log2_size\tobjects\n", all[0].byLog2.length, all, (one, i) -> one.byLog2[i]);
    return text.toString();
  }

  private static void table(
      StringBuilder text, String headings, int length, Mutator[] all, ToLongBiFunction<Mutator, Integer> count) {
    text.append(headings);
    for (int i = 0; i < length; i++) {
      long sum = 0;
      for (Mutator each : all) sum += count.applyAsLong(each, i);
      if (sum != 0) text.append(i).append('\t').append(sum).append('\n');
    }
  }
}
