import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;

/** A lifetime-size-class: a list in the order of allocation, or a tree built in pre-order from left to right. */
final class SizeClass {
  /** An object: its links and its payload. No object of Java has both a reference and a length of its own. */
  private static final class Node {
    Node left; // the next of a list
    Node right;
    final byte[] payload;

    Node(int bytes) {
      payload = new byte[bytes];
    }
  }

  // Opaque, as the relaxed atomics of the C++ program: the compiler may not keep the bytes in registers.
  private static final VarHandle BYTES = MethodHandles.arrayElementVarHandle(byte[].class);

  final Plan plan;
  final int maker;
  final AtomicInteger holders = new AtomicInteger(1);
  private Node first;

  SizeClass(Plan plan, int maker) {
    this.plan = plan;
    this.maker = maker;
  }

  long bytes() {
    return plan.size() * plan.count();
  }

  void allocate() {
    first = plan.tree() ? tree(plan.count()) : list();
  }

  void drop() {
    first = null;
  }

  void access(Pacer pacer, long iterations) {
    long visited = plan.tree() ? accessTree(first, pacer, iterations) : accessList(pacer, iterations);
    if (visited != plan.count()) throw new IllegalStateException("self-check failed: an object is missing");
  }

  private Node list() {
    int bytes = (int) plan.size() - Plan.LIST_LINKS;
    Node head = new Node(bytes);
    Node last = head;
    for (long i = 1; i < plan.count(); i++) {
      last.left = new Node(bytes);
      last = last.left;
    }
    return head;
  }

  private Node tree(long count) {
    if (count == 0) return null;
    Node node = new Node((int) plan.size() - Plan.TREE_LINKS);
    long left = (count - 1) / 2;
    node.left = tree(left);
    node.right = tree(count - 1 - left);
    return node;
  }

  private long accessList(Pacer pacer, long iterations) {
    long visited = 0;
    for (Node node = first; node != null; node = node.left) {
      if (pacer.next()) write(node.payload, iterations);
      visited++;
    }
    return visited;
  }

  private static long accessTree(Node node, Pacer pacer, long iterations) {
    if (node == null) return 0;
    if (pacer.next()) write(node.payload, iterations);
    return 1 + accessTree(node.right, pacer, iterations) + accessTree(node.left, pacer, iterations);
  }

  private static void write(byte[] payload, long iterations) {
    for (long i = 0; i < iterations; i++)
      for (int j = 1; j < payload.length; j++)
        BYTES.setOpaque(payload, j, (byte) ((byte) BYTES.getOpaque(payload, j - 1) + 1));
  }
}
