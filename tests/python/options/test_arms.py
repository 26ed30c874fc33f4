"""Arms: allocators with settings, proof that the settings are in effect, commands, factorials."""

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

import click
import pytest
import synthetic
from laboratory import WARM, Laboratory, failure, refusal, success
from subprocesses import OVER_LIBC, SHARED, compiled

from heaplab.analysis import TIME_ONLY, Analysis, effects
from heaplab.catalog import allocator_spec, contents as catalogs, locate
from heaplab.catalog.contents import Catalog, joined
from heaplab.inventory import run_doctor
from heaplab.machine import huge_pages, setting_proof
from heaplab.machine.execute import execute, plain_environment
from heaplab.machine.watch import Limits
from heaplab.options import chosen_arms
from heaplab.options.arm_options import GIVEN_ALLOCATOR, GIVEN_COMMAND, GIVEN_FACTORIAL
from heaplab.report.page.report_page import render
from heaplab.report.tables.effects_table import effects_table
from heaplab.report.words.next_steps import arms_given
from heaplab.results.records import Arm, Status


def arm(text: str, catalog: Catalog | None = None) -> Arm:
    """The arm NAME='ALLOCATOR SETTING=VALUE ...' as it is here."""
    given = GIVEN_ALLOCATOR.convert(text, None, None)
    return chosen_arms.arm_of(chosen_arms.with_own(catalog or catalogs.load(), [given]), given.name)


# ---------------------------------------------------------------- what is typed


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("=glibc X=1", "is not NAME=LIBRARY"),
        ("mine=", "is not NAME=LIBRARY"),
        ("mine", "is not NAME=LIBRARY"),
        ("a=X=1", "names no allocator"),
        ("a=glibc X", "'X' is no setting"),
        ("a=glibc X=1 X=2", "X is set twice"),
        ("a=glibc thp=sometimes", "thp=never|advised|always"),
        ("a=glibc 'X=1", "quotation mark"),
    ],
)
def test_an_arm_that_is_none_is_refused_in_one_line(text: str, fault: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        GIVEN_ALLOCATOR.convert(text, None, None)
    assert fault in refused.value.message
    assert "\n" not in refused.value.message


def test_a_library_may_have_spaces_in_its_path(tmp_path: Path) -> None:
    path = tmp_path / "my own.so"
    path.write_text("")
    assert GIVEN_ALLOCATOR.convert(f"mine={path}", None, None).library == path


def test_a_command_takes_settings_before_its_program() -> None:
    given = GIVEN_COMMAND.convert("new=A=1 thp=never ./server --x=1 'a b'", None, None)
    assert given.words == ("./server", "--x=1", "a b")
    assert given.settings.environment == {"A": "1"}
    assert given.settings.huge_pages == "never"


@pytest.mark.parametrize(
    ("text", "fault"), [("new=", "is not NAME=COMMAND"), ("new=A=1", "names no program")]
)
def test_a_command_that_is_none_is_refused(text: str, fault: str) -> None:
    with pytest.raises(click.BadParameter, match=fault):
        GIVEN_COMMAND.convert(text, None, None)


@pytest.mark.parametrize("name", ["glibc", "one"])
def test_a_name_is_given_once(name: str) -> None:
    given = [GIVEN_ALLOCATOR.convert(f"{name}=glibc X=1", None, None)] * 2
    with pytest.raises(catalogs.UsageError, match="the name is taken"):
        chosen_arms.with_own(catalogs.load(), given)


def test_settings_of_one_allocator_are_compared_with_that_allocator() -> None:
    def baseline(*texts: str) -> str:
        return chosen_arms.baseline_of([GIVEN_ALLOCATOR.convert(text, None, None) for text in texts])

    assert baseline("a=jemalloc X=1", "b=jemalloc X=2") == "jemalloc"
    assert baseline("a=jemalloc X=1", "b=mimalloc X=2") == "glibc"
    assert baseline("a=jemalloc X=1", "b=./libmine.so") == "glibc"


def test_a_setting_adds_to_the_tunables_that_an_allocator_needs() -> None:
    both = joined({"GLIBC_TUNABLES": "a=1", "X": "1"}, {"GLIBC_TUNABLES": "b=2", "X": "2"})
    assert both == {"GLIBC_TUNABLES": "a=1:b=2", "X": "2"}


def test_settings_of_a_variant_keep_those_of_the_variant() -> None:
    variant = allocator_spec.Variant(title="v", environment={"A": "1"}, library="other")
    source = allocator_spec.Source(kind="system")
    base = allocator_spec.Allocator(
        id="base", title="b", summary="", licence="", sources=[source], variants={"v": variant}
    )
    catalog = Catalog(allocators={"base": base}).with_settings(
        "mine", "base-v", allocator_spec.Variant(title="m", environment={"B": "2"}, huge_pages="never")
    )
    _, found = catalog.allocator("mine")
    assert found == allocator_spec.Variant(
        title="m", environment={"A": "1", "B": "2"}, library="other", huge_pages="never"
    )


def test_settings_of_the_users_own_environment_reach_no_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MALLOC_ARENA_MAX", "MIMALLOC_VERBOSE", "TCMALLOC_RELEASE_RATE", "GLIBC_TUNABLES"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("MINE", "1")
    assert plain_environment() == {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MALLOC_", "MIMALLOC_", "TCMALLOC_", "GLIBC_"))
    }


# ---------------------------------------------------------------- proof


def test_the_loader_proves_settings_of_glibc() -> None:
    found = arm("two=glibc MALLOC_ARENA_MAX=2 GLIBC_TUNABLES=glibc.malloc.top_pad=4096")
    assert (found.void, found.proof) == ("", "ld.so --list-tunables")


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ("MALLOC_ARENA_MAXX=2", "glibc has no setting MALLOC_ARENA_MAXX"),
        ("FOO=2", "glibc has no setting FOO"),
        ("MALLOC_ARENA_MAX=many", "is not in effect"),
        ("MALLOC_PERTURB_=999", "is not in effect"),
        ("GLIBC_TUNABLES=glibc.malloc.arenas=2", "glibc has no tunable 'glibc.malloc.arenas'"),
        ("GLIBC_TUNABLES=glibc.malloc.arena_max=2:glibc.malloc.no=1", "no tunable 'glibc.malloc.no'"),
    ],
)
def test_a_setting_that_glibc_ignores_makes_the_arm_void(settings: str, fault: str) -> None:
    found = arm(f"x=glibc {settings}")
    assert fault in found.void
    assert "\n" not in found.void


LISTENING = (
    OVER_LIBC
    + r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char* jemalloc = "MALLOC_CONF";
static const char* prefix = "mimalloc_";
__attribute__((constructor)) static void tell(void) {
  const char* conf = getenv(jemalloc);
  if (conf && strstr(conf, "narenaz")) fprintf(stderr, "<jemalloc>: Invalid conf pair: narenaz:2\n");
  if (conf) fprintf(stderr, "  opt.narenas: %s\n  opt.abort: false\n", strstr(conf, "narenas:2") ? "2" : "8");
  if (getenv("MIMALLOC_VERBOSE"))
    fprintf(stderr, "%soption 'purge_delay': %s\noption 'arena_reserve': 1024 KiB\n", prefix,
            getenv("MIMALLOC_PURGE_DELAY") ? "5" : "10");
  const char* scudo = getenv("SCUDO_OPTIONS");
  if (scudo && strstr(scudo, "msx"))
    fprintf(stderr, "Scudo WARNING: found 1 unrecognized flag(s):\n    msx=0\n");
  if (scudo && strstr(scudo, "abc")) fprintf(stderr, "Scudo ERROR: invalid value for int option: 'abc'\n");
  if (getenv("HEAPLAB_TRIAL")) fprintf(stderr, "heaplab: HEAPLAB_TRIAL=lots: wanted is a size; default\n");
}
"""
)


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A malloc that tells of its settings as jemalloc, mimalloc, scudo and heaplab's libraries do."""
    folder = tmp_path_factory.mktemp("listening")
    return compiled(folder / "liblistening.so", LISTENING, *SHARED, "-O0")


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ("MALLOC_CONF=narenas:2", ""),
        ("MALLOC_CONF=abort:false,narenas:2", ""),
        ("MALLOC_CONF=narenaz:2", "Invalid conf pair: narenaz:2"),
        ("MALLOC_CONF=narenas:3", "jemalloc has 8"),
        ("MIMALLOC_PURGE_DELAY=5", ""),
        ("MIMALLOC_PURGE_DELAY=6", "mimalloc has 5"),
        ("MIMALLOC_ARENA_RESERVE=1MiB", ""),
        ("MIMALLOC_ARENA_RESERVE=1048575", ""),
        ("MIMALLOC_ARENA_RESERVE=1024", "mimalloc has 1024 KiB"),
        ("MIMALLOC_ARENA_RESERVE=2M", "mimalloc has 1024 KiB"),
        ("MIMALLOC_PURGE_DELAZ=5", "mimalloc has no option 'purge_delaz'"),
        ("SCUDO_OPTIONS=release_to_os_interval_ms=0", ""),
        ("SCUDO_OPTIONS=msx=0", "scudo has no option 'msx=0'"),
        ("SCUDO_OPTIONS=release_to_os_interval_ms=abc", "invalid value for int option: 'abc'"),
        ("HEAPLAB_TRIAL=lots", "wanted is a size"),
        ("HEAPLAB_OTHER=1", "does not read HEAPLAB_OTHER"),
        ("MALLOC_ARENA_MAX=1", "does not read MALLOC_ARENA_MAX"),
        ("GLIBC_TUNABLES=glibc.malloc.arena_max=1", "which x replaces"),
    ],
)
def test_an_allocator_itself_tells_what_is_in_effect(listening: Path, settings: str, fault: str) -> None:
    found = arm(f"x={listening} {settings}")
    assert fault in found.void
    assert bool(found.void) == bool(fault)
    assert found.proof


def test_a_silent_library_proves_nothing_and_is_not_called_proof(listening: Path) -> None:
    located = locate.locate(Catalog().with_library("x", listening), "x")
    silent = located.model_copy(update={"environment": {"MIMALLOC": "1"}})
    assert "tells no values" in setting_proof.proved(silent).proof


# ---------------------------------------------------------------- huge pages


def test_a_process_gets_the_huge_pages_that_an_arm_asks_for(tmp_path: Path) -> None:
    output = tmp_path / "status"
    for mode, expected in (("never", "0"), (None, "1")):
        with output.open("wb") as stream:
            limits = Limits(time=20, huge_pages=mode)
            assert execute(["cat", "/proc/self/status"], plain_environment(), limits, output=stream)
        (line,) = [line for line in output.read_text().splitlines() if line.startswith("THP_enabled")]
        assert line.split()[1] == expected


@pytest.mark.parametrize(
    ("machine", "mode", "possible"),
    [
        ("always [madvise] never", "always", False),
        ("always [madvise] never", "advised", True),
        ("always [madvise] never", "never", True),
        ("always madvise [never]", "advised", False),
        ("[always] madvise never", "always", True),
    ],
)
def test_a_process_never_gets_more_huge_pages_than_the_machine_allows(
    machine: str, mode: huge_pages.HugePages, possible: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "enabled").write_text(machine)
    monkeypatch.setattr(huge_pages, "MACHINE_SETTING", tmp_path / "enabled")
    assert (huge_pages.fault_of(mode) == "") == possible
    assert bool(arm(f"x=glibc thp={mode}").void) != possible


# ---------------------------------------------------------------- campaigns


def test_an_arm_that_is_void_gives_its_reason_and_no_figure(lab: Laboratory) -> None:
    words = ("--allocator", "bad=glibc MALLOC_ARENA_MAXX=1", "--allocator", "one=glibc MALLOC_ARENA_MAX=1")
    printed = failure(lab.heaplab("compare", "--experiment", "fake/one", *words, *WARM, "-o", lab.out))
    assert "bad is void: glibc has no setting MALLOC_ARENA_MAXX" in printed
    assert not lab.good("bad")
    assert len(lab.good("one")) == len(lab.good("glibc")) >= 10  # more where a run was disturbed
    bad = [run for run in lab.results().runs if run.allocator == "bad"]
    assert {run.status for run in bad} == {Status.SKIPPED}
    assert {run.reason for run in bad} == {"void: glibc has no setting MALLOC_ARENA_MAXX"}
    assert len(bad) == 4  # two blocks of each of two cells


def test_other_settings_are_another_campaign(lab: Laboratory) -> None:
    for arenas in (1, 2):
        words = ("--allocator", f"one=glibc MALLOC_ARENA_MAX={arenas}", *WARM, "-o", lab.out)
        lab.heaplab("compare", "--experiment", "fake/one", *words)
    assert len(list(lab.out.glob("results*.jsonl"))) == 2


SLEEPY = r"""
#include <stdlib.h>
#include <unistd.h>
/* Alone each variable makes it a half longer; both together make it three times as long, not 2.25. */
int main(void) {
  const int top = getenv("MALLOC_TOP_PAD_") != 0, map = getenv("MALLOC_MMAP_MAX_") != 0;
  usleep(top && map ? 180000 : top || map ? 90000 : 60000);
  return 0;
}
"""


@pytest.fixture(scope="module")
def sleepy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sleepy")
    return compiled(folder / "sleepy", SLEEPY)


def test_commands_are_compared_with_each_other(lab: Laboratory, sleepy: Path) -> None:
    arms = ("--arm", f"old={sleepy}", "--arm", f"new=MALLOC_TOP_PAD_=1 {sleepy}")
    lab.heaplab("compare", *arms, *WARM, "-o", lab.out, "--budget", "10m", "--precision", "50%")
    analysis = Analysis(lab.results())
    (summary,) = analysis.summaries("program")
    assert summary.time.ratio.estimate > 1.05  # 1.5 where nobody else computes
    assert lab.good("old#again")
    page = render([analysis], lab.out / "report.html")
    assert "which malloc served each was not looked at" in page
    assert "the C library's own" not in page
    assert "Commands compared" in page
    for arm in analysis.results.libraries.values():
        assert arm.command[-1] == str(sleepy)
        assert not arm.preload


GLOBAL_ALLOCATOR = """
use std::alloc::{GlobalAlloc, Layout, System};
struct Roomy;  // takes four times what is asked for
unsafe impl GlobalAlloc for Roomy {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let roomy = Layout::from_size_align_unchecked(layout.size() * 4, layout.align());
        let block = System.alloc(roomy);
        if !block.is_null() { std::ptr::write_bytes(block, 1, roomy.size()); }
        block
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        System.dealloc(block, Layout::from_size_align_unchecked(layout.size() * 4, layout.align()))
    }
}
#[global_allocator]
static GLOBAL: Roomy = Roomy;
"""
RUST = """
fn main() {
    let blocks: Vec<Vec<u8>> = (0..64).map(|_| vec![1u8; 256 << 10]).collect();
    std::thread::sleep(std::time::Duration::from_millis(60));
    assert!(blocks.iter().all(|block| block[7] == 1));
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")
def test_programs_of_rust_are_compared_by_the_allocators_compiled_into_them(
    lab: Laboratory, tmp_path: Path
) -> None:
    for name, text in {"plain": RUST, "roomy": GLOBAL_ALLOCATOR + RUST}.items():
        source = tmp_path / f"{name}.rs"
        source.write_text(text)
        subprocess.run(["rustc", "-O", "-o", tmp_path / name, source], check=True)
    arms = ("--arm", f"old={tmp_path / 'plain'}", "--arm", f"new={tmp_path / 'roomy'}")
    words = (*WARM, "--precision", "60%", "--budget", "10m", "-o", lab.out, "--json")
    printed = success(lab.heaplab("compare", *arms, *words))
    new = json.loads(printed.splitlines()[-1])["summaries"]["program"]["allocators"]["new"]
    assert 2.5 < new["memory"]["ratio"] < 4.5


def test_a_campaign_of_commands_is_resumed_without_naming_them(lab: Laboratory, sleepy: Path) -> None:
    arms = ("--arm", f"old={sleepy}", "--arm", f"new=MALLOC_TOP_PAD_=1 {sleepy}")
    lab.heaplab("compare", *arms, *WARM, "-o", lab.out, "--budget", "4s", "--precision", "1%")
    before = len(lab.results().runs)
    lab.heaplab("compare", "--resume", lab.out, "--budget", "4s", *WARM)
    assert len(lab.results().runs) > before


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--arm", "a=true"), "one command is compared with nothing"),
        (("--arm", "a=true", "--arm", "a=true"), "the name is taken"),
        (("--arm", "a=true", "--arm", "b=no-such-program"), "no-such-program: no such program"),
        (("--arm", "a=true", "--arm", "b=true", "--", "true"), "give no program, suite or allocator"),
        (("--arm", "a=true", "--arm", "b=true", "--allocators", "glibc"), "give no program, suite or"),
        (("--factorial", "glibc A=1|2"), "two or 3 settings, not 1"),
        (("--factorial", "glibc A=1|2 B=1"), "'B=1' is no SETTING=LOW|HIGH"),
        (("--factorial", "glibc A=1|1 B=1|2"), "'A=1|1' is no SETTING=LOW|HIGH"),
        (("--factorial", "glibc A=|1 B=|1", "--allocators", "glibc"), "--factorial excludes"),
        (("--factorial", "glibc FOO=1|2 BAR=|1"), "glibc has no setting FOO; it is the baseline"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    lab: Laboratory, words: tuple[str, ...], fault: str
) -> None:
    assert fault in refusal(lab.heaplab("compare", *words))


# ---------------------------------------------------------------- factorials

# Takes 12 MiB. Each variable alone makes it twice as much; both together make it six times, not four.
SIZED = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  const int top = getenv("MALLOC_TOP_PAD_") != 0, map = getenv("MALLOC_MMAP_MAX_") != 0;
  const size_t size = (size_t)(top && map ? 72 : top || map ? 24 : 12) << 20;
  char* block = malloc(size);
  memset(block, 1, size);
  usleep(60000);
  return block[size / 2] != 1;
}
"""


@pytest.mark.slow
def test_a_known_interaction_is_found_by_a_factorial_of_real_runs(lab: Laboratory, tmp_path: Path) -> None:
    compiled(tmp_path / "sized", SIZED)
    crossed = ("--factorial", "glibc MALLOC_TOP_PAD_=|4096 MALLOC_MMAP_MAX_=|1000")
    words = (*crossed, *WARM, "--precision", "60%", "--budget", "10m", "-o", lab.out, "--json")
    printed = success(lab.heaplab("compare", *words, "--", tmp_path / "sized"))
    effects_told = json.loads(printed.splitlines()[-1])["summaries"]["program"]["effects"]
    top, mapped, both = (effect["memory"] for effect in effects_told)
    for main in (top, mapped):
        assert main["ratio"] == pytest.approx((2 * 3) ** 0.5, rel=0.1)
    assert both["ratio"] == pytest.approx(6 / 4, rel=0.1)
    assert both["low"] > 1.2
    assert effects_told[2]["settings"] == {"MALLOC_TOP_PAD_": "4096", "MALLOC_MMAP_MAX_": "1000"}


def test_a_factorial_has_every_combination_and_the_low_levels_first() -> None:
    given = GIVEN_FACTORIAL.convert("glibc A=|1 thp=advised|never B=2|3", None, None)
    assert len(given) == 8
    assert given[0].levels == {"A": "", "thp": "advised", "B": "2"}
    assert given[0].name == "thp=advised B=2"
    assert given[-1].settings.environment == {"A": "1", "B": "3"}
    assert given[-1].settings.huge_pages == "never"


def factorial(tmp_path: Path, time_of: dict[tuple[str, ...], float]) -> Analysis:
    """An analysis of arms with these true times, by the settings that are high."""
    settings = sorted({name for group in time_of for name in group})
    names = {group: " ".join(group) or "plain" for group in time_of}
    truth = {names[group]: (time, 1.0) for group, time in time_of.items()}
    records = synthetic.campaign(names.values(), synthetic.experiments()[:1], effect=truth)
    levels = {
        name: {setting: "1" if setting in group else "" for setting in settings}
        for group, name in names.items()
    }
    crossed = [
        record.model_copy(update={"levels": levels[record.allocator]}) if isinstance(record, Arm) else record
        for record in records
    ]
    return synthetic.analysis_of(crossed, tmp_path)


def test_effects_and_an_interaction_come_out_as_they_were_planted(tmp_path: Path) -> None:
    analysis = factorial(tmp_path, {(): 1.0, ("A",): 1.5, ("B",): 0.8, ("A", "B"): 1.8})
    found = {effect.settings: effect.judged.ratio for effect in effects(analysis, "synthetic", TIME_ONLY)}
    assert found[("A",)].estimate == pytest.approx((1.5 * 1.8 / 0.8) ** 0.5, rel=0.03)
    assert found[("B",)].estimate == pytest.approx((0.8 * 1.8 / 1.5) ** 0.5, rel=0.03)
    assert found[("A", "B")].estimate == pytest.approx(1.8 / (1.5 * 0.8), rel=0.03)
    assert all(ratio.low < ratio.estimate < ratio.high for ratio in found.values())
    table = effects_table(analysis, "synthetic")
    assert [name for name, _ in table.rows] == ["A unset → 1", "B unset → 1", "interaction of A and B"]
    assert "there is one" in table.rows[2][1][0].small


def test_settings_that_do_not_depend_on_each_other_have_no_interaction(tmp_path: Path) -> None:
    times = {(): 1.0, ("A",): 1.5, ("B",): 0.8, ("C",): 1.1}
    pairs = [("A", "B"), ("A", "C"), ("B", "C")]
    times |= {(a, b): times[(a,)] * times[(b,)] for a, b in pairs}
    times[("A", "B", "C")] = 1.5 * 0.8 * 1.1
    found = effects(factorial(tmp_path, times), "synthetic", TIME_ONLY)
    assert len(found) == 7
    for effect in found[3:]:
        assert effect.judged.ratio.estimate == pytest.approx(1, abs=0.03)
    assert found[2].judged.ratio.estimate == pytest.approx(1.1, rel=0.02)


def test_a_factorial_with_a_void_arm_tells_no_effects(tmp_path: Path) -> None:
    analysis = factorial(tmp_path, {(): 1.0, ("A",): 1.5, ("B",): 0.8, ("A", "B"): 1.8})
    libraries = analysis.results.libraries
    libraries["A"] = libraries["A"].model_copy(update={"void": "because"})
    assert effects(analysis, "synthetic", TIME_ONLY) == []


def worth_trying() -> list[tuple[str, str]]:
    allocators = catalogs.load().allocators
    return [(name, worth.setting) for name, allocator in allocators.items() for worth in allocator.settings]


@pytest.mark.parametrize(("name", "setting"), worth_trying())
def test_a_setting_worth_trying_is_one_that_the_allocator_here_has(name: str, setting: str) -> None:
    if setting.startswith("thp="):
        return
    try:
        assert arm(f"x={name} {setting}").void == ""
    except locate.NotHereError:
        assert name not in ("glibc", "scalloc")


@pytest.mark.parametrize(
    ("release", "refused"),
    [("6.18.44", False), ("6.19.0-rc1", True), ("6.20-amd64", True), ("7.0", True), ("6.2.1", False)],
)
def test_an_allocator_that_fails_on_a_kernel_is_refused_there(
    release: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "release", lambda: release)
    catalog = catalogs.load()
    allocator = catalog.allocators["tcmalloc-google"]
    assert bool(locate.fault_on_kernel(allocator, release)) == refused
    assert bool(run_doctor.unsafe_here(catalog)) == refused
    with pytest.raises(locate.NotHereError) as error:
        locate.locate(catalog, "tcmalloc-google")
    assert isinstance(error.value, locate.UnsafeHereError) == refused


def test_to_measure_longer_the_arms_are_given_again() -> None:
    given = ["--allocator", "one=glibc A=1", "--factorial=glibc A=|1"]
    command = ["heaplab", "compare", *given, "-q", "--", "--allocator"]
    assert arms_given(command) == given
    assert arms_given(["heaplab", "compare", "--allocators", "glibc"]) == []
