"""The worst cell of every allocator, in a campaign whose truth is known."""

import pytest
import synthetic

from heaplab.analysis import worst_cells


def worst_of(path, experiment, effect, kind):
    names = ["glibc", "swift", "slow"]
    records = synthetic.campaign(names, [experiment], blocks=6, noise=0.001, drift=0.0, effect=effect)
    return worst_cells(synthetic.analysis_of(records, path), kind)


def test_the_worst_cell_is_compared_with_the_best_allocator_there(tmp_path):
    effects = {"swift": (0.5, 1.0), "slow": (1.5, 1.0)}
    cells = worst_of(tmp_path, synthetic.experiments()[3], effects, "program")
    assert cells["swift"].ratio == 1
    assert cells["glibc"].ratio == pytest.approx(2, rel=0.1)
    assert cells["slow"].ratio == pytest.approx(3, rel=0.1)
    assert {worst.best for worst in cells.values()} == {"swift"}


def test_of_all_cells_of_a_rate_the_one_with_the_longest_time_counts(tmp_path):
    """With one thread swift is four times as fast as the others, with two half as fast."""

    def effect(name, cell):
        return {1: 0.25, 2: 2.0}[cell["threads"]] if name == "swift" else 1.0, 1.0

    cells = worst_of(tmp_path, synthetic.experiments()[1], effect, "synthetic")
    found = {
        name: (round(cell.ratio, 1), dict(cell.cell)["threads"], cell.best) for name, cell in cells.items()
    }
    assert found["slow"] == found["glibc"] == (4.0, 1, "swift")
    assert found["swift"][:2] == (2.0, 2)
