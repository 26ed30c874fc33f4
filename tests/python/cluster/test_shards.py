"""A plan is divided into shards that are carried out anywhere, go on where they ended, and count once."""

import json
import os
import shutil
from datetime import datetime, timedelta, tzinfo
from math import ceil
from pathlib import Path

import pytest
from conftest import EXPERIMENT, WORKLOAD_CARD
from laboratory import Laboratory, call, cut_off, refusal, success
from subprocesses import executable, written

from heaplab.analysis import Analysis
from heaplab.cluster import Completion, Plan, host_ratios, plan_pilot, read_plan, run_shard, shard_states
from heaplab.machine import topology
from heaplab.results import store
from heaplab.results.records import Status, Timing

BLOCKS = 2


@pytest.fixture
def plan(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Four shards of two blocks on two kinds of machine."""
    monkeypatch.setenv("FAKE_ESTIMATE", "4096")  # so that little is warmed
    kinds = ("--machine", "small nodes=1", "--machine", "large nodes=1")
    return planned(lab, *kinds, "--blocks", 2 * BLOCKS, "--shards", 4)


def planned(lab: Laboratory, *words: object, name: str = "plan") -> Plan:
    folder = lab.out.parent / name
    success(lab.heaplab("cluster", "plan", "-o", folder, "--suite", "fake", *lab.own, *words))
    return read_plan(folder)


def carried_out(lab: Laboratory, plan: Plan, shard: int) -> tuple[int, str]:
    return lab.heaplab("cluster", "run", plan.folder, "--shard", f"{shard}/{len(plan.shards)}", "-q")


def states(plan: Plan) -> list[Completion]:
    return [shard_state.state for shard_state in shard_states(plan)]


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_plan_is_whole_blocks_of_every_node(plan: Plan) -> None:
    assert [(shard.index, shard.machine, shard.blocks) for shard in plan.shards] == [
        (1, "small", BLOCKS),
        (2, "small", BLOCKS),
        (3, "large", BLOCKS),
        (4, "large", BLOCKS),
    ]
    assert len({shard.hash for shard in plan.shards}) == 4
    assert states(plan) == [Completion.MISSING] * 4


def test_a_shard_is_a_campaign_that_knows_its_place(lab: Laboratory, plan: Plan) -> None:
    success(carried_out(lab, plan, 3))
    (path,) = plan.results.glob("*.jsonl")
    results = store.load(path)
    facts = results.host.facts
    assert (facts["plan"], facts["shard_hash"]) == (plan.hash, plan.shards[2].hash)
    assert (facts["machine"], facts["shard"]) == ("large", 3)
    assert facts["placement"]["cpus"] == sorted(os.sched_getaffinity(0))
    assert {run.block for run in results.runs if run.status is Status.OK} == set(range(BLOCKS))
    assert states(plan) == [Completion.MISSING, Completion.MISSING, Completion.COMPLETE, Completion.MISSING]


def test_what_was_begun_goes_on_where_its_file_ends(lab: Laboratory, plan: Plan) -> None:
    carried_out(lab, plan, 1)
    (path,) = plan.results.glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if b'"kind":"end"' not in line][:-5]
    path.write_bytes(b"".join(kept) + lines[-1][:40])  # the last line is cut off
    assert states(plan)[0] is Completion.BEGUN
    success(carried_out(lab, plan, 1))
    assert states(plan)[0] is Completion.COMPLETE
    assert path.read_bytes().startswith(b"".join(kept))
    settled = [run for run in store.load(path).runs if run.settles]
    done = [(run.key, run.allocator, run.block) for run in settled]
    assert len(done) == len(set(done)) == 2 * 4 * BLOCKS


SLICED = Timing(experiment="fake/one", slices=True, clock="cpu_time", one_cpu=True, why_clock="y")
ALONE = SLICED.model_copy(update={"slices": False, "clock": "wall_time", "why_alone": "y"})


@pytest.mark.parametrize("decided", [SLICED, ALONE], ids=["in slices", "alone"])
def test_what_the_pilot_of_the_plan_decided_holds_in_every_block_of_every_shard(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch, decided: Timing
) -> None:
    """The two decisions contradict each other, so that no shard can come to both by what it sees."""
    monkeypatch.setenv("FAKE_ESTIMATE", "4096")
    monkeypatch.setattr(plan_pilot.timing, "timing_of", lambda *_: decided)
    monkeypatch.setattr(plan_pilot.timing, "on_one_cpu", lambda _: decided.one_cpu)
    plan = planned(lab, "--blocks", 5, "--shards", 2)
    monkeypatch.undo()
    monkeypatch.setenv("FAKE_ESTIMATE", "4096")
    assert [shard.blocks for shard in plan.shards] == [3, 2]
    assert set(plan.file.timings.values()) >= {decided}
    for shard in (1, 2):
        success(carried_out(lab, plan, shard))
    parts = [store.load(path) for path in sorted(plan.results.glob("*.jsonl"))]
    assert [part.timings["fake/one"] for part in parts] == [decided, decided]
    for part, blocks in zip(parts, (3, 2), strict=True):
        good = [run for run in part.runs if run.status is Status.OK and run.experiment == "fake/one"]
        assert {run.block for run in good} == set(range(blocks))
        assert all((run.turns is not None) == decided.slices for run in good)
    whole = Analysis(host_ratios.joined(parts))
    (study,) = (study for study in whole.between_allocators if study.name == "fake/one")
    counted = study.ratio(study.cells_run[0], "slow", study.main_metric).count
    assert counted == 5


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (None, "needs about 40 s for the 5 blocks that a verdict on 2 allocators takes"),
        (40.0, "needs about 40 s for the 5 blocks that a verdict on 2 allocators takes"),
        (20.0, "takes; the budget has room for 1: --budget 44s has room for all"),
        (10.0, "takes; the budget has room for none, and nothing will be decided: --budget 44s"),
    ],
)
def test_what_the_budget_of_a_node_decides_is_said_with_the_plan(budget: float | None, said: str) -> None:
    pace = {"glibc": 1.0, "glibc#again": 1.0, "slow": 4.0, "quick": 2.0}  # s a block
    told = plan_pilot.PlanPilot(pace=pace).outlook(0.02, budget)
    assert said in told
    assert ("the budget" in told) == (budget in {20.0, 10.0})
    assert plan_pilot.PlanPilot(pace={"glibc": 1.0, "glibc#again": 1.0}).outlook(0.02, budget) == ""


def test_budgets_and_blocks_that_experiments_have_are_divided_too(lab: Laboratory) -> None:
    whole, half = (
        planned(lab, "--budget", "60s", "--shards", parts, name=f"plan-{parts}") for parts in (1, 2)
    )
    assert (whole.file.budget, half.file.budget) == (60, 30)
    blocks = [plan.file.experiments[0]["quick"]["blocks_most"] for plan in (whole, half)]
    assert blocks[1] == ceil(blocks[0] / 2)


def test_a_complete_shard_is_not_measured_again_here_or_elsewhere(
    lab: Laboratory, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out(lab, plan, 1)
    before = content_of(plan.results)
    monkeypatch.setattr(run_shard, "node_name", lambda: "elsewhere")
    assert success(carried_out(lab, plan, 1)).startswith("shard 1/4: complet")
    assert content_of(plan.results) == before


def test_a_comparison_never_crosses_machines(
    lab: Laboratory, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out(lab, plan, 1)
    (path,) = plan.results.glob("*.jsonl")
    cut_off(path, 9)
    monkeypatch.setattr(run_shard, "node_name", lambda: "elsewhere")
    carried_out(lab, plan, 1)
    (other,) = (found for found in plan.results.glob("*.jsonl") if found != path)
    assert min(run.block for run in store.load(other).runs) == 0
    assert shard_states(plan)[0].node == "elsewhere"


def test_the_order_of_shards_changes_no_run_and_no_two_blocks_have_one_seed(
    lab: Laboratory, plan: Plan
) -> None:
    copy = lab.out.parent / "copy"
    shutil.copytree(plan.folder, copy)
    other = read_plan(copy)
    for where, shards in ((plan, (1, 2)), (other, (2, 1))):
        for shard in shards:
            carried_out(lab, where, shard)
    planned_runs = [
        sorted(
            (path.name, run.seed, run.allocator, run.block, json.dumps(run.cell))
            for path in where.results.glob("*.jsonl")
            for run in store.load(path).runs
            if run.settles
        )
        for where in (plan, other)
    ]
    assert planned_runs[0] == planned_runs[1]
    assert len({seed for _, seed, *_ in planned_runs[0]}) == 2 * BLOCKS
    assert len(planned_runs[0]) == 2 * BLOCKS * 2 * 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0/4", "the shards are 1 to 4"),
        ("5/4", "the shards are 1 to 4"),
        ("1/3", "has 4 shards, not 3"),
        ("1", "'1' is not I/N, such as 1/4"),
        ("-1/4", "'-1/4' is not I/N"),
    ],
)
def test_a_shard_that_the_plan_has_not_is_refused(
    lab: Laboratory, plan: Plan, text: str, message: str
) -> None:
    refused(lab, plan, message, text)


def refused(lab: Laboratory, plan: Plan, message: str, shard: str = "1/4") -> None:
    before = content_of(plan.folder)
    assert message in refusal(lab.heaplab("cluster", "run", plan.folder, f"--shard={shard}", "-q"))
    assert content_of(plan.folder) == before


def test_no_plan_and_a_changed_plan_are_refused(lab: Laboratory, plan: Plan) -> None:
    assert "no plan there" in refusal(lab.heaplab("cluster", "run", plan.results, "--shard", "1/4"))
    path = plan.folder / "plan.json"
    path.write_text(path.read_text().replace('"seed": 1,', '"seed": 2,'))
    refused(lab, plan, "was changed after it was planned")


def test_a_second_plan_in_the_folder_is_refused(lab: Laboratory, plan: Plan) -> None:
    before = content_of(plan.folder)
    printed = refusal(lab.heaplab("cluster", "plan", "-o", plan.folder, "--suite", "fake", *lab.own))
    assert "there is a plan already" in printed
    assert content_of(plan.folder) == before


def test_a_plan_of_another_version_is_refused(
    lab: Laboratory, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_shard, "__version__", "9.9")
    refused(lab, plan, "planned by heaplab ")


def test_a_node_whose_clock_is_behind_is_refused(
    lab: Laboratory, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    class HoursAgo(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) - timedelta(hours=2)

    monkeypatch.setattr(run_shard, "datetime", HoursAgo)
    refused(lab, plan, "s by the clock of this node, which is behind")


def test_threads_are_those_of_the_node_each_on_the_cpus_of_its_place(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell in front of the workload notes where it may run."""
    monkeypatch.setenv("FAKE_ESTIMATE", "4096")
    log, real = lab.out.parent / "cpus", lab.catalog.parent / "fake_workload"
    # Without the library, whose name tells the workload what to do, while the shell looks.
    program = executable(
        lab.out.parent / "noted",
        "#!/bin/sh\nkept=$LD_PRELOAD\nunset LD_PRELOAD\n"
        f'echo "$2 $(grep Cpus_allowed_list /proc/self/status)" >> {log}\n'
        f'[ -z "$kept" ] || export LD_PRELOAD="$kept"\nexec {real} "$@"\n',
    )
    threaded = EXPERIMENT.replace('"fake"\nm', '"noted"\nm').replace("size = [1, 2]", "threads = [1, 64]")
    card = WORKLOAD_CARD.replace("PROGRAM", str(program))
    texts = {"workloads/noted.toml": card, "experiments/noted/one.toml": threaded}
    catalog, folder = written(lab.out.parent / "catalog", texts), lab.out.parent / "plan"
    words = ("--experiment", "noted/one", *lab.own[:2], "--blocks", 2, "--thread-counts", "all")
    success(call("--catalog", catalog, "cluster", "plan", "-o", folder, *words))
    success(call("--catalog", catalog, "cluster", "run", folder, "--shard", "1/1", "-q"))
    expected = [cpu.number for cpu in topology.usable()]
    seen = {line.split()[0]: topology.listed(line.split()[-1]) for line in log.read_text().splitlines()}
    counts = topology.thread_counts(len(expected))
    assert seen == {str(count): set(expected[:count]) for count in counts}


def test_a_node_of_another_architecture_is_refused(lab: Laboratory) -> None:
    plan = planned(lab, "--machine", "other architecture=s390x", "--blocks", BLOCKS)
    refused(lab, plan, "is for s390x (other), this node is ", "1/1")


def test_a_node_without_the_shared_folder_is_refused(lab: Laboratory, plan: Plan) -> None:
    plan.results.rmdir()
    refused(lab, plan, "is the plan's folder shared?")


def test_results_of_other_arms_are_refused(lab: Laboratory, plan: Plan) -> None:
    carried_out(lab, plan, 1)
    (path,) = plan.results.glob("*.jsonl")
    id_of = store.load(path).campaign.id.encode()
    path.write_bytes(cut_off(path, 8).replace(id_of, b"0" * len(id_of)))
    refused(lab, plan, "was begun with other arms or CPUs than are here now")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--machine", "epyc node=4"], "machines.epyc: no setting 'node'; there are nodes, "),
        (["--machine", "epyc nodes=0"], "machines.epyc: nodes: Input should be greater than or equal to 1"),
        (["--machine", "epyc nodes=x"], "machines.epyc: nodes: "),
        (["--machine", "epyc cpus=some"], "machines.epyc: cpus: "),
        (["--machine", "epyc nodes"], "'nodes' is no SETTING=VALUE"),
        (["--machine", "a/b"], "a name has letters, digits and -_. alone"),
        (["--machine", ""], "names no kind of machine"),
        (["--machine", "a", "--machine", "a"], "is there twice"),
        (["--blocks", "1"], "1 is not in the range 2<=x<=999"),
        (["--blocks", "5", "--shards", "3"], "--shards 3: 5 blocks on a node make at most 2 shards"),
        (
            ["--shards", "3", "--machine", "a nodes=2"],
            "--shards 3: takes a multiple of 2, the number of nodes",
        ),
        (["--experiment", "fake/one"], "a suite, experiments and a program exclude each other"),
        (["--add-build", "x"], "'x' is not NAME=LIBRARY"),
        (["--add-build", "x=/no/such.so"], "--add-build x=...: no such arm; there are glibc, same, slow"),
        (["--add-build", "same=/no/such.so"], "/no/such.so: No such file"),
        (["--add-build", "same=/etc/passwd"], "/etc/passwd: not an ELF library"),
        (["--wheels", "/etc"], "/etc: no wheel of heaplab there"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(lab: Laboratory, words: list[str], message: str) -> None:
    folder = lab.out.parent / "plan"
    assert message in refusal(
        lab.heaplab("cluster", "plan", "-o", folder, "--suite", "fake", *lab.own, *words)
    )
    assert not folder.exists()


def test_a_file_says_what_options_say_and_an_option_comes_first(lab: Laboratory, tmp_path: Path) -> None:
    (tmp_path / "wanted.toml").write_text(
        'experiments = ["fake/one"]\nallocators = ["glibc"]\nblocks = 4\nseed = 7\n'
        f'[arms]\nslow = "{lab.own[3].partition("=")[2]}"\n'
        '[machines.epyc]\nnodes = 3\ncpus = "cores"\npartition = "large"\n'
    )
    success(lab.heaplab("cluster", "plan", tmp_path / "wanted.toml", "-o", tmp_path / "plan", "--blocks", 5))
    plan = read_plan(tmp_path / "plan")
    assert [arm.name for arm in plan.file.arms] == ["glibc", "slow"]
    assert (plan.file.seed, {shard.blocks for shard in plan.shards}) == (7, {5})
    epyc = plan.machines["epyc"]
    assert (epyc.nodes, epyc.cpus, epyc.options) == (3, "cores", {"partition": "large"})


def test_a_word_that_the_file_does_not_know_is_named(lab: Laboratory, tmp_path: Path) -> None:
    path = tmp_path / "wanted.toml"
    path.write_text("block = 4\n")
    status, printed = lab.heaplab("cluster", "plan", path, "-o", tmp_path / "plan")
    assert (status, printed.strip()) == (2, f"heaplab: {path}: block: Extra inputs are not permitted")
