"""Instructions counted under callgrind: that they are the preloaded malloc's, and what a gate makes of them.

valgrind is one of the packages that the tests need. No test knows a time.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bare_records import bare_arm
from laboratory import WARM, Call, Laboratory, failure, success
from subprocesses import OVER_LIBC, SHARED, compiled, executable

from heaplab import stats
from heaplab.campaign import plan
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.campaign.plan import Candidate
from heaplab.campaign.run_outcome import INSTRUCTIONS, RunOutcome, judge_count
from heaplab.catalog import contents as catalogs, locate
from heaplab.catalog.contents import Catalog
from heaplab.machine import native, setting_proof
from heaplab.machine.callgrind import CLOCKED, InstructionCount, InstructionCounter
from heaplab.machine.execute import environment_for
from heaplab.machine.purge_timers import without_timers
from heaplab.programs import prepared_input
from heaplab.results import spec, store
from heaplab.results.records import Arm, Status

pytestmark = pytest.mark.starts_programs
MEMORIES = ("memory", "mean-memory", "end-memory")

# A malloc with as many idle steps in each call as ROUNDS says.
STEPPING = r"""
#include <stddef.h>
extern void* __libc_malloc(size_t);
extern void __libc_free(void*);
void* malloc(size_t size) {
  for (volatile int step = 0; step < ROUNDS; ++step) {}
  return __libc_malloc(size);
}
void free(void* block) { __libc_free(block); }
"""
# 10000 blocks; with an argument a second thread, a child or a second program.
CALLING = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void* call(void* unused) {
  for (int i = 0; i < 10000; ++i) {
    void* volatile block = malloc(64);
    free(block);
  }
  return unused;
}
int main(int argc, char** argv) {
  pthread_t thread;
  if (argc > 1 && argv[1][0] == 't') {
    pthread_create(&thread, 0, call, 0);
    pthread_join(thread, 0);
  }
  if (argc > 1 && argv[1][0] == 'e') {
    const pid_t child = vfork();
    if (child == 0) execl(argv[0], argv[0], (char*)0);
    waitpid(child, 0, 0);
  }
  call(0);
  return 0;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program, and libraries by the number of their idle steps."""
    folder = tmp_path_factory.mktemp("callgrind")
    found = {"calling": compiled(folder / "calling", CALLING, "-O0", "-pthread")}
    for rounds in (10, 11, 100):
        library = folder / f"lib{rounds}.so"
        found[str(rounds)] = compiled(library, STEPPING, "-O0", *SHARED, f"-DROUNDS={rounds}")
    return found


def located(path: Path) -> Arm:
    return locate.locate(Catalog().with_library("mine", path), "mine")


@pytest.fixture
def counter() -> Iterator[InstructionCounter]:
    made = InstructionCounter()
    yield made
    made.close()


def count(counter: InstructionCounter, built: dict[str, Path], rounds: str, *words: str) -> InstructionCount:
    counter.forget()
    environment = environment_for(located(built[rounds]))
    subprocess.run([*counter.prefix, built["calling"], *words], env=environment, check=True)
    return counter.taken()


# ---------------------------------------------------------------- counting


def test_a_count_is_that_of_the_preloaded_malloc_and_hardly_varies(
    counter: InstructionCounter, built: dict[str, Path]
) -> None:
    few, again, many = (count(counter, built, rounds) for rounds in ("10", "10", "100"))
    assert abs(again.instructions - few.instructions) < few.instructions / 1000
    each = (many.instructions - few.instructions) / 10000 / 90  # instructions of an idle step
    assert 3 < each < 8
    assert str(built["100"]) in many.objects
    assert str(built["10"]) not in many.objects
    assert not [name for name in many.objects if "vgpreload" in name and "vgpreload_core" not in name]


def test_children_count_and_threads_are_seen(counter: InstructionCounter, built: dict[str, Path]) -> None:
    alone, child, threads = (count(counter, built, "10", *words) for words in ((), ("e",), ("t",)))
    assert child.instructions > 1.7 * alone.instructions
    assert (alone.threads, child.threads, threads.threads) == (1, 1, 2)


def test_options_of_valgrind_in_the_environment_count_for_nothing(
    counter: InstructionCounter, built: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VALGRIND_OPTS", "--tool=none --no-such-option")
    assert count(counter, built, "10").instructions > 10000


@pytest.mark.parametrize("stripped", [False, True])
def test_of_a_workload_what_is_timed_is_counted(
    counter: InstructionCounter, tmp_path: Path, stripped: bool
) -> None:
    """Twice the work takes twice the instructions, however much of the run is preparation and checks."""
    installed = native.root() / "bin" / "growth"
    program = tmp_path / "growth"
    if stripped:
        subprocess.run(["strip", "-o", program, installed], check=True)
    else:
        program.symlink_to(installed)

    def of(operations: int) -> int:
        counter.forget()
        words = [program, "--structure", "DS3", "--elements", "64", f"--operations={operations}"]
        subprocess.run([*counter.prefix, CLOCKED, *words, "--json", "/dev/null"], check=True)
        return counter.taken().instructions

    assert of(6400) / of(3200) == pytest.approx(2, rel=0.05)


def cell_of(lab: Laboratory, **changes: object) -> plan.Cell:
    cell = plan.comparisons(lab.results().campaign)[0].cells[0]
    return replace(cell, workload=cell.workload.model_copy(update=changes))


def test_a_count_that_depends_on_threads_or_on_another_library_is_no_figure(
    finished: Laboratory, built: dict[str, Path]
) -> None:
    program, arm = cell_of(finished, kind="program"), located(built["10"])

    def judged(threads: int, objects: set[str], cell: plan.Cell) -> RunOutcome:
        counted = InstructionCount(5, threads, frozenset(objects))
        return judge_count(RunOutcome(Status.OK), counted, cell, 1, arm)

    own = {str(built["10"])}
    good = judged(1, own, program)
    assert good.sample.metrics[INSTRUCTIONS].value == 5
    assert judged(2, own, program).status is Status.SKIPPED
    assert judged(2, own, cell_of(finished)).status is Status.OK  # beside a main thread that waits
    assert judged(3, own, cell_of(finished)).status is Status.SKIPPED
    assert "saw no instruction of" in judged(1, {"/lib/libc.so.6"}, program).reason
    nothing = judge_count(
        RunOutcome(Status.OK), InstructionCount(0, 1, frozenset()), cell_of(finished), 1, arm
    )
    assert nothing.status is Status.VOID


@pytest.mark.parametrize(
    ("parameters", "unit", "countable"),
    [
        ((), "s", True),
        ((("threads", 1),), "s", True),
        ((("threads", 2),), "s", False),
        ((("threads", 1),), "1/s", False),
    ],
)
def test_a_cell_is_counted_that_has_one_thread_and_a_fixed_amount_of_work(
    finished: Laboratory, parameters: tuple[tuple[str, int], ...], unit: str, countable: bool
) -> None:
    cell = cell_of(finished, metrics={"time": spec.MetricSpec(title="time", unit=unit)})
    assert plan.is_countable(replace(cell, parameters=parameters)) == countable


def test_the_interval_of_counts_is_their_range() -> None:
    found = stats.spread([100, 100, 100], [110, 112, 111])
    assert (found.low, found.high, found.count) == (pytest.approx(1.10), pytest.approx(1.12), 3)
    assert 1.10 < found.estimate < 1.12
    assert not stats.spread([100], [110]).bounded
    assert stats.spread([100], [110]).estimate == pytest.approx(1.1)
    assert stats.spread([], []).estimate != stats.spread([], []).estimate


def test_the_reference_run_of_a_prepared_program_is_not_counted(
    finished: Laboratory, built: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(prepared_input.INPUTS, "nothing", lambda _folder: None)
    campaign = finished.results().campaign
    prepared = {"kind": "program", "fixture": {"package": "none", "input": "nothing"}}
    changed = campaign.workloads["fake"] | prepared | {"program": str(built["calling"])}
    counting = {"workloads": {"fake": changed}, "instructions": "callgrind", "warm": 0}
    campaign = campaign.model_copy(update=counting)
    comparison = plan.comparisons(campaign)[0]
    cell = replace(comparison.cells[0], parameters=())
    with RunMeasurer(campaign, {"mine": located(built["10"])}) as measure:
        runs = [measure(plan.block(campaign, comparison, 0), Candidate(cell, "mine"), n, 0) for n in (0, 1)]
    counts = [run.sample.metrics[INSTRUCTIONS].value for run in runs if run.sample]
    assert len(counts) == 2, runs
    assert counts[0] == pytest.approx(counts[1], rel=0.001)


# ---------------------------------------------------------------- timers of purging

TELLING = (
    OVER_LIBC
    + r"""
#include <stdio.h>
#include <stdlib.h>
static const char* names[] = {"mimalloc_", "purge_delay", "release_to_os_interval_ms"};
__attribute__((constructor)) static void tell(void) {
  const char* delay = getenv("MIMALLOC_PURGE_DELAY");
  if (!getenv("MIMALLOC_VERBOSE")) return;
  fprintf(stderr, "%s: option 'purge_delay': %s\n", names[0], delay ? delay : "10");
}
"""
)


def test_timers_are_off_where_the_allocator_has_them_and_the_arm_does_not_choose(tmp_path: Path) -> None:
    arm = located(compiled(tmp_path / "libtelling.so", TELLING, *SHARED, "-O0"))
    found = without_timers(arm)
    assert found.environment == {"MIMALLOC_PURGE_DELAY": "-1"}  # SCUDO_OPTIONS: not a name that it reads
    assert found.proof == "MIMALLOC_VERBOSE"
    chosen = arm.model_copy(update={"environment": {"MIMALLOC_PURGE_DELAY": "5"}})
    assert without_timers(chosen) == chosen
    glibc = locate.locate(catalogs.load(), "glibc")
    assert without_timers(glibc) == glibc


def test_a_command_is_asked_by_its_own_file(tmp_path: Path) -> None:
    program = executable(tmp_path / "program", "#!/bin/sh\n# _rjem_malloc_conf\n")
    arm = bare_arm("new", command=[str(program)])
    assert list(without_timers(arm).environment) == ["_RJEM_MALLOC_CONF"]
    program.write_text("#!/bin/sh\n")
    assert without_timers(arm) == arm


@pytest.mark.parametrize("name", ["jemalloc", "jemalloc-5.3.1", "mimalloc", "mimalloc2", "mimalloc3"])
def test_timers_of_allocators_that_are_here_go_off(name: str) -> None:
    try:
        arm = locate.locate(catalogs.load(), name)
    except locate.NotHereError:
        return
    found = without_timers(arm)
    assert found.environment
    assert (found.void, found.proof) == ("", setting_proof.proved(found).proof)


# ---------------------------------------------------------------- a gate


@pytest.fixture
def gate(lab: Laboratory, built: dict[str, Path], tmp_path: Path) -> Call:
    def call(old: str, new: str, *words: object, argument: str = "") -> tuple[int, str]:
        forms = {"--markdown": "g.md", "--junit": "g.xml", "--bencher": "g.json"}
        outputs = [word for option, name in forms.items() for word in (option, tmp_path / name)]
        common = (*WARM, "--instructions", "only-callgrind", "--max-instructions", "1%", "--budget", "200s")
        program = ["--", built["calling"], *filter(None, [argument])]
        return lab.heaplab("gate", built[old], built[new], *common, *outputs, "-o", lab.out, *words, *program)

    return call


def test_one_idle_step_more_in_malloc_fails_a_gate_in_every_output(
    gate: Call, tmp_path: Path, lab: Laboratory
) -> None:
    printed = success(gate("10", "11"), 3)
    assert "instructions under callgrind" in printed
    assert "| instructions under callgrind |" in (tmp_path / "g.md").read_text()
    case, _of_runs = ElementTree.parse(tmp_path / "g.xml").getroot().iter("testcase")
    assert case.get("name") == "program: instructions under callgrind"
    assert case.find("failure") is not None
    measures = json.loads((tmp_path / "g.json").read_text())["program"]
    assert set(measures) == {"instructions-ratio", "instructions"}
    assert 1.01 < measures["instructions-ratio"]["lower_value"] < 1.2
    results = store.load(lab.out / "callgrind")
    assert results.campaign.instructions == "callgrind"
    assert len(results.runs) == 9
    assert not (lab.out / store.FILE_NAME).exists()


def test_the_same_malloc_twice_passes_a_gate_and_json_has_the_counts(gate: Call) -> None:
    printed = success(gate("10", "10", "--json"))
    (cell,) = json.loads(printed.splitlines()[-1])["cells"]
    assert (cell["metric"], cell["verdict"], cell["pairs"]) == ("instructions", "not worse", 3)
    assert cell["ratio"] == pytest.approx(1, abs=0.001)


def test_a_program_with_threads_is_named_and_not_counted(gate: Call) -> None:
    printed = failure(gate("10", "11", argument="t"))
    assert "not counted under callgrind: program: it has several threads" in printed
    assert "there is nothing to judge" in printed


def test_with_one_limit_counts_take_the_place_of_times_that_cannot_tell(
    lab: Laboratory, built: dict[str, Path]
) -> None:
    words = (*WARM, "--auto", "--max-instructions", "1%", "--precision", "60%", "--budget", "200s", "--json")
    printed = success(lab.heaplab("gate", built["10"], built["11"], *words, "--", built["calling"]), 3)
    cells = {cell["measure"]: cell for cell in json.loads(printed.splitlines()[-1])["cells"]}
    assert cells["time"]["limit"] == cells["instructions"]["limit"] == 0.01
    assert cells["instructions"]["verdict"] == "worse"


@pytest.mark.long
def test_counts_stand_beside_times(lab: Laboratory, built: dict[str, Path]) -> None:
    words = (built["10"], built["100"], *WARM, "--instructions", "callgrind", "--budget", "200s")
    status, printed = lab.heaplab(
        "gate", *words, "--precision", "60%", "--json", "-o", lab.out, "--", built["calling"]
    )
    assert status == 3, printed
    verdicts = {cell["metric"]: cell["verdict"] for cell in json.loads(printed.splitlines()[-1])["cells"]}
    assert verdicts[INSTRUCTIONS] == "worse"
    assert verdicts.keys() & {"wall_time", "cpu_time"}


def test_without_valgrind_one_line_says_so(gate: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        shutil, "which", lambda name, *_more, **_path: None if name == "valgrind" else f"/{name}"
    )
    said = "heaplab: gate: valgrind is not here; Debian's package valgrind has it\n"
    assert gate("10", "10") == (1, said)


# ---------------------------------------------------------------- a baseline


@pytest.fixture
def against_kept(lab: Laboratory, built: dict[str, Path], tmp_path: Path) -> Call:
    """Calls the gate of one library, which is built anew under the same name, against a baseline."""

    def call(version: str, *words: object) -> tuple[int, str]:
        library = tmp_path / "libmine.so"
        shutil.copy(built[version], library)
        baseline = ("--baseline", tmp_path / "kept.json", library, *WARM, "--max-instructions", "1%")
        return lab.heaplab(
            "gate", *baseline, "--budget", "200s", "-o", lab.out, *words, "--", built["calling"]
        )

    return call


def test_counts_and_memory_are_compared_with_those_of_another_run_and_times_are_not(
    against_kept: Call, tmp_path: Path
) -> None:
    assert "instructions" in success(against_kept("10", "--update")).splitlines()[-1]
    assert "NOT WORSE" in success(against_kept("10"))
    found = json.loads(success(against_kept("11", "--json"), 3).splitlines()[-1])
    assert {cell["measure"] for cell in found["cells"]} <= {"instructions", *MEMORIES}
    assert {cell["measure"] for cell in found["cells"] if cell["verdict"] == "worse"} == {"instructions"}
    assert "Build both on one runner" in " ".join(found["remarks"])
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert not {each["measure"] for each in kept["runs"][0]["values"]} - {"instructions", "faults", *MEMORIES}


def test_a_baseline_of_another_kind_of_machine_is_refused_and_one_of_this_is_kept_beside(
    against_kept: Call, tmp_path: Path
) -> None:
    only = ("--instructions", "only-callgrind")
    success(against_kept("10", "--update", *only))
    kept = json.loads((tmp_path / "kept.json").read_text())
    kept["runs"][0]["facts"]["cpu"] = "another"
    (tmp_path / "kept.json").write_text(json.dumps(kept))
    assert "nothing was kept on this kind of machine (cpu: another there, " in success(
        against_kept("11", *only)
    )
    success(against_kept("11", "--strict", *only), 4)
    success(against_kept("10", "--update", *only))
    assert len(json.loads((tmp_path / "kept.json").read_text())["runs"]) == 2
    assert "WORSE: 1 of 1" in success(against_kept("11", *only), 3)
