"""The simulated campaigns of research: what they measure the method by, in a small version."""

import sys
from pathlib import Path

import pytest
import synthetic
from subprocesses import printed_by

from heaplab.results import spec

RESEARCH = Path(__file__).parents[3] / "research"


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
