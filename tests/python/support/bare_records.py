"""Records of what a test is about: every other field is zero or empty."""

from collections.abc import Iterable

from heaplab.campaign.plan import Cell
from heaplab.results import spec
from heaplab.results.records import Arm, Campaign, Process, Run, Status


def bare_arm(name: str, **more: object) -> Arm:
    nothing = {"title": "", "version": "", "preload": [], "environment": {}, "sha256": {}, "build_id": {}}
    return Arm.model_validate({"allocator": name} | nothing | more)


def bare_process(wall: float = 1.0, **more: object) -> Process:
    counts = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
    amounts = ("user_time", "system_time", "peak_memory", "mean_memory")
    return Process.model_validate({"wall_time": wall} | dict.fromkeys((*counts, *amounts), 0) | more)


def bare_run(cell: Cell, allocator: str, status: Status = Status.OK, **more: object) -> Run:
    counts = ("block", "order", "seed", "attempt", "environment_bytes", "foreign_cpu")
    where = {"experiment": cell.experiment.id, "cell": dict(cell.swept), "allocator": allocator}
    return Run.model_validate(where | {"status": status} | dict.fromkeys(counts, 0) | more)


def bare_campaign(
    experiments: Iterable[spec.Experiment], workloads: dict[str, spec.Workload], **more: object
) -> Campaign:
    described = {
        "experiments": [experiment.model_dump(mode="json") for experiment in experiments],
        "workloads": {name: work.model_dump(mode="json") for name, work in workloads.items()},
    }
    nothing = {"id": "0", "started": "", "heaplab": "", "command": [], "scale": "quick", "seed": 1}
    return Campaign.model_validate(nothing | described | more)
