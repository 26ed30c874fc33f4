import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/** One thread of ACDC: src/workloads/acdc/mutator.h, where dropping the last reference stands for free(). */
final class Mutator {
  private final Options options;
  private final int thread;
  private final Mutator[] all;
  private final CyclicBarrier drift;
  private final Books books;
  private final Draws draws;
  private final Pacer pacer;
  private final int[] others;
  private final List<List<SizeClass>> ring = new ArrayList<>();
  private final List<SizeClass> permanent = new ArrayList<>();
  private List<SizeClass> outbox = new ArrayList<>();
  private List<SizeClass> inbox = new ArrayList<>(); // guarded by this
  private long time;

  long allocation;
  long deallocation;
  long access;
  volatile long allocatedBytes; // written by this thread alone
  volatile long freedBytes;
  long allocatedObjects;
  long freedObjects;
  long remotelyFreed;
  final long[] byLiveness;
  final long[] byLog2 = new long[64];

  Mutator(Options options, int thread, Mutator[] all, CyclicBarrier drift, Books books) {
    this.options = options;
    this.thread = thread;
    this.all = all;
    this.drift = drift;
    this.books = books;
    draws = new Draws(options.whole("seed"), thread);
    pacer = new Pacer(options.percent("write-access-ratio"));
    byLiveness = new long[(int) options.whole("max-liveness") + 1];
    others = new int[all.length - 1];
    for (int i = 0; i < others.length; i++) others[i] = i < thread ? i : i + 1;
    long classes = options.whole("max-liveness") + options.whole("deallocation-delay");
    for (long i = 0; i < classes; i++) ring.add(new ArrayList<>());
  }

  void run() {
    long ticks = options.whole("ticks");
    while (time < ticks) tick();
  }

  /** Drops everything that this thread still holds or has been sent. Not part of the measured time. */
  void dropRest() {
    collect();
    for (List<SizeClass> some : ring) drop(some);
    drop(permanent);
  }

  long accessed() {
    return pacer.accessed;
  }

  long written() {
    return pacer.written;
  }

  private void tick() {
    boolean historic = options.flag("historic");
    for (long allocated = 0; allocated < options.whole("time-quantum"); ) {
      allocated += allocate();
      if (options.flag("share-each-class")) share();
      if (historic) access();
    }
    if (thread == 0) books.sample(time, all);
    share();
    time++;
    if (!historic) access();
    long begin = System.nanoTime();
    drop(ring.get((int) (time % ring.size())));
    deallocation += System.nanoTime() - begin;
    if (thread == 0) books.note(time, this);
    if (time % options.whole("max-time-drift") == 0 && all.length > 1) await(drift);
  }

  private long allocate() {
    Plan plan = Plan.draw(options, draws);
    SizeClass made = new SizeClass(plan, thread);
    long begin = System.nanoTime();
    made.allocate();
    allocation += System.nanoTime() - begin;
    allocatedBytes += made.bytes();
    allocatedObjects += plan.count();
    byLiveness[(int) plan.liveness()] += plan.count();
    byLog2[Plan.log2(plan.size())] += plan.count();
    if (plan.shared()) outbox.add(made);
    else insert(made);
    return made.bytes();
  }

  private void insert(SizeClass some) {
    long liveness = some.plan.liveness();
    if (liveness == Plan.PERMANENT) permanent.add(some);
    else ring.get((int) ((time + liveness + options.whole("deallocation-delay")) % ring.size())).add(some);
  }

  private void share() {
    if (!options.flag("shared-objects")) return;
    int receivers = (int) Math.round(others.length * options.percent("receiving-threads-ratio") / 100);
    for (SizeClass shared : outbox) {
      shared.holders.set(receivers + 1);
      send(shared);
      for (int i = 0; i < receivers; i++) {
        int other = i + (int) draws.below(others.length - i);
        int chosen = others[other];
        others[other] = others[i];
        others[i] = chosen;
        all[chosen].send(shared);
      }
    }
    outbox.clear();
    collect();
  }

  private synchronized void send(SizeClass shared) {
    inbox.add(shared);
  }

  private void collect() {
    List<SizeClass> arrived;
    synchronized (this) {
      if (inbox.isEmpty()) return;
      arrived = inbox;
      inbox = new ArrayList<>();
    }
    arrived.forEach(this::insert);
  }

  private void access() {
    if (!options.flag("access-live-objects")) return;
    long begin = System.nanoTime();
    long iterations = options.whole("write-iterations");
    for (long ahead = 0; ahead < options.whole("max-liveness"); ahead++) {
      long slot = (time + options.whole("deallocation-delay") + ahead) % ring.size();
      for (SizeClass some : ring.get((int) slot)) some.access(pacer, iterations);
    }
    for (SizeClass some : permanent) some.access(pacer, iterations);
    access += System.nanoTime() - begin;
  }

  private void drop(List<SizeClass> expired) {
    for (SizeClass some : expired) {
      if (some.holders.decrementAndGet() != 0) continue;
      some.drop();
      freedBytes += some.bytes();
      freedObjects += some.plan.count();
      if (some.maker != thread) remotelyFreed += some.plan.count();
    }
    expired.clear();
  }

  static void await(CyclicBarrier barrier) {
    try {
      barrier.await();
    } catch (InterruptedException | BrokenBarrierException error) {
      throw new IllegalStateException("a thread ended early", error);
    }
  }
}
