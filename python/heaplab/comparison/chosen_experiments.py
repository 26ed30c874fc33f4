"""The experiments that the options of a command select."""

from collections.abc import Sequence

from heaplab.catalog.contents import Catalog
from heaplab.catalog.workload_file import why_absent
from heaplab.errors import UsageError
from heaplab.results import spec
from heaplab.screen.notes import note


def experiments(
    catalog: Catalog, asked: Sequence[str]
) -> tuple[list[spec.Experiment], dict[str, spec.Workload]]:
    """The experiments (ids, groups or globs) whose programs are on this machine, and their workloads.

    A note names the others, which are left out. Raises UsageError if nothing is left.
    """
    matching = catalog.experiments_matching(list(asked))
    absent = {item.id: why for item in matching if (why := why_absent(catalog.workloads[item.workload]))}
    left_out = ", ".join(f"{name} ({why})" for name, why in absent.items())
    if len(absent) == len(matching):
        raise UsageError(f"not on this machine: {left_out}; nothing to measure")
    if absent:
        note(f"left out, for want of a program: {left_out}")
    kept = [item for item in matching if item.id not in absent]
    return kept, {item.workload: catalog.workloads[item.workload] for item in kept}
