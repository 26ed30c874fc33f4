"""The facts about a machine in words: names and texts for the facts of machine/host.py."""

import re
from collections.abc import Mapping
from typing import Any

from heaplab.text import units

UNKNOWN = "not told here"
NAMES = {
    "cpu": "processor",
    "cpus": "CPUs to run on",
    "cpu_limit": "CPU time, limit in CPUs",
    "smt": "two threads a core",
    "memory_available": "memory free",
    "memory_limit": "memory limit",
    "seccomp": "system calls filtered",
    "ptrace": "debuggers may attach",
    "numa_nodes": "NUMA nodes",
    "governor": "CPU governor",
    "c_library": "C library",
    "overcommit": "memory overcommit",
    "aslr": "address randomisation",
    "address_space_limit": "address space limit",
    "hypervisor": "virtual machine",
    "load": "load, last minute",
}
SIZES = {"memory", "memory_available", "memory_limit", "swap", "page_size", "address_space_limit"}
LIMITS = {"address_space_limit", "cpu_limit", "memory_limit"}
# Meanings of the kernel's numbers: proc(5), sysctl/kernel.
MEANINGS = {
    "smt": {"0": "no", "1": "yes"},
    "seccomp": {"off": "no", "filtered": "yes"},
    "overcommit": {"0": "by heuristic", "1": "always", "2": "never"},
    "aslr": {"0": "off", "1": "all but the heap", "2": "full"},
}


def in_words(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Names and texts, in the order of the facts."""
    return [(NAMES.get(name, name.replace("_", " ")), text_of(name, value)) for name, value in facts.items()]


def in_short(facts: Mapping[str, Any]) -> str:
    """One line: "Example CPU, 2 CPUs, virtual, 8 GiB, Linux 6.1.0, glibc 2.36, Debian GNU/Linux 12"."""
    known = {name: value for name, value in facts.items() if value}
    parts = [
        str(known.get("cpu", "unknown processor")),
        units.counted(known["cpus"], "CPU") if "cpus" in known else "",
        "virtual" if known.get("hypervisor") else "",
        _size(known["memory"]) if "memory" in known else "",
        f"Linux {known['kernel']}" if "kernel" in known else "",
        str(known.get("c_library", "")),
        str(known.get("distribution", "")),
    ]
    return ", ".join(filter(None, parts))


def text_of(name: str, value: Any) -> str:
    """ "memory", 8 << 30 -> "8.00 GiB"; a limit that is not set is "none"."""
    if value is None:
        return "none" if name in LIMITS else UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in SIZES:
        return _size(value) if value else "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cache_size(size)}" for key, size in value.items())
    if isinstance(value, float):
        return units.digits(value)
    return MEANINGS.get(name, {}).get(str(value), str(value))


def _cache_size(size: str) -> str:
    """The kernel writes "1024K"."""
    known = size.endswith("K") and size[:-1].isdigit()
    return _size(int(size[:-1]) * 1024) if known else size


def _size(value: int) -> str:
    return re.sub(r"\.0+(?= )", "", units.show(float(value), "B"))
