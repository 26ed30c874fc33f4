"""Programs of the catalog that research/replay_fidelity.py and research/recording_cost.py record."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from heaplab.catalog.contents import Catalog
from heaplab.errors import UsageError
from heaplab.results import spec
from heaplab.results.records import Arm
from heaplab.traces import recording, tool

GROUPS = ("programs", "servers", "classic")  # of the catalog's experiments, where a program is looked up
PROGRAMS = (
    "gxx,python,sqlite,git-log,perl,ghostscript,jq,xsltproc,redis,"  # real ones
    "larson,threadtest,producer_consumer,producer_consumer_acdc"  # synthetic, of several threads
)
SEED = 1
# What synthetic workloads measure of their memory, whether or not their cards declare it.
SAMPLED = {
    "peak_memory": spec.MetricSpec(title="Peak memory", unit="B"),
    "minor_faults": spec.MetricSpec(title="Page faults", unit="1"),
}


def experiment_of(catalog: Catalog, name: str) -> spec.Experiment:
    """The catalog's experiment about a program. Raises UsageError if there is none, or more than one cell."""
    for group in GROUPS:
        if f"{group}/{name}" in catalog.experiments:
            experiment = catalog.experiments[f"{group}/{name}"]
            if experiment.compare or len(experiment.cells("quick")) > 1:
                raise UsageError(
                    f"--programs: {name} is swept over several cells; name one with a single cell"
                )
            return experiment
    raise UsageError(f"--programs: no {name!r} among the experiments of {', '.join(GROUPS)}")


def with_blocks(experiment: spec.Experiment, name: str, blocks: int, **changes: Any) -> spec.Experiment:
    """The experiment with another name and so many blocks."""
    scale = experiment.quick.model_copy(update={"blocks": blocks, "blocks_most": blocks})
    return experiment.model_copy(update={"id": name, "quick": scale, "full": scale, **changes})


def workload_of(catalog: Catalog, experiment: spec.Experiment) -> spec.Workload:
    """The experiment's workload, which tells of its memory even if its card does not."""
    workload = catalog.workloads[experiment.workload]
    if workload.kind == "program":
        return workload
    return workload.model_copy(update={"metrics": SAMPLED | workload.metrics})


def add_programs(parser: argparse.ArgumentParser, default: str = PROGRAMS) -> None:
    """The option that chooses among the programs."""
    parser.add_argument("--programs", type=names, default=names(default), help=f"[default: {default}]")


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


@contextmanager
def recorded(wanted: recording.Wanted) -> Iterator[Arm]:
    """The arm under which processes are recorded; at the end of the block their trace is made."""
    recording.make_folder(wanted.raw)
    try:
        with recording.control_of(wanted) as control:
            yield recording.arm_of(wanted)
            control.switch(False)
        tool.finish(wanted.raw, wanted.trace)
    finally:
        recording.remove(wanted.raw)
