"""What a study makes of how its experiment was timed."""

import pytest
import synthetic

from heaplab.analysis.study import Study
from heaplab.results.records import Run, Timing

WHY = {"experiment": "programs/sqlite", "why_clock": "x"}


def study(timing: Timing | None) -> Study:
    """The first of five blocks ran alone, the others in slices; CPU time is half the wall time."""
    made = next(item for item in synthetic.experiments() if item.id == "programs/sqlite")
    runs = []
    for run in synthetic.campaign(["glibc", "swift"], [made], blocks=5):
        if isinstance(run, Run):
            half = run.process.wall_time / 4
            timed = synthetic.with_process(run, user_time=half, system_time=half)
            runs.append(timed.model_copy(update={"turns": 7 if run.block else None}))
    work = synthetic.workload("sqlite", kind="program")
    return Study(made, work, "quick", ["glibc", "swift"], runs, timing)


@pytest.mark.parametrize(
    ("timing", "metric", "blocks"),
    [
        (None, "wall_time", {0, 1, 2, 3, 4}),
        (Timing(slices=True, clock="cpu_time", **WHY), "cpu_time", {1, 2, 3, 4}),
        (Timing(slices=True, clock="wall_time", **WHY), "wall_time", {1, 2, 3, 4}),
        (Timing(slices=False, clock="cpu_time", why_alone="y", **WHY), "cpu_time", {0}),
    ],
)
def test_only_blocks_timed_alike_count_and_the_chosen_clock_decides(
    timing: Timing | None, metric: str, blocks: set[int]
) -> None:
    found = study(timing)
    (cell,) = found.cells_run
    assert found.main_metric == metric
    assert found.values(cell, "swift", found.main_metric).keys() == blocks
    wall = found.values(cell, "swift", "wall_time")
    expected = {block: value / (2 if metric == "cpu_time" else 1) for block, value in wall.items()}
    assert found.values(cell, "swift", found.main_metric) == pytest.approx(expected)
