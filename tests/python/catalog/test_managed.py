"""Mutators of managed languages draw what the C++ program draws; without a language its tests are skipped."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import call, success
from subprocesses import written

from heaplab.analysis import Analysis
from heaplab.catalog import contents as catalogs, locate, obtain
from heaplab.machine import native
from heaplab.machine.execute import environment_for
from heaplab.machine.native import needed
from heaplab.options import chosen_arms
from heaplab.report.tables import metric_tables
from heaplab.results import store
from heaplab.results.own_program import MUTATOR
from heaplab.results.records import Arm, Sample, Status
from heaplab.text import units

NEEDED = {"java": "javac", "go": "go"}
ALONE = "--ticks 22 --time-quantum 100kB --no-access-live-objects"
RUNS = {
    "defaults": "--ticks 22",
    "trees": f"{ALONE} --list-ratio 40 --min-size 8 --max-size 3000 --seed 5 --threads 3",
    "equal": f"{ALONE} --min-size 100 --max-size 100 --class-objects 30 --permanent-objects-ratio 5",
    "delayed": "--historic --seed 7 --deallocation-delay 3 --ticks 30 --list-ratio 50",
}
SHARED = f"{ALONE} --threads 4 --shared-objects --receiving-threads-ratio 50 --shared-objects-ratio 70"


@pytest.fixture(scope="module", params=NEEDED)
def mutator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arm]:
    """The arm of a language with its mutator, built for these tests."""
    if shutil.which(NEEDED[request.param]) is None:
        pytest.skip(f"no {NEEDED[request.param]} on this machine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEAPLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield obtain.get(catalogs.load(), request.param)


def run(
    words: list[str], options: str, arm: Arm | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    environment = (environment_for(arm) if arm else {}) | more
    return subprocess.run(
        [*words, *options.split()], env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def accounts(words: list[str], options: str, arm: Arm | None = None) -> str:
    done = run(words, f"{options} --accounts - --json /dev/null", arm)
    assert done.returncode == 0, done.stderr
    return done.stdout[done.stdout.index("tick\t") :].partition("acdc, malloc")[0]


def of_cpp(options: str) -> str:
    return accounts([str(needed(native.program(MUTATOR), MUTATOR.name))], options)


def sample_of(arm: Arm, options: str, **more: str) -> Sample:
    done = run(arm.runtime, f"{options} --json -", arm, **more)
    assert done.returncode == 0, done.stderr
    return Sample.model_validate_json(done.stdout[done.stdout.index("{") :])


@pytest.mark.parametrize("options", RUNS.values(), ids=RUNS)
def test_every_tick_has_the_counts_of_the_cpp_program(mutator: Arm, options: str) -> None:
    assert accounts(mutator.runtime, options, mutator) == of_cpp(options)


def test_threads_that_share_draw_the_classes_of_the_cpp_program(mutator: Arm) -> None:
    """When a receiver's tick falls is left to chance, and with it what thread 0 has freed by then."""
    own = accounts(mutator.runtime, SHARED, mutator).partition("liveness\t")
    assert own[2] == of_cpp(SHARED).partition("liveness\t")[2]


def test_objects_are_read_and_written_as_often(mutator: Arm) -> None:
    metrics = sample_of(mutator, "--ticks 25 --list-ratio 50 --write-access-ratio 12.5 --threads 2").metrics
    program = [str(needed(native.program(MUTATOR), MUTATOR.name))]
    done = run(program, "--ticks 25 --list-ratio 50 --write-access-ratio 12.5 --threads 2 --json -")
    reference = json.loads(done.stdout.splitlines()[0])["metrics"]
    for name in ("accessed_objects", "written_objects", "allocated_objects", "freed_bytes"):
        assert metrics[name].value == reference[name]["value"], name


def test_pauses_are_those_of_a_heap_that_is_collected_again_and_again(mutator: Arm) -> None:
    small = {"GOGC": "25", "JDK_JAVA_OPTIONS": "-Xmx24m -XX:+UseSerialGC"}
    metrics = sample_of(mutator, "--ticks 40 --time-quantum 1MB", **small).metrics
    assert metrics["pauses"].value >= 2
    assert 0 < metrics["pause_p50"].value <= metrics["pause_p99"].value <= metrics["pause_max"].value
    assert metrics["pause_max"].value <= metrics["pause_time"].value
    share = metrics["pause_time"].value / metrics["wall_time"].value
    assert metrics["pause_share"].value == pytest.approx(share)
    assert not [
        path for path in Path(next(iter(mutator.sha256))).parent.iterdir() if "safepoints" in path.name
    ]


@pytest.mark.parametrize(
    "options",
    [
        *("--mode false-sharing", "--pseudo-allocator compact", "--call-pairs 3", "--ticks", "--ticks 20"),
        *("--min-size 4", "--max-size 1XB", "--list-ratio 101", "--min-size 512", "--historic --min-size 20"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(mutator: Arm, options: str) -> None:
    done = run(mutator.runtime, options, mutator)
    assert (done.returncode, done.stdout) == (2, "")
    said = [line for line in done.stderr.splitlines() if "Picked up" not in line]
    assert len(said) == 1
    assert options.split(maxsplit=1)[0] in said[0]


# ---------------------------------------------------------------- as arms; the language is a shell script

SCRIPT = """#!/bin/sh
[ "$PACE" != wrong ] || { echo "fake: PACE=wrong" >&2; exit 2; }
[ "$1" != --version ] || { echo "fake 1.2 at $PACE$GOGC"; exit; }
for place; do :; done
value() { printf '"%s":{"value":%s,"unit":"%s"}' "$@"; }
sample() {
  echo "{\\"schema\\":1,\\"workload\\":\\"acdc\\",\\"parameters\\":{},\\"seed\\":1,\\"metrics\\":{"
  value wall_time 0.5 s; echo ,; value pauses 3 1; echo ,
  value peak_memory 1000 B; echo ,; value page_tables 10 B
  echo '},"served_by":{}}'
}
sample >/proc/self/fd/${place#fd:}
"""
ALLOCATOR = """
title = "Fake"
summary = "s"
licence = "MIT"
reference = true
[[sources]]
kind = "runtime"
package = "fake-language"
library = "fake"
needs = ["sh"]
build = ["cp fake.sh \\"$out\\" && chmod +x \\"$out\\""]
command = ["{out}"]
[variants.fast]
title = "fast"
environment = { PACE = "fast" }
[variants.broken]
title = "broken"
environment = { PACE = "wrong" }
"""
EXPERIMENT = """
title = "t"
claim = "c"
workload = "managed"
metrics = ["wall_time", "peak_memory", "pauses"]
allocators = ["glibc", "fake", "fake-fast"]
[parameters]
ticks = 21
time-quantum = 1000
[quick]
blocks = 1
blocks_most = 1
[full]
"""


@pytest.fixture
def catalog(tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog with a language and an experiment; heaplab's own parts are those of this build."""
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    for part in ("bin", "lib", "libexec"):
        (prefix / part).symlink_to(native.root() / part)
    own_catalog = native.catalog()
    written(prefix / "share" / "heaplab" / "managed" / "fake", {"fake.sh": SCRIPT})
    (prefix / "share" / "heaplab" / "catalog").symlink_to(own_catalog)
    monkeypatch.setenv("HEAPLAB_NATIVE", str(prefix))
    files = {"allocators/fake.toml": ALLOCATOR, "experiments/fake/managed.toml": EXPERIMENT}
    return written(tmp_path / "catalog", files)


def test_a_collector_is_an_arm_beside_allocators(catalog: Path, tmp_path: Path) -> None:
    success(call("--catalog", catalog, "get", "fake"))
    out = tmp_path / "out"
    success(call("--catalog", catalog, "compare", "-q", "--experiment", "fake/managed", "-o", out))
    results = store.load(out)
    assert {run.allocator: run.status for run in results.runs if "#" not in run.allocator} == dict.fromkeys(
        ("glibc", "fake", "fake-fast"), Status.OK
    )
    fast = results.libraries["fake-fast"]
    assert (fast.version, fast.proof) == ("fake 1.2 at fast", "the runtime's own word, --version")
    assert not fast.preload
    [study] = Analysis(results).studies
    [(_, entries)] = metric_tables.numbers(study, "pauses").rows
    assert [(entry.text, entry.small) for entry in entries] == [
        (units.NOTHING, ""),
        ("3.00", "n = 1"),
        ("3.00", "n = 1"),
    ]


def test_what_is_no_malloc_is_refused_where_a_malloc_is_meant(catalog: Path, tmp_path: Path) -> None:
    success(call("--catalog", catalog, "get", "fake"))
    for words in (
        ["with", "fake", "--", "ls"],
        ["compare", "--allocators", "glibc,fake", "-o", tmp_path / "out", "--", "ls"],
        ["compare", "--experiment", "classic/larson", "--allocators", "glibc,fake", "-o", tmp_path / "out"],
        ["record", "-o", tmp_path / "trace", "--under", "fake", "--", "ls"],
        ["check", "fake"],
    ):
        said = success(call("--catalog", catalog, *words), 2).splitlines()[-1]
        assert "fake: a collector, no malloc to run a program with" in said, words


def test_settings_that_the_runtime_refuses_end_the_command(catalog: Path) -> None:
    success(call("--catalog", catalog, "get", "fake"))
    named = ["--experiment", "fake/managed", "--allocators", "glibc,fake-broken"]
    said = success(call("--catalog", catalog, "compare", *named), 2)
    assert said.splitlines()[-1] == "heaplab: fake-broken: fake: PACE=wrong"


def test_settings_in_the_users_environment_reach_no_collector(
    catalog: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    success(call("--catalog", catalog, "get", "fake"))
    monkeypatch.setenv("GOGC", "7")
    assert chosen_arms.arm_of(catalogs.load((catalog,)), "fake").version == "fake 1.2 at"


def test_a_mutator_is_built_again_where_its_sources_changed(catalog: Path, tmp_path: Path) -> None:
    success(call("--catalog", catalog, "get", "fake"))
    loaded = catalogs.load((catalog,))
    assert locate.is_here(loaded, "fake")
    source = native.mutator("fake") / "fake.sh"
    source.write_text(source.read_text().replace("fake 1.2", "fake 1.3"))
    with pytest.raises(
        locate.NotHereError, match="fake: not on this machine; obtain it with: heaplab get fake"
    ):
        locate.locate(loaded, "fake")
    assert "fake 1.3" in success(call("--catalog", catalog, "get", "fake"))


def test_a_language_that_is_absent_is_named_with_its_package(catalog: Path) -> None:
    about = catalog / "allocators" / "fake.toml"
    about.write_text(about.read_text().replace('needs = ["sh"]', 'needs = ["sh", "fakec"]'))
    said = success(call("--catalog", catalog, "get", "fake"), 1)
    assert "fakec not on this machine; Debian's fake-language has it" in said
    about.write_text(about.read_text().replace(', "fakec"', "").replace("{out}", "fakec"))
    assert "fakec is not on this machine; Debian's fake-language has it" in success(
        call("--catalog", catalog, "get", "fake"), 1
    )
