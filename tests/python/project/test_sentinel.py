"""The suite `sentinel` is what its rule says and covers its space; the table of losses names losers."""

import itertools
import sys
from dataclasses import astuple
from pathlib import Path
from types import ModuleType

import pytest
import synthetic
from subprocesses import printed_by, ran

from heaplab.catalog import contents as catalogs

pytestmark = pytest.mark.slow

RESEARCH = Path(__file__).parents[3] / "research"


@pytest.fixture
def sentinel(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(RESEARCH)
    import sentinel

    return sentinel


def test_the_catalog_has_the_programs_of_the_rule(sentinel: ModuleType) -> None:
    for of in sentinel.ASPECTS:
        assert (sentinel.GROUP / f"{of}.toml").read_text() == sentinel.experiment(of), (
            "run research/sentinel.py write"
        )
    catalog = catalogs.load()
    found = catalog.experiments_matching(catalog.suites["sentinel"].experiments)
    assert sum(len(item.cells("quick")) for item in found) == sentinel.PROGRAMS


def test_any_two_values_of_any_two_factors_meet(sentinel: ModuleType) -> None:
    met = {
        pair
        for program in sentinel.programs()
        for pair in itertools.combinations(enumerate(astuple(program)), 2)
    }
    values = [[(place, value) for value in of] for place, of in enumerate(sentinel.FACTORS.values())]
    wanted = {
        pair
        for first, second in itertools.combinations(values, 2)
        for pair in itertools.product(first, second)
    }
    assert met == wanted


def test_every_mix_of_sizes_is_also_used_plainly(sentinel: ModuleType) -> None:
    plain = [values[0] for values in list(sentinel.FACTORS.values())[2:]]
    mixes = {astuple(program)[:2] for program in sentinel.programs() if list(astuple(program)[2:]) == plain}
    assert mixes == set(itertools.product(sentinel.FACTORS["sizes"], sentinel.FACTORS["distribution"]))


def test_the_tables_name_the_worst_programs_the_peers_that_win_there_and_the_noise(tmp_path: Path) -> None:
    """`now` takes twice the time of jemalloc in the second program, and half of it in the first."""

    def truth(allocator: str, cell: dict) -> tuple[float, float]:
        slow = cell["program"] == "second"
        return {"before": 0.4, "jemalloc": 1.0}.get(allocator, 2.0 if slow else 0.5), 1.0

    suite = synthetic.experiment("sentinel/local", "acdc", {"program": ["first", "second"]}, [])
    records = synthetic.campaign(["now", "before", "jemalloc"], [suite], effect=truth)
    results = synthetic.write(records, tmp_path / "results.jsonl")
    printed = printed_by(sys.executable, RESEARCH / "sentinel.py", "losses", results, "--most", "1")
    to_peers, to_before, to_itself = (table.splitlines() for table in printed.strip().split("\n\n"))
    assert len(to_peers) == len(to_before) == len(to_itself) == 2
    loss, interval, peer, program = to_peers[1].split()
    assert (peer, program) == ("jemalloc", "second")
    assert float(loss) == pytest.approx(2, rel=0.05)
    low, high = map(float, interval.strip("()").split("-"))
    assert low < float(loss) < high < 1.1 * low
    loss, _, peer, program = to_before[1].split()
    assert (peer, program) == ("before", "second")
    assert float(loss) == pytest.approx(5, rel=0.15)
    loss, _, again, _ = to_itself[1].split()
    assert again == "now#again"
    assert float(loss) == pytest.approx(1, rel=0.15)


def test_results_without_the_arm_to_beat_are_refused_in_one_line(tmp_path: Path) -> None:
    suite = synthetic.experiment("sentinel/local", "acdc", {"program": ["first"]}, [])
    results = synthetic.write(synthetic.campaign(["now", "jemalloc"], [suite]), tmp_path / "results.jsonl")
    done = ran(sys.executable, RESEARCH / "sentinel.py", "losses", results)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sentinel: there is no arm 'before' in the results; there are now, jemalloc\n"
