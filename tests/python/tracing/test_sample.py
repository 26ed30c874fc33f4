"""Recordings that sample: estimates hold the truth, snapshots come when asked for, files are read safely."""

import gzip
import json
import platform
import random
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from laboratory import call, called, refusal, success
from subprocesses import HEAPLAB, compiled, heaplab, until

from heaplab.machine import container
from heaplab.screen.exit_status import DAMAGED
from heaplab.traces import pprof, sample_file, sampling
from heaplab.traces.sample_file import SampleFile, Snapshot
from heaplab.tracing.run_sample import moments_of

pytestmark = pytest.mark.starts_programs

# Call sites whose live and allocated bytes are known; every round keeps more at `growing`.
SITES = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* kept[200000];
static int count;
#define SITE __attribute__((noinline)) static void
SITE growing(void) { kept[count++] = malloc(1000); }
SITE steady(void) { kept[count++] = calloc(3, 100); }
SITE churning(void) { free(malloc(500)); }
SITE large(void) { kept[count++] = malloc(2 << 20); }
SITE moving(void) { kept[count++] = realloc(realloc(malloc(10), 700), 900); }
static void* beside(void* none) {
  for (int i = 0; i < 20000; ++i) churning();
  return none;
}
int main(int words, char** word) {
  for (int i = 0; i < 20000; ++i) steady();
  for (int i = 0; i < 4; ++i) large();
  for (int i = 0; i < 5000; ++i) moving();
  pthread_t thread;
  pthread_create(&thread, 0, beside, 0);
  pthread_join(thread, 0);
  for (int round = 0; round < atoi(word[1]); ++round) {
    for (int i = 0; i < 10000; ++i) growing();
    if (words > 2 && write(1, ".", 1) == 1) {
      char next;
      if (read(0, &next, 1) != 1) return 1;
    }
  }
  return 0;
}
"""
# One step at a time, a signal handler acquires a block at each instruction of the recorder.
STEPPED = r"""
#define _GNU_SOURCE
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static uintptr_t begin, end;
#define SITE(name) __attribute__((noinline)) static void* name(size_t bytes) { return malloc(bytes); }
SITE(stepped)
SITE(handled)
SITE(later)
static int find(struct dl_phdr_info* of, size_t size, void* none) {
  for (int i = 0; strstr(of->dlpi_name, "heaplab_recorder") && i < of->dlpi_phnum; ++i)
    if (of->dlpi_phdr[i].p_flags & PF_X) {
      begin = of->dlpi_addr + of->dlpi_phdr[i].p_vaddr;
      end = begin + of->dlpi_phdr[i].p_memsz;
    }
  return 0;
}
static void step(int signal, siginfo_t* info, void* context) {
  const uintptr_t at = (uintptr_t)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  if (at - begin < end - begin) free(handled(300));
}
#define TRAP_FLAG(change) \
  __asm__ volatile("sub $128, %%rsp; pushfq; " change ", (%%rsp); popfq; add $128, %%rsp" ::: "memory", "cc")
int main(void) {
  struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
  sigaction(SIGTRAP, &action, 0);
  dl_iterate_phdr(find, 0);
  if (begin == end) return 1;
  void* volatile kept;
  TRAP_FLAG("orq $0x100");
  for (int i = 0; i < 600; ++i) {
    kept = stepped(200);
    if (i % 2) free(kept);
  }
  TRAP_FLAG("andq $~0x100");
  for (int i = 0; i < 1000; ++i) kept = later(1000);
  return 0;
}
"""
LIVE = {"growing": 10_000_000, "steady": 6_000_000, "large": 8 << 20, "moving": 4_500_000}
ALLOCATED = {**LIVE, "churning": 10_000_000, "moving": 5000 * 1610}
MEAN = "8KiB"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sampled")
    return compiled(folder / "sites", SITES, "-O1", "-g", "-fno-builtin", "-pthread")


def recorded(folder: Path, program: Path, *options: object, rounds: int = 1) -> Path:
    done = heaplab(folder, "record", "--sample", MEAN, "-o", "x.sample", *options, "--", program, rounds)
    assert done.returncode == 0, done.stderr
    assert not (folder / "x.sample.raw").exists()
    return folder / "x.sample"


def test_estimates_by_call_site_hold_the_truth(tmp_path: Path, program: Path) -> None:
    """Within six standard errors, which a right estimate leaves once in 500 million times."""
    [moment], whole = moments_of(recorded(tmp_path, program), None)
    assert whole
    assert moment.process.ended
    found = {key[0]: caller for key, caller in moment.callers.items() if key[-1] in ("main", "beside")}
    for truth, of in ((LIVE, "live"), (ALLOCATED, "acquired")):
        for name, in_bytes in truth.items():
            amount = getattr(found[name], of)
            assert abs(amount.bytes - in_bytes) < 6 * amount.bytes_variance**0.5 + 1, (name, of, amount)
    assert found["churning"].live.samples == 0
    assert sum(found["churning"].lives) == found["churning"].acquired.samples
    assert sum(found["steady"].ages) == found["steady"].live.samples
    assert (found["large"].live.samples, round(found["large"].live.blocks)) == (4, 4)


@contextmanager
def running(folder: Path, program: Path, *options: object) -> "Iterator[subprocess.Popen[bytes]]":
    """A recording of the program, which writes a dot after each of four rounds and then waits for a byte."""
    words = [*HEAPLAB, "record", "--sample", MEAN, "-o", "x.sample", *options, "--", program, 4, "by hand"]
    with subprocess.Popen(
        list(map(str, words)),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as recording:
        try:
            yield recording
        except BaseException:
            recording.terminate()
            raise


def next_round(recording: "subprocess.Popen[bytes]") -> None:
    assert recording.stdin
    assert recording.stdout
    recording.stdin.write(b"n")
    recording.stdin.flush()
    recording.stdout.read(1)


def snapshots_of(file: Path) -> list[Snapshot]:
    return list(SampleFile(file).snapshots()) if file.exists() else []


@pytest.fixture
def grown(tmp_path: Path, program: Path) -> Path:
    """Snapshots after the first round, after the third, and at the end."""
    with running(tmp_path, program) as recording:
        assert recording.stdout
        recording.stdout.read(1)
        for number in (1, 2):
            recording.send_signal(signal.SIGUSR1)
            until(lambda number=number: len(snapshots_of(tmp_path / "x.sample")) == number, "a snapshot")
            next_round(recording)
            next_round(recording)
        recording.communicate(timeout=60)
    assert recording.returncode == 0
    assert [snapshot.why for snapshot in snapshots_of(tmp_path / "x.sample")] == ["signal", "signal", "end"]
    return tmp_path / "x.sample"


def test_counters_for_perfetto_are_those_of_the_snapshots(grown: Path, tmp_path: Path) -> None:
    success(call("advise", grown, "-o", tmp_path / "x.perfetto.json"))
    found = json.loads((tmp_path / "x.perfetto.json").read_text())
    assert found["otherData"]["verdict"].startswith("growing: ")
    counters: dict[str, list[int]] = {}
    for event in found["traceEvents"][1:]:
        counters.setdefault(event["name"], []).append(event["args"]["bytes"])
    moments, _ = moments_of(grown, None)
    assert counters["live"] == [round(moment.live.value) for moment in moments]
    assert counters["allocated, at most"] == [round(moment.acquired.high) for moment in moments]
    [growing] = (values for name, values in counters.items() if name.startswith("live: growing"))
    assert growing == sorted(growing)
    assert "samples, -o writes .perfetto.json" in refusal(call("advise", grown, "-o", tmp_path / "x.html"))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the flag that traps is x86-64's")
def test_blocks_that_signal_handlers_acquire_at_any_instruction_move_no_other_estimate(
    tmp_path: Path,
) -> None:
    stepped = compiled(tmp_path / "stepped", STEPPED, "-O1", "-g", "-fno-builtin")
    done = heaplab(tmp_path, "record", "--sample", "2KiB", "-o", "x.sample", "--", stepped)
    assert done.returncode == 0, done.stderr
    moments, _ = moments_of(tmp_path / "x.sample", None)
    callers = {caller.name.split()[0]: caller for caller in moments[-1].callers.values()}
    for name, acquired, live in (("stepped", 120_000, 60_000), ("later", 1_000_000, 1_000_000)):
        for found, truth in ((callers[name].acquired, acquired), (callers[name].live, live)):
            assert abs(found.bytes - truth) < 6 * found.bytes_variance**0.5, name
    assert callers["handled"].live.samples == 0


def test_snapshots_of_one_run_show_what_grows_and_what_is_only_noise(grown: Path) -> None:
    said = success(call("trace", f"{grown}:1", f"{grown}:2"))
    assert said.startswith("Live bytes of 1 call site changed beyond the noise of the samples.\n")
    [growing] = [line for line in said.splitlines() if line.startswith("growing")]
    assert "may be noise" not in growing
    grown_by = re.search(r"\+([\d.]+) MiB", growing)
    assert grown_by
    assert 15 < float(grown_by[1]) < 23  # 20 MB
    for snapshot in snapshots_of(grown):  # each sample lives or was released: nothing is missed
        for site in snapshot.processes[0].sites:
            assert site.acquired.samples == site.live.samples + sum(site.lives)
    [steady] = [line for line in said.splitlines() if line.startswith("steady")]
    assert "may be noise" in steady
    shown = success(call("trace", grown))
    assert "Call sites that hold more than in the first snapshot" in shown
    assert "Snapshots; FILE:N is number N" in shown
    assert refusal(call("trace", f"{grown}:4")).endswith("the file has 3 snapshots\n")


def test_advise_names_what_grows_in_each_half_of_the_time(grown: Path) -> None:
    found = json.loads(success(call("advise", grown, "--json")))
    assert (found["verdict"], found["sure"]) == ("growing", True)
    assert [each["name"].split(" ")[0] for each in found["growth"]] == ["growing"]
    low, middle, high = found["growth"][0]["bytes"]
    assert low <= 30_000_000 <= high or abs(middle - 30_000_000) < 6_000_000
    alone = json.loads(success(call("advise", "--json", f"{grown}:1")))
    assert (alone["verdict"], alone["sure"], alone["growth"]) == ("live data", False, [])
    assert "one snapshot tells no growth" in " ".join(alone["also"])
    assert "samples cannot be replayed" in refusal(call("advise", grown, "--apart", "growing"))


def test_other_programs_get_the_weights(grown: Path) -> None:
    folded = grown.with_suffix(".folded")
    success(call("trace", f"{grown}:1", "-o", folded))
    weights = {
        line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in folded.read_text().splitlines()
    }
    [growing] = [weight for stack, weight in weights.items() if stack.endswith(";main;growing")]
    assert 8_000_000 < growing < 12_000_000
    success(call("trace", grown, "-o", grown.with_suffix(".pb.gz")))
    profile = gzip.decompress(grown.with_suffix(".pb.gz").read_bytes())
    assert pprof.number(14, 8) + pprof.message(6) in profile  # inuse_space is the default
    assert "of samples, -o writes" in refusal(call("trace", grown, "-o", grown.with_suffix(".html")))
    assert "samples tell no peak" in refusal(call("trace", grown, "-o", folded, "--weight", "peak"))


def test_a_snapshot_is_taken_when_memory_passes_a_mark_and_every_so_often(
    tmp_path: Path, program: Path
) -> None:
    with running(tmp_path, program, "--at", "30MB", "--at", "1GB") as recording:
        assert recording.stdout
        recording.stdout.read(1)
        for _ in range(3):
            next_round(recording)
        until(lambda: snapshots_of(tmp_path / "x.sample"), "a snapshot")
        recording.communicate(timeout=60)
    assert [snapshot.why for snapshot in snapshots_of(tmp_path / "x.sample")] == [
        "memory passed 30000000 B",
        "end",
    ]
    with running(tmp_path, program, "--every", "100ms") as recording:
        until(lambda: len(snapshots_of(tmp_path / "x.sample")) > 3, "snapshots")
        recording.communicate(timeout=60)
    assert {snapshot.why for snapshot in snapshots_of(tmp_path / "x.sample")[:3]} == {"every"}


def test_a_snapshot_is_taken_once_when_the_control_group_is_throttled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, taken = iter((2, 2, 3, 4, 5)), []
    monkeypatch.setattr(container, "times_throttled", lambda: next(counts))
    monkeypatch.setattr(sampling, "MARKS_EVERY_S", 0.0)
    monkeypatch.setattr(sampling.Sampling, "take", lambda _, why: taken.append(why))
    watched = sampling.Sampling(tmp_path, None, sampling.SamplingPlan(1 << 19, at_high=True))
    for _ in range(3):
        watched.tick()
    assert taken == ["memory.high was passed"]


def test_children_have_samples_of_their_own_and_a_window_ends(tmp_path: Path, program: Path) -> None:
    script = f"{program} 1 & wait; {program} 2"
    heaplab(tmp_path, "record", "--sample", MEAN, "-o", "x.sample", "--", "sh", "-c", script)
    [last] = snapshots_of(tmp_path / "x.sample")
    lives = sorted(process.live.bytes for process in last.processes if process.program.endswith("sites"))
    assert len(lives) == 2
    assert 5e6 < lives[1] - lives[0] < 15e6
    (tmp_path / "x.sample").unlink()
    with running(tmp_path, program, "--for", "50ms") as recording:
        until(
            lambda: len(snapshots_of(tmp_path / "x.sample")) == 1 and not list(tmp_path.glob("*.raw")),
            "the end",
        )
        assert recording.stdin
        recording.communicate(timeout=60)  # the program has gone on alone
    assert not snapshots_of(tmp_path / "x.sample")[-1].processes[0].ended


def test_what_a_killed_recording_leaves_becomes_its_last_snapshot(tmp_path: Path, program: Path) -> None:
    with running(tmp_path, program) as recording:
        assert recording.stdout
        recording.stdout.read(1)
        recording.kill()
    said = success(call("trace", tmp_path / "x.sample.raw"))
    assert "what a recording left behind" in said
    assert "growing" in said


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    for options, said in (
        (["--every", "1s"], "--every goes with --sample"),
        (["--at", "1MiB"], "--at goes with --sample"),
        (["--sample", "1MiB", "--paused"], "--paused goes with a recording of all calls, not with --sample"),
        (["--sample", "1MiB", "--stacks"], "--stacks goes with a recording of all calls, not with --sample"),
        (["--sample", "1"], "1 is outside 64 to 1GiB"),
    ):
        assert said in refusal(called_here(tmp_path, "record", *options, "--", "true"))


def called_here(folder: Path, *words: object) -> tuple[int, str]:
    done = called(folder, *words)
    return done.returncode, done.stdout + done.stderr


def test_a_damaged_file_gives_what_is_intact_or_one_line(grown: Path) -> None:
    """Cut off at any byte, with any byte changed, and with any number in it replaced."""
    whole = grown.read_bytes()
    source = random.Random(1)
    for _ in range(60):
        at = source.randrange(len(whole))
        if whole[at:].startswith(b"\x1f\x8b"):  # between two snapshots: what is left is whole
            continue
        grown.write_bytes(whole[:at])
        status, said = call("trace", grown)
        assert status in (2, DAMAGED), said
        assert status == DAMAGED or said.count("\n") == 1, said
    for _ in range(60):
        at = source.randrange(len(whole))
        grown.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << source.randrange(8))]) + whole[at + 1 :])
        status, said = call("trace", grown)
        assert status in (0, 2, DAMAGED), said


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: record["processes"][0]["sites"][0][1].__setitem__(1, -1),
        lambda record: record["processes"][0]["sites"][0][1].__setitem__(1, 1e300),
        lambda record: record["processes"][0]["sites"][0][0].extend([1] * 40),
        lambda record: record["processes"][0]["sites"][0][0].__setitem__(0, 1 << 70),
        lambda record: record["processes"][0].__setitem__("pid", "x"),
        lambda record: record["processes"][0].__setitem__("modules", "1-2\n"),
        lambda record: record["processes"][0].__setitem__("modules", "0-ffffffffffffffffffff 0 /bin/ls\n"),
        lambda record: record["processes"][0].__setitem__("build_ids", "main\n"),
        lambda record: record.pop("processes"),
    ],
)
def test_a_file_with_impossible_figures_is_refused_in_one_line(grown: Path, spoil: object) -> None:
    head, snapshot, *_ = gzip.decompress(grown.read_bytes()).splitlines()
    record = json.loads(snapshot)
    assert callable(spoil)
    spoil(record)
    grown.write_bytes(gzip.compress(head + b"\n" + json.dumps(record).encode() + b"\n"))
    assert refusal(call("trace", grown)).startswith(f"heaplab: {grown}: snapshot 1: ")


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_file, "MOST_LINE", 1 << 16)
    head = b'{"heaplab_sample":1,"sample_bytes":1,"machine":"x86_64"}\n'
    (tmp_path / "x.sample").write_bytes(gzip.compress(head + b"0" * (1 << 20)))
    assert "a snapshot is larger than" in refusal(call("trace", tmp_path / "x.sample"))


def test_a_file_keeps_a_bounded_number_of_snapshots(tmp_path: Path) -> None:
    head = sample_file.Head(heaplab_sample=1, sample_bytes=1, machine="x")
    writer = sample_file.SampleWriter(tmp_path / "x.sample", head)
    asked = (0, 50, 499)
    for number in range(500):
        why = "signal" if number in asked else sample_file.BY_TIME
        writer.add(Snapshot(at_unix_ns=number, seconds=number, why=why, processes=[]))
    found = [snapshot.at_unix_ns for snapshot in snapshots_of(tmp_path / "x.sample")]
    assert len(found) <= sample_file.MOST_SNAPSHOTS
    assert found == sorted(found)
    assert set(asked) <= set(found)
    gaps = [after - before for before, after in pairwise(found)]
    assert max(gaps) < 50
