"""Records of what a test is about: every other field is zero or empty."""

from heaplab.campaign.plan import Block, Candidate
from heaplab.records import Arm, Process, Run, Status


def bare_arm(name: str, **more: object) -> Arm:
    nothing = {"title": "", "version": "", "preload": [], "environment": {}, "sha256": {}, "build_id": {}}
    return Arm.model_validate({"allocator": name} | nothing | more)


def bare_process(wall: float = 1.0, **more: object) -> Process:
    counts = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
    amounts = ("user_time", "system_time", "peak_memory", "mean_memory")
    return Process.model_validate({"wall_time": wall} | dict.fromkeys((*counts, *amounts), 0) | more)


def bare_run(
    block: Block, candidate: Candidate, order: int, attempt: int, status: Status, process: Process
) -> Run:
    return Run(
        experiment=candidate.cell.experiment.id,
        cell=dict(candidate.cell.swept),
        allocator=candidate.allocator,
        block=block.number,
        order=order,
        seed=block.seed,
        attempt=attempt,
        status=status,
        environment_bytes=0,
        foreign_cpu=0,
        process=process,
    )
