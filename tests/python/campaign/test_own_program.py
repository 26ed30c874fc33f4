"""A program of the user's: its pilot runs, its limits, short programs, its standard input."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
import synthetic
from bare_records import bare_campaign, bare_process, bare_run
from laboratory import WARM, Laboratory, refusal
from subprocesses import printed_by

from heaplab.campaign import pilot, plan, standard_input
from heaplab.campaign.pilot import PilotRunner
from heaplab.campaign.user_program import UserProgram, executions_of, in_a_row
from heaplab.comparison import program_experiment
from heaplab.errors import HeaplabError, UsageError
from heaplab.machine.execute import Execution, Steps, alone
from heaplab.machine.watch import FEWEST_SAMPLES, FIRST_INTERVAL_S, Limits
from heaplab.report.machine_readable import json_summary
from heaplab.report.page import report_page
from heaplab.report.words import wording
from heaplab.report.words.advice import answer
from heaplab.results.records import SHORT_PROGRAM_S, AnyRecord, Campaign, Pilot, Process, Run, Status

ALLOCATORS = ["glibc", "same", "slow"]
ARMS = len(ALLOCATORS) + 1  # and the baseline once more
FOREVER = 1e9  # s
DOCS = Path(__file__).parents[3] / "docs"
LIBRARIES = {"glibc": synthetic.library("glibc")}


def campaign(budget: float | None = 100.0, **changes: object) -> Campaign:
    experiments, workloads = program_experiment.experiment_of(("sort", "big"))
    return bare_campaign(experiments, workloads, budget=budget, allocators=ALLOCATORS, **changes)


def process(wall: float = 1.0, peak: int | None = None, faults: int = 0) -> Process:
    return bare_process(
        wall,
        user_time=wall / 2,
        system_time=wall / 4,
        minor_faults=faults,
        peak_memory=peak,
        mean_memory=peak,
        memory=[(0.1, peak, 0)] if peak else [],
    )


class Planned:
    """A measurer whose runs take the times planned, the last one again and again."""

    def __init__(self, walls: list[float], status: Status = Status.OK, unseen_below: float = 0) -> None:
        self.walls = walls
        self.unseen_below = unseen_below
        self.status = status
        self.limits: list[float | None] = []

    def __call__(self, tried: Campaign, _libraries: object, **_settings: object) -> "Planned":
        self.limits.append(tried.time_limit)
        self.count = 0
        return self

    def __enter__(self):
        return self.run

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, block: plan.Block, candidate: plan.Candidate, order: int, attempt: int) -> Run:
        wall = self.walls[min(self.count, len(self.walls) - 1)]
        self.count += 1
        limit = self.limits[-1]
        status = Status.TIMEOUT if limit and wall > limit else self.status
        seen = process(wall, None if wall < self.unseen_below else 5)
        return bare_run(*candidate, status, block=block.number, order=order, attempt=attempt, process=seen)


def tried(
    monkeypatch: pytest.MonkeyPatch, given: Campaign, *walls: float, leaves_out: bool = False
) -> tuple[Campaign, str]:
    """The campaign after the pilot runs, and what was said."""
    monkeypatch.setattr(pilot, "RunMeasurer", Planned(list(walls)))
    said: list[str] = []
    return PilotRunner(LIBRARIES, said.append, leaves_out=leaves_out)(given), "".join(said)


# ---------------------------------------------------------------- the budget


def test_a_run_may_take_what_lets_two_blocks_fit_in_the_budget() -> None:
    (cell,) = (cell for item in plan.comparisons(campaign()) for cell in item.cells)
    assert plan.time_limit(campaign(100), cell) == 100 / (2 * ARMS)
    assert plan.time_limit(campaign(1), cell) == plan.SHORTEST_LIMIT_S
    assert plan.time_limit(campaign(100, time_limit=3), cell) == 3


def test_the_pilot_tells_how_long_a_run_takes_and_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    found, said = tried(monkeypatch, campaign(100), 2.0)
    assert (found.pilot.wall_time, found.pilot.executions) == (2.0, 1)
    expected = "may take 12.5 s (two blocks of 4 runs in the budget of 100 s; --time-limit changes that)"
    assert said == f"one run takes 2 s and {expected}"


def test_a_program_too_long_for_two_blocks_is_refused_with_the_budget_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(HeaplabError) as refused:
        tried(monkeypatch, campaign(100), 20.0)
    for said in ("sort big: one run took 20 s", "two blocks of 4 runs", "--budget 3m", "--budget 8m"):
        assert said in str(refused.value)
    assert tried(monkeypatch, campaign(160), 20.0)[0].pilot is not None


def test_a_comparison_measures_the_allocators_that_can_have_a_verdict_and_says_where_none_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, said = tried(monkeypatch, campaign(100), 5.0, leaves_out=True)
    assert found.allocators == ALLOCATORS[:2]
    assert f"have room for 2 of 3 allocators: measuring {', '.join(ALLOCATORS[:2])}; --budget 2m has" in said
    assert tried(monkeypatch, campaign(100), 2.0, leaves_out=True)[0].allocators == ALLOCATORS
    found, said = tried(monkeypatch, campaign(100), 10.0, leaves_out=True)
    assert (found.allocators, "0 of 3 allocators: nothing will be decided; --budget 4m" in said) == (
        ALLOCATORS[:2],
        True,
    )


@pytest.mark.parametrize(("budget", "patience"), [(100, 37.5), (10, 10), (2, 5)])
def test_a_program_that_does_not_end_is_recognised_within_the_budget(
    monkeypatch: pytest.MonkeyPatch, budget: float, patience: float
) -> None:
    with pytest.raises(
        HeaplabError, match=f"did not end within {patience:g} s.*of a server, say how it is driven"
    ):
        tried(monkeypatch, campaign(budget), FOREVER)


def test_the_users_own_time_limit_is_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HeaplabError, match=r"within 7 s.*larger --time-limit"):
        tried(monkeypatch, campaign(100, time_limit=7), FOREVER)


def test_one_run_that_was_held_up_does_not_refuse_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = tried(monkeypatch, campaign(100), 20.0, 2.0)
    assert found.pilot.wall_time == 2.0
    with pytest.raises(HeaplabError, match="one run took 19 s"):
        tried(monkeypatch, campaign(100), 20.0, 19.0)


def test_a_program_that_fails_in_the_pilot_is_left_to_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilot, "RunMeasurer", Planned([0.1], Status.FAILED))
    assert PilotRunner(LIBRARIES)(campaign()) == campaign()


def test_a_program_that_never_ends_is_told_in_one_line_and_leaves_nothing(lab: Laboratory) -> None:
    words = ["compare", *lab.own, *WARM, "--time-limit", "0.3s", "-o", lab.out, "--", "sleep", "60"]
    status, printed = lab.heaplab(*words)
    assert (status, printed.count("\n")) == (1, 1)
    assert printed.startswith("heaplab: sleep 60: did not end within 300 ms.")
    assert not lab.out.exists()


# ---------------------------------------------------------------- short programs


def test_a_short_program_is_executed_several_times_in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    found, said = tried(monkeypatch, campaign(), 0.4, 0.025, 0.015)
    assert (found.pilot.wall_time, found.pilot.executions) == (0.015, 10)
    assert "one execution takes 15 ms" in said
    assert found.pilot.memory
    assert "memory" not in said


def test_memory_that_one_pilot_run_did_not_see_is_left_out_of_the_whole_campaign(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for walls, seen in (([0.02, 0.02, 0.01, 0.02], False), ([0.02], True), ([0.06, 0.06], True)):
        monkeypatch.setattr(pilot, "RunMeasurer", Planned(walls, unseen_below=0.015))
        said: list[str] = []
        assert PilotRunner(LIBRARIES, said.append)(campaign()).pilot.memory is seen
        assert ("memory cannot be seen" in said[0]) is not seen


def test_pages_and_reports_name_the_limits_of_short_programs() -> None:
    short, apart = f"less than {SHORT_PROGRAM_S * 1e3:g} ms", f"{FIRST_INTERVAL_S * 1e3:g} ms apart"
    for page in ("guide.md", "method.md"):
        text = " ".join((DOCS / page).read_text().split())
        assert short in text
        assert f"sampled {FEWEST_SAMPLES} times, {apart}" in text
    assert f"more work, {SHORT_PROGRAM_S * 1e3:g} ms or more" in wording.UNSEEN_MEMORY


def test_how_often_a_program_is_executed() -> None:
    assert executions_of(0.050, most=10) == 1
    assert executions_of(0.040, most=10) == 5
    assert executions_of(0.006, most=10) == 19
    assert executions_of(0.006, most=0.1) == 10


def ready(execution: Execution) -> Steps[Execution]:
    """An execution that nothing has to be started for."""
    yield from ()
    return execution


def test_executions_in_a_row_are_means_with_the_largest_peak() -> None:
    left = iter([process(1.0, None, 10), process(2.0, 300, 21), process(3.0, 200, 30)])
    ended = alone(in_a_row(3, lambda: ready(Execution(0, "", next(left), 1, {"a"}))))
    found = ended.process
    assert (found.wall_time, found.user_time, found.system_time, found.minor_faults) == (2.0, 1.0, 0.5, 20)
    assert (found.executions, found.peak_memory, found.mean_memory) == (3, 300, 250)
    assert found.memory == [(0.1, 300, 0)]
    assert (ended.seen, ended.mapped) == (3, {"a"})


def test_executions_in_a_row_stop_at_the_first_that_fails() -> None:
    left = iter([Execution(0, "", process()), Execution(3, "", process(0.5))])
    assert alone(in_a_row(5, lambda: ready(next(left)))).exit_status == 3


def test_the_memory_of_a_very_short_program_is_absent() -> None:
    for seen in (False, True):
        given = campaign(pilot=Pilot(wall_time=0.03, executions=3, memory=seen))
        # Long enough to be looked at on a machine that is busy with other programs.
        sleep = UserProgram(given, ["/bin/sleep", "0.3"], Limits(time=20))
        found = alone(sleep.run({}, errors=subprocess.DEVNULL, watch=())).process
        assert found.executions == 3
        assert [found.peak_memory is not None, bool(found.memory)] == [seen, seen]


def own_records(names: list[str], **more: object) -> list[AnyRecord]:
    """A campaign of a program of the user's."""
    return synthetic.as_own(synthetic.campaign(names, synthetic.experiments()[3:4], **more))


def unseen(run: Run) -> Run:
    return synthetic.with_process(run, peak_memory=None, mean_memory=None, memory=[])


@pytest.mark.parametrize(
    ("time", "advice"),
    [
        (0.5, "Where time counts, use swift: 48 % less time than glibc"),
        (1.0, "Stay with glibc: nothing is shown to be faster."),
    ],
)
def test_without_memory_the_answer_is_about_time_alone(tmp_path: Path, time: float, advice: str) -> None:
    effects = {"swift": (time, 1.0)}
    records = own_records(["glibc", "swift"], noise=0.002, effect=effects)
    analysis = synthetic.analysis_of(synthetic.of_runs(records, unseen), tmp_path)
    found = answer(analysis, "program", analysis.summaries("program"))
    assert found.advice.startswith(advice)
    assert [leader.title for leader in found.leaders] == ["Fastest"]
    assert found.notes == [wording.UNSEEN_MEMORY]
    plain = json_summary.as_plain(analysis)["summaries"]["program"]["allocators"]["swift"]["memory"]
    assert [plain[name] for name in ("ratio", "low", "high", "verdict")] == [None] * 4
    html = report_page.render([analysis], tmp_path / "report.html")
    assert wording.UNSEEN_MEMORY in html
    assert "To repeat it:</p><pre>heaplab compare -o out/compare</pre>" in html
    assert "nan" not in html.replace("nanosecond", "")


def test_a_program_that_needs_hardly_any_memory_is_told_so(tmp_path: Path) -> None:
    for size, said in ((1, True), (100, False)):
        effects = dict.fromkeys(("glibc", "lean"), (1.0, size / 48))
        records = own_records(list(effects), effect=effects)
        analysis = synthetic.analysis_of(records, tmp_path / str(size))
        assert ("memory that each library needs once" in wording.small_memory(analysis, "program")) is said


# ---------------------------------------------------------------- standard input


COPY = """
import sys
data = sys.stdin.read()
open(sys.argv[1], "a").write(f"{len(data)} ")
sys.exit(not data)
"""


def compared(lab: Laboratory, log: Path, *before: object) -> tuple[int, str]:
    program = ["--", sys.executable, "-SEc", COPY, log]
    words = ["compare", *lab.own, "--warm", "1B", "--budget", "4s", "-o", lab.out]
    return lab.heaplab(*words, *before, *program)


def test_each_run_reads_the_given_file_from_its_beginning(lab: Laboratory, tmp_path: Path) -> None:
    given, log = tmp_path / "given", tmp_path / "log"
    given.write_text("abc")
    status, printed = compared(lab, log, "--input", given)
    assert status in (0, 1), printed  # on a busy machine one block may take all the time
    assert set(log.read_text().split()) == {"3"}
    assert lab.results().campaign.input.path == str(given)
    assert lab.results().campaign.input.sha256 == hashlib.sha256(b"abc").hexdigest()
    given.write_text("other")
    assert "given: has changed since" in refusal(lab.heaplab("compare", "--resume", lab.out, *lab.own))


def test_without_a_file_one_line_says_that_there_is_nothing_to_read(lab: Laboratory, tmp_path: Path) -> None:
    assert "the program's standard input is empty; --input FILE" in compared(lab, tmp_path / "log")[1]


IN_A_PROCESS = "from heaplab.campaign import standard_input; print(standard_input.own_file())"


def own_file(**options: object) -> str:
    return printed_by(sys.executable, "-c", IN_A_PROCESS, **options).strip()


def test_what_heaplab_itself_reads_from_a_file_is_handed_on(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_text("abc")
    with path.open() as stream:
        assert own_file(stdin=stream) == str(path)
        path.unlink()
        assert own_file(stdin=stream) == str(standard_input.OWN)  # as with a here-document
    assert own_file(stdin=subprocess.DEVNULL) == "None"
    assert own_file(input="abc") == "None"


def test_the_input_is_opened_anew_each_time(tmp_path: Path) -> None:
    path = tmp_path / "given"
    path.write_text("abc")
    for _ in range(2):
        with standard_input.opened(standard_input.input_of(path)) as descriptor:
            assert os.read(descriptor, 10) == b"abc"
    with standard_input.opened(None) as descriptor:
        assert os.read(descriptor, 10) == b""
    gone = standard_input.input_of(path)
    path.unlink()
    with pytest.raises(HeaplabError, match="given: No such file"), standard_input.opened(gone):
        pass


def test_an_input_is_a_regular_file(tmp_path: Path) -> None:
    for path, said in (
        (tmp_path, "Is a directory"),
        (Path("/dev/null"), "not a regular file"),
        (tmp_path / "none", "No such file"),
    ):
        with pytest.raises(UsageError, match=said):
            standard_input.input_of(path)


def test_an_input_without_a_program_is_refused(lab: Laboratory) -> None:
    printed = refusal(lab.heaplab("compare", "--input", "/dev/null"))
    assert printed.startswith("heaplab: --input goes with a program")


def test_the_peak_of_pilot_runs_says_what_the_first_runs_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pilot, "RunMeasurer", Planned([0.4]))
    needed: dict[str, int] = {}
    PilotRunner(LIBRARIES, needed=needed)(campaign())
    (peak,) = needed.values()
    assert peak > 0
