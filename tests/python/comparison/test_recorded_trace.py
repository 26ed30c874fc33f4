"""A trace in place of a program: compiled once, replayed under each allocator, refused in one line."""

import json
import re
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from laboratory import WARM, Laboratory, failure, refusal, success
from subprocesses import printed_by
from traces import two_threads, write_trace

from heaplab.campaign.measure_run import RunMeasurer
from heaplab.catalog import contents
from heaplab.comparison import recorded_trace
from heaplab.errors import HeaplabError
from heaplab.machine import native
from heaplab.results.own_program import REPLAY
from heaplab.results.records import Run
from heaplab.traces import foreign

pytestmark = pytest.mark.starts_programs


@pytest.fixture
def laboratory(tmp_path: Path) -> Laboratory:
    return Laboratory(native.catalog(), {}, tmp_path / "out")


def test_a_trace_is_known_by_its_name_or_its_first_bytes(trace: Path) -> None:
    other = trace.rename(trace.with_name("x"))
    assert foreign.names_a_trace((str(other),))
    assert foreign.names_a_trace(("no/such.trace",))
    assert not foreign.names_a_trace((str(other), "argument"))
    assert not foreign.names_a_trace(("/bin/true",))
    assert not foreign.names_a_trace(())


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
    paced = dict.fromkeys(("replay/latency", "replay/memory"), ("recorded", "all"))
    assert options == {"replay/time": (None, "all")} | paced
    file = Path(str(experiments[0].parameters["file"]))
    program = str(native.program(REPLAY))
    words = [program, "--file", str(file), "--pace", "recorded", "--json", "-"]
    sample = json.loads(printed_by(*words).splitlines()[-1])
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
        ("3.9s", "so two blocks of 6 runs do not fit in "),
    ],
)
def test_a_replay_too_long_for_the_budget_is_refused(
    laboratory: Laboratory, trace: Path, budget: str, said: str
) -> None:
    slow = [replace(event, stamp=100_000 * event.stamp) for event in two_threads()]  # takes 1 s
    write_trace(trace, slow)
    options = ["--allocators", "glibc", "--budget", budget, "--pace", "recorded", *WARM]
    printed = failure(laboratory.heaplab("compare", trace, *options, "-o", laboratory.out))
    assert said in printed.splitlines()[-1]
    assert not laboratory.out.exists()


@pytest.mark.parametrize(("slow_runs", "status"), [(3, 0), (100, 1)])
def test_only_a_replay_that_is_too_long_twice_is_refused(
    laboratory: Laboratory, trace: Path, monkeypatch: pytest.MonkeyPatch, slow_runs: int, status: int
) -> None:
    measured, runs = RunMeasurer.__call__, count()

    def slowly(*given: Any, **named: Any) -> Run:
        run = measured(*given, **named)
        took = 20.0 if next(runs) < slow_runs else run.process.wall_time
        return run.model_copy(update={"process": run.process.model_copy(update={"wall_time": took})})

    monkeypatch.setattr(RunMeasurer, "__call__", slowly)
    options = ["--allocators", "glibc", "--precision", "90%", "--budget", "30s", *WARM, "-o", laboratory.out]
    assert laboratory.heaplab("compare", trace, *options)[0] == status


@pytest.mark.parametrize(
    "words", [["compare", "--", "true"], ["compare", "--arm", "a=true"], ["compare", "--experiment", "x"]]
)
def test_options_of_a_replay_are_refused_where_nothing_is_replayed(
    laboratory: Laboratory, words: list[str]
) -> None:
    command, *rest = words
    printed = refusal(laboratory.heaplab(command, "--fill", "all", *rest))
    assert printed == "heaplab: --fill goes with a trace: heaplab compare PROGRAM.trace --fill all\n"


def test_a_trace_is_compiled_once_for_each_content(trace: Path) -> None:
    first = recorded_trace.workload_of(trace, quiet=True)
    made = first.stat().st_mtime_ns
    assert recorded_trace.workload_of(trace, quiet=True) == first
    assert first.stat().st_mtime_ns == made
    write_trace(trace, two_threads(rounds=7))
    assert recorded_trace.workload_of(trace, quiet=True) != first


def test_what_is_intact_of_a_damaged_trace_is_used(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = trace.read_bytes()
    trace.write_bytes(whole[:-100])
    assert recorded_trace.workload_of(trace, quiet=True).is_file()
    assert capsys.readouterr().err.startswith("heaplab: ")


@pytest.mark.parametrize("first", [False, True])
def test_a_trace_is_replayed_under_an_allocator(laboratory: Laboratory, trace: Path, first: bool) -> None:
    options = ["--allocators", "glibc", "--precision", "90%", "--budget", "30s", *WARM, "-o", laboratory.out]
    words = [trace, *options] if first else [*options, trace]
    success(laboratory.heaplab("compare", *words))
    good = laboratory.good("glibc")
    assert {run.experiment for run in good} == {"replay/time", "replay/latency", "replay/memory"}
    assert {run.sample.metrics["calls"].value for run in good if run.sample} == {1000}
