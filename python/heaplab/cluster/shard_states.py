"""Which shards of a plan are complete, begun or missing: decided from the results files alone."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from heaplab.cluster.plan_folder import Plan, Shard
from heaplab.files import regular_file

TAIL = 1 << 16  # B at the end of a file that are searched for its last records


class Completion(StrEnum):
    COMPLETE = "complete"
    BEGUN = "begun"
    MISSING = "missing"


@dataclass(frozen=True)
class ShardState:
    index: int
    state: Completion
    node: str = ""  # the node that completed the shard, or that has the most runs of it
    runs: int = 0


def shard_states(plan: Plan) -> list[ShardState]:
    """The state of every shard, in the order of the shards."""
    return [state_of(plan, shard) for shard in plan.shards]


def state_of(plan: Plan, shard: Shard) -> ShardState:
    files = [
        ShardState(
            shard.index, Completion.COMPLETE if is_complete(path) else Completion.BEGUN, node, runs_in(path)
        )
        for path, node in files_of(plan, shard)
    ]
    order = (Completion.COMPLETE, Completion.BEGUN)
    return min(
        files,
        key=lambda each: (order.index(each.state), -each.runs),
        default=ShardState(shard.index, Completion.MISSING),
    )


def files_of(plan: Plan, shard: Shard) -> Iterator[tuple[Path, str]]:
    """The results files of a shard, each with the name of its node."""
    name = plan.results_file(shard, "*").name
    before, _, after = name.partition("*")
    for path in sorted(plan.results.glob(name)):
        yield path, path.name.removeprefix(before).removesuffix(after)


def is_complete(path: Path) -> bool:
    """Whether an End record follows the last run of a results file."""
    with regular_file.opened(path) as stream:
        length = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, length - TAIL))
        tail = stream.read()
    whole, _, _ = tail.rpartition(b"\n")  # without a line that an interruption has truncated
    for line in reversed(whole.splitlines()):
        kind = kind_of(line)
        if kind in ("end", "run"):
            return kind == "end"
    return False


def runs_in(path: Path) -> int:
    with regular_file.opened(path) as stream:
        return sum(line.startswith(b'{"kind":"run"') and line.endswith(b"\n") for line in stream)


def kind_of(line: bytes) -> str:
    """The kind of the record in a line; "" if the line holds none."""
    try:
        return str(json.loads(line)["kind"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
