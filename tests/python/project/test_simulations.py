"""The simulated campaigns of research: what they measure the method by, in a small version."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest
import synthetic
from subprocesses import printed_by

from heaplab.results import spec

RESEARCH = Path(__file__).parents[3] / "research"


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(RESEARCH)
    return importlib.import_module("simulate_looks")


def rows_of(tool: str, *words: object) -> list[list[str]]:
    """The rows of the table that a tool prints."""
    lines = printed_by(sys.executable, RESEARCH / tool, *words).splitlines()[2:]
    return [[text.strip() for text in line.strip("|").split("|")] for line in lines]


@pytest.mark.long
def test_campaigns_without_differences_have_few_wrong_families() -> None:
    rows = rows_of("simulate_campaigns.py", "families", "--campaigns", 12)
    assert [row[0] for row in rows] == ["5", "5", "10", "10", "20", "20"]
    with_threshold, without = rows[::2], rows[1::2]
    assert all(float(share) == 0 for row in with_threshold for share in row[2:])
    assert all(float(share) <= 0.25 for row in without for share in row[2:])


@pytest.mark.long
def test_a_planted_difference_is_found_from_real_noise(tmp_path: Path) -> None:
    aspects = [spec.Aspect(id=name, title=name, question="?", where="here") for name in ("one", "two")]
    which = [
        item.model_copy(update={"aspect": aspect})
        for item, aspect in zip(synthetic.experiments(), aspects, strict=False)
    ]
    path = synthetic.write(synthetic.campaign(which=which), tmp_path / "results.jsonl")
    rows = rows_of("simulate_campaigns.py", "planted", "--campaigns", 3, "--results", path)
    assert [row[:2] for row in rows[:2]] == [["10%", "10"], ["10%", "14"]]
    assert all(float(row[2]) > 0.9 and float(row[3]) == 0 for row in rows[:3])


def test_the_parts_of_the_error_add_up_to_one_however_many_looks(looks: ModuleType) -> None:
    for rule in looks.RULES[1:3]:
        for most in (15, 30, 60):
            parts = [rule.part(number, most) for number in sorted({*rule.looks, most}) if number <= most]
            assert sum(parts) == pytest.approx(1)
            assert min(parts) > 0
    first, last = looks.RULES[0], looks.RULES[3]
    assert (first.part(30, 30), last.part(6, 30)) == (1, 1)


def test_time_that_a_verdict_saves_goes_to_what_is_open(looks: ModuleType) -> None:
    cells = looks.synthetic_cells()
    cells = [looks.Cell(cell.aspect, cell.seconds, cell.ratios + 0.0, None) for cell in cells]
    for cell in cells[2:]:
        cell.ratios[1:-1] = -2.0  # clear at the first look
    campaign = next(looks.simulated(cells, 1, 30, 1))
    ended = looks.measured(campaign, 10, looks.RULES[2], 0.03)
    assert ended.blocks > 14
    assert ended.seconds <= 10 * looks.of_round(cells, campaign.places) * 1.001


@pytest.mark.long
def test_hosts_as_a_random_effect_hold_the_mean_where_equal_hosts_do_not() -> None:
    rows = rows_of("simulate_hosts.py", "--campaigns", 8)
    assert len(rows) == 30
    inside = {tuple(row[:3]): [float(cell.split()[0]) for cell in row[3:]] for row in rows}
    fixed, _, _, hosts, _ = (sum(found[i] for found in inside.values()) / len(rows) for i in range(5))
    assert fixed < 0.75
    assert hosts > 0.85


@pytest.mark.long
def test_results_of_hosts_that_never_ran_are_merged(tmp_path: Path) -> None:
    (row,) = rows_of("simulate_cluster.py", "--hosts", 4, "--runs", 400, "--folder", tmp_path / "plan")
    assert row[:2] == ["4", "400"]
    assert float(row[6].split()[0]) < 5  # MB of the report
    assert not (tmp_path / "plan").exists()


@pytest.mark.long
def test_the_floor_of_the_interval_is_never_less_careful_than_that_of_the_estimate() -> None:
    rows = rows_of("simulate_floor.py", "--campaigns", 20)
    assert len(rows) == 36
    for none, point, interval in zip(rows[::3], rows[1::3], rows[2::3], strict=True):
        assert [row[2] for row in (none, point, interval)] == ["none", "point", "interval"]
        for column in (3, 4, 5, 6, 7):
            assert float(none[column]) >= float(point[column]) >= float(interval[column])


@pytest.mark.long
def test_arms_in_turns_are_told_apart_where_others_disturb_for_longer_than_a_turn() -> None:
    rows = rows_of("simulate_slices.py", "--campaigns", 8, "--blocks", 6, "--work", 0.2)
    assert [row[1] for row in rows[:4]] == ["one after the other", "100 ms", "20 ms", "6 ms"]
    deviations = [[float(row[2]) for row in rows[first : first + 4]] for first in range(0, len(rows), 4)]
    assert all(one == sorted(one, reverse=True) for one in deviations[1:])
    alone, _, turns, _ = rows[12:16]
    assert (alone[4], turns[4], turns[5]) == ("0.00", "1.00", "1.00")
