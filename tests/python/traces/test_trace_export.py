"""What `heaplab trace -o` writes for other programs, and what it reads of theirs."""

import gzip
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from elftools.elf.elffile import ELFFile
from laboratory import called
from subprocesses import compiled, heaplab, printed_by
from traces import Event, two_threads, write_trace

from heaplab.errors import UsageError
from heaplab.machine import native
from heaplab.screen.exit_status import DAMAGED
from heaplab.traces import columns, dhat, folded, pprof, symbols, tool
from heaplab.traces.profile import Profile, busiest, of_process

pytestmark = pytest.mark.starts_programs

PROGRAM = """#include <stdlib.h>
void *one_block(void) { return malloc(100); }
int main() { for (int i = 0; i < 7; ++i) { void *p = one_block(); if (i % 2) free(p); } return 0; }
"""
HEAPTRACK = """v 10400 3
X ./server --port 80
s 9 /bin/prog
s 4 main
s 3 a.c
i 5550 1 2 3 1f
t 1 0
a 40 1
+ 0
+ 0
- 0
"""


def record(folder: Path, *arguments: str) -> None:
    done = heaplab(folder, "record", *arguments)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Thread 1 acquires 500 blocks, thread 2 releases every second; one block lives on."""
    events = two_threads()
    events.insert(-2, Event(events[-2].stamp, 1, 1, 1 << 30, 5000))
    write_trace(tmp_path / "x.trace", events)
    return tmp_path / "x.trace"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with debug information, below a shell: two processes and more."""
    folder = tmp_path_factory.mktemp("recorded")
    compiled(folder / "p", PROGRAM, "-g", "-fno-builtin")
    record(folder, "-o", "x.trace", "--", "sh", "-c", "./p; ./p; exit 0")
    return folder / "x.trace"


@pytest.fixture(scope="module")
def with_stacks(recorded: Path) -> Path:
    record(recorded.parent, "--stacks", "-o", "stacks.trace", "--", "./p")
    return recorded.with_name("stacks.trace")


def parquet(trace: Path, what: str) -> Any:
    import pandas as pd

    path = trace.with_suffix(".parquet")
    columns.write_parquet(trace, tool.summary(trace), what, path)
    return pd.read_parquet(path)


def test_a_row_for_each_event(trace: Path) -> None:
    rows = parquet(trace, "events")
    events = two_threads()
    assert len(rows) == len(events) + 1
    assert list(rows["number"]) == list(range(len(rows)))
    first = rows[rows["kind"] == "malloc"].iloc[1]
    assert (first["address"], first["size"], first["thread"]) == (4096 + 256, 17, 1)
    assert first["time"] == pytest.approx(30e-9)
    assert rows["kind"].value_counts()["free"] == 500


def test_a_row_for_each_block(trace: Path) -> None:
    rows = parquet(trace, "blocks")
    assert len(rows) == 501
    assert Counter(rows["releasing_thread"].dropna()) == {1: 250, 2: 250}
    [left] = rows[rows["releasing_kind"].isna()].to_dict("records")
    assert (left["size"], left["lifetime"]) == (5000, pytest.approx(float("nan"), nan_ok=True))
    assert rows["lifetime"].dropna().to_list() == pytest.approx([10e-9] * 500)


@pytest.mark.parametrize("output", [(), ("-o", "x.html"), ("-o", "y.trace")])
def test_rows_are_refused_where_no_parquet_is_written(trace: Path, output: tuple[str, ...]) -> None:
    done = called(trace.parent, "trace", trace, "--rows", "blocks", *output)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "--rows goes with a file of Parquet" in done.stderr
    assert not (trace.parent / "x.html").exists()


def test_rows_come_in_batches_of_one_process(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd
    from pyarrow import parquet as pq

    whole = parquet(recorded, "events")
    monkeypatch.setattr(columns, "ROWS", 100)
    path = recorded.with_suffix(".small.parquet")
    heard: list[tuple[int, int]] = []
    columns.write_parquet(
        recorded, tool.summary(recorded), "events", path, lambda *progress: heard.append(progress)
    )
    pd.testing.assert_frame_equal(pd.read_parquet(path), whole)
    file = pq.ParquetFile(path)
    assert file.metadata.num_row_groups > len(whole) / 100
    assert heard[-1] == (len(whole), len(whole))
    described = json.loads(file.schema_arrow.metadata[b"heaplab.processes"])
    assert [Path(process["program"]).name for process in described].count("p") == 2
    summary = tool.summary(recorded)
    assert whole.groupby("process").size().to_list() == [
        process["events"] for process in summary["processes"]
    ]


def test_callers_have_names_and_lines(recorded: Path) -> None:
    blocks = parquet(recorded, "blocks")
    [caller] = set(blocks[blocks["size"] == 100]["caller"])
    assert caller.startswith("one_block (")
    assert caller.endswith("/p.c:2)")


def profile_of(trace: Path, process: int | None = None) -> Profile:
    summary = tool.summary(trace)
    return of_process(trace, summary, busiest(summary) if process is None else process)


def program_in(trace: Path) -> int:
    processes = tool.summary(trace)["processes"]
    return next(n for n, process in enumerate(processes) if process["process"]["program"].endswith("/p"))


def test_dhat_has_what_its_viewer_asks_for(recorded: Path) -> None:
    found = json.loads(dhat.as_dhat(profile_of(recorded, program_in(recorded))))
    assert {"mode", "verb", "bklt", "bkacc", "tu", "Mtu", "tuth", "cmd", "pid"} < set(found)
    assert found["dhatFileVersion"] == 2
    [point] = [point_of for point_of in found["pps"] if "one_block" in found["ftbl"][point_of["fs"][0]]]
    assert (point["tb"], point["tbk"], point["eb"], point["ebk"]) == (700, 7, 400, 4)
    assert (point["mb"], point["mbk"]) == (400, 4)
    assert sum(point["gb"] for point in found["pps"]) == profile_of(recorded, program_in(recorded)).peak_bytes
    assert 0 <= found["tg"] <= found["te"]


def fields(message: bytes) -> list[tuple[int, Any]]:
    """A message of protobuf: numbers of fields, and a number or bytes."""
    found, at = [], 0

    def varint() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = message[at]
            at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        value: Any = varint()
        if key & 7 == 2:
            value, at = message[at : at + value], at + value
        found.append((key >> 3, value))
    return found


def numbers(packed: bytes) -> list[int]:
    return [value for _, value in fields(b"".join(b"\0" + message for message in split(packed)))]


def split(packed: bytes) -> list[bytes]:
    found, start = [], 0
    for at, byte in enumerate(packed, 1):
        if byte < 0x80:
            found.append(packed[start:at])
            start = at
    return found


def test_pprof_has_every_block_and_names(recorded: Path) -> None:
    profile = profile_of(recorded, program_in(recorded))
    path = recorded.with_suffix(".pb.gz")
    pprof.write_pprof(profile, path)
    message = fields(gzip.decompress(path.read_bytes()))
    texts = [value.decode() for field, value in message if field == 6]
    assert texts[0] == ""
    kinds = [texts[dict(fields(value))[1]] for field, value in message if field == 1]
    samples = [dict(fields(value)) for field, value in message if field == 2]
    values = [dict(zip(kinds, numbers(each[2]), strict=True)) for each in samples]
    assert sum(each["alloc_objects"] for each in values) == sum(site.blocks for site in profile.sites)
    assert sum(each["peak_space"] for each in values) == profile.peak_bytes
    functions = {
        dict(fields(value))[1]: texts[dict(fields(value))[2]] for field, value in message if field == 5
    }
    assert "one_block" in functions.values()
    [mine] = [number for number, name in functions.items() if name == "one_block"]
    [sample] = [each for each in samples if numbers(each[1]) == [mine]]
    assert numbers(sample[2])[:2] == [7, 700]


def test_pprof_names_the_files_that_were_mapped_by_their_build_ids(recorded: Path) -> None:
    profile = profile_of(recorded, program_in(recorded))
    message = fields(pprof.as_pprof(profile))
    texts = [value.decode() for field, value in message if field == 6]
    mappings = {
        mapping[1]: mapping for mapping in (dict(fields(value)) for field, value in message if field == 3)
    }
    assert texts[mappings[1][5]] == profile.of["executable"]
    for mapping in mappings.values():
        with open(texts[mapping[5]], "rb") as file:
            notes = ELFFile(file).get_section_by_name(".note.gnu.build-id")
            found = [note["n_desc"] for note in notes.iter_notes()] if notes else [""]
        assert [texts[mapping.get(6, 0)]] == found
    locations = [dict(fields(value)) for field, value in message if field == 4]
    for location in locations:
        mapped = mappings[location[2]]
        assert mapped[2] < location[3] <= mapped[3]


@pytest.mark.long  # go compiles its pprof first, which takes half a minute
@pytest.mark.skipif(shutil.which("go") is None, reason="go has pprof")
def test_pprof_reads_what_is_written(recorded: Path) -> None:
    path = recorded.with_suffix(".pb.gz")
    pprof.write_pprof(profile_of(recorded, program_in(recorded)), path)
    command = ("go", "tool", "pprof", "-top", "-sample_index=alloc_space", path)
    assert "one_block" in printed_by(*command, timeout=600)


@pytest.mark.parametrize(
    ("weight", "expected"), [("peak", 400), ("end", 400), ("allocated", 700), ("calls", 7)]
)
def test_collapsed_stacks_lead_from_the_program_to_the_call(
    with_stacks: Path, weight: str, expected: int
) -> None:
    done = called(with_stacks.parent, "trace", with_stacks, "-o", "x.folded", "--weight", weight)
    assert done.returncode == 0, done.stderr
    lines = [line.rpartition(" ") for line in (with_stacks.parent / "x.folded").read_text().splitlines()]
    stacks = {stack: int(amount) for stack, _, amount in lines}
    assert len(stacks) == len(lines)
    [mine] = [stack for stack in stacks if "one_block" in stack]
    assert mine.split(";")[0] == "p"
    assert mine.endswith(";main;one_block")
    assert stacks[mine] == expected
    of_site = folded.WEIGHTS[weight]
    assert sum(stacks.values()) == sum(of_site(site) for site in profile_of(with_stacks).sites)


def test_the_least_of_a_collapsed_stack(trace: Path) -> None:
    profile = profile_of(trace)
    assert folded.as_folded(profile, "end") == f"{profile.program};[unknown] 5000\n"
    assert folded.text("operator;(int)\n") == "operator:(int) "
    assert folded.frame(symbols.Place("0x17", module="/lib/libx.so.1")) == "[libx.so.1]"


def test_weights_are_refused_where_no_stacks_are_written(trace: Path) -> None:
    done = called(trace.parent, "trace", trace, "--weight", "calls", "-o", "x.html")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--weight goes with collapsed stacks" in done.stderr


PACKINGS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": lambda text: pyarrow.Codec("zstd").compress(text, asbytes=True),
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_heaptrack_becomes_a_trace_that_replays(tmp_path: Path, packing: str) -> None:
    source = tmp_path / "heaptrack.server"
    source.write_bytes(PACKINGS[packing](HEAPTRACK.encode()))
    done = called(tmp_path, "trace", source, "-o", "x.trace")
    assert (done.returncode, done.stdout) == (0, "x.trace\n"), done.stderr
    [process] = tool.summary(tmp_path / "x.trace")["processes"]
    assert process["summary"]["live_blocks"] == "1"
    assert process["process"]["arguments"] == "./server\0--port\0" + "80\0"
    profile = profile_of(tmp_path / "x.trace")
    assert profile.place(profile.stack(profile.sites[0].number)[0]) == symbols.Place("main", "a.c", 31)
    # One class is below the 10 ms between two of heaptrack's times; the last is what lives at the end.
    assert {life.life for life in profile.lives} == {4, 11}
    compiler = str(native.helper("compile_trace"))
    subprocess.run([compiler, "x.trace", "x.workload"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)


def test_a_packed_text_cut_off_gives_what_is_intact(tmp_path: Path) -> None:
    whole = gzip.compress((HEAPTRACK + "+ 0\n- 0\n" * 5000).encode())
    (tmp_path / "cut.gz").write_bytes(whole[:-40])
    done = called(tmp_path, "trace", "cut.gz", "-o", "x.trace")
    assert done.returncode == DAMAGED
    assert "cut.gz: is cut off; what is intact was used" in done.stderr
    assert tool.summary(tmp_path / "x.trace")["processes"][0]["events"] > 100


def test_mtrace_becomes_a_trace_with_names(tmp_path: Path) -> None:
    source = PROGRAM.replace("int main() {", "#include <mcheck.h>\nint main() { mtrace();")
    program = compiled(tmp_path / "p", source, "-g", "-fno-builtin")
    around = {"MALLOC_TRACE": str(tmp_path / "text"), "LD_PRELOAD": "libc_malloc_debug.so.0"}
    subprocess.run([program], env=around, check=True)
    assert called(tmp_path, "trace", "text", "-o", "x.trace").returncode == 0
    profile = profile_of(tmp_path / "x.trace")
    assert not profile.timed
    [mine] = [site for site in profile.sites if profile.chain(site.number).startswith("one_block")]
    assert mine.blocks == 7
    assert sum(site.live_blocks for site in profile.sites) == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "x.trace -o x.csv",
            "x.csv: its suffix is none of .html, .parquet, .json, .pb.gz, .folded, .twin, .toml, .trace",
        ),
        ("x.trace -o y.trace", "x.trace: is a trace already"),
        ("x.trace --process 1", "--process 1: x.trace has processes 0 to 0"),
        ("text -o y.trace", "text: is neither a trace of heaplab nor the output of heaptrack or mtrace"),
        (". -o y.trace", ".: is a folder, not the output of heaptrack or mtrace"),
        ("absent -o y.trace", "absent: No such file or directory"),
        ("empty -o y.trace", "empty: is empty, not the output of heaptrack or mtrace"),
        (
            "massif -o y.trace",
            "massif: is the output of valgrind's massif, which holds snapshots and no calls; heaplab record "
            "makes a trace",
        ),
        (
            "dhat -o y.trace",
            "dhat: is the output of valgrind's DHAT, which holds sums and no calls; heaplab record "
            "makes a trace",
        ),
        ("cut.gz -o y.trace", "cut.gz: is cut off before its first line"),
        ("cut.zst -o y.trace", "cut.zst: is cut off before its first line"),
        ("new -o y.trace", "new: has format 9 of heaptrack, this heaplab reads 0 to 3"),
    ],
)
def test_bad_usage_is_one_line(trace: Path, arguments: str, said: str) -> None:
    (trace.parent / "text").write_text("hello\n")
    (trace.parent / "new").write_text("v 10400 9\n")
    (trace.parent / "empty").touch()
    (trace.parent / "massif").write_text("desc: (none)\ncmd: ls\n")
    (trace.parent / "dhat").write_text('{"dhatFileVersion":2}\n')
    (trace.parent / "cut.gz").write_bytes(gzip.compress(HEAPTRACK.encode())[:12])
    (trace.parent / "cut.zst").write_bytes(b"\x28\xb5\x2f\xfd\x00")
    done = called(trace.parent, "trace", *arguments.split())
    assert (done.returncode, done.stderr) == (2, f"heaplab: {said}\n")
    assert not (trace.parent / "y.trace").exists()


def test_a_file_that_cannot_be_written_leaves_the_earlier_one(trace: Path) -> None:
    path = trace.with_suffix(".parquet")
    path.write_text("before")
    with pytest.raises(UsageError):
        columns.write_parquet(
            trace.with_name("absent"), tool.summary(trace.with_name("absent")), "events", path
        )
    summary = tool.summary(trace)
    trace.write_bytes(b"")
    with pytest.raises(Exception, match="is empty"):
        columns.write_parquet(trace, summary, "events", path)
    assert path.read_text() == "before"
    assert [each.name for each in trace.parent.iterdir() if each.name.endswith(".new")] == []
