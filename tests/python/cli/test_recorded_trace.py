"""A trace in place of a program: compiled once, replayed under each allocator, refused in one line."""

import json
import re
import subprocess
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from laboratory import WARM, Laboratory, success
from traces import two_threads, write_trace

from heaplab.campaign.measure_run import RunMeasurer
from heaplab.catalog import contents, native
from heaplab.cli.benchmarks import recorded_trace
from heaplab.errors import HeaplabError, UsageError
from heaplab.records import Run

pytestmark = pytest.mark.starts_programs


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "redis.trace"
    write_trace(path, two_threads())
    return path


def test_a_trace_is_known_by_its_name_or_its_first_bytes(trace: Path) -> None:
    other = trace.rename(trace.with_name("redis"))
    assert recorded_trace.is_trace((str(other),))
    assert recorded_trace.is_trace(("no/such.trace",))
    assert not recorded_trace.is_trace((str(other), "argument"))
    assert not recorded_trace.is_trace(("/bin/true",))
    assert not recorded_trace.is_trace(())


def test_each_pass_replays_the_same_file(trace: Path) -> None:
    experiments, workloads = recorded_trace.experiments_of(contents.load(()), trace, quiet=True)
    assert [item.id for item in experiments] == ["replay/time", "replay/latency", "replay/memory"]
    (file,) = {item.parameters["file"] for item in experiments}
    assert Path(str(file)).parent == trace.parent
    assert list(workloads) == ["replay"]
    known = workloads["replay"].metrics
    assert known["call_time"].unit == "s"


def test_pauses_are_replayed_where_they_matter_and_a_run_has_time_for_them(trace: Path) -> None:
    catalog = contents.load(())
    given = {"pace": "recorded", "fill": "all"}
    experiments, workloads = recorded_trace.experiments_of(catalog, trace, quiet=True, replaying=given)
    options = {item.id: (item.parameters.get("pace"), item.parameters["fill"]) for item in experiments}
    assert options == {
        "replay/time": (None, "all"),
        "replay/latency": ("recorded", "all"),
        "replay/memory": ("recorded", "all"),
    }
    file = Path(str(experiments[0].parameters["file"]))
    program = str(native.program("replay"))
    words = [program, "--file", str(file), "--pace", "recorded", "--json", "-"]
    sample = json.loads(subprocess.run(words, capture_output=True, check=True).stdout.splitlines()[-1])
    lasted = recorded_trace.seconds_of(file)
    assert 0 < lasted <= sample["metrics"]["wall_time"]["value"] * 1.01
    assert workloads["replay"].timeout_s == catalog.workloads["replay"].timeout_s + 2 * lasted
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(HeaplabError, match=rf"^{re.escape(str(file))}: is cut off; remove the file"):
        recorded_trace.experiments_of(catalog, trace, quiet=True, replaying=given)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        ("500ms", "latency of single calls: one run takes longer than 500 ms; give a larger --budget"),
        ("3.9s", "so two blocks of 6 runs do not fit in the budget of 3.9 s; --budget "),
    ],
)
def test_a_replay_too_long_for_the_budget_is_refused(
    trace: Path, tmp_path: Path, budget: str, said: str
) -> None:
    slow = [replace(event, stamp=100_000 * event.stamp) for event in two_threads()]  # takes 1 s
    write_trace(trace, slow)
    laboratory = Laboratory(native.catalog(), {}, tmp_path / "out")
    options = ["--allocators", "glibc", "--budget", budget, "--pace", "recorded", *WARM]
    status, printed = laboratory.heaplab("compare", trace, *options, "-o", laboratory.out)
    assert status == 1
    assert said in printed.splitlines()[-1]
    assert not laboratory.out.exists()


@pytest.mark.parametrize(("slow_runs", "status"), [(3, 0), (100, 1)])
def test_only_a_replay_that_is_too_long_twice_is_refused(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow_runs: int, status: int
) -> None:
    measured, runs = RunMeasurer.__call__, count()

    def slowly(*given: Any, **named: Any) -> Run:
        run = measured(*given, **named)
        assert run.process
        took = 20.0 if next(runs) < slow_runs else run.process.wall_time
        return run.model_copy(update={"process": run.process.model_copy(update={"wall_time": took})})

    monkeypatch.setattr(RunMeasurer, "__call__", slowly)
    laboratory = Laboratory(native.catalog(), {}, tmp_path / "out")
    options = ["--allocators", "glibc", "--precision", "90%", "--budget", "30s", *WARM, "-o", laboratory.out]
    assert laboratory.heaplab("compare", trace, *options)[0] == status


@pytest.mark.parametrize("words", [["compare", "--", "true"], ["compare", "--arm", "a=true"], ["run", "x"]])
def test_options_of_a_replay_are_refused_where_nothing_is_replayed(words: list[str], tmp_path: Path) -> None:
    laboratory = Laboratory(native.catalog(), {}, tmp_path / "out")
    command, *rest = words
    status, printed = laboratory.heaplab(command, "--fill", "all", *rest)
    assert (status, printed) == (
        2,
        "heaplab: --fill goes with a trace: heaplab compare PROGRAM.trace --fill all\n",
    )


def test_a_trace_is_compiled_once_for_each_content(trace: Path) -> None:
    first = recorded_trace.workload_of(trace, quiet=True)
    made = first.stat().st_mtime_ns
    assert recorded_trace.workload_of(trace, quiet=True) == first
    assert first.stat().st_mtime_ns == made
    write_trace(trace, two_threads(rounds=7))
    assert recorded_trace.workload_of(trace, quiet=True) != first


def refusal_of(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        recorded_trace.workload_of(path, quiet=True)
    return str(caught.value)


def test_what_is_no_trace_is_refused_in_one_line(trace: Path) -> None:
    folder = trace.parent
    assert refusal_of(folder) == f"{folder}: is a folder, not a trace"
    assert refusal_of(folder / "no.trace") == f"{folder}/no.trace: No such file or directory"
    write_trace(trace, two_threads(), version=2)
    assert refusal_of(trace).startswith(f"{trace}: has format 2")
    trace.write_bytes(b"")
    assert refusal_of(trace) == f"{trace}: is empty, not a trace"
    trace.write_text("malloc(10)\n" * 100)
    assert refusal_of(trace) == f"{trace}: is not a trace of heaplab"
    assert not list(folder.glob("*.workload*"))


def test_what_is_intact_of_a_damaged_trace_is_used(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = trace.read_bytes()
    trace.write_bytes(whole[:-100])
    assert recorded_trace.workload_of(trace, quiet=True).is_file()
    assert capsys.readouterr().err.startswith("heaplab: ")


@pytest.mark.parametrize(("command", "first"), [("compare", False), ("run", True)])
def test_a_trace_is_replayed_under_an_allocator(
    trace: Path, tmp_path: Path, command: str, first: bool
) -> None:
    laboratory = Laboratory(native.catalog(), {}, tmp_path / "out")
    options = ["--allocators", "glibc", "--precision", "90%", "--budget", "30s", *WARM, "-o", laboratory.out]
    words = [trace, *options] if first else [*options, trace]
    success(laboratory.heaplab(command, *words))
    good = laboratory.good("glibc")
    assert {run.experiment for run in good} == {"replay/time", "replay/latency", "replay/memory"}
    assert {run.sample.metrics["calls"].value for run in good if run.sample} == {1000}
