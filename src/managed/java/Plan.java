/** The plan of a lifetime-size-class: src/workloads/acdc/class_plan.cpp has the same draws in the same order. */
record Plan(long liveness, long size, long count, boolean tree, boolean shared) {
  static final long PERMANENT = 0;
  static final int LIST_LINKS = 8;
  static final int TREE_LINKS = 16;

  static Plan draw(Options options, Draws draws) {
    return options.flag("historic") ? drawAsOriginal(options, draws) : drawOwn(options, draws);
  }

  private static Plan drawOwn(Options options, Draws draws) {
    long minSize = options.whole("min-size");
    long maxSize = options.whole("max-size");
    int first = log2(minSize);
    int last = minSize == maxSize ? first : log2(maxSize - 1);
    int octave = first + (int) draws.below(last - first + 1);
    long most = octave == last ? maxSize : (1L << (octave + 1)) - 1;
    long size = draws.between(Math.max(minSize, 1L << octave), most);
    long liveness = draws.between(options.whole("min-liveness"), options.whole("max-liveness"));
    long count = count(options, size, liveness);
    boolean tree = !draws.chance(options.percent("list-ratio"));
    if (tree) size = Math.max(size, TREE_LINKS);
    boolean shared = options.flag("shared-objects") && draws.chance(options.percent("shared-objects-ratio"));
    double permanent = options.percent("permanent-objects-ratio");
    if (permanent > 0 && draws.chance(permanent)) liveness = PERMANENT;
    return new Plan(liveness, size, count, tree, shared);
  }

  private static Plan drawAsOriginal(Options options, Draws draws) {
    long minSize = options.whole("min-size");
    long liveness = draws.originalBetween(options.whole("min-liveness"), options.whole("max-liveness"));
    long octave = draws.originalBetween(log2(minSize), log2(options.whole("max-size")) - 1);
    long size = draws.originalBetween(1L << octave, (2L << octave) - 1);
    long percent = draws.originalBetween(0, 100);
    boolean list = percent < options.percent("list-ratio") || percent == 100;
    if (options.whole("class-objects") != 0) {
      size = minSize;
      liveness = options.whole("min-liveness");
    }
    long count = count(options, size, liveness);
    return new Plan(liveness, Math.max(size, TREE_LINKS), count, !list, false);
  }

  private static long count(Options options, long size, long liveness) {
    if (options.whole("class-objects") != 0) return options.whole("class-objects");
    long small = log2(options.whole("max-size")) - log2(size) + 1;
    long shortLived = options.whole("max-liveness") - liveness + 1;
    return small * small * shortLived * shortLived;
  }

  static int log2(long value) {
    return 63 - Long.numberOfLeadingZeros(value);
  }
}
