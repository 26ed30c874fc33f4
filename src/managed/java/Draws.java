/** The random numbers of src/workloads/harness/random_stream.h, and those of the program of 2013. */
final class Draws {
  private static final long GOLDEN = 0x9e3779b97f4a7c15L;

  private long first;
  private long second;
  private long original;

  Draws(long seed, long stream) {
    long state = mix(seed) + 2 * stream * GOLDEN;
    first = mix(state + GOLDEN);
    second = mix(state + 2 * GOLDEN) | 1;
    original = seed + stream;
  }

  long below(long bound) {
    return unsignedHigh(next(), bound);
  }

  long between(long least, long most) {
    return least + below(most - least + 1);
  }

  boolean chance(double percent) {
    return (next() >>> 11) * 0x1p-53 * 100 < percent;
  }

  long originalBetween(long least, long most) {
    original = original * 16807 % 2147483647;
    return least + original % (most - least + 1);
  }

  private long next() {
    long x = first;
    long y = second;
    first = y;
    x ^= x << 23;
    second = x ^ y ^ (x >>> 17) ^ (y >>> 26);
    return second + y;
  }

  private static long unsignedHigh(long a, long b) {
    return Math.multiplyHigh(a, b) + ((a >> 63) & b) + ((b >> 63) & a);
  }

  private static long mix(long z) {
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }
}
