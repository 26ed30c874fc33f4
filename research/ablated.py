"""The mechanisms that research/ablations.py takes away, each with its arms and the workload that shows it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ablation:
    """One mechanism: the arms with it and without it, and the workload that shows it."""

    name: str  # of the picture's file
    mechanism: str
    saves: str  # what it is for
    workload: str
    options: str  # of the run that is timed
    short: str  # the option that says how much work there is, for callgrind: with this much, and with half
    with_it: str = "scalloc-paper"  # an allocator, or options that choose a strategy
    without: str = ""
    simulated: str = ""  # a workload of the simulator
    why: str = ""  # what the counts say of it

    @property
    def key(self) -> tuple[str, str, str]:
        """Ablations with one key are measured together."""
        return self.workload, self.options, self.short


SPANS = "--threads 2 --min-liveness 1 --max-liveness 1"
SETS = "--structure DS7 --elements 512"
GROWTH = {"workload": "growth", "options": f"{SETS} --operations 2097152", "short": "--operations 131072"}
OF_MALLOCS = [
    Ablation(
        "madvise",
        "empty spans give their memory back",
        "memory, at the price of system calls and faults",
        "acdc",
        f"{SPANS} --min-size 4096 --max-size 16384 --time-quantum 4194304 --ticks 20",
        "--ticks 6",
        without="scalloc-no-madvise",
        why="The time goes to the kernel: without madvise an eighth of the page faults are left, and "
        "twice the memory stays. So scalloc today keeps a bounded amount of it ([decision "
        "65](decisions/0065-free-spans-are-retained.md)).",
    ),
    Ablation(
        "span-pool",
        "the span-pool has a stack for each processor",
        "threads waiting for each other's line",
        "threadtest",
        "--threads 2 --rounds 30 --round-objects 100000 --size 256",
        "--rounds 2",
        without="scalloc-single-stack",
        simulated="span-pool",
        why="Two processors are too few to be in each other's way: instructions, faults and memory are "
        "equal. The simulator has the price that more would pay: 0.59 lines moved for an operation "
        "with 256 threads, and none with a stack for each.",
    ),
    Ablation(
        "eager-return",
        "empty spans return in free, not in malloc",
        "memory that others could use",
        "threadtest",
        "--threads 2 --rounds 100 --round-objects 100000 --size 64",
        "--rounds 4",
        without="scalloc-reclaim-in-malloc",
        simulated="thread-churn",
        why="Nothing is gained or lost with two threads: the same instructions, faults and memory. The "
        "paper has a quarter more memory without it at 39 threads, more than this machine can "
        "show.",
    ),
    Ablation(
        "reuse",
        "spans are used again before they are empty",
        "memory in workloads without phases",
        "shbench",
        "--threads 2 --calls 5000 --min-size 1 --size-limit 8",
        "--calls 100",
        without="scalloc-no-reuse",
        simulated="larson",
        why="Without it spans with few blocks in use stay out of reach, so that new ones are carved: "
        "more faults and memory, by less than the paper's 14.7 % at 20 threads, and no more time.",
    ),
    Ablation(
        "thread-local",
        "local buffers are those of threads, not of processors",
        "a lock for each operation",
        "threadtest",
        "--threads 2 --rounds 100 --round-objects 100000 --size 64",
        "--rounds 4",
        without="scalloc-clab",
        simulated="threadtest",
        why="Two atomic operations for each operation, a lock and its release, and twice the "
        "instructions; no line moves where no two threads share a core, so that the lock itself is "
        "the price.",
    ),
    Ablation(
        "virtual-spans",
        "spans are large in addresses and small in pages",
        "memory, where a size needs few blocks",
        "acdc",
        f"{SPANS} --min-size 16 --max-size 64 --time-quantum 16384 --ticks 2000",
        "--ticks 50",
        without="scalloc-huge-pages",
        why="The kernel fills a whole huge page for each span that a size has begun, so that a few "
        "blocks cost 2 MiB: the same instructions and fewer faults, but each fault zeroes 512 "
        "times the bytes.",
    ),
    Ablation(
        "llheap-ownership",
        "llheap sends blocks home to the thread that allocated them",
        "memory, where blocks change hands, and false sharing",
        "exchange",
        "--threads 2 --live-objects 100 --shared-places 20000 --swapped 100 --max-size 256 "
        "--replacements 1000000",
        "--replacements 10000",
        with_it="llheap",
        without="llheap-no-ownership",
        why="Blocks that change hands pile up where they are freed, and their first owner carves new "
        "ones, the more the longer the program runs: more faults and memory. The way home costs a "
        "tenth of the instructions.",
    ),
    Ablation(
        "llheap-statistics",
        "llheap counts nothing",
        "time",
        "churn",
        "--objects 3000000",
        "--objects 30000",
        with_it="llheap",
        without="llheap-stats",
        why="Counting takes as many instructions as all the rest, on the fast path of every call.",
    ),
    Ablation(
        "llheap-debug",
        "llheap checks no pointers",
        "time",
        "churn",
        "--objects 3000000",
        "--objects 30000",
        with_it="llheap",
        without="llheap-debug",
        why="Each block is filled and checked at its ends, and each pointer looked up: more than four "
        "times the instructions, which also touch more of each block.",
    ),
]
# The strategies of P0089R1, table 1, each beside the one from which it differs in one thing.
STRATEGIES = [
    Ablation(
        "static-call",
        "the global allocator is a type (AS1), not an abstract base (AS2)",
        "virtual calls",
        with_it="--strategy AS1",
        without="--strategy AS2",
        **GROWTH,
        why="A call through the abstract base is three instructions more in a hundred, and no time that "
        "is shown: searching and freeing outweigh it.",
    ),
    Ablation(
        "monotonic",
        "a monotonic allocator (AS3), not the global one (AS1)",
        "searching, headers and frees",
        with_it="--strategy AS3",
        without="--strategy AS1",
        **GROWTH,
        why="Five of six instructions are gone, those that search and free. Time is divided by three and "
        "no more: nothing is used twice, so that page faults grow by four tenths, and the kernel's "
        "part of the time with them.",
    ),
    Ablation(
        "winking",
        "memory of a monotonic allocator is winked out (AS4), not freed one by one (AS3)",
        "the destructors",
        with_it="--strategy AS4",
        without="--strategy AS3",
        **GROWTH,
        why="Deallocation does nothing here, and the destructors of sets of numbers reduce to walking "
        "them: no instructions are saved, and no time.",
    ),
    Ablation(
        "monotonic-type",
        "the monotonic allocator is a type (AS3), not an abstract base (AS5)",
        "virtual calls",
        with_it="--strategy AS3",
        without="--strategy AS5",
        **GROWTH,
        why="A fifth more instructions: the virtual call is made for each block that is allocated, and "
        "for each that is freed, where freeing does nothing. Without the search of a global allocator "
        "around it, it shows.",
    ),
    Ablation(
        "monotonic-base-winking",
        "memory of a monotonic allocator behind a base is winked out (AS6), not freed one by one (AS5)",
        "the destructors, with a virtual call for each block",
        with_it="--strategy AS6",
        without="--strategy AS5",
        **GROWTH,
        why="What winking out saves is the virtual call of each deallocation: an eighth of the "
        "instructions. Of a type (AS4 beside AS3) nothing was left to save.",
    ),
    Ablation(
        "multipool",
        "a multipool (AS7), not the global allocator (AS1)",
        "searching",
        with_it="--strategy AS7",
        without="--strategy AS1",
        **GROWTH,
        why="As few instructions as a monotonic allocator takes, a fifth of the global one's. But chunks "
        "go back to the global allocator at each structure's end, and it gives them back to the "
        "kernel: fourteen times the page faults, which eat most of what was won.",
    ),
    Ablation(
        "multipool-winking",
        "memory of a multipool is winked out (AS8), not freed one by one (AS7)",
        "the destructors, and the way of each block to its pool",
        with_it="--strategy AS8",
        without="--strategy AS7",
        **GROWTH,
        why="A tenth of the instructions: each block's way back to its list. The page faults stay, and "
        "most of the time is theirs.",
    ),
    Ablation(
        "multipool-type",
        "the multipool is a type (AS7), not an abstract base (AS9)",
        "virtual calls",
        with_it="--strategy AS7",
        without="--strategy AS9",
        **GROWTH,
        why="Half of the instructions again: a pool does so little for a block that a virtual call is "
        "half as much. The page faults hide it in the time.",
    ),
    Ablation(
        "multipool-base-winking",
        "memory of a multipool behind a base is winked out (AS10), not freed one by one (AS9)",
        "the destructors, with a virtual call for each block",
        with_it="--strategy AS10",
        without="--strategy AS9",
        **GROWTH,
        why="More than a fifth of the instructions go with the deallocations, each a virtual call and the "
        "way to a list.",
    ),
    Ablation(
        "multipool-on-monotonic",
        "a multipool over a monotonic allocator (AS11), not over the global one (AS7)",
        "the global allocator's work for chunks",
        with_it="--strategy AS11",
        without="--strategy AS7",
        **GROWTH,
        why="The same instructions. The chunks lie in a buffer that stays, so that the kernel is not "
        "asked again: a tenth of the page faults, and half of the time.",
    ),
    Ablation(
        "multipool-on-monotonic-winking",
        "memory of a multipool over a monotonic allocator is winked out (AS12), not freed one by one (AS11)",
        "the destructors, and the way of each block to its pool",
        with_it="--strategy AS12",
        without="--strategy AS11",
        **GROWTH,
        why="The instructions of the deallocations, an eighth, are shown in the time now that the page "
        "faults are few.",
    ),
    Ablation(
        "multipool-on-monotonic-type",
        "the multipool over a monotonic allocator is a type (AS11), not an abstract base (AS13)",
        "virtual calls",
        with_it="--strategy AS11",
        without="--strategy AS13",
        **GROWTH,
        why="Half of the instructions again, and a fifth of the time: the virtual calls, where nothing "
        "else is large.",
    ),
    Ablation(
        "multipool-on-monotonic-base-winking",
        "the same behind a base is winked out (AS14), not freed one by one (AS13)",
        "the destructors, with a virtual call for each block",
        with_it="--strategy AS14",
        without="--strategy AS13",
        **GROWTH,
        why="A quarter of the instructions and of the time: of all strategies behind a base the one that "
        "gains most by winking out.",
    ),
]
ABLATIONS = [*OF_MALLOCS, *STRATEGIES]
