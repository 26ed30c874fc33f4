/** Selects a share of all objects for writing, spread evenly: src/workloads/acdc/write_pacer.h. */
final class Pacer {
  private static final long ONE = 1L << 32;

  private final long step;
  private long sum;
  long accessed;
  long written;

  Pacer(double percent) {
    step = Math.round(percent / 100 * ONE);
  }

  boolean next() {
    sum += step;
    boolean write = sum >= ONE;
    if (write) sum -= ONE;
    accessed++;
    if (write) written++;
    return write;
  }
}
