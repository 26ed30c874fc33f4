"""`heaplab compare` end to end, on the fake workload and on small real programs."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from laboratory import WARM, Laboratory, failure, refusal, success
from subprocesses import HEAPLAB, HEEDING, ran, until

from heaplab.comparison.benchmark import MOST_BLOCKS
from heaplab.results import store
from heaplab.results.records import Status


def test_a_campaign_holds_everything_it_takes_to_judge_it(finished: Laboratory) -> None:
    results = finished.results()
    assert results.campaign.allocators == ["glibc", "same", "slow"]
    assert results.host.facts["kernel"]
    assert all(len(library.sha256) == len(library.preload) for library in results.libraries.values())
    assert results.end.reason == "blocks"
    for allocator in ("glibc", "same", "slow", "glibc#again"):
        blocks = {(run.cell["size"], run.block) for run in finished.good(allocator)}
        assert blocks == {(size, block) for size in (1, 2) for block in range(5)}
    run = finished.good("slow")[0]
    assert run.sample.metrics["time"].value == pytest.approx(1.1, rel=0.01)
    assert run.process.wall_time > 0.003
    assert run.process.peak_memory != 0


def test_a_planted_difference_is_in_the_figures_and_the_control_shows_none(finished: Laboratory) -> None:
    def value(allocator: str, block: int) -> float:
        run = next(r for r in finished.good(allocator) if r.block == block and r.cell == {"size": 1})
        return run.sample.metrics["time"].value if run.sample else 0

    for block in range(5):
        assert value("slow", block) / value("glibc", block) == pytest.approx(1.1)
        assert value("glibc#again", block) == value("glibc", block)


def test_paddings_of_the_environment_differ_and_are_recorded(finished: Laboratory) -> None:
    assert len({run.environment_bytes for run in finished.results().runs}) > 10


def test_the_page_lies_beside_the_results(finished: Laboratory) -> None:
    assert "slower" in (finished.out / "report.html").read_text()


@pytest.mark.parametrize(
    ("variable", "reason"),
    [
        ("FAKE_CRASH", "killed by SIGABRT"),
        ("FAKE_EXIT", "exit status 3: the second check failed"),
        ("FAKE_GARBAGE", "its output is no sample"),
    ],
)
def test_a_run_that_ends_badly_is_a_record_with_a_reason_and_the_others_go_on(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch, variable: str, reason: str
) -> None:
    monkeypatch.setenv(variable, "libsame.so")
    exit_status, printed = lab.run("--no-slices")
    assert exit_status == 1
    bad = [run for run in lab.results().runs if run.allocator == "same"]
    assert len(bad) == 4
    assert all(
        run.status is Status.FAILED and run.reason.startswith(reason) and not run.sample for run in bad
    )
    assert reason in printed
    assert len(lab.good("slow")) == 10


def test_parameters_that_the_workload_refuses_are_told_in_its_own_words_and_in_one_line(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_EXIT", "libc.so.6")
    status, printed = lab.heaplab(
        "compare", "--experiment", "fake/one", "--allocators", "glibc", *WARM, "-o", lab.out
    )
    reason = "no run gave a figure: exit status 3: the second check failed"
    assert (status, printed) == (1, f"heaplab: {lab.out / store.FILE_NAME}: {reason}\n")


def test_a_run_that_hangs_is_killed_with_all_it_started(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_HANG", "libslow.so")
    assert lab.run("--time-limit", "0.4s")[0] == 1
    bad = [run for run in lab.results().runs if run.allocator == "slow"]
    assert {run.status for run in bad} == {Status.TIMEOUT}
    assert bad[0].reason == "not done after 0.4 s"


def test_a_run_served_by_another_library_is_void_and_never_a_number(
    lab: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_SERVED", "/lib/libother.so")
    printed = failure(lab.run())
    assert not [run for run in lab.results().runs if run.status is Status.OK]
    assert "malloc was served by /lib/libother.so, not by the C library" in printed


def test_a_campaign_cut_off_in_a_line_is_resumed_where_it_stopped(half_done: Laboratory) -> None:
    path = half_done.out / store.FILE_NAME
    path.write_bytes(path.read_bytes()[:-50])
    kept = len(half_done.results().runs)
    assert len(half_done.results().unreadable) == 1
    printed = success(half_done.heaplab("compare", "--resume", half_done.out, *half_done.own, *WARM))
    assert f"going on after {kept} runs" in printed
    assert half_done.results().unreadable == []
    keys = [(r.cell["size"], r.block, r.allocator) for r in half_done.results().runs if r.status is Status.OK]
    assert len(keys) == len(set(keys)) == 2 * 5 * 4


def test_the_same_request_after_a_complete_one_begins_anew(complete: Laboratory) -> None:
    assert "earlier results are kept as" in success(complete.run())
    files = list(complete.out.glob("results*.jsonl"))
    assert [len(store.load(path).runs) >= 40 for path in files] == [True, True]


def test_the_same_request_in_the_same_folder_goes_on_too(half_done: Laboratory) -> None:
    kept = len(half_done.results().runs)
    assert f"going on after {kept} runs" in half_done.run()[1]


def test_another_request_in_the_same_folder_keeps_the_earlier_results(half_done: Laboratory) -> None:
    earlier = (half_done.out / store.FILE_NAME).read_bytes()
    printed = success(half_done.run("--seed", 7))
    assert "earlier results are kept as" in printed
    others = list(half_done.out.glob("results-*.jsonl"))
    assert [path.read_bytes() for path in others] == [earlier]
    assert half_done.results().campaign.seed == 7


def test_a_complete_campaign_is_only_told_when_resumed(lab: Laboratory, finished: Laboratory) -> None:
    before = (finished.out / store.FILE_NAME).read_bytes()
    assert "complete, nothing left to measure" in success(lab.heaplab("compare", "--resume", finished.out))
    assert (finished.out / store.FILE_NAME).read_bytes() == before


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[("--seed", "7"), ("--warm", "1MiB"), ("--pin", None), ("--precision", "1%"), ("--prepare", "true")],
        ("--output", "/tmp/other"),
    ],
)
def test_what_is_resumed_cannot_be_changed(half_done: Laboratory, option: str, value: str | None) -> None:
    before = (half_done.out / store.FILE_NAME).read_bytes()
    given = [option, *filter(None, [value])]
    printed = refusal(half_done.heaplab("compare", "--resume", half_done.out, *half_done.own, *given))
    assert printed == f"heaplab: --resume goes on as it was begun; {option} cannot change that\n"
    assert (half_done.out / store.FILE_NAME).read_bytes() == before


def test_a_campaign_that_spent_its_budget_goes_on_when_resumed(lab: Laboratory) -> None:
    def blocks() -> int:
        return len({(run.cell["size"], run.block) for run in lab.results().runs})

    lab.run("--budget", "0.001s", "--no-slices")
    first = lab.results()
    assert (first.end.reason, blocks()) == ("budget", 2 * 2)
    assert {item["quick"]["blocks_most"] for item in first.campaign.experiments} == {MOST_BLOCKS}
    resume = ["compare", "--resume", lab.out, *lab.own, *WARM]
    assert f"going on after {len(first.runs)} runs" in lab.heaplab(*resume)[1]
    assert lab.results().end.reason == "budget"  # the same again, too short for all that is left
    success(lab.heaplab(*resume, "--budget", "10m"))
    assert lab.results().end.reason == "precise"
    assert {run.block for run in lab.good("slow")} >= set(range(5))
    assert "complete, nothing left to measure" in lab.heaplab(*resume, "--budget", "10m")[1]


def test_a_campaign_is_finished_only_if_nothing_follows_its_end(lab: Laboratory) -> None:
    lab.run("--budget", "0.001s")
    path = lab.out / store.FILE_NAME
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines, re.sub(rb'"block":[0-9]+', b'"block":99', lines[-2])]))
    results = lab.results()
    assert (results.end, results.runs_of_earlier_budgets) == (None, len(results.runs) - 1)


def test_a_library_that_changed_cannot_join_an_earlier_campaign(
    half_done: Laboratory, libraries: dict[str, Path]
) -> None:
    swapped = ["--allocator", f"same={libraries['slow']}", "--allocator", f"slow={libraries['slow']}"]
    assert "same has changed since" in refusal(
        half_done.heaplab("compare", "--resume", half_done.out, *swapped)
    )


def test_an_interrupted_comparison_keeps_what_was_measured(lab: Laboratory, tmp_path: Path) -> None:
    log = tmp_path / "log"
    words = ["compare", "--experiment", "fake/one", *lab.own, *WARM, "-o", str(lab.out)]
    command = [*HEEDING, *HEAPLAB, "--catalog", str(lab.catalog), *words]
    around = os.environ | {"FAKE_LOG": str(log)}
    child = subprocess.Popen(command, env=around, stderr=subprocess.PIPE, text=True)
    until(lambda: log.exists() and len(log.read_text().splitlines()) >= 6, "six runs")
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert child.returncode == 1, errors
    assert f"interrupted; resume with: heaplab compare --resume {lab.out}" in errors
    results = lab.results()
    assert len(results.runs) >= 5
    assert results.end is None
    assert lab.heaplab("compare", "--resume", lab.out, *lab.own, *WARM)[0] == 0
    assert len(lab.good("same")) == 10


# heaplab with a limit on the size of a file: writing beyond it fails as on a full disk.
LIMITED = """
import resource, signal
resource.setrlimit(resource.RLIMIT_FSIZE, (12000, 12000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from heaplab.commands import main
main()
"""


def test_a_full_disk_is_one_line_and_keeps_what_was_measured(lab: Laboratory) -> None:
    words = [
        "--catalog",
        str(lab.catalog),
        "compare",
        "--experiment",
        "fake/one",
        *lab.own,
        *WARM,
        "-o",
        str(lab.out),
    ]
    lab.out.mkdir()
    (lab.out / "report.html").write_text("earlier")
    done = ran(sys.executable, "-c", LIMITED, *words)
    assert done.returncode == 1
    assert "File too large; everything measured before is kept" in done.stderr
    assert (lab.out / "report.html").read_text() == "earlier"
    assert {path.name for path in lab.out.iterdir()} == {"report.html", store.FILE_NAME}
    assert "Traceback" not in done.stderr
    results = lab.results()
    assert len(results.runs) > 2
    assert results.unreadable == []
    assert lab.heaplab("compare", "--resume", lab.out, *lab.own, *WARM)[0] == 0


def test_results_as_json_for_scripts(lab: Laboratory) -> None:
    printed = success(lab.run("--json"))
    assert json.loads(printed)["schema"] == 1
