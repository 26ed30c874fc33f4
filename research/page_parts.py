"""Parts of the pages that research/ writes, in Markdown."""

from typing import Any

from heaplab.report.words import facts
from heaplab.stats import Interval


def ratio_text(ratio: Interval, digits: int = 3) -> str:
    bounds = f" ({ratio.low:.{digits}f} to {ratio.high:.{digits}f})" if ratio.bounded else ""
    return f"{ratio.estimate:.{digits}f}{bounds}"


# What of a machine moves times and memory; `heaplab doctor` has the rest.
TOLD = {
    "processor",
    "CPUs to run on",
    "caches",
    "memory",
    "kernel",
    "distribution",
    "C library",
    "page size",
    "transparent huge pages",
    "virtual machine",
    "load, last minute",
}


def machine(known: dict[str, Any]) -> str:
    """The last part of a page: where its figures were measured. `known` are the host's facts."""
    told = [f"{name} {value}" for name, value in facts.in_words(known) if name in TOLD]
    return "\n## The machine\n\n" + "; ".join(told) + "\n"
