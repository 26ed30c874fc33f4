"""What is told and left out once the first blocks show how much runs vary, on campaigns that never ran."""

from pathlib import Path

import pytest
import synthetic

from heaplab.analysis import Analysis
from heaplab.comparison import whole_budget
from heaplab.comparison.outlook import BudgetOutlook
from heaplab.comparison.standing import standing
from heaplab.comparison.whole_budget import WholeBudget
from heaplab.stats import blocks_for, half_width_after

NAMES = [
    "glibc",
    "jemalloc",
    "mimalloc",
    "tcmalloc",
]  # mimalloc is the fastest, jemalloc the slowest of these


def measured(folder: Path, noise: float, blocks: int = 3, **more: object) -> Analysis:
    """A program of the user's after so many blocks: a round takes about two seconds."""
    program = synthetic.experiments()[3:4]
    records = synthetic.campaign(NAMES, program, noise=noise, drift=0, blocks=blocks, **more)
    return synthetic.analysis_of(synthetic.as_own(records), folder)


@pytest.mark.parametrize("deviation", [0.001, 0.02, 0.1])
def test_as_many_blocks_are_needed_as_make_the_interval_narrow_enough(deviation: float) -> None:
    blocks = blocks_for(0.02, deviation)
    assert half_width_after(blocks, deviation) <= 0.02
    assert blocks == 5 or half_width_after(blocks - 1, deviation) > 0.02


@pytest.mark.parametrize(
    ("noise", "left", "said", "left_out"),
    [
        (0.01, 300.0, "to tell 5 % for all of 3 allocators", set()),
        (0.03, 11.5, "measuring what fits: mimalloc, tcmalloc; --budget ", {"jemalloc"}),
        (0.03, 9.0, "measuring what fits: mimalloc; --budget ", {"jemalloc", "tcmalloc"}),
        (0.03, 5.0, "the budget tells about 6.3 %; --budget ", set()),
        (0.03, 3.3, "the budget tells about 6.3 %; measuring what fits: mimalloc, tcmalloc", {"jemalloc"}),
        (0.5, 1e9, "and at most 15 are measured", set()),
    ],
)
def test_what_the_budget_tells_is_said_once_and_what_has_no_room_is_left_out(
    tmp_path: Path, noise: float, left: float, said: str, left_out: set[str]
) -> None:
    assert BudgetOutlook(0.05, 60.0, leaves_out=True).look(measured(tmp_path, noise, blocks=2), 60.0) == ""
    outlook = BudgetOutlook(0.05, 60.0, leaves_out=True)
    line = outlook.look(measured(tmp_path, noise), left)
    assert said in line
    assert (outlook.left_out, outlook.look(measured(tmp_path, noise), left)) == (left_out, "")


def test_blocks_that_have_no_room_are_told_before_the_noise_is_known(tmp_path: Path) -> None:
    outlook = BudgetOutlook(0.05, 60.0, leaves_out=True)
    assert "measuring what fits: mimalloc; --budget " in outlook.look(measured(tmp_path, 0.03, blocks=2), 4.0)
    assert outlook.left_out == {"jemalloc", "tcmalloc"}


def test_only_a_comparison_leaves_out_and_never_the_baseline(tmp_path: Path) -> None:
    outlook = BudgetOutlook(0.05, 60.0)
    assert "for all of 3 allocators" in outlook.look(measured(tmp_path, 0.03), 9.0)
    assert outlook.left_out == set()


def test_the_table_that_stands_meanwhile_has_what_is_open_first(tmp_path: Path) -> None:
    table = standing(measured(tmp_path, 0.001, blocks=10), rows=2)
    assert table.row_count == 2
    assert [str(column.header) for column in table.columns] == ["allocator", "time, 0 of 3 open", "memory"]
    assert all("faster" in text for text in table.columns[1].cells)
    nearly_same = {"tcmalloc": (1.03, 1.0), "mimalloc": (0.5, 1.0), "jemalloc": (0.5, 1.0)}
    first = standing(measured(tmp_path, 0.003, blocks=10, effect=nearly_same), rows=1)
    assert list(first.columns[0].cells) == ["tcmalloc"]
    open_ones = standing(measured(tmp_path, 0.001), rows=9)
    assert [str(column.header) for column in open_ones.columns][1] == "time, 3 of 3 open"
    assert all("3 blocks, 5 are needed" in text for text in open_ones.columns[1].cells)


@pytest.mark.parametrize(
    ("began", "left", "asked"), [(0.0, 60.0, 60.0), (20.0, 20.0, 20.0), (20.0, 20.0, 5.0), (59.0, 0.0, 3.0)]
)
def test_a_budget_begins_with_the_command_and_pays_for_the_report(
    monkeypatch: pytest.MonkeyPatch, began: float, left: float, asked: float
) -> None:
    """What went before measuring took so many seconds, and what follows will take as many."""
    monkeypatch.setattr(whole_budget.time, "monotonic", lambda: 1000.0)
    whole = WholeBudget.with_report(60.0, 1000.0 - began)
    assert whole.left == left
    assert whole.within(asked if left else 60.0) == asked
