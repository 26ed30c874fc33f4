"""The order of a campaign's runs, as pure functions of the campaign record.

A campaign is a sequence of rounds. A round has one block of every comparison. A block has every candidate of
the comparison once, and the reference twice (the A/A control), back to back in shuffled order. Candidates are
the allocators of one cell or, if an experiment compares the values of a parameter, these values under each
allocator. The order depends only on the seed, the comparison and the number of the block, so that a resumed
campaign continues as planned.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from heaplab.results import spec
from heaplab.results.records import CONTROL_SUFFIX, Campaign, Parameter, Run, Status, key_of

ROUNDS_AT_LEAST = 2  # rounds before the budget may end a campaign: a single block allows no comparison
FAILS_RARELY = 0.2  # of its blocks: a server whose port was taken in two of twenty is measured further
SHORTEST_LIMIT_S = 5.0  # the time limit of a user's program is never shorter, however small the budget


@dataclass(frozen=True)
class Cell:
    """A workload with all parameters fixed; the allocator is not."""

    experiment: spec.Experiment
    workload: spec.Workload
    swept: tuple[tuple[str, Parameter], ...]
    parameters: tuple[tuple[str, Parameter], ...]  # swept and fixed parameters
    allocators: tuple[str, ...]  # with the controls (`NAME#again`) at the end

    @property
    def key(self) -> str:
        return key_of(self.experiment.id, dict(self.swept))


class Candidate(NamedTuple):
    """A cell under one allocator, which a block runs once."""

    cell: Cell
    allocator: str

    @property
    def key(self) -> tuple[str, str]:
        return self.cell.key, self.allocator


@dataclass(frozen=True)
class Comparison:
    """Cells whose runs are compared: one cell, or one cell for each value of a compared parameter."""

    key: str
    cells: tuple[Cell, ...]
    blocks: int  # smallest number of blocks
    blocks_most: int

    @property
    def experiment(self) -> spec.Experiment:
        return self.cells[0].experiment

    @property
    def candidates(self) -> list[Candidate]:
        return [Candidate(cell, allocator) for cell in self.cells for allocator in cell.allocators]


@dataclass(frozen=True)
class Block:
    """Every candidate of a comparison once: the unit of pairing."""

    comparison: Comparison
    number: int
    seed: int  # of the workload: equal for all candidates of a block, different for each block
    order: tuple[Candidate, ...]


def comparisons(campaign: Campaign) -> list[Comparison]:
    """All comparisons in the order of the experiments and their sweeps."""
    return [
        comparison for item in spec.experiments_of(campaign) for comparison in comparisons_of(item, campaign)
    ]


def comparisons_of(experiment: spec.Experiment, campaign: Campaign) -> list[Comparison]:
    scale = getattr(experiment, campaign.scale)
    along = experiment.compare.along if experiment.compare else None
    grouped: dict[str, list[Cell]] = {}
    for cell in cells_of(experiment, campaign):
        shared = {name: value for name, value in cell.swept if name != along}
        grouped.setdefault(key_of(experiment.id, shared), []).append(cell)
    most = max(scale.blocks, scale.blocks_most, campaign.fit_blocks or 0)
    return [
        Comparison(key, tuple(cells), blocks=scale.blocks, blocks_most=most) for key, cells in grouped.items()
    ]


def cells_of(experiment: spec.Experiment, campaign: Campaign) -> list[Cell]:
    workload = spec.Workload.model_validate(campaign.workloads[experiment.workload])
    factor = campaign.lengths.get(experiment.id, 1.0)
    cells = [
        Cell(
            experiment=experiment,
            workload=workload,
            swept=tuple(swept.items()),
            parameters=tuple(experiment.resolved(campaign.scale, swept, factor).items()),
            allocators=allocators_of(experiment, campaign, swept),
        )
        for swept in experiment.cells(campaign.scale)
    ]
    return [cell for cell in cells if is_countable(cell)] if campaign.instructions else cells


def is_countable(cell: Cell) -> bool:
    """Whether instructions can be counted under callgrind: one thread, and a fixed amount of work.

    A workload that counts what it does in a given time does less of it there, and so does a server.
    """
    main = cell.workload.metrics.get(cell.experiment.main_metric or cell.workload.main_metric)
    timed = cell.workload.server is not None or (main is not None and main.unit == "1/s")
    return dict(cell.parameters).get("threads", 1) == 1 and not timed


def allocators_of(
    experiment: spec.Experiment, campaign: Campaign, swept: dict[str, Parameter]
) -> tuple[str, ...]:
    """The allocators under which a cell runs, and a control for every baseline among them."""
    names, compare = experiment.measured(campaign.allocators), experiment.compare
    if compare is None:
        return (*names, names[0] + CONTROL_SUFFIX)
    if swept[compare.along] != compare.reference:
        return tuple(names)
    return (*names, *(name + CONTROL_SUFFIX for name in names))


def block(campaign: Campaign, comparison: Comparison, number: int) -> Block:
    """Block `number`. Its order depends on the seed, the comparison and the number alone."""
    order = comparison.candidates
    random.Random(f"{campaign.seed}/{comparison.key}/{number}").shuffle(order)
    return Block(comparison=comparison, number=number, seed=campaign.seed + number, order=tuple(order))


def round_order(campaign: Campaign, still_open: Iterable[Comparison], number: int) -> list[Comparison]:
    """The comparisons of one round in shuffled order."""
    order = list(still_open)
    random.Random(f"{campaign.seed}/round/{number}").shuffle(order)
    return order


def looks(least: int, most: int) -> tuple[int, ...]:
    """The numbers of blocks after which the intervals are examined: looks(5, 15) is (5, 8, 12, 15).

    The numbers are fixed beforehand. They get further apart, because every look is one more chance to stop by
    luck.
    """
    places = [least]
    while places[-1] < most:
        places.append(min(most, max(places[-1] + 1, round(places[-1] * 1.5))))
    return tuple(places)


def time_limit(campaign: Campaign, cell: Cell) -> float:
    """The limit in seconds for a run of the cell: the user's limit, or else the workload's.

    The duration of a user's program is unknown: its limit leaves room for two blocks in the budget.
    """
    if campaign.time_limit:
        return campaign.time_limit
    if campaign.budget and cell.workload.is_users:
        return max(SHORTEST_LIMIT_S, campaign.budget / (ROUNDS_AT_LEAST * len(cell.allocators)))
    return cell.workload.timeout_s


def library_of(allocator: str) -> str:
    """The allocator behind a name: a control is the baseline under a second name."""
    return allocator.removesuffix(CONTROL_SUFFIX)


def done(runs: Iterable[Run]) -> set[tuple[str, int, str]]:
    """(cell key, block, allocator) of every planned run that needs no further attempt."""
    return {(run.key, run.block, run.allocator) for run in runs if run.settles}


def given_up(runs: Iterable[Run]) -> set[tuple[str, str]]:
    """(cell key, allocator) of candidates that are not run again, because they often give no figure there.

    Such a candidate failed in two blocks, and in more than FAILS_RARELY of its blocks.
    """
    tried: dict[tuple[str, str], set[int]] = {}
    without: dict[tuple[str, str], set[int]] = {}
    for run in runs:
        key = run.key, run.allocator
        tried.setdefault(key, set()).add(run.block)
        if run.status in (Status.FAILED, Status.TIMEOUT, Status.SKIPPED):
            without.setdefault(key, set()).add(run.block)
    return {
        key
        for key, blocks in without.items()
        if len(blocks) > 1 and len(blocks) > FAILS_RARELY * len(tried[key])
    }
