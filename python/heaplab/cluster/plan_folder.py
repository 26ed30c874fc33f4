"""The folder of a plan: what is measured, on which kinds of machine, in which shards.

`plan.json` is written once and never changed. Its hash covers everything that figures depend on. The hash of
a shard also covers the shard's own part, so that a results file shows its shard and its plan.
"""

import hashlib
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError

from heaplab.campaign import begin_or_resume
from heaplab.errors import UsageError, fault_of
from heaplab.files import regular_file
from heaplab.machine.topology import Where
from heaplab.results import spec
from heaplab.results.records import Count, Input, Positive, Record, Timing

FILE_NAME = "plan.json"
START_SCRIPT = "run"
RESULTS = "results"
FORMAT: Final = 1
# Shard I takes the seeds from (I - 1) * BLOCKS_MOST on: no two blocks of a plan have the same.
BLOCKS_MOST = 1000
HASH_SHOWN = 8
CLOCK_TOLERANCE_S = 60.0  # largest difference between the clocks of machines


class PlannedArm(Record):
    """One arm: a name of the catalog, a library or an allocator with settings; found on each node."""

    name: str
    base: str  # a name of the catalog, or the path of a library
    environment: dict[str, str] = Field(default_factory=dict)
    huge_pages: Literal["never", "advised", "always"] | None = None


class KindOfMachine(Record):
    """Nodes that count as alike: a partition of a cluster, a type of hosted runner."""

    nodes: int = Field(default=1, ge=1, le=100_000)
    architecture: str = ""  # as uname -m has it; empty: any
    cpus: Where = "all"  # the CPUs that a shard runs on: machine/topology.py
    options: dict[str, str] = Field(default_factory=dict)  # for engines: partition, hosts


class Shard(Record):
    index: int = Field(ge=1)
    machine: str  # name of the kind
    blocks: int | None = None  # of every comparison; None: as the experiments have them, in the budget
    hash: str


class PlanFile(Record):
    """The content of plan.json."""

    kind: Literal["plan"] = "plan"
    format: Literal[1] = FORMAT
    hash: str
    heaplab: str  # version
    made: datetime  # by the clock of the planner
    command: list[str]  # what the user typed
    scale: Literal["quick", "full"]
    seed: Count
    budget: Positive | None = None  # s of measuring a shard
    precision: float = Field(default=0.02, gt=0, lt=1)
    threads: Literal["", "all"] = ""  # "all": 1, 2, 4 ... all CPUs of the node in place of swept threads
    fit_blocks: int | None = None
    input: Input | None = None
    bundle: str = ""  # SHA-256 of the list of what the bundle has; empty: there is none
    experiments: list[dict[str, Any]]  # as resolved: spec.Experiment.model_dump()
    workloads: dict[str, dict[str, Any]]
    timings: dict[str, Timing] = Field(default_factory=dict)  # by experiment: slices and clock of every shard
    arms: list[PlannedArm] = Field(min_length=1)  # the first is the baseline
    machines: dict[str, KindOfMachine] = Field(min_length=1)
    shards: list[Shard] = Field(min_length=1)


@dataclass(frozen=True)
class Plan:
    folder: Path
    file: PlanFile

    @property
    def hash(self) -> str:
        return self.file.hash

    @property
    def shards(self) -> list[Shard]:
        return self.file.shards

    @property
    def machines(self) -> dict[str, KindOfMachine]:
        return self.file.machines

    @cached_property
    def results(self) -> Path:
        return self.folder / RESULTS

    def machine_of(self, shard: Shard) -> KindOfMachine:
        return self.machines[shard.machine]

    def results_file(self, shard: Shard, node: str) -> Path:
        return self.results / f"{shard.index:04}-{shard.hash[:HASH_SHOWN]}.{node}.jsonl"

    def seed_of(self, shard: Shard) -> int:
        return self.file.seed + (shard.index - 1) * BLOCKS_MOST


def hashed(content: PlanFile) -> PlanFile:
    """The plan with its hash and the hashes of its shards."""
    whole = _hash(content.model_dump(mode="json", exclude={"hash", "made", "command", "shards"}), "")
    shards = [
        shard.model_copy(update={"hash": _hash(shard.model_dump(exclude={"hash"}), whole)})
        for shard in content.shards
    ]
    return content.model_copy(
        update={"hash": _hash([shard.hash for shard in shards], whole), "shards": shards}
    )


def _hash(content: object, above: str) -> str:
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(f"{above} {text}".encode()).hexdigest()[: begin_or_resume.HASH_LENGTH]


def refuse_second(folder: Path) -> None:
    path = folder / FILE_NAME
    if path.exists():
        raise UsageError(f"{path}: there is a plan already; give each plan a folder of its own")


def write_plan(folder: Path, content: PlanFile) -> Plan:
    """Write a plan and the script that carries out one shard of it, after finding or unpacking heaplab."""
    path, start, content = folder / FILE_NAME, folder / START_SCRIPT, hashed(content)
    script = resources.files("heaplab.cluster").joinpath("run.sh").read_text(encoding="utf-8")
    script = script.replace("@BUNDLE@", content.bundle).replace("@PYTHON@", shlex.quote(sys.executable))
    try:
        (folder / RESULTS).mkdir(parents=True, exist_ok=True)
        path.write_text(content.model_dump_json(indent=1) + "\n", encoding="utf-8")
        start.write_text(script, encoding="utf-8")
        start.chmod(0o755)
    except OSError as error:
        raise UsageError(f"{error.filename or path}: {error.strerror}") from error
    return Plan(folder, content)


def read_plan(folder: Path) -> Plan:
    """Read the plan in a folder. Raises UsageError if there is no plan, or if it was changed since."""
    path = folder / FILE_NAME
    if not path.exists():
        raise UsageError(f"{folder}: no plan there: no {FILE_NAME}")
    text = regular_file.content_of(path)
    try:
        file = PlanFile.model_validate_json(text)
    except ValidationError as error:
        raise UsageError(f"{path}: {fault_of(error, 'not a plan of heaplab')}") from error
    if hashed(file) != file:
        raise UsageError(f"{path}: was changed after it was planned; a changed plan is a new plan")
    return Plan(folder, file)


def with_threads(
    experiments: Sequence[spec.Experiment], scale: spec.ScaleName, counts: list[int]
) -> list[spec.Experiment]:
    """The experiments; those that sweep numbers of threads sweep these numbers."""
    changed = []
    for experiment in experiments:
        scaled: spec.Scale = getattr(experiment, scale)
        if "threads" in scaled.sweep:
            swept = scaled.model_copy(update={"sweep": scaled.sweep | {"threads": counts}})
            other = experiment.model_copy(update={scale: swept})
            changed.append(spec.Experiment.model_validate(other.model_dump()))
        else:
            changed.append(experiment)
    return changed
