"""Whether this machine has the memory that an experiment needs, checked before anything runs.

A workload of heaplab computes its need: with `--estimate` it prints the memory of a run with the given
options, including its own bookkeeping, and ends.
"""

import json
import subprocess
from collections.abc import Iterable

from heaplab.campaign.command_line import program_of, words_of
from heaplab.campaign.plan import Cell, Comparison
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine import host
from heaplab.machine.execute import plain_environment

SHARE = 0.9  # share of this machine's memory that a run may use by default
PATIENCE_S = 10.0  # to wait for an answer, which takes a few milliseconds
STEPS = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")]


def of_this_machine() -> int:
    """Bytes a run may use."""
    return int(host.usable_memory() * SHARE)


def in_words(size: int) -> str:
    step, unit = next((step for step in STEPS if size >= step[0]), STEPS[-1])
    return f"{size / step:.3g} {unit}"


def estimates(comparisons: Iterable[Comparison]) -> dict[str, int]:
    """Bytes that a run of each cell will need, by key; cells without an estimate are left out."""
    cells = [cell for comparison in comparisons for cell in comparison.cells]
    needs = {cell.key: estimate(cell) for cell in cells if cell.workload.kind == "synthetic"}
    return {key: size for key, size in needs.items() if size}


def estimate(cell: Cell) -> int:
    """The workload's estimate of its need; 0 if it has none or is not installed."""
    try:
        answer = subprocess.run(
            [program_of(cell), *words_of(cell), "--estimate"],
            env=plain_environment(),
            capture_output=True,
            check=True,
            timeout=PATIENCE_S,
        )
        return int(json.loads(answer.stdout)["memory"])
    except (HeaplabError, OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return 0


def refuse_too_large(comparisons: Iterable[Comparison], needed: dict[str, int]) -> None:
    """Raise a UsageError that names every experiment with a cell too large for this machine, and its need."""
    most = of_this_machine()
    largest: dict[str, Cell] = {}
    for cell in (cell for comparison in comparisons for cell in comparison.cells):
        name = cell.experiment.id
        if needed.get(cell.key, 0) > max(most, needed.get(largest[name].key, 0) if name in largest else 0):
            largest[name] = cell
    if largest:
        each = "; ".join(f"{name}: {_need(cell, needed[cell.key])}" for name, cell in largest.items())
        raise UsageError(
            f"{each}; a run may use {in_words(most)} on this machine. "
            "With --memory-limit SIZE such cells fail and the others are measured"
        )


def _need(cell: Cell, size: int) -> str:
    where = " ".join(f"{name}={value}" for name, value in cell.swept)
    return f"needs {in_words(size)} of memory{f' at {where}' if where else ''}"
