import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;

/** What the kernel tells of this process. Of a reading, only the buffers are garbage for the collector. */
final class ProcFiles {
  private static final double TICKS_PER_SECOND = 100; // USER_HZ

  private final byte[] buffer = new byte[8192];

  /** Resident memory of no file: that of ZGC is shared memory. */
  long anonymous() {
    String status = read("/proc/self/status");
    return kib(status, "RssAnon:") + kib(status, "RssShmem:");
  }

  /** The highest so far, assuming that as much of files was resident at the peak as is now. */
  long peakAnonymous() {
    String status = read("/proc/self/status");
    return kib(status, "VmHWM:") - kib(status, "RssFile:");
  }

  long pageTables() {
    return kib(read("/proc/self/status"), "VmPTE:");
  }

  /** Minor and major faults, and seconds in user mode and in the kernel. */
  double[] usage() {
    String stat = read("/proc/self/stat");
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
    return new double[] {
      Double.parseDouble(fields[7]),
      Double.parseDouble(fields[9]),
      Double.parseDouble(fields[11]) / TICKS_PER_SECOND,
      Double.parseDouble(fields[12]) / TICKS_PER_SECOND
    };
  }

  private static long kib(String text, String label) {
    int begin = text.indexOf(label) + label.length();
    return Long.parseLong(text.substring(begin, text.indexOf("kB", begin)).strip()) * 1024;
  }

  private String read(String path) {
    try (RandomAccessFile file = new RandomAccessFile(path, "r")) {
      int length = file.read(buffer);
      return new String(buffer, 0, Math.max(length, 0), StandardCharsets.US_ASCII);
    } catch (IOException error) {
      throw new IllegalStateException(path + ": " + error.getMessage(), error);
    }
  }
}
