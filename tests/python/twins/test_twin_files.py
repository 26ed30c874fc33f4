"""A twin's file: what it holds and must not hold, what is made of it, and how a bad one is refused."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from laboratory import called
from traces import MALLOC, two_threads

from heaplab.catalog import contents
from heaplab.comparison import recorded_trace
from heaplab.errors import UsageError
from heaplab.machine import native
from heaplab.results.own_program import OwnProgram
from heaplab.traces import tool
from heaplab.twins import twin_file

pytestmark = pytest.mark.starts_programs

SECRET = "pfefferminz"
MOST_OF_A_LIFE = 1 << 40  # larger numbers are addresses
UNPROVEN = ("failed", "lost", "acquired_while_live", "released_unknown", "released_inherited")


def made(folder: Path, *words: object) -> str:
    done = called(folder, "trace", *words)
    assert done.returncode == 0, done.stderr
    return done.stderr


def summary(trace: Path) -> dict[str, str]:
    found: dict[str, str] = tool.summary(trace)["processes"][0]["summary"]
    return found


def test_a_trace_drawn_from_a_twin_has_its_blocks_in_a_proven_order(trace: Path) -> None:
    told = made(trace.parent, trace, "-o", "x.twin")
    assert "against the recording: sizes KS 0.0" in told
    assert "fitted to its first half, against the second" in told
    made(trace.parent, "x.twin", "-o", "y.trace")
    events = two_threads()
    drawn = summary(trace.parent / "y.trace")
    blocks = [event.size for event in events if event.kind == MALLOC]
    assert (drawn["acquisitions"], drawn["threads"]) == (str(len(blocks)), "2")
    assert int(drawn["bytes_acquired"]) == pytest.approx(sum(blocks), rel=0.05)
    assert {drawn[name] for name in UNPROVEN} == {"0"}


def test_a_twin_is_replayed_like_a_trace(trace: Path) -> None:
    made(trace.parent, trace, "-o", "x.twin")
    workload = recorded_trace.workload_of(trace.parent / "x.twin", quiet=True)
    replay = native.needed(native.program(OwnProgram("replay")), "replay")
    subprocess.run([replay, "--file", workload], check=True, capture_output=True)
    assert not list(trace.parent.glob("tmp*"))


def test_a_twin_has_nothing_of_the_program_but_numbers(tmp_path: Path) -> None:
    script = tmp_path / f"{SECRET}.sh"
    script.write_text(f"for i in 1 2 3; do {SECRET}=$i; done; echo ${SECRET}\n")
    done = called(tmp_path, "record", "--stacks", "-o", f"{SECRET}.trace", "--", "sh", script, SECRET)
    assert done.returncode == 0, done.stderr
    made(tmp_path, f"{SECRET}.trace", "-o", "x.twin")
    made(tmp_path, f"{SECRET}.trace", "-o", "x.toml")
    text = (tmp_path / "x.twin").read_text()
    known = {*twin_file.Twin.__dataclass_fields__, *twin_file.Phase.__dataclass_fields__}
    known |= {*twin_file.Errors.__dataclass_fields__, "whole", "second half", "between the halves"}
    assert set(re.findall(r'"([^"]*)"', text)) <= known
    rest = re.sub(r'"[^"]*"', "", text)
    assert re.fullmatch(r"[\s\d\[\]{}:,.e-]*", rest)
    assert max(float(number) for number in re.findall(r"[\d.]+", rest)) < MOST_OF_A_LIFE
    assert SECRET not in (tmp_path / "x.toml").read_text()


def test_the_experiment_of_acdc_is_compared_by_its_file(trace: Path) -> None:
    made(trace.parent, trace, "-o", "x.toml")
    experiment = contents.load().experiments_matching([str(trace.parent / "x.toml")])[0]
    assert experiment.workload == "acdc"
    done = called(
        trace.parent, "compare", "--experiment", "x.toml", "--allocators", "glibc", "--show-command"
    )
    assert done.returncode == 0, done.stderr
    assert "--class-objects" in done.stdout


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"heaplab_twin": 9}, "is no twin of format 1"),
        ({"sizes": [[9, 3]]}, "sizes.0: is empty"),
        ({"blocks": "many"}, "blocks"),
        ({"phases": []}, "allowed is 1 to"),
    ],
)
def test_a_bad_twin_is_refused_in_a_line(trace: Path, change: dict[str, object], fault: str) -> None:
    made(trace.parent, trace, "-o", "x.twin")
    path = trace.parent / "x.twin"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(UsageError, match=rf"x\.twin: .*{re.escape(fault)}"):
        twin_file.read(path)


@pytest.mark.parametrize(
    ("table", "row", "fault"),
    [
        ("lives", [10**6, 0, 1, 0, 0, 0, 0], "phases.0.lives.0: 1000000; allowed is 0 to"),
        ("sizes", [0, -5, 1, 0], "phases.0.sizes.0: -5; allowed is 0 to"),
        ("threads", [1], "phases.0.threads.0: takes 2 numbers"),
        ("orders", 2.0, "phases.0.orders: takes two shares"),
    ],
)
def test_so_is_a_bad_row(trace: Path, table: str, row: object, fault: str) -> None:
    made(trace.parent, trace, "-o", "x.twin")
    path = trace.parent / "x.twin"
    content = json.loads(path.read_text())
    content["phases"][0][table][0] = row
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=re.escape(fault)):
        twin_file.read(path)


def test_a_file_that_is_no_twin_and_a_form_that_none_has_are_refused(trace: Path) -> None:
    (trace.parent / "bad.twin").write_text("x")
    for words, fault in (
        (("bad.twin",), "bad.twin: is no twin"),
        ((trace, "-o", "x.twin", "--rows", "events"), "--rows goes with"),
    ):
        done = called(trace.parent, "trace", *words)
        assert done.returncode == 2
        assert fault in done.stderr
    made(trace.parent, trace, "-o", "x.twin")
    assert "of a twin, -o writes" in called(trace.parent, "trace", "x.twin", "-o", "x.html").stderr
