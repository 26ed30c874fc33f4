"""A trace in place of a program: compiled once, replayed under each allocator, refused in one line."""

from pathlib import Path

import pytest
from laboratory import WARM, Laboratory
from traces import two_threads, write_trace

from heaplab.catalog import contents, native
from heaplab.cli import recorded_trace
from heaplab.errors import UsageError

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


@pytest.mark.parametrize(("command", "first"), [("compare", True), ("compare", False), ("run", True)])
def test_a_trace_is_replayed_under_an_allocator(
    trace: Path, tmp_path: Path, command: str, first: bool
) -> None:
    laboratory = Laboratory(native.catalog(), {}, tmp_path / "out")
    options = ["--allocators", "glibc", "--budget", "1s", *WARM, "-o", laboratory.out]
    words = [trace, *options] if first else [*options, trace]
    assert laboratory.heaplab(command, *words)[0] == 0
    good = laboratory.good("glibc")
    assert {run.experiment for run in good} == {"replay/time", "replay/latency", "replay/memory"}
    assert {run.sample.metrics["calls"].value for run in good if run.sample} == {1000}
