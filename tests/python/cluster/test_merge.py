"""What came back of a plan is verified, counted once, and put together only where that says something."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import synthetic
from laboratory import call, failure, refusal, success

import heaplab
from heaplab.cluster import Plan, merged_figures, merging
from heaplab.cluster.merging import merged
from heaplab.cluster.plan_folder import KindOfMachine, PlanFile, PlannedArm, Shard, write_plan
from heaplab.results.records import Host, Run, Status

ARMS = ["glibc", "jemalloc", "mimalloc"]
BLOCKS = 6
EXPERIMENTS = [
    experiment
    for experiment in synthetic.experiments()
    if experiment.id in ("scalloc-oopsla15/fig09", "programs/sqlite")
]
Change = Callable[[list], list]


def planned(folder: Path, hosts: int, parts: int = 1, kinds: tuple[str, ...] = ("epyc",)) -> Plan:
    machines = [kind for kind in kinds for _ in range(hosts * parts)]
    content = PlanFile(
        hash="",
        heaplab=heaplab.__version__,
        made="2026-01-02T00:00:00Z",
        command=["heaplab", "cluster", "plan"],
        scale="quick",
        seed=1,
        experiments=[experiment.model_dump(mode="json") for experiment in EXPERIMENTS],
        workloads={name: synthetic.WORKLOADS[name].model_dump(mode="json") for name in ("larson", "sqlite")},
        arms=[PlannedArm(name=name, base=name) for name in ARMS],
        machines={kind: KindOfMachine(nodes=hosts) for kind in kinds},
        shards=[Shard(index=i, machine=kind, hash="") for i, kind in enumerate(machines, 1)],
    )
    return write_plan(folder, content)


def truth_of(jemalloc: float) -> synthetic.Effect:
    """Every arm as in `synthetic`, but for the time of jemalloc."""

    def effect(name: str, cell: dict) -> tuple[float, float]:
        time, memory = synthetic.truth(name, cell)
        return (jemalloc * synthetic.truth("glibc", cell)[0] if name == "jemalloc" else time), memory

    return effect


def come_back(
    plan: Plan, index: int, node: str, jemalloc: float = 0.7, change: Change = list, **facts: object
) -> Path:
    """Write the results of a shard as a node would."""
    shard = plan.shards[index - 1]
    records = synthetic.campaign(
        ARMS, EXPERIMENTS, BLOCKS, seed=plan.seed_of(shard), effect=truth_of(jemalloc)
    )
    known = {
        "plan": plan.hash,
        "shard": index,
        "shard_hash": shard.hash,
        "machine": shard.machine,
        "node": node,
        "placement": {"where": "all", "cpus": [0, 1], "cores": 2, "nodes": [0]},
    }
    host = Host(facts=records[1].facts | known | facts)
    campaign = records[0].model_copy(update={"heaplab": heaplab.__version__})
    path = plan.results_file(shard, node)
    written = change([campaign, host, *records[2:], host])
    return synthetic.write(written, path)


def all_come_back(plan: Plan, *jemalloc: float) -> None:
    """Each shard from a host of its own."""
    for index, time in enumerate(jemalloc, 1):
        come_back(plan, index, f"n{index}", time)


@pytest.fixture(autouse=True)
def figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures take most of a merge: they are drawn in tests of the page."""
    if "page" not in request.node.name:
        monkeypatch.setattr(merged_figures, "drawings", lambda _: [])
        monkeypatch.setattr(merged_figures, "scaling", lambda _: [])


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    """A plan of four shards on one kind of machine, all of which came back, each from a host of its own."""
    plan = planned(tmp_path / "plan", hosts=4)
    all_come_back(plan, 0.70, 0.72, 0.68, 0.71)
    return plan


def merge(plan: Plan, *words: object) -> tuple[int, str]:
    return call("cluster", "merge", plan.folder, *words)


def plain(plan: Plan) -> dict:
    return json.loads((plan.folder / "merged" / "merged.json").read_text())


def mean_of(plan: Plan, arm: str, machine: str = "epyc", metric: str = "time", kind: str = "program") -> dict:
    (found,) = (
        row
        for row in plain(plan)["ratios"]
        if (row["machine"], row["allocator"], row["metric"], row["kind"], row["experiment"])
        == (machine, arm, metric, kind, "")
    )
    return found


def refused(plan: Plan, message: str) -> None:
    before = {path: path.read_bytes() for path in plan.folder.rglob("*") if path.is_file()}
    assert message in refusal(merge(plan))
    assert {path: path.read_bytes() for path in plan.folder.rglob("*") if path.is_file()} == before


def test_the_mean_over_hosts_has_the_truth_and_the_page_opens(plan: Plan) -> None:
    printed = success(merge(plan))
    found = mean_of(plan, "jemalloc")
    estimate, low, high = found["ratio"]
    assert low < 0.7025 < high
    assert estimate == pytest.approx(0.7025, rel=0.04)
    assert (found["hosts"], found["lower_on"], found["hosts_differ"]) == (4, 4, False)
    page = (plan.folder / "merged" / "report.html").read_text()
    assert "epyc (4 hosts), real programs, time: jemalloc faster, 0.7" in page
    assert page.endswith("</html>")
    assert "mimalloc is first on 4 of 4 hosts; Kendall's W 1.00" in " ".join(printed.split())


def test_hosts_that_differ_in_direction_have_no_mean_also_on_the_page(tmp_path: Path) -> None:
    plan = planned(tmp_path / "plan", hosts=3)
    all_come_back(plan, 0.7, 0.72, 1.4)
    printed = success(merge(plan))
    found = mean_of(plan, "jemalloc")
    assert (found["ratio"], found["hosts_differ"]) == ([None, None, None], True)
    assert (found["lower_on"], found["higher_on"]) == (2, 1)
    assert "hosts differ" in printed
    page = (plan.folder / "merged" / "report.html").read_text()
    assert "jemalloc: hosts differ, faster on 2, slower on 1, so there is no mean" in page


def test_kinds_of_machine_stand_beside_each_other_and_together_only_if_they_agree(tmp_path: Path) -> None:
    plan = planned(tmp_path / "plan", hosts=2, kinds=("epyc", "arm"))
    all_come_back(plan, 0.7, 0.71, 1.4, 1.42)
    merge(plan)
    ratios = [mean_of(plan, "jemalloc", machine)["ratio"][0] for machine in ("epyc", "arm", "all")]
    assert ratios[:2] == [pytest.approx(0.705, rel=0.04), pytest.approx(1.41, rel=0.04)]
    assert ratios[2] is None


def test_shards_of_one_host_are_one_campaign_with_more_blocks(tmp_path: Path) -> None:
    plan = planned(tmp_path / "plan", hosts=1, parts=2)
    for index in (1, 2):
        come_back(plan, index, "n1")
    (host,) = merged(plan, workers=1).hosts
    assert host.shards == (1, 2)
    counts = {ratio.count for about, (ratio, _) in host.ratios.items() if about.experiment}
    assert counts == {2 * BLOCKS}


def test_what_ran_twice_counts_once(plan: Plan) -> None:
    merge(plan)
    before = plain(plan)
    come_back(plan, 2, "n9", jemalloc=2.0)
    first = plan.results_file(plan.shards[2], "n3")
    shutil.copy(first, first.with_name("a copy.jsonl"))
    # The second of two complete files began later.
    later = plan.results_file(plan.shards[1], "n9")
    later.write_text(later.read_text().replace("2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"))
    printed = success(merge(plan))
    after = plain(plan)
    assert (after["ratios"], after["runs"]) == (before["ratios"], before["runs"])
    assert "shard 2 counts once, as measured on n2; also begun on n9" in printed
    assert "shard 3 counts once, as measured on n3; also begun on n3" in printed


def test_a_complete_shard_counts_rather_than_one_that_was_begun(plan: Plan) -> None:
    def cut_off(records: list) -> list:
        return records[:20]

    come_back(plan, 2, "n0", jemalloc=2.0, change=cut_off)
    printed = success(merge(plan))
    assert "shard 2 counts once, as measured on n2; also begun on n0" in printed


def test_what_is_missing_or_begun_is_named_and_the_rest_is_merged(plan: Plan) -> None:
    plan.results_file(plan.shards[0], "n1").unlink()
    path = plan.results_file(plan.shards[2], "n3")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])  # cut off within a line
    printed = failure(merge(plan))
    assert "Nothing came back of shard 1." in printed
    assert "Begun and not completed: shard 3; whole blocks of them count." in printed
    assert plain(plan)["shards"] == {"missing": [1], "begun": [3], "all": 4}
    assert mean_of(plan, "jemalloc")["hosts"] >= 2


def test_a_file_that_ended_before_its_first_run_is_no_result(plan: Plan) -> None:
    path = plan.results_file(plan.shards[0], "n1")
    path.write_bytes(path.read_bytes()[:100])
    printed = failure(merge(plan))
    assert f"{path.name} holds no run yet" in printed
    assert "Nothing came back of shard 1." in printed


def test_hosts_of_one_kind_that_differ_are_named(tmp_path: Path) -> None:
    plan = planned(tmp_path / "plan", hosts=3)
    come_back(plan, 1, "n1", governor="performance")
    come_back(plan, 2, "n2", governor="performance", kernel="6.5.0")
    come_back(plan, 3, "n3", governor="powersave", cpu="Another CPU", transparent_huge_pages="always")
    _, printed = merge(plan)
    assert "epyc: kernel: 6.1.0 on 2 of 3 hosts, 6.5.0 on n2" in printed
    assert "epyc: governor: performance on 2 of 3 hosts, powersave on n3" in printed
    assert "epyc: cpu: Example CPU at 2.4 GHz on 2 of 3 hosts, Another CPU on n3" in printed
    assert "epyc: transparent huge pages: madvise on 2 of 3 hosts, always on n3" in printed


def test_another_build_of_an_arm_is_named(plan: Plan) -> None:
    path = plan.results_file(plan.shards[3], "n4")
    path.write_text(path.read_text().replace('"version":"5.3.0"', '"version":"5.2.1"'))
    _, printed = merge(plan)
    assert re.search(r"epyc: jemalloc: 5\.3\.0 ab+\S* on 3 of 4 hosts, 5\.2\.1 \S+ on n4", printed)


def test_disturbed_hosts_are_named(tmp_path: Path) -> None:
    def disturbed(records: list) -> list:
        return synthetic.with_runs(records, lambda _: True, reason="others used the CPUs")

    def governed(records: list) -> list:
        *before, last = records
        return [*before, Host(facts=last.facts | {"governor": "powersave"})]

    def failing(records: list) -> list:
        first = next(record for record in records if isinstance(record, Run))
        bad = synthetic.no_figure(Status.FAILED, "SIGSEGV")
        return synthetic.with_runs(records, lambda run: run is first, **bad)

    plan = planned(tmp_path / "plan", hosts=3)
    for index, change in enumerate((disturbed, governed, failing), 1):
        come_back(plan, index, f"n{index}", change=change)
    _, printed = merge(plan)
    runs = (2 + 1) * BLOCKS * 4
    assert f"n1: others disturbed {runs} of {runs} runs" in printed
    assert "n2: governor changed while it was measured" in printed
    assert f"n3: 1 of {runs} runs gave no figure" in printed


def test_a_clock_that_is_ahead_is_named(plan: Plan) -> None:
    path = plan.results_file(plan.shards[3], "n4")
    path.write_text(path.read_text().replace("2026-01-02T03:04:05Z", "2999-01-02T03:04:05Z"))
    _, printed = merge(plan)
    assert "the clock of n4 is ahead of the one here" in printed


def test_results_of_another_plan_version_or_program_are_refused(plan: Plan) -> None:
    path = plan.results_file(plan.shards[3], "n4")
    text = path.read_text()
    path.write_text(text.replace(f'"plan":"{plan.hash}"', '"plan":"0123456789abcdef"'))
    refused(plan, f"{path}: of plan 0123456789abcdef, not of this one, {plan.hash}")
    path.write_text(text.replace(f'"heaplab":"{heaplab.__version__}"', '"heaplab":"9.9"'))
    refused(plan, f"{path}: measured by heaplab 9.9, the plan is of {heaplab.__version__}")
    path.write_text(text.replace(plan.shards[3].hash, "f" * 16))
    refused(plan, f"{path}: of no shard of this plan")
    path.write_text("{}\n{}\n")
    refused(plan, f"{path}: not a results file of heaplab")
    path.write_text(text.replace('"schema":1', '"schema":7', 1))
    refused(plan, "written by another version of heaplab (schema 7, this one reads 1)")


def test_a_plan_without_results_is_refused(tmp_path: Path) -> None:
    refused(planned(tmp_path / "plan", hosts=1), "no results of this plan yet")


def test_curves_over_threads_on_the_page_are_relative_to_one_thread(plan: Plan) -> None:
    merge(plan)
    rows = [row for row in plain(plan)["scaling"] if row["experiment"] == "scalloc-oopsla15/fig09"]
    assert {(row["allocator"], row["cell"]["threads"]) for row in rows} == {(name, 2) for name in ARMS}
    found = {row["allocator"]: row["ratio"][0] for row in rows}
    # The throughput of the synthetic larson falls by 2 ** 0.35 under mimalloc; lower is better.
    assert found["mimalloc"] == pytest.approx(2**0.35, rel=0.03)
    assert "Over numbers of threads" in (plan.folder / "merged" / "report.html").read_text()


@pytest.mark.slow
def test_one_process_and_several_merge_alike(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "WORTH_PROCESSES", 0)
    alone, together = (merged(plan, workers) for workers in (1, 2))
    assert [host.ratios for host in alone.hosts] == [host.ratios for host in together.hosts]
