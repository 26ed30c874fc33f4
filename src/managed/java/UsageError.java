/** A wrong command line, in one line. */
final class UsageError extends RuntimeException {
  UsageError(String message) {
    super(message);
  }
}
