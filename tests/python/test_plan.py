"""The order of runs: complete blocks, shuffled by the seed and nothing else."""

from collections import Counter

import pytest

from heaplab import plan, spec
from heaplab.records import Campaign, Run, Status

CARD = spec.Card(source="", shows="", does_not_show="", defaults="")
WORKLOAD = spec.Workload(id="w", title="w", program="w", card=CARD, metrics={})


def experiment(**changes: object) -> spec.Experiment:
    scale = {"sweep": {"n": [1, 2], "m": [3, 4]}, "parameters": {"k": 5}, "blocks": 5, "blocks_most": 15}
    texts = dict.fromkeys(("title", "publication", "figure", "claim"), "")
    values = texts | {"id": "e", "workload": "w", "metrics": ["wall"], "quick": scale, "full": scale}
    return spec.Experiment.model_validate(values | changes)


def campaign(seed: int = 1, **changes: object) -> Campaign:
    return Campaign(
        id="c",
        started="",
        heaplab="",
        command=[],
        scale="quick",
        seed=seed,
        experiments=[experiment(**changes).model_dump()],
        workloads={"w": WORKLOAD.model_dump()},
        allocators=["base", "a", "b"],
    )


def run_of(cell: plan.Cell, allocator: str, block: int, status: Status, attempt: int = 0) -> Run:
    return Run(
        experiment="e",
        cell=dict(cell.swept),
        allocator=allocator,
        block=block,
        order=0,
        seed=0,
        attempt=attempt,
        status=status,
        environment_bytes=0,
        foreign_cpu=0,
    )


def test_cells_are_the_whole_sweep_with_fixed_parameters() -> None:
    cells = plan.cells(campaign())
    assert [dict(cell.swept) for cell in cells] == [
        {"n": 1, "m": 3},
        {"n": 1, "m": 4},
        {"n": 2, "m": 3},
        {"n": 2, "m": 4},
    ]
    assert dict(cells[0].parameters) == {"n": 1, "m": 3, "k": 5}


def test_swept_parameters_win_over_fixed_ones() -> None:
    assert dict(plan.cells(campaign(parameters={"n": 9, "q": 8}))[0].parameters)["n"] == 1


def test_a_block_holds_every_allocator_once_and_the_baseline_twice() -> None:
    made = campaign()
    for number in range(20):
        order = plan.block(made, plan.cells(made)[0], number).order
        assert Counter(order) == Counter(["base", "a", "b", "base#again"])


def test_an_experiment_for_some_allocators_keeps_the_baseline() -> None:
    assert plan.cells(campaign(allocators=["b"]))[0].allocators == ("base", "b", "base#again")


def test_blocks_are_shuffled_and_every_place_is_taken_by_everyone() -> None:
    made = campaign()
    first = Counter(plan.block(made, plan.cells(made)[0], number).order[0] for number in range(400))
    assert all(60 < count < 140 for count in first.values()), first


def test_the_order_depends_on_the_seed_alone() -> None:
    cells = plan.cells(campaign())
    orders = [plan.block(campaign(seed), cells[0], 3).order for seed in range(30)]
    assert orders == [plan.block(campaign(seed), cells[0], 3).order for seed in range(30)]
    assert len(set(orders)) > 5
    assert plan.round_order(campaign(), cells, 1) == plan.round_order(campaign(), cells, 1)
    assert sorted(cell.key for cell in plan.round_order(campaign(), cells, 1)) == sorted(c.key for c in cells)


def test_all_allocators_of_a_block_get_the_same_workload_seed_and_blocks_different_ones() -> None:
    made = campaign()
    cell = plan.cells(made)[0]
    assert len({plan.block(made, cell, number).seed for number in range(10)}) == 10


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [(5, 15, (5, 8, 12, 15)), (1, 3, (1, 2, 3)), (5, 5, (5,)), (2, 6, (2, 3, 4, 6))],
)
def test_looks_are_fixed_beforehand(least: int, most: int, expected: tuple[int, ...]) -> None:
    assert plan.looks(least, most) == expected


def test_only_a_void_first_attempt_is_run_again() -> None:
    cell = plan.cells(campaign())[0]
    runs = [
        run_of(cell, "a", 0, Status.OK),
        run_of(cell, "b", 0, Status.VOID),
        run_of(cell, "base", 0, Status.VOID, attempt=1),
        run_of(cell, "base#again", 0, Status.FAILED),
    ]
    assert plan.done(runs) == {(cell.key, 0, name) for name in ("a", "base", "base#again")}


def test_an_allocator_without_a_figure_in_two_blocks_is_given_up_in_that_cell_only() -> None:
    first, second = plan.cells(campaign())[:2]
    runs = [
        run_of(first, "a", 0, Status.FAILED),
        run_of(first, "a", 1, Status.TIMEOUT),
        run_of(first, "b", 0, Status.FAILED),
        run_of(second, "a", 0, Status.FAILED),
    ]
    assert plan.given_up(runs) == {(first.key, "a")}
