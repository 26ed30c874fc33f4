"""A trace that is damaged, or not of this machine or heaplab: one line, and what is intact is used."""

import platform
from collections.abc import Callable
from pathlib import Path

import pytest
from laboratory import called
from traces import two_threads, write_trace

from heaplab.screen.exit_status import DAMAGED, WRONG_USAGE

pytestmark = pytest.mark.starts_programs

CALLS = len(two_threads())
OUTPUTS = ["x.html", "x.json", "x.pb.gz", "x.folded"]


def refused(trace: Path, *arguments: object, status: int = WRONG_USAGE) -> str:
    """What is said of the trace: one line."""
    done = called(trace.parent, *arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("heaplab: ").strip()


@pytest.mark.parametrize("arguments", [["trace"], ["compare"], ["trace", "-o", "x.parquet"]], ids=" ".join)
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (
            lambda trace: write_trace(trace, two_threads(), version=2),
            "has format 2, this heaplab reads format 1",
        ),
        (lambda trace: trace.write_bytes(b""), "is empty, not a trace"),
        (lambda trace: trace.write_text("malloc(10)\n" * 100), "is not a trace of heaplab"),
        (lambda trace: (trace.unlink(), trace.mkdir()), "is a folder, not a trace"),
        (lambda trace: trace.unlink(), "No such file or directory"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    trace: Path, arguments: list[str], spoil: Callable[[Path], object], said: str
) -> None:
    spoil(trace)
    assert refused(trace, *arguments, trace.name) == f"x.trace: {said}"
    assert not list(trace.parent.glob("*.workload*"))


@pytest.mark.parametrize("command", ["trace", "advise", "compare"])
@pytest.mark.parametrize(
    ("left", "damage"),
    [
        (20, "the header of the file is cut off"),
        (40, "the file has no intact index: it was cut off or damaged"),
    ],
)
def test_a_trace_of_which_nothing_is_left_is_a_damaged_one(
    trace: Path, command: str, left: int, damage: str
) -> None:
    trace.write_bytes(trace.read_bytes()[:left])
    assert refused(trace, command, trace.name, status=DAMAGED) == f"x.trace: holds no process: {damage}"


def warned(trace: Path, status: int = DAMAGED) -> list[str]:
    done = called(trace.parent, "trace", trace.name, "-o", "x.parquet")
    assert done.returncode == status, done.stderr
    return done.stderr.splitlines()


def rows(trace: Path) -> int:
    import pandas as pd

    return len(pd.read_parquet(trace.with_suffix(".parquet")))


def test_cut_off_behind_the_events_they_are_used(trace: Path) -> None:
    trace.write_bytes(trace.read_bytes()[:-150])
    assert any("no intact index" in line for line in warned(trace))
    assert rows(trace) == CALLS


def test_cut_off_within_the_events_the_process_is_left(trace: Path) -> None:
    trace.write_bytes(trace.read_bytes()[: trace.stat().st_size // 2])
    assert any(f"{CALLS} events and all behind are lost" in line for line in warned(trace))
    assert rows(trace) == 0


def test_of_a_flipped_bit_the_lost_events_are_counted(trace: Path) -> None:
    whole = bytearray(trace.read_bytes())
    whole[len(whole) // 2] ^= 1
    trace.write_bytes(whole)
    [line] = [line for line in warned(trace) if "is damaged" in line]
    assert line.endswith(f": {CALLS} events are lost")
    assert rows(trace) == 0
    for output in OUTPUTS:
        done = called(trace.parent, "trace", trace.name, "-o", output)
        assert (done.returncode, done.stdout) == (DAMAGED, f"{output}\n"), done.stderr
    done = called(trace.parent, "trace", trace.name)
    assert done.returncode == DAMAGED
    assert done.stdout.startswith("0 events of 1 process")
    assert f"calls lost {CALLS};" in done.stdout.splitlines()[0]


def test_what_a_cut_off_trace_lacks_is_unknown_rather_than_nothing(trace: Path) -> None:
    whole = trace.read_bytes()
    trace.write_bytes(whole[: len(whole) // 2])
    done = called(trace.parent, "trace", trace.name)
    assert "calls lost unknown;" in done.stdout.splitlines()[0]
    trace.write_bytes(whole)
    done = called(trace.parent, "trace", trace.name)
    assert (done.returncode, "calls lost 0;" in done.stdout) == (0, True)


@pytest.mark.parametrize("words", [("x.trace", "whole.trace"), ("whole.trace", "x.trace")])
def test_a_comparison_with_a_damaged_trace_says_so(trace: Path, words: tuple[str, str]) -> None:
    write_trace(trace.parent / "whole.trace", two_threads())
    trace.write_bytes(trace.read_bytes()[:-150])
    done = called(trace.parent, "trace", *words)
    assert (done.returncode, "x.trace: the file has no intact index" in done.stderr) == (DAMAGED, True)


@pytest.mark.parametrize(("machine", "name"), [(183, "aarch64"), (62, "x86-64"), (3, "ELF numbers 3")])
def test_a_trace_of_another_machine_is_used(
    trace: Path, machine: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_trace(trace, two_threads(), machine=machine)
    said = [line for line in warned(trace, status=0) if "was recorded on" in line]
    assert len(said) == (0 if platform.machine().replace("_", "-") == name else 1)
    assert all(name in line for line in said)
    assert rows(trace) == CALLS


@pytest.mark.parametrize("command", ["advise", "compare"])
def test_a_trace_without_the_calls_that_it_had_is_not_replayed(trace: Path, command: str) -> None:
    trace.write_bytes(trace.read_bytes()[: trace.stat().st_size // 2])
    for _ in range(2):
        done = called(trace.parent, command, trace.name)
        assert (done.returncode, done.stdout) == (DAMAGED, "")
        *_, last = done.stderr.splitlines()
        assert last.startswith("heaplab: x.trace: holds no call, so that there is nothing to replay: ")
