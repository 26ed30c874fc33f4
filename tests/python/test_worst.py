"""The worst cell of every allocator, in a campaign whose truth is known."""

import pytest
import synthetic

from heaplab import store
from heaplab.analysis import Analysis, worst_cells

PROGRAMS = [synthetic.experiments()[3]]


def test_the_worst_cell_is_compared_with_the_best_allocator_there(tmp_path):
    factors = {"swift": 0.5, "slow": 1.5}
    records = synthetic.campaign(
        ["glibc", *factors],
        PROGRAMS,
        blocks=6,
        noise=0.001,
        drift=0.0,
        effect=lambda name, _: (factors.get(name, 1.0), 1.0),
        faults=False,
    )
    analysis = Analysis(store.load(synthetic.write(records, tmp_path / "results.jsonl")))
    worst = worst_cells(analysis, "program")
    assert worst["swift"].ratio == 1
    assert worst["glibc"].ratio == pytest.approx(2, rel=0.1)
    assert worst["slow"].ratio == pytest.approx(3, rel=0.1)
    assert {it.best for it in worst.values()} == {"swift"}
