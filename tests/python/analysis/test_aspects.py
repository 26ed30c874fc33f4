"""The answer by aspect: its means, its family of verdicts, its sentence, and what shows it."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import synthetic
from rich.console import Console
from synthetic import aspect, experiments_of

from heaplab import stats
from heaplab.analysis import Analysis, AspectSummary, Study, aspect_summaries
from heaplab.analysis.aspects import metric_of
from heaplab.report.machine_readable import json_summary
from heaplab.report.page import report_page
from heaplab.report.tables.aspect_answer import aspect_answer, by_aspect, lead, rests_on
from heaplab.report.terminal import summary_text
from heaplab.report.words.advice import answer
from heaplab.results import spec
from heaplab.results.records import Status
from heaplab.stats import Interval, Judged, Verdict

EFFECTS = {"swift": (0.5, 1.3), "slow": (1.5, 1.0), "twin": (1.0, 1.0)}
NAMES = ["glibc", *EFFECTS]


LOCAL, REMOTE, MEMORY = aspect("local"), aspect("remote"), aspect("memory", measure="memory")


def analysis_of(path: Path, aspects: Mapping[int, spec.Aspect], **how: object) -> Analysis:
    given = {"noise": 0.002, "drift": 0.0, "effect": EFFECTS} | how
    return synthetic.analysis_of(synthetic.campaign(NAMES, experiments_of(aspects), **given), path)


def judged(ratio: float, verdict: Verdict) -> Judged:
    return Judged(Interval(ratio, ratio - 0.05, ratio + 0.05, 20), verdict)


def summary(about: spec.Aspect, **ratios: tuple[float, Verdict]) -> AspectSummary:
    found = {name: judged(*ratio) for name, ratio in ratios.items()}
    return AspectSummary(about, found, Interval(1, 1, 1), 2, 0.5)


def test_an_aspect_is_the_mean_over_its_own_cells(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, {0: LOCAL, 1: REMOTE, 2: LOCAL})
    local, remote = aspect_summaries(analysis)
    first, rate, last = analysis.between_allocators
    groups = [s.cell_pairs("glibc", "swift", s.main_metric) for s in (first, last)]
    assert local.judged["swift"].ratio == stats.geometric_mean(groups)
    assert (local.cells, local.largest_weight) == (24, 0.5 / 4)
    assert rests_on(local) == "24 cells, none of more than 12 % of the weight"
    assert remote.judged["swift"].verdict is Verdict.LOWER  # of a rate too, lower is better
    assert remote.judged["swift"].ratio == stats.geometric_mean(
        [rate.cell_pairs("glibc", "swift", "throughput")]
    )


def test_the_aspect_of_memory_rests_on_memory(tmp_path: Path) -> None:
    local, memory = aspect_summaries(analysis_of(tmp_path, {0: LOCAL, 2: MEMORY}))
    assert local.judged["swift"].verdict is Verdict.LOWER
    assert memory.judged["swift"].ratio.estimate == pytest.approx(1.3, rel=0.01)


def test_one_aspect_is_no_answer_by_aspect(tmp_path: Path) -> None:
    assert aspect_summaries(analysis_of(tmp_path, {0: LOCAL, 2: LOCAL})) == []


def test_programs_are_an_aspect_too(tmp_path: Path) -> None:
    found = aspect_summaries(analysis_of(tmp_path, {0: LOCAL, 3: aspect("programs")}))
    assert [aspect.about.id for aspect in found] == ["local", "programs"]


def test_the_baseline_alone_has_no_answer(tmp_path: Path) -> None:
    records = synthetic.campaign(["glibc"], experiments_of({0: LOCAL, 1: REMOTE}))
    assert aspect_summaries(synthetic.analysis_of(records, tmp_path)) == []


def test_a_noisy_control_raises_the_threshold_of_its_aspect(tmp_path: Path) -> None:
    def effect(name: str, cell: Mapping[str, object]) -> tuple[float, float]:
        return (0.9 if name == "glibc#again" and len(cell) == 1 else EFFECTS.get(name, (1.0, 1.0))[0]), 1.0

    quiet, noisy = aspect_summaries(analysis_of(tmp_path, {2: LOCAL, 0: REMOTE}, effect=effect))
    assert quiet.judged["swift"].threshold == stats.THRESHOLD
    assert noisy.judged["swift"].threshold == 1 / noisy.control.low - 1 > 1 / 0.9 - 1


def test_the_metric_of_an_aspect_is_its_measure(tmp_path: Path) -> None:
    timed = analysis_of(tmp_path, {0: LOCAL, 1: REMOTE}).between_allocators[0]
    of_memory = Study(
        timed.experiment.model_copy(update={"main_metric": "peak_memory"}),
        timed.workload,
        "quick",
        timed.candidates,
        [],
    )
    assert not of_memory.is_timed
    assert (metric_of(timed, "time"), metric_of(timed, "memory")) == ("allocation_time", "footprint")
    assert (metric_of(of_memory, "time"), metric_of(of_memory, "memory")) == ("", "peak_memory")


def test_all_aspects_are_one_family(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def family(ratios: list[Interval], _controls: object) -> list[Judged]:
        sizes.append(len(ratios))
        return [Judged(ratio, Verdict.UNDECIDED) for ratio in ratios]

    analysis = analysis_of(tmp_path, {0: LOCAL, 1: REMOTE})
    monkeypatch.setattr(stats, "judge_family", family)
    aspect_summaries(analysis)
    assert sizes == [2 * len(EFFECTS)]


def test_each_ratio_of_a_family_has_its_own_control() -> None:
    ratio, quiet, noisy = (Interval(center, center - 0.02, center + 0.02, 20) for center in (0.8, 1.0, 1.4))
    found = stats.judge_family([ratio, ratio], [quiet, noisy])
    assert [aspect.verdict for aspect in found] == [Verdict.LOWER, Verdict.UNDECIDED]
    assert [aspect.control for aspect in found] == [quiet, noisy]


def test_an_allocator_that_fails_in_a_cell_has_no_mean(tmp_path: Path) -> None:
    changed = synthetic.with_runs(
        synthetic.campaign(NAMES, experiments_of({0: LOCAL, 1: REMOTE})),
        lambda run: (run.allocator, run.cell) == ("swift", {"threads": 8}),
        **synthetic.no_figure(Status.FAILED, "killed"),
    )
    local, remote = aspect_summaries(synthetic.analysis_of(changed, tmp_path))
    assert not local.judged["swift"].ratio.count
    assert local.judged["swift"].verdict is Verdict.UNDECIDED
    assert local.judged["twin"].ratio.count
    assert remote.judged["swift"].ratio.count


LOWER, HIGHER, SAME, OPEN = Verdict.LOWER, Verdict.HIGHER, Verdict.SAME, Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("summaries", "said"),
    [
        (
            [
                summary(LOCAL, a=(0.7, LOWER), b=(0.55, LOWER)),
                summary(REMOTE, a=(0.9, OPEN), b=(1.4, HIGHER)),
            ],
            "b is faster where it is local (0.50 to 0.60); glibc is faster than b where it is remote.",
        ),
        (
            [summary(LOCAL, a=(0.55, LOWER)), summary(MEMORY, a=(0.55, LOWER)), summary(REMOTE, a=(1, SAME))],
            "a is faster where it is local (0.50 to 0.60); a is leaner where it is memory (0.50 to 0.60); "
            "no difference is shown where it is remote.",
        ),
        (
            [
                summary(LOCAL, a=(1.5, HIGHER), b=(1.4, HIGHER)),
                summary(REMOTE, **dict.fromkeys("abcd", (1.4, HIGHER)), e=(0.9, OPEN)),
            ],
            "glibc is faster where it is local; glibc is faster than 4 of 5 others where it is remote.",
        ),
        ([summary(LOCAL, a=(1, OPEN)), summary(REMOTE, a=(1, OPEN))], "Undecided: local and remote."),
    ],
)
def test_the_advice_names_who_is_better_where(summaries: list[AspectSummary], said: str) -> None:
    assert by_aspect("glibc", summaries) == said


def test_no_mean_over_several_aspects_is_shown(tmp_path: Path) -> None:
    aspects = {0: LOCAL, 1: REMOTE, 3: aspect("programs"), 4: aspect("programs")}
    text = shown(analysis_of(tmp_path, aspects), 80)
    assert "Synthetic workloads" not in text
    assert "Real programs" in text
    assert "Synthetic workloads" in shown(analysis_of(tmp_path, {0: LOCAL, 2: LOCAL}), 80)


@pytest.mark.slow
def test_json_holds_a_mean_only_of_cells_of_one_aspect(tmp_path: Path) -> None:
    mixed = json_summary.as_plain(
        analysis_of(tmp_path / "mixed", {0: LOCAL, 1: REMOTE, 3: aspect("programs")})
    )
    assert list(mixed["summaries"]) == ["program"]
    alone = json_summary.as_plain(analysis_of(tmp_path / "alone", {0: LOCAL, 2: LOCAL}))
    assert (alone["advice"], alone["aspects"], list(alone["summaries"])) == (None, {}, ["synthetic"])


def shown(analysis: Analysis, width: int) -> str:
    console = Console(width=width, color_system=None, highlight=False)
    with console.capture() as capture:
        summary_text.print_summary(analysis, console)
    return capture.get()


REAL = LOCAL.model_copy(update={"id": "programs", "where": "real programs run"})


@pytest.mark.parametrize(
    ("summaries", "said"),
    [
        (
            [summary(REAL, a=(0.81, LOWER)), summary(MEMORY, a=(1.0, SAME))],
            "Use a for real programs: 19 % less time, the same memory.",
        ),
        (
            [
                summary(REAL, a=(0.7, LOWER), b=(0.8, LOWER), c=(0.82, LOWER)),
                summary(MEMORY, a=(1.4, HIGHER), b=(1.0, SAME), c=(1.0, OPEN)),
            ],
            "Use b for real programs: 20 % less time, the same memory. 2 others cannot be told apart from it "
            "in time.",
        ),
        (
            [summary(REAL, a=(0.7, LOWER)), summary(MEMORY, a=(1.4, HIGHER))],
            "Use a for real programs only where memory is not short: 30 % less time, 40 % more memory.",
        ),
        (
            [summary(REAL, a=(1.0, SAME)), summary(LOCAL, a=(0.7, LOWER))],
            "Stay with glibc for real programs: nothing is shown to be faster there; other kinds of work "
            "have other answers, in the table.",
        ),
        (
            [summary(REAL, a=(1.0, OPEN)), summary(LOCAL, a=(1.0, SAME))],
            "Stay with glibc for real programs for now: a undecided.",
        ),
        (
            [summary(LOCAL, a=(0.7, LOWER)), summary(REMOTE, a=(1.4, HIGHER))],
            "It depends on what the program does: who is better in one aspect is worse in another.",
        ),
        (
            [summary(LOCAL, a=(1.0, SAME)), summary(REMOTE, a=(1.4, HIGHER))],
            "Stay with glibc: nothing is shown to be better.",
        ),
        (
            [summary(LOCAL, a=(0.5, OPEN)), summary(REMOTE, a=(1.4, HIGHER))],
            "Stay with glibc for now: nothing is shown to be better yet.",
        ),
    ],
)
def test_the_answer_begins_with_what_to_do(summaries: list[AspectSummary], said: str) -> None:
    assert lead("glibc", summaries) == said


def test_seven_allocators_fit_in_eighty_columns(tmp_path: Path) -> None:
    names = ["glibc", "jemalloc", "llheap", "mimalloc", "scalloc", "tbbmalloc", "tcmalloc"]
    records = synthetic.campaign(names, experiments_of({0: LOCAL, 1: REMOTE}))
    analysis = synthetic.analysis_of(records, tmp_path)
    text = shown(analysis, 80)
    heading, local, *_ = [
        line for line in text.splitlines() if line.startswith(("aspect", "local", "remote"))
    ]
    assert heading.split() == ["aspect", *names[1:]]
    assert sum(map(local.count, "▼▲?=")) == 6
    commands = ("heaplab compare", "To decide")
    assert all(len(line) <= 80 for line in text.splitlines() if not line.strip().startswith(commands))
    assert "How is local?" in text
    narrow = shown(analysis, 50)
    assert all(name in narrow for name in names)


@pytest.mark.slow
def test_json_and_page_answer_by_aspect(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, {0: LOCAL, 1: REMOTE})
    whole = json.loads(json.dumps(json_summary.as_plain(analysis)))
    assert whole["advice"] == "Use swift: better in 2 of 2 aspects, shown to be worse in none."
    assert whole["where"].startswith("swift is faster where it is local")
    assert whole["summaries"] == {}
    plain = whole["aspects"]
    assert list(plain) == ["local", "remote"]
    assert plain["local"]["question"] == "How is local?"
    assert plain["local"]["allocators"]["swift"]["verdict"] == "faster"
    page = report_page.render([analysis], tmp_path / "report.html")
    assert page.count("Use swift: better") == 1
    assert whole["where"] not in page  # the table shows that
    assert "<tr><th>Remote<small>How is remote? (" in page
    assert "4 cells of equal weight" in page
    verdicts = sum(len(of["allocators"]) for of in plain.values())
    assert f"The {verdicts} verdicts are held to 5 % error together" in page


def test_real_programs_are_advised_by_their_own_time_and_memory(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, {0: LOCAL, 3: aspect("programs")})
    found = aspect_answer(analysis)
    own = answer(analysis, "program", analysis.summaries("program")).advice
    assert found.advice == f"For real programs, {own[0].lower()}{own[1:]}"
    assert json_summary.as_plain(analysis)["advice"] == found.advice
    page = report_page.render([analysis], tmp_path / "report.html")
    for text in (shown(analysis, 1000), page):
        assert text.count(own[1:]) == 1
