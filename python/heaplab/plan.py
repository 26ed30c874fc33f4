"""The order of a campaign's runs, as pure functions of the campaign record.

A campaign is a sequence of rounds. A round holds one block of every cell; a block holds every allocator
of the comparison once, and the baseline twice (the A/A control), back to back in shuffled order. The order
depends only on the seed, the cell and the number of the block, so a resumed campaign goes on as planned.
"""

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass

from heaplab import spec
from heaplab.records import CONTROL_SUFFIX, Campaign, Parameter, Run, Status


@dataclass(frozen=True)
class Cell:
    """One workload with all parameters fixed; everything but the allocator."""

    experiment: spec.Experiment
    workload: spec.Workload
    swept: tuple[tuple[str, Parameter], ...]
    parameters: tuple[tuple[str, Parameter], ...]  # swept and fixed
    allocators: tuple[str, ...]  # the first is the baseline, which also stands at the end as the control
    blocks: int  # at least
    blocks_most: int

    @property
    def baseline(self) -> str:
        return self.allocators[0]

    @property
    def key(self) -> str:
        return f"{self.experiment.id} {json.dumps(dict(self.swept), sort_keys=True)}"


@dataclass(frozen=True)
class Block:
    """Every allocator once for one cell: the unit of pairing."""

    cell: Cell
    number: int
    seed: int  # of the workload: the same for all allocators of a block, another for each block
    order: tuple[str, ...]


def cells(campaign: Campaign) -> list[Cell]:
    """All cells in the order of the experiments and their sweeps."""
    return [
        cell
        for content in campaign.experiments
        for cell in cells_of(spec.Experiment.model_validate(content), campaign)
    ]


def cells_of(experiment: spec.Experiment, campaign: Campaign) -> list[Cell]:
    scale = getattr(experiment, campaign.scale)
    workload = spec.Workload.model_validate(campaign.workloads[experiment.workload])
    asked = experiment.allocators or campaign.allocators
    allocators = [name for name in campaign.allocators if name in asked]
    baseline = campaign.allocators[0]
    names = [baseline, *(name for name in allocators if name != baseline), baseline + CONTROL_SUFFIX]
    return [
        Cell(
            experiment=experiment,
            workload=workload,
            swept=tuple(swept.items()),
            parameters=tuple(experiment.resolved(campaign.scale, swept).items()),
            allocators=tuple(names),
            blocks=scale.blocks,
            blocks_most=max(scale.blocks, scale.blocks_most),
        )
        for swept in experiment.cells(campaign.scale)
    ]


def block(campaign: Campaign, cell: Cell, number: int) -> Block:
    """The block of this number: a function of the campaign's seed and of nothing that happened."""
    order = list(cell.allocators)
    random.Random(f"{campaign.seed}/{cell.key}/{number}").shuffle(order)
    return Block(cell=cell, number=number, seed=campaign.seed + number, order=tuple(order))


def round_order(campaign: Campaign, open_cells: Iterable[Cell], number: int) -> list[Cell]:
    """The cells of one round in shuffled order."""
    order = list(open_cells)
    random.Random(f"{campaign.seed}/round/{number}").shuffle(order)
    return order


def looks(least: int, most: int) -> tuple[int, ...]:
    """After which numbers of blocks the intervals are looked at, fixed beforehand: (5, 15) -> 5, 8, 12, 15.

    Every look is one more chance to stop on luck, so they get rarer.
    """
    found = [least]
    while found[-1] < most:
        found.append(min(most, max(found[-1] + 1, round(found[-1] * 1.5))))
    return tuple(found)


def library_of(allocator: str) -> str:
    """The allocator that really runs: the control is the baseline under a second name."""
    return allocator.removesuffix(CONTROL_SUFFIX)


def done(runs: Iterable[Run]) -> set[tuple[str, int, str]]:
    """What needs no further run: (cell key, block, allocator). A void run is repeated once."""
    return {
        (run_key(run), run.block, run.allocator)
        for run in runs
        if run.status is not Status.VOID or run.attempt > 0
    }


def given_up(runs: Iterable[Run]) -> set[tuple[str, str]]:
    """(cell key, allocator) that gave no figure in two blocks of a cell: tried no more."""
    without: dict[tuple[str, str], set[int]] = {}
    for run in runs:
        if run.status in (Status.FAILED, Status.TIMEOUT, Status.SKIPPED):
            without.setdefault((run_key(run), run.allocator), set()).add(run.block)
    return {key for key, blocks in without.items() if len(blocks) > 1}


def run_key(run: Run) -> str:
    return f"{run.experiment} {json.dumps(run.cell, sort_keys=True)}"
