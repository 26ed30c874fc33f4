"""How long the cells of a suite are: the rule, and the pilot runs that feed it."""

import re
import shutil
from pathlib import Path

import pytest
import synthetic
from conftest import EXPERIMENT
from laboratory import Laboratory, call, failure, success

from heaplab.campaign import fit_lengths, plan
from heaplab.results import spec, store
from heaplab.results.records import Campaign, Parameter

LENGTH = spec.Length(parameter="ticks", least=20)


def campaign(budget: float = 100.0, fit_blocks: int | None = 20) -> Campaign:
    """Two cells with a length, two without, each with the baseline twice and one other allocator."""
    first, second = synthetic.experiments()[0], synthetic.experiments()[1]
    scale = spec.Scale(sweep={"threads": [1, 2]}, blocks=5, blocks_most=9)
    long = first.model_copy(update={"length": LENGTH, "parameters": {"ticks": 100}, "quick": scale})
    head = synthetic.campaign(["glibc", "swift"], [long, second], blocks=1)[0]
    assert isinstance(head, Campaign)
    return head.model_copy(update={"budget": budget, "fit_blocks": fit_blocks})


def walls(of: Campaign, adjustable: float, fixed: float) -> dict[str, float]:
    return {
        cell.key: adjustable if cell.experiment.length else fixed
        for comparison in plan.comparisons(of)
        for cell in comparison.cells
    }


def of_first_cell(of: Campaign) -> dict[str, Parameter]:
    return dict(plan.comparisons(of)[0].cells[0].parameters)


def test_what_the_budget_leaves_is_divided_among_the_runs_with_a_length() -> None:
    asked = campaign()
    # A block has 95 / 20 = 4.75 s; 12 runs need 0.05 s each beside their time, and 6 runs take 0.4 s.
    target = (4.75 - 12 * 0.05 - 6 * 0.4) / 6
    found = fit_lengths.lengths(asked, walls(asked, adjustable=0.05, fixed=0.4))
    assert found == {"acdc-ismm13/fig07": pytest.approx(0.25 * target / 0.05)}


def test_pilot_runs_have_a_quarter_of_the_length() -> None:
    asked = fit_lengths.pilot_campaign(campaign())
    assert asked.lengths == {"acdc-ismm13/fig07": 0.25}
    assert of_first_cell(asked)["ticks"] == 25


def test_the_factor_is_that_of_the_mean_cell_and_unknown_cells_take_no_time() -> None:
    asked = campaign()
    known = walls(asked, adjustable=0.05, fixed=0.4)
    short, long, _, unknown = known
    known |= {short: 0.04, long: 0.08}
    del known[unknown]
    target = (4.75 - 9 * 0.05 - 3 * 0.4) / 6
    found = fit_lengths.lengths(asked, known)
    assert found == {"acdc-ismm13/fig07": pytest.approx(0.25 * min(0.5, target) / 0.06)}


@pytest.mark.parametrize(("budget", "seconds"), [(1.0, 0.06), (1e6, 0.5)])
def test_no_run_is_too_short_or_needlessly_long(budget: float, seconds: float) -> None:
    asked = campaign(budget)
    found = fit_lengths.lengths(asked, walls(asked, adjustable=0.1, fixed=0.1))
    assert found == {"acdc-ismm13/fig07": pytest.approx(0.25 * seconds / 0.1)}


def test_a_cell_that_fails_in_its_pilot_runs_keeps_its_length() -> None:
    assert fit_lengths.lengths(campaign(), {}) == {}


@pytest.mark.parametrize(("factor", "ticks"), [(1.0, 100), (2.5, 250), (0.333, 33), (0.001, 20)])
def test_a_factor_changes_the_parameter_down_to_its_least(factor: float, ticks: int) -> None:
    changed = campaign().model_copy(update={"lengths": {"acdc-ismm13/fig07": factor}})
    assert of_first_cell(changed) == {"ticks": ticks, "threads": 1}


def test_a_cell_may_have_as_many_blocks_as_are_to_fit() -> None:
    assert [item.blocks_most for item in plan.comparisons(campaign())] == [20] * 2 + [20] * 2
    assert plan.comparisons(campaign(fit_blocks=None))[0].blocks_most == 9


@pytest.fixture
def fitted(lab: Laboratory, tmp_path: Path) -> list[object]:
    """The words that run a suite of one experiment, whose cells are fitted to the machine."""
    folder = Path(shutil.copytree(lab.catalog, tmp_path / "fitted"))
    length = '[length]\nparameter = "work"\nleast = 3\n\n[quick]\nparameters = { work = 1000 }\n'
    full = "[full]\nparameters = { work = 1000 }\n"
    text = EXPERIMENT.replace("[quick]\n", length, 1).replace("[full]\n", full, 1)
    (folder / "experiments" / "fake" / "one.toml").write_text(text)
    suite = 'title = "x"\nexperiments = ["fake/*"]\nbudget_s = 3\nfit_blocks = 5\n'
    (folder / "suites" / "fitted.toml").write_text(suite)
    words = ["--suite", "fitted", *lab.own, "--warm", "1B", "-o", tmp_path / "out"]
    return ["--catalog", folder, "compare", "--allocators", "glibc", *words]


def test_a_suite_that_fits_its_cells_records_their_lengths(fitted: list[object], tmp_path: Path) -> None:
    success(call(*fitted, "-q"))
    found = store.load(tmp_path / "out").campaign
    assert found.fit_blocks == 5
    assert found.lengths.keys() == {"fake/one"}
    assert found.lengths["fake/one"] > 0


def test_an_experiment_whose_pilot_run_fails_is_named(
    fitted: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EXIT", "libc.so.6")
    _, printed = call(*fitted)
    line = "fake/one keeps its length, its pilot run failed: exit status 3: the second check failed"
    assert line in printed
    assert store.load(tmp_path / "out").campaign.lengths == {}


def test_a_budget_that_pilot_runs_spend_is_told_with_one_that_suffices(
    fitted: list[object], tmp_path: Path
) -> None:
    printed = failure(call(*fitted, "--budget", "0.001s"))
    told = re.fullmatch(r"heaplab: pilot runs of 1 of 2 cells took .*, and the budget is 1 ms; .*\n", printed)
    assert told, printed
    assert re.search("need about --budget [1-9][0-9]*s, or fewer arms or experiments", printed)
    assert not (tmp_path / "out").exists()
