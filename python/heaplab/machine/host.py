"""Facts about this machine on which figures depend, and the foreign load during a run."""

import mmap
import os
import platform
import resource
import struct
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, Self

from heaplab.errors import HeaplabError
from heaplab.machine import container, signals

# Facts that must agree for results to count as results of the same machine.
SAME_MACHINE = ("cpu", "cpus", "memory", "kernel", "c_library", "transparent_huge_pages")
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
MADV_HUGEPAGE = 14
MADV_POPULATE_WRITE = 23  # Linux 5.14
# share of all CPU time that other processes may use during a run that is not to be repeated
FOREIGN_SHARE = 0.05
SECONDS = struct.Struct("d")
PACE_SIZE = 256 << 20  # B; smaller sizes fit into a cache
FOREIGN_ROUNDING_S = 0.03  # the kernel counts CPU time in ticks of 10 ms


def read(path: str) -> str | None:
    """The content of a file in one line; None if there is no such file, or nothing in it."""
    return container.text(Path(path)) or None


def facts() -> dict[str, Any]:
    """Facts that a reader of the results must know; a fact is None if the machine does not reveal it."""
    cpu = "/sys/devices/system/cpu"
    huge = "/sys/kernel/mm/transparent_hugepage"
    limits, address_space = container.limits(), resource.getrlimit(resource.RLIMIT_AS)[0]
    return {
        "cpu": cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "cpu_limit": limits.cpus,
        "cores": cores(),
        "caches": caches(),
        "governor": read(f"{cpu}/cpu0/cpufreq/scaling_governor"),
        "smt": read(f"{cpu}/smt/active"),
        "memory": whole_memory(),
        "memory_available": memory_available(),
        "memory_limit": limits.memory,
        "swap": memory_amounts().get("SwapTotal"),
        "numa_nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "distribution": platform.freedesktop_os_release().get("PRETTY_NAME"),
        "c_library": " ".join(platform.libc_ver()),
        "page_size": mmap.PAGESIZE,
        "transparent_huge_pages": bracketed(read(f"{huge}/enabled")),
        "huge_page_defrag": bracketed(read(f"{huge}/defrag")),
        "overcommit": read("/proc/sys/vm/overcommit_memory"),
        "aslr": read("/proc/sys/kernel/randomize_va_space"),
        "address_space_limit": None if address_space == resource.RLIM_INFINITY else address_space,
        "container": container.kind() or "none",
        "seccomp": container.seccomp(),
        "ptrace": container.may_trace(),
        "hypervisor": "hypervisor" in (read("/proc/cpuinfo") or ""),
        "clock_source": read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "load": os.getloadavg()[0],
    }


def cpu_model() -> str:
    lines = (read("/proc/cpuinfo") or "").splitlines()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def cores() -> int | None:
    """The physical cores of this machine; hyperthreads name the same siblings."""
    topologies = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")
    return len({path.read_text() for path in topologies}) or None


def whole_memory() -> int:
    """This machine's memory in B (sysinfo(2)), which is known also without /proc."""
    return os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE


def usable_memory() -> int:
    """The memory in B that all programs here may use together: the machine's, or the limit of a container."""
    return min(whole_memory(), container.limits().memory or whole_memory())


def memory_available() -> int | None:
    """The memory in B that can be had without swapping, and without reaching the limit of a container."""
    free, left = memory_amounts().get("MemAvailable"), container.limits().memory_left
    return free if free is None or left is None else min(free, left)


def memory_amounts() -> dict[str, int]:
    """The kernel's account of memory by name, in B (proc_meminfo(5)); {} without /proc."""
    lines = (line.split() for line in (read("/proc/meminfo") or "").splitlines() if line.endswith(" kB"))
    return {name.rstrip(":"): int(amount) * 1024 for name, amount, _unit in lines}


def caches() -> dict[str, str]:
    """The size of each cache of the first CPU: {"L1 Data": "32K", ...}."""
    sizes = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (read(str(index / name)) for name in ("level", "type", "size"))
        sizes[f"L{level} {kind}"] = size or "?"
    return sizes


def bracketed(choice: str | None) -> str | None:
    """The word in brackets of a kernel setting: "madvise" for "always [madvise] never"."""
    return choice.split("[")[1].split("]")[0] if choice and "[" in choice else choice


@dataclass(frozen=True)
class CpuTime:
    """CPU seconds used so far, on the CPUs that this process may use."""

    machine: float  # of all processes, with `stolen`
    own: float  # of heaplab and its finished children
    stolen: float = 0.0  # taken by the hypervisor

    @classmethod
    def now(cls) -> Self:
        try:
            with open("/proc/stat", "rb") as stream:
                lines = stream.readlines()
        except OSError as error:
            raise HeaplabError("nothing can be measured here: /proc is not mounted") from error
        usable = {b"cpu%d" % cpu for cpu in os.sched_getaffinity(0)}
        chosen = [line for line in lines if line.split()[0] in usable] or lines[:1]
        counts = [map(int, line.split()[1:9]) for line in chosen]
        user, nice, system, _idle, _wait, irq, softirq, steal = map(sum, zip(*counts, strict=True))
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(
            machine=(user + nice + system + irq + softirq + steal) / CLOCK_TICKS,
            own=sum(usage.ru_utime + usage.ru_stime for usage in usages),
            stolen=steal / CLOCK_TICKS,
        )

    def foreign_since(self, before: "CpuTime") -> tuple[float, float]:
        """CPU seconds that others used since an earlier reading, and the hypervisor's part of them."""
        foreign = (self.machine - before.machine) - (self.own - before.own)
        return max(0.0, foreign), max(0.0, self.stolen - before.stolen)


def foreign_limit(wall: float) -> float:
    """CPU seconds that other processes may use during a run of `wall` seconds without voiding the run."""
    return FOREIGN_SHARE * wall * len(os.sched_getaffinity(0)) + FOREIGN_ROUNDING_S


def warm_memory(wanted: int) -> float:
    """Touch and release `wanted` bytes, or as many as fit, in a separate process; s that touching took.

    The host of a virtual machine reclaims memory that was free for a while. The first program to use such
    memory pays for all programs that follow. See docs/method.md.
    """
    size = min(wanted, int((memory_available() or 0) * 0.8)) // mmap.PAGESIZE * mmap.PAGESIZE
    if size <= 0:
        return 0.0
    note = mmap.mmap(-1, SECONDS.size)  # shared with the helper, which fills it in
    with signals.blocked():
        helper = os.fork()
        if helper == 0:
            touch_and_exit(size, note)
    os.waitpid(helper, 0)
    return float(SECONDS.unpack_from(note)[0])


@cache
def pace_of_warm_memory() -> float:
    """Seconds for each byte of memory that was released a moment ago, measured once in a process."""
    warm_memory(PACE_SIZE)
    return min(warm_memory(PACE_SIZE) for _ in range(2)) / PACE_SIZE


def touch_and_exit(size: int, note: mmap.mmap) -> NoReturn:
    try:
        began = time.monotonic()
        pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        try:
            pages.madvise(MADV_HUGEPAGE)
            pages.madvise(MADV_POPULATE_WRITE)
        except OSError:
            for offset in range(0, size, mmap.PAGESIZE):
                pages[offset] = 1
        SECONDS.pack_into(note, 0, time.monotonic() - began)
    finally:
        os._exit(0)


def cpus_to_pin() -> frozenset[int]:
    """The CPUs for pinned runs: one CPU of every physical core that this process may use."""
    chosen: dict[str, int] = {}
    for cpu in sorted(os.sched_getaffinity(0)):
        chosen.setdefault(siblings_of(cpu), cpu)
    return frozenset(chosen.values())


def cpus_apart(pinned: bool) -> tuple[frozenset[int], frozenset[int]]:
    """The CPUs for a server and for its clients: half the cores each, or the same CPU if there is only one.

    Hyperthreads of a core stay together; with `pinned`, one of each core is used.
    """
    allowed = sorted(cpus_to_pin() if pinned else os.sched_getaffinity(0))
    if len(allowed) < 2:
        return frozenset(allowed), frozenset(allowed)
    by_core = sorted(allowed, key=lambda cpu: (siblings_of(cpu), cpu))
    half = (len(by_core) + 1) // 2
    while half < len(by_core) - 1 and siblings_of(by_core[half - 1]) == siblings_of(by_core[half]):
        half += 1
    return frozenset(by_core[:half]), frozenset(by_core[half:])


def siblings_of(cpu: int) -> str:
    """The CPUs of the same core, as the kernel lists them."""
    return read(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") or str(cpu)
