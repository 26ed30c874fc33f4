"""`heaplab tune`: which settings are tried and chosen, what is confirmed, and what an interruption keeps."""

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic
from laboratory import COMMANDS, WARM, Call, Laboratory, failure, refusal, success
from rich.console import Console
from subprocesses import compiled

from heaplab.analysis import Analysis, improvements, promising, rankings
from heaplab.analysis.leaders import after_idling, may_lead, may_lead_or_better
from heaplab.campaign import pilot, plan
from heaplab.campaign.measure_run import RunMeasurer
from heaplab.catalog import contents as catalogs
from heaplab.catalog.allocator_spec import WorthTrying
from heaplab.comparison import program_experiment
from heaplab.comparison.benchmark import MOST_BLOCKS
from heaplab.options import measuring_options, program_command
from heaplab.report.terminal.tuned import Tuned, best_of, plain_tuned, print_tuned
from heaplab.results import store
from heaplab.results.records import Coverage, Pilot, Run, Status
from heaplab.results.server_spec import Server
from heaplab.stats import Interval
from heaplab.tune.tuning_arms import Trial, combinations, joined_lists, options_of

# ---------------------------------------------------------------- what is tried


def trial(*settings: str) -> Trial:
    """Settings under the names of their variables' values: "A=1" is named "a1"."""
    names = ["".join(filter(str.isalnum, text)).lower() for text in settings]
    tried = zip(names, settings, strict=True)
    return Trial(tuple(WorthTrying(name=name, setting=text, trades="") for name, text in tried))


def test_every_allocator_for_use_has_settings_to_try() -> None:
    allocators = catalogs.load().allocators.values()
    assert [
        allocator.id for allocator in allocators if not allocator.settings and not allocator.reference
    ] == []


def test_two_settings_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two settings are named few"):
        replace(catalogs.load().allocators["glibc"], settings=[WorthTrying("few", "A=1", "")] * 2)


@pytest.mark.parametrize(
    ("setting", "options"),
    [
        ("MALLOC_ARENA_MAX=2", {"MALLOC_ARENA_MAX"}),
        ("MALLOC_CONF=dirty_decay_ms:0,muzzy_decay_ms:0", {"dirty_decay_ms", "muzzy_decay_ms"}),
        ("GLIBC_TUNABLES=glibc.malloc.hugetlb=1", {"glibc.malloc.hugetlb"}),
        ("thp=never", {"thp"}),
    ],
)
def test_a_setting_tells_what_it_sets(setting: str, options: set[str]) -> None:
    assert options_of(setting) == options


def test_lists_in_one_variable_are_joined_and_other_variables_stay() -> None:
    settings = ("MALLOC_CONF=narenas:2", "thp=never", "MALLOC_CONF=tcache:false", "GLIBC_TUNABLES=a=1")
    assert joined_lists(settings) == ["MALLOC_CONF=narenas:2,tcache:false", "thp=never", "GLIBC_TUNABLES=a=1"]


def test_the_best_of_each_ranking_are_combined_unless_they_contradict_each_other() -> None:
    low, high, other, last, fifth = (trial(text) for text in ("A=0", "A=1", "B=1", "C=1", "D=1"))
    trials = [low, high, other, last, fifth]

    def names(*rankings: list[str]) -> list[str]:
        return [combination.name for combination in combinations(rankings, trials)]

    assert names(["b1", "a1", "a0"]) == ["a1+b1"]
    assert names(["a0", "a1"], ["b1"], []) == []
    assert names(["d1", "c1", "b1", "a0"], ["b1", "c1", "d1"], ["a0", "b1"]) == ["b1+c1+d1", "a0+b1"]


def test_a_combination_is_an_arm_with_all_its_settings() -> None:
    given = trial("MALLOC_CONF=narenas:2", "MALLOC_CONF=tcache:false", "thp=never").given("jemalloc")
    assert given.settings.environment == {"MALLOC_CONF": "narenas:2,tcache:false"}
    assert given.settings.huge_pages == "never"
    assert given.title == "jemalloc MALLOC_CONF=narenas:2,tcache:false thp=never"


# ---------------------------------------------------------------- what is chosen


def screened(tmp_path: Path, truth: dict[str, tuple[float, float]]) -> Analysis:
    """A screening of arms with these true times and memories, relative to the baseline's."""
    which = synthetic.experiments()[:1]
    records = synthetic.campaign(["plain", *truth], which, effect=truth, noise=0.002)
    return synthetic.analysis_of(records, tmp_path)


def test_the_leaders_by_time_memory_and_both_are_promising(tmp_path: Path) -> None:
    better = {"quick": (0.5, 1.9), "lean": (1.8, 0.5), "fair": (0.7, 0.7)}
    analysis = screened(tmp_path, better | {"bad": (1.5, 1.5), "near": (0.9, 0.9)})
    assert rankings(analysis) == [["quick"], ["lean"], ["fair"]]
    assert promising(analysis, 3) == ["quick", "lean", "fair"]
    assert promising(analysis, 2) == ["quick", "lean"]
    assert improvements(analysis) == [
        ["quick", "fair", "near"],
        ["lean", "fair", "near"],
        ["fair", "near", "lean", "quick"],
    ]


def test_what_may_lead_by_its_interval_is_kept() -> None:
    best, near, far = (Interval(r, r - 0.05, r + 0.05, 5) for r in (0.5, 0.58, 0.7))
    unbounded, worse = Interval(0.9, count=2), Interval(1.01, 0.4, 2, 5)
    ratios = {"far": far, "near": near, "best": best, "few": unbounded, "worse": worse}
    assert may_lead(ratios) == ["best", "near", "few"]
    assert may_lead_or_better(ratios) == ["best", "near", "far", "few"]


def test_of_a_server_memory_after_idling_has_a_ranking_of_its_own(tmp_path: Path) -> None:
    analysis = screened(tmp_path, {"quick": (0.5, 0.5), "idle": (1.5, 1.5), "bad": (1.6, 1.6)})
    server = Server(ready="true", load="true", take=["wrk"], idle_s=[1, 10])
    (study,) = analysis.studies
    assert after_idling(analysis, ["quick"]) == {}
    study.workload = study.workload.model_copy(update={"server": server})
    study.cells = study.cells[:1]
    ratios = {"quick": Interval(1.2, 1.1, 1.3, 5), "idle": Interval(0.5, 0.4, 0.6, 5)}

    def ratio(_cell: object, name: str, metric: str) -> Interval:
        assert metric == "memory_after_10s"
        return ratios.get(name, Interval(1, 0.9, 1.1, 5))

    study.ratio = ratio
    assert rankings(analysis) == [["quick"], ["quick"], ["quick"], ["idle"]]
    assert promising(analysis, 2) == ["quick", "idle"]


def test_an_arm_that_fails_in_a_cell_is_not_promising(tmp_path: Path) -> None:
    analysis = screened(tmp_path, {"quick": (0.5, 0.5), "fair": (0.7, 0.7)})
    analysis.results.runs[:] = synthetic.with_runs(
        analysis.results.runs,
        lambda run: run.allocator == "quick" and run.cell == {"threads": 8},
        **synthetic.no_figure(Status.FAILED, "crashed"),
    )
    assert promising(Analysis(analysis.results), 3) == ["fair"]


def test_a_budget_that_is_shared_is_told_as_the_user_gave_it(lab: Laboratory, finished: Laboratory) -> None:
    campaign = finished.results().campaign.model_copy(update={"budget": 5.0})
    cell = plan.comparisons(campaign)[0].cells[0]
    said = pilot.too_long(campaign, [(cell, 10.0)], share=0.25)
    assert "25% of the budget of 20 s" in said
    whole = pilot.too_long(campaign.model_copy(update={"budget": 20.0}), [(cell, 100.0)])
    assert "of the budget" not in whole


def test_what_is_printed_can_be_pasted_and_says_what_it_is_best_in(tmp_path: Path) -> None:
    truth = {"quick": (0.5, 1.9), "lean": (1.9, 0.5), "fair": (0.6, 0.6)}
    analysis = screened(tmp_path, truth)
    settings = {
        "quick": {"environment": {"A": "1", "B": "two words"}, "preload": ["/usr/lib/libquick.so"]},
        "lean": {"environment": {"GLIBC_TUNABLES": "a=1:b=2"}, "preload": []},
        "fair": {"huge_pages": "never"},
    }
    libraries = analysis.results.libraries
    libraries |= {name: libraries[name].model_copy(update=update) for name, update in settings.items()}
    text = io.StringIO()
    print_tuned(analysis, Console(file=text, width=200))
    printed = text.getvalue().splitlines()
    told = {line: printed[place + 1].strip() for place, line in enumerate(printed) if ": " in line}
    front = "and on the front of time and memory"
    assert told == {
        f"quick: fastest {front}": "LD_PRELOAD=/usr/lib/libquick.so A=1 B='two words'",
        f"lean: leanest {front}": "GLIBC_TUNABLES=a=1:b=2",
        f"fair: best trade-off {front}": "heaplab with fair -- PROGRAM",
    }


def test_nothing_is_called_best_where_nothing_is_told_apart(tmp_path: Path) -> None:
    analysis = screened(tmp_path, {"one": (1.0, 1.0), "other": (1.0, 1.0)})
    assert not {"fastest", "leanest", "best trade-off"} & set(best_of(analysis))


def test_where_malloc_explains_little_no_setting_is_sure(tmp_path: Path) -> None:
    analysis = screened(tmp_path, {"quick": (0.5, 1.9)})
    assert plain_tuned(Tuned("plain"), analysis)["not_sure"] == ""
    little = Coverage(program="x", memory=100 << 20, by_malloc=10 << 20, mapped=90 << 20)
    pilot = Pilot(wall_time=1.0, executions=1, coverage=[little])
    analysis.campaign = analysis.campaign.model_copy(update={"pilot": pilot})
    unsure = "Not sure: malloc explains only 10.0 MiB of 100 MiB."
    assert plain_tuned(Tuned("plain"), analysis)["not_sure"] == unsure
    text = io.StringIO()
    print_tuned(analysis, Console(file=text, width=200))
    assert text.getvalue().splitlines()[1] == unsure


# ---------------------------------------------------------------- end to end

# Takes 32 MiB. Each of two settings saves some of them, both together leave 4; the third takes more.
SIZED = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  const int few = getenv("MALLOC_ARENA_MAX") != 0, pad = getenv("MALLOC_TOP_PAD_") != 0;
  size_t size = few && pad ? 4 : few ? 16 : pad ? 24 : 32;
  if (getenv("MALLOC_MMAP_MAX_")) size *= 2;
  char* block = malloc(size << 20);
  memset(block, 1, size << 20);
  usleep(60000);
  return getenv("FAIL") || block == 0;
}
"""
GLIBC = """
title = "glibc"
summary = "The C library's."
licence = "LGPL"
[[sources]]
kind = "system"
"""
SETTINGS = {
    "few": "MALLOC_ARENA_MAX=2",
    "pad": "MALLOC_TOP_PAD_=4096",
    "more": "MALLOC_MMAP_MAX_=1000",
    "wrong": "MALLOC_ARENA_MAXX=1",
}


def table(name: str) -> str:
    return f'[[settings]]\nname = "{name}"\nsetting = "{SETTINGS[name]}"\ntrades = ""\n'


@pytest.fixture
def tune(lab: Laboratory, tmp_path: Path) -> Call:
    """Tunes glibc, which has the settings above, for the program above."""
    compiled(tmp_path / "sized", SIZED)
    folder = tmp_path / "catalog" / "allocators"
    folder.mkdir(parents=True)
    (folder / "glibc.toml").write_text(GLIBC + "".join(map(table, SETTINGS)))
    (folder / "bare.toml").write_text(GLIBC)
    lab.catalog = tmp_path / "catalog"

    def call(*words: object, name: str = "glibc") -> tuple[int, str]:
        common = (*WARM, "--budget", "90s", "--precision", "60%", "-o", lab.out)
        return lab.heaplab("tune", name, *common, *words, "--", tmp_path / "sized")

    return call


def runs_in(lab: Laboratory, stage: str) -> list[Run]:
    return store.load(lab.out / stage).runs


@pytest.mark.slow
@pytest.mark.parametrize("budget", ["90s", "auto"])
def test_the_leanest_settings_are_found_and_confirmed_afresh(
    tune: Call, lab: Laboratory, monkeypatch: pytest.MonkeyPatch, budget: str
) -> None:
    monkeypatch.setattr(measuring_options, "LONGEST_AUTO_S", 90.0)
    printed = success(tune("--json", "--budget", budget))
    assert "wrong is void: glibc has no setting MALLOC_ARENA_MAXX" in printed
    found = json.loads(printed.splitlines()[-1])
    assert found["tune"]["best"]["leanest"] == ["few+pad"]
    assert found["tune"]["void"] == {"wrong": "glibc has no setting MALLOC_ARENA_MAXX"}
    both = {"MALLOC_ARENA_MAX": "2", "MALLOC_TOP_PAD_": "4096"}
    assert found["tune"]["confirmed"]["few+pad"]["environment"] == both
    memory = found["summaries"]["program"]["allocators"]["few+pad"]["memory"]
    assert 0.1 < memory["ratio"] < 0.3
    confirmed = store.load(lab.out / "confirmed")
    assert set(found["tune"]["confirmed"]) == set(confirmed.campaign.allocators[1:])
    assert all(row["campaign"] == confirmed.campaign.id for row in found["cells"])
    stages = ("screening", "combinations", "confirmed")
    seeds = [{run.seed for run in runs_in(lab, stage)} for stage in stages]
    assert len(set().union(*seeds)) == sum(map(len, seeds)), "a seed is used again"
    most = {
        experiment["quick"]["blocks_most"]
        for stage in stages
        for experiment in store.load(lab.out / stage).campaign.experiments
    }
    assert most == {MOST_BLOCKS}
    assert 0 < confirmed.campaign.budget <= 90
    command = confirmed.campaign.command
    assert command[:4] == ["heaplab", "compare", "--allocators", "glibc"]
    with COMMANDS["compare"].make_context("compare", command[2:]) as context:
        assert [param.name for param in context.params["own"]] == confirmed.campaign.allocators[1:]
        assert context.params["budget"] == {"90s": 90, "auto": "auto"}[budget]
        assert context.params["program"] == (str(lab.out.parent / "sized"),)


@pytest.mark.slow
def test_interrupted_tuning_goes_on_where_it_was(
    tune: Call, lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured, arms = RunMeasurer.__call__, [""]
    short = ("--budget", "40s")

    def interrupted(self: RunMeasurer, block: plan.Block, candidate: Any, order: int, attempt: int) -> Run:
        if arms[0] in self.campaign.allocators and order == pilot.PILOT_RUNS + 1:
            raise KeyboardInterrupt
        return measured(self, block, candidate, order, attempt)

    monkeypatch.setattr(RunMeasurer, "__call__", interrupted)
    monkeypatch.setattr(program_experiment, "BLOCKS", (3, 3))
    for arms[0], stage in (("more", "screening"), ("few+pad", "combinations")):
        status, printed = tune(*short)
        assert (status, "the same command goes on" in printed) == (1, True)
        assert "pasted" not in printed
        assert store.load(lab.out / stage).end is None
    arms[0] = ""
    first = runs_in(lab, "screening")
    printed = success(tune(*short))
    assert "screening: was measured before" in printed
    assert runs_in(lab, "screening") == first
    assert len(list(lab.out.rglob("results*.jsonl"))) == 3
    arms[0] = "more"
    assert "screening: was measured before" not in tune(*short)[1]  # a tuning that was complete begins anew
    assert len(list(lab.out.rglob("results*.jsonl"))) == 4
    assert store.load(lab.out / "screening").end is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [("bare", "has no settings of bare that are worth trying"), ("no-such", "no allocator 'no-such'")],
)
def test_what_has_no_settings_is_refused_in_one_line(tune: Call, name: str, fault: str) -> None:
    assert fault in refusal(tune(name=name))


def test_without_a_program_there_is_nothing_to_tune_for(lab: Laboratory) -> None:
    status, printed = lab.heaplab("tune", "glibc")
    assert (status, printed) == (2, "heaplab: tune: give a program: heaplab tune NAME -- PROGRAM ARGS\n")


def test_a_program_that_fails_under_the_baseline_ends_tuning(
    tune: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIL", "1")
    printed = failure(tune())
    assert "no run under glibc gave a figure: exit status 1" in printed


def test_settings_that_are_all_void_are_named(tune: Call, lab: Laboratory) -> None:
    (lab.catalog / "allocators/glibc.toml").write_text(GLIBC + table("wrong"))
    printed = failure(tune())
    assert "no setting of glibc is in effect here: glibc has no setting MALLOC_ARENA_MAXX" in printed


@pytest.mark.slow
def test_settings_that_gain_nothing_are_not_confirmed(
    tune: Call, lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heaplab.analysis.promising", lambda _analysis, _most: [])
    (lab.catalog / "allocators/glibc.toml").write_text(GLIBC + table("more"))
    printed = success(tune())
    assert "Stay with glibc as it is: none of its 1 settings came out better" in printed
    assert not (lab.out / "confirmed").exists()


def test_the_words_of_a_command_are_kept_as_they_were_typed() -> None:
    with COMMANDS["tune"].make_context("tune", ["glibc", "--budget", "90s", "--pin", "--", "ls"]) as context:
        typed = context.meta[program_command.TYPED]
    assert typed["budget"] == "90s"
    assert typed["pinned"]
    assert "seed" not in typed
