import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Every time the virtual machine stopped all threads, from the request on: the log of -Xlog:safepoint. */
final class Pauses {
  private static final Pattern TOTAL = Pattern.compile("Safepoint \".*Total: +(\\d+) ns");

  private final Path log; // goes with the process; null where the machine keeps none
  private int before; // of the log's lines

  Pauses(String path) {
    log = path == null ? null : Path.of(path.replace("%p", Long.toString(ProcessHandle.current().pid())));
    if (log != null) log.toFile().deleteOnExit();
  }

  void begin() {
    before = read().size();
  }

  /** Seconds of each pause since begin(), in ascending order. */
  double[] since() {
    List<Double> all = read();
    return all.subList(before, all.size()).stream().mapToDouble(Double::doubleValue).sorted().toArray();
  }

  boolean known() {
    return log != null;
  }

  private List<Double> read() {
    List<Double> found = new ArrayList<>();
    if (log == null) return found;
    try {
      for (String line : Files.readAllLines(log)) {
        Matcher match = TOTAL.matcher(line);
        if (match.find()) found.add(Long.parseLong(match.group(1)) / 1e9);
      }
    } catch (IOException error) {
      throw new UsageError(log + ": no log of safepoints");
    }
    return found;
  }
}
