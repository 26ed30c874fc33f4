import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The options of the C++ program `acdc` that a mutator without free() can have, with their ranges. */
final class Options {
  // Name, kind, least, most, default. A word has its only value as default.
  private static final String TABLE =
      """
      mode word acdc acdc acdc
      pseudo-allocator word none none none
      list-order word allocation allocation allocation
      threads count 1 1024 1
      class-objects count 0 1000000000 0
      min-size size 8 1099511627776 16
      max-size size 8 1099511627776 256
      min-liveness count 1 1000000 1
      max-liveness count 1 1000000 10
      deallocation-delay count 0 1000000 0
      time-quantum size 1 1099511627776 262144
      ticks count 1 1000000000 50
      max-time-drift count 1 1000000000 0
      list-ratio percent 0 100 100
      write-access-ratio percent 0 100 10
      write-iterations count 1 1000000000 1
      shared-objects-ratio percent 0 100 100
      receiving-threads-ratio percent 0 100 100
      permanent-objects-ratio percent 0 100 0
      seed count 0 9223372036854775807 1
      access-live-objects flag 0 1 1
      shared-objects flag 0 1 0
      share-each-class flag 0 1 0
      historic flag 0 1 0
      """;
  private static final Map<String, Long> UNITS =
      Map.ofEntries(
          Map.entry("count", 1L), Map.entry("countk", 1_000L), Map.entry("countM", 1_000_000L),
          Map.entry("countG", 1_000_000_000L), Map.entry("size", 1L), Map.entry("sizeB", 1L),
          Map.entry("sizekB", 1_000L), Map.entry("sizeMB", 1_000_000L), Map.entry("sizeGB", 1_000_000_000L),
          Map.entry("sizeKiB", 1L << 10), Map.entry("sizeMiB", 1L << 20), Map.entry("sizeGiB", 1L << 30),
          Map.entry("percent", 1L), Map.entry("percent%", 1L));
  private static final Pattern QUANTITY = Pattern.compile("(\\d+(?:\\.\\d+)?)([A-Za-z%]*)");

  private final Map<String, String[]> rows = new LinkedHashMap<>();
  private final Map<String, Object> values = new LinkedHashMap<>();
  String accounts = "";
  String json = "";

  Options(String[] words) {
    for (String line : TABLE.lines().toList()) rows.put(line.split(" ")[0], line.split(" "));
    rows.forEach((name, row) -> values.put(name, value(row, row[4])));
    for (int at = 0; at < words.length; at++) at = take(words, at);
    check();
  }

  long whole(String name) {
    return (Long) values.get(name);
  }

  double percent(String name) {
    return (Double) values.get(name);
  }

  boolean flag(String name) {
    return (Boolean) values.get(name);
  }

  Map<String, Object> all() {
    return values;
  }

  /** Reads the option at this place, and returns the place of its last word. */
  private int take(String[] words, int at) {
    String name = words[at].startsWith("--") ? words[at].substring(2) : "";
    String positive = name.startsWith("no-") ? name.substring(3) : name;
    if (rows.containsKey(positive) && rows.get(positive)[1].equals("flag")) {
      values.put(positive, positive.equals(name));
      return at;
    }
    boolean file = name.equals("accounts") || name.equals("json");
    if (!file && !rows.containsKey(name))
      throw new UsageError(words[at] + ": under a collector there is no such option");
    if (at + 1 == words.length) throw new UsageError("--" + name + ": takes a value");
    String text = words[at + 1];
    if (name.equals("accounts")) accounts = text;
    else if (name.equals("json")) json = text;
    else values.put(name, value(rows.get(name), text));
    return at + 1;
  }

  private static Object value(String[] row, String text) {
    if (row[1].equals("flag")) return text.equals("1");
    if (row[1].equals("word")) {
      if (!text.equals(row[4])) throw refused(row, text);
      return text;
    }
    Matcher match = QUANTITY.matcher(text);
    if (!match.matches() || !UNITS.containsKey(row[1] + match.group(2))) throw refused(row, text);
    BigDecimal exact = new BigDecimal(match.group(1)).multiply(BigDecimal.valueOf(UNITS.get(row[1] + match.group(2))));
    boolean within = exact.compareTo(new BigDecimal(row[3])) <= 0;
    if (row[0].equals("max-time-drift") && exact.signum() == 0) return 0L;
    if (!within || exact.compareTo(new BigDecimal(row[2])) < 0) throw refused(row, text);
    return row[1].equals("percent") ? (Object) exact.doubleValue() : (Object) exact.longValue();
  }

  private static UsageError refused(String[] row, String text) {
    String allowed = row[2].equals(row[3]) ? row[2] + " under a collector" : row[2] + " to " + row[3];
    return new UsageError("--" + row[0] + ": " + text + "; allowed is " + allowed);
  }

  private void check() {
    if (whole("max-time-drift") == 0) values.put("max-time-drift", whole("max-liveness"));
    atMost("min-size", "max-size");
    atMost("min-liveness", "max-liveness");
    atMost("deallocation-delay", "ticks");
    atMost("max-time-drift", "ticks");
    if (whole("max-size") > Integer.MAX_VALUE - 64)
      throw new UsageError("--max-size: an array of a collector has at most 2147483583 bytes");
    if (whole("ticks") <= 2 * whole("max-liveness"))
      throw new UsageError("--ticks: no longer than the warm-up of 2 x --max-liveness");
    if (flag("historic")) checkHistoric();
  }

  private void atMost(String name, String bound) {
    if (whole(name) > whole(bound))
      throw new UsageError("--" + name + ": " + whole(name) + " is more than --" + bound);
  }

  private void checkHistoric() {
    boolean powers = Long.bitCount(whole("min-size")) == 1 && Long.bitCount(whole("max-size")) == 1;
    if (!powers || whole("min-size") == whole("max-size"))
      throw new UsageError("--historic allows powers of two for --min-size and --max-size, not equal to each other");
    if (flag("shared-objects") || percent("permanent-objects-ratio") != 0)
      throw new UsageError("--historic allows neither --shared-objects nor --permanent-objects-ratio");
    if (whole("seed") == 0 || whole("seed") > 2_147_482_000)
      throw new UsageError("--seed: --historic allows 1 to 2147482000");
  }
}
