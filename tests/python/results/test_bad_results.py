"""Results files that are none, are of another heaplab, or hold what cannot have been measured."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic
from laboratory import Laboratory, failure, refusal

from heaplab.errors import HeaplabError
from heaplab.report.page import report_page
from heaplab.results import store

RUN = '"kind":"run"'


@pytest.fixture
def results(complete: Laboratory) -> Path:
    """The results of a finished campaign, to be spoilt."""
    return complete.out / store.FILE_NAME


def spoil(path: Path, change: Callable[[str], str], kind: str) -> None:
    """Change the first line of a kind."""
    lines = path.read_text().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if kind in line)
    changed = change(lines[place])
    assert changed != lines[place]
    lines[place] = changed
    path.write_text("".join(lines))


def field(name: str, value: str) -> Callable[[str], str]:
    return lambda line: re.sub(rf'"{name}":(null|[^,"\[\]{{}}]+)', f'"{name}":{value}', line, count=1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("wall_time", "NaN"),
        ("wall_time", "-1.0"),
        ("wall_time", "0"),
        ("user_time", "Infinity"),
        ("system_time", "-0.5"),
        ("peak_memory", "-4096"),
        ("minor_faults", "1e400"),
        ("mean_memory", "NaN"),
        ("foreign_cpu", "-1"),
        ("block", "-1"),
        ("value", "NaN"),  # of a metric
        ("value", "-0.1"),
        ("attempt", '0,"colour":"red"'),
    ],
)
def test_a_run_that_cannot_have_been_measured_is_left_out_and_counted(
    lab: Laboratory, results: Path, name: str, value: str
) -> None:
    whole = len(store.load(results).runs)
    spoil(results, field(name, value), RUN)
    status, printed = lab.heaplab("report", results)
    first = printed.splitlines()[0]
    assert status == 0
    assert first.startswith(f"heaplab: {results}: 1 unreadable line left out; line ")
    assert name in first or "metrics" in first or "colour" in first
    assert len(store.load(results).runs) == whole - 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (field("schema", "99"), "written by another version of heaplab (schema 99, this one reads 1)"),
        (field("schema", '"x"'), "not a results file of heaplab"),
        (
            field("seed", "-1"),
            "its campaign cannot be read: seed: Input should be greater than or equal to 0",
        ),
        (
            field("precision", "NaN"),
            "its campaign cannot be read: precision: Input should be a finite number",
        ),
        (field("pinned", 'false,"colour":"red"'), "its campaign cannot be read: colour: Extra inputs are"),
        (lambda line: line.replace('"title":', '"name":', 1), "its campaign cannot be read: experiments.0."),
        (
            lambda line: line.replace('{"fake":', '{"other":', 1),
            "its campaign cannot be read: no workload 'fake'",
        ),
        (lambda line: "\x00\xff" * 40 + "\n", "not a results file of heaplab"),
        (lambda line: "[" * 100_000 + "\n", "not a results file of heaplab"),
        (lambda line: "\n", "not a results file of heaplab"),
    ],
)
@pytest.mark.parametrize(
    "command", ["report", "report --form claims", "report --form power", "compare --resume"]
)
def test_a_campaign_that_cannot_be_read_is_refused_with_the_reason(
    lab: Laboratory, results: Path, command: str, change: Callable[[str], str], message: str
) -> None:
    spoil(results, change, '"kind":"campaign"')
    before = results.read_bytes()
    printed = refusal(lab.heaplab(*command.split(), results))
    assert printed.startswith(f"heaplab: {results}: {message}")
    assert results.read_bytes() == before


def test_a_run_that_two_processes_measured_counts_once(lab: Laboratory, results: Path) -> None:
    whole = store.load(results).runs
    lines = results.read_text().splitlines()
    first, second = [line for line in lines if RUN in line][:2]
    twice = [field("foreign_cpu", "0.5")(line) for line in (first, second)]
    results.write_text("\n".join([*lines, *twice, ""]))
    status, printed = lab.heaplab("report", results)
    said = f"heaplab: {results}: 2 runs left out, measured a second time; the first counts"
    assert (status, printed.splitlines()[0]) == (0, said)
    assert store.load(results).runs == whole


def test_two_campaigns_in_one_file_are_refused(lab: Laboratory, results: Path, tmp_path: Path) -> None:
    other = synthetic.write(synthetic.campaign(blocks=1), tmp_path / "other.jsonl")
    results.write_bytes(results.read_bytes() + other.read_bytes())
    said = "holds two campaigns, which cannot be read as one; give each its own file"
    assert refusal(lab.heaplab("report", results)) == f"heaplab: {results}: {said}\n"


@pytest.mark.parametrize("keep", [0.02, 0.3, 0.7, 0.99])
def test_a_truncated_file_is_read_as_far_as_it_goes_or_refused_in_one_line(
    lab: Laboratory, results: Path, keep: float
) -> None:
    content = results.read_bytes()
    results.write_bytes(content[: int(len(content) * keep)])
    status, printed = lab.heaplab("report", results)
    assert "Traceback" not in printed
    assert len(printed.splitlines()) <= 2
    assert status == (2 if "not a results file" in printed else 0)


@pytest.mark.parametrize("kind", ["loop", "folder", "missing"])
def test_a_place_that_holds_no_file(lab: Laboratory, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "place"
    if kind == "loop":
        path.symlink_to(path)
    elif kind == "folder":
        (path / store.FILE_NAME).mkdir(parents=True)
    printed = refusal(lab.heaplab("report", path))
    assert printed.startswith(f"heaplab: {path}")


def test_a_page_that_cannot_be_written_is_refused_before_it_is_drawn(
    lab: Laboratory, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_page, "write_html", lambda _analyses, _path: pytest.fail("drawn"))
    (lab.out / "report.html").mkdir()
    page = lab.out / "report.html"
    assert lab.heaplab("report", results) == (2, f"heaplab: {page}: is a folder\n")
    said = refusal(lab.heaplab("report", results, "-o", results / "x.html"))
    assert said.endswith(f": {results}/x.html: {results} is no folder that can be written to\n")


def test_what_was_measured_is_told_where_the_page_cannot_be_written(
    lab: Laboratory, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_analyses: object, path: Path) -> None:
        raise HeaplabError(f"{path}: No space left on device")

    monkeypatch.setattr(report_page, "write_html", full)
    printed = failure(lab.heaplab("compare", "--resume", results))
    assert "slow" in printed
    assert printed.endswith(f"heaplab: {lab.out}/report.html: No space left on device\n")
