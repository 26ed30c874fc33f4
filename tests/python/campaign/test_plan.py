"""The order of runs: complete blocks, shuffled by the seed and nothing else."""

from collections import Counter

import pytest
from bare_records import bare_campaign, bare_run

from heaplab.campaign import plan
from heaplab.results import spec
from heaplab.results.records import Campaign, Status

CARD = spec.Card(source="", shows="", does_not_show="", defaults="")
WORKLOAD = spec.Workload(id="w", title="w", program="w", card=CARD)


def experiment(**changes: object) -> spec.Experiment:
    scale = {"sweep": {"n": [1, 2], "m": [3, 4]}, "parameters": {"k": 5}, "blocks": 5, "blocks_most": 15}
    texts = dict.fromkeys(("title", "publication", "figure", "claim"), "")
    values = texts | {"id": "e", "workload": "w", "metrics": ["wall_time"], "quick": scale, "full": scale}
    return spec.Experiment.model_validate(values | changes)


def campaign(seed: int = 1, **changes: object) -> Campaign:
    return bare_campaign([experiment(**changes)], {"w": WORKLOAD}, seed=seed, allocators=["base", "a", "b"])


def cells_of(made: Campaign) -> list[plan.Cell]:
    return [cell for comparison in plan.comparisons(made) for cell in comparison.cells]


def test_cells_are_the_whole_sweep_with_fixed_parameters() -> None:
    cells = cells_of(campaign())
    assert [dict(cell.swept) for cell in cells] == [{"n": n, "m": m} for n in (1, 2) for m in (3, 4)]
    assert dict(cells[0].parameters) == {"n": 1, "m": 3, "k": 5}


def test_swept_parameters_win_over_fixed_ones() -> None:
    assert dict(cells_of(campaign(parameters={"n": 9, "q": 8}))[0].parameters)["n"] == 1


def test_a_block_holds_every_allocator_once_and_the_baseline_twice() -> None:
    made = campaign()
    for number in range(20):
        order = plan.block(made, plan.comparisons(made)[0], number).order
        assert Counter(item.allocator for item in order) == Counter(["base", "a", "b", "base#again"])


def test_an_experiment_for_some_allocators_keeps_the_baseline() -> None:
    assert cells_of(campaign(allocators=["b"]))[0].allocators == ("base", "b", "base#again")


COMPARED = {"compare": {"along": "m", "reference": "x"}}
SWEPT = {"sweep": {"n": [1, 2], "m": ["x", "y", "z"]}, "blocks": 5, "blocks_most": 15}


def test_a_block_of_compared_values_holds_each_under_every_allocator_and_the_references_twice() -> None:
    made = campaign(**COMPARED, quick=SWEPT, full=SWEPT)
    found = plan.comparisons(made)
    assert [item.key for item in found] == ['e {"n": 1}', 'e {"n": 2}']
    order = plan.block(made, found[1], 4).order
    assert {item.cell.experiment.id for item in order} == {"e"}
    assert Counter((dict(item.cell.swept)["m"], item.allocator) for item in order) == Counter(
        [(value, name) for value in "xyz" for name in ("base", "a", "b")]
        + [("x", "base#again"), ("x", "a#again"), ("x", "b#again")]
    )
    assert all(dict(item.cell.swept)["n"] == 2 for item in order)


def test_blocks_are_shuffled_and_every_place_is_taken_by_everyone() -> None:
    made = campaign()
    first = Counter(
        plan.block(made, plan.comparisons(made)[0], number).order[0].allocator for number in range(400)
    )
    assert all(60 < count < 140 for count in first.values()), first


def test_the_order_depends_on_the_seed_alone() -> None:
    items = plan.comparisons(campaign())
    orders = [plan.block(campaign(seed), items[0], 3).order for seed in range(30)]
    assert orders == [plan.block(campaign(seed), items[0], 3).order for seed in range(30)]
    assert len({tuple(item.allocator for item in order) for order in orders}) > 5
    assert plan.round_order(campaign(), items, 1) == plan.round_order(campaign(), items, 1)
    assert sorted(item.key for item in plan.round_order(campaign(), items, 1)) == sorted(i.key for i in items)


def test_all_allocators_of_a_block_get_the_same_workload_seed_and_blocks_different_ones() -> None:
    made = campaign()
    first = plan.comparisons(made)[0]
    assert len({plan.block(made, first, number).seed for number in range(10)}) == 10


@pytest.mark.parametrize(
    ("least", "most", "expected"),
    [(5, 15, (5, 8, 12, 15)), (1, 3, (1, 2, 3)), (5, 5, (5,)), (2, 6, (2, 3, 4, 6))],
)
def test_looks_are_fixed_beforehand(least: int, most: int, expected: tuple[int, ...]) -> None:
    assert plan.looks(least, most) == expected


def test_only_a_void_first_attempt_is_run_again() -> None:
    cell = cells_of(campaign())[0]
    runs = [
        bare_run(cell, "a"),
        bare_run(cell, "b", Status.VOID),
        bare_run(cell, "base", Status.VOID, attempt=1),
        bare_run(cell, "base#again", Status.FAILED),
    ]
    assert plan.done(runs) == {(cell.key, 0, name) for name in ("a", "base", "base#again")}


def test_an_allocator_without_a_figure_in_two_blocks_is_given_up_in_that_cell_only() -> None:
    first, second = cells_of(campaign())[:2]
    runs = [
        bare_run(first, "a", Status.FAILED),
        bare_run(first, "a", Status.TIMEOUT, block=1),
        bare_run(first, "b", Status.FAILED),
        bare_run(second, "a", Status.FAILED),
    ]
    assert plan.given_up(runs) == {(first.key, "a")}
    rarely = [bare_run(first, "a", block=block) for block in range(2, 10)]
    assert plan.given_up([*runs, *rarely]) == set()
    assert plan.given_up([*runs, *rarely[:-1]]) == {(first.key, "a")}
