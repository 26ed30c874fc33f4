"""A small plan to be carried out by real engines, and what has to come of it."""

import os
from pathlib import Path

from conftest import EXPERIMENT, WORKLOAD, WORKLOAD_CARD
from laboratory import call, success
from subprocesses import compiled, written

from heaplab.cluster import Completion, merging, read_plan, shard_states
from heaplab.results import store
from heaplab.results.records import CONTROL_SUFFIX, Status

SHARDS = 3
BLOCKS = 2  # of a shard
SEED = 1
ARMS = ("glibc", "slow")
RUNS = BLOCKS * (len(ARMS) + 1)  # of a shard, with the control
EXPERIMENT_ID = "fake/one"
HELD = "held"  # while a file of this name lies beside the plan, no second block of a shard ends
SMALL_DISK = "8k"  # has room for some runs of a shard
REFRAME = "ReFrame-HPC>=4.10"

Key = tuple[int, str, int, str]


def catalog_in(top: Path) -> Path:
    """A catalog of one experiment, whose program heeds HELD in the same folder."""
    assert SEED % 2 == 1  # so that the second block has even seeds
    draws = 'const int seed = atoi(option(argv, "--seed"));'
    waits = f'while (seed % 2 == 0 && !access("{top / HELD}", F_OK)) usleep(10000);'
    program = compiled(top / "patient", WORKLOAD.replace(draws, draws + waits))
    card = WORKLOAD_CARD.replace("PROGRAM", str(program)).replace("timeout_s = 20", "timeout_s = 300")
    experiment = EXPERIMENT.replace("[1, 2]", "[1]")
    files = {"workloads/fake.toml": card, f"experiments/{EXPERIMENT_ID}.toml": experiment}
    return written(top / "catalog", files)


def make(catalog: Path, folder: Path, slow: Path, *machines: str) -> Path:
    """A plan of SHARDS shards for each kind of machine, each of BLOCKS blocks of ARMS and the control."""
    kinds = [word for machine in machines for word in ("--machine", machine)]
    arms = ("--allocators", ARMS[0], "--allocator", f"{ARMS[1]}={slow}")
    blocks = ("--seed", SEED, "--blocks", SHARDS * BLOCKS, "--shards", SHARDS * max(1, len(machines)))
    words = ("-o", folder, "--experiment", EXPERIMENT_ID, *arms, *blocks, *kinds)
    success(call("--catalog", catalog, "cluster", "plan", *words))
    assert len(read_plan(folder).shards) == SHARDS * max(1, len(machines))
    return folder


def complete(folder: Path) -> list[int]:
    return [state.index for state in shard_states(read_plan(folder)) if state.state is Completion.COMPLETE]


def runs(folder: Path) -> dict[int, int]:
    """How many runs each shard has."""
    return {state.index: state.runs for state in shard_states(read_plan(folder))}


def expected() -> set[Key]:
    arms = (*ARMS, ARMS[0] + CONTROL_SUFFIX)
    return {
        (shard, EXPERIMENT_ID, block, arm)
        for shard in range(1, SHARDS + 1)
        for block in range(BLOCKS)
        for arm in arms
    }


def counted(folder: Path) -> list[Key]:
    """The runs that a report is of, each as often as it counts."""
    return [
        (file.shard, run.experiment, run.block, run.allocator)
        for file in merging.collected(read_plan(folder)).files
        for run in store.load(file.path).runs
        if run.status is Status.OK
    ]


def environment_of_nodes() -> dict[str, str]:
    """What a login that brings no environment of its own must be given, to find the heaplab under test."""
    names = ("PYTHONPATH", "HEAPLAB_NATIVE", "HEAPLAB_CACHE")
    return {name: os.environ[name] for name in names if name in os.environ}
