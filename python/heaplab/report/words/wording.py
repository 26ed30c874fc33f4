"""Verdicts as sentences. No sentence claims more than the intervals show."""

from collections.abc import Iterable, Sequence
from math import inf, isinf, isnan
from statistics import fmean

from heaplab.analysis import MEMORY as PEAK_WITH_TABLES, MEMORY_ONLY, TIME_ONLY, WALL, Analysis, Judged, Study
from heaplab.results import spec
from heaplab.results.records import SHORT_PROGRAM_S, Process, Run, Status, Timing, Trims
from heaplab.results.server_spec import MAIN_METRIC
from heaplab.stats import FEWEST_PAIRS, Interval, Verdict, Why, threshold_over
from heaplab.text import units

SYMBOLS = {Verdict.LOWER: "▼", Verdict.HIGHER: "▲", Verdict.SAME: "=", Verdict.UNDECIDED: "?"}
KINDS = {"program": "real programs", "synthetic": "synthetic workloads"}
CLOCKS = {"cpu_time": "CPU time", "wall_time": "wall time"}
TIME = spec.MetricSpec(title="time", unit="s")
UNSEEN_MEMORY = (
    "Memory is not compared: the program is too short for it to be seen. Give it more work, "
    f"{SHORT_PROGRAM_S * 1e3:g} ms or more."
)
SMALL_MEMORY = 4 << 20  # B: below, a library's own memory is a large part
NOISE_UNKNOWN = "Too few blocks to know the noise."
COUNT = spec.MetricSpec(title="count", unit="1")
MEMORY = spec.MetricSpec(title="peak memory with page tables", unit="B")


def verdict(judged: Judged, metric: spec.MetricSpec) -> str:
    """ "faster", "more memory", "no difference larger than 3 %", "undecided"."""
    if judged.verdict is Verdict.UNDECIDED:
        return "undecided"
    if judged.verdict is Verdict.SAME:
        return f"no difference larger than {threshold(judged.threshold)}"
    lower = judged.verdict is Verdict.LOWER
    if metric.unit == "s":
        return "faster" if lower else "slower"
    if metric.unit == "1/s" and metric.better == "higher":
        return "slower" if lower else "faster"
    if metric.unit == "B":
        return "less memory" if lower else "more memory"
    return "lower" if lower else "higher"


def why(judged: Judged) -> str:
    """What an undecided ratio lacks for a verdict, in a few words; "" for a decided ratio."""
    blocks = judged.ratio.count
    return {
        None: "",
        Why.NO_FIGURE: "no figure",
        Why.FEW_BLOCKS: f"{units.counted(blocks, 'block')}, {FEWEST_PAIRS} are needed",
        Why.FEW_IN_A_CELL: "too few blocks in a cell",
        Why.MANY_COMPARED: "many compared",
        Why.NOISE_FLOOR: f"noise floor {threshold(judged.threshold)} here",
        Why.NEAR_THRESHOLD: f"may be below {threshold(judged.threshold)}",
        Why.WIDE: "interval too wide",
    }[judged.why]


def verdict_with_reason(judged: Judged, metric: spec.MetricSpec) -> str:
    """ "faster", "undecided: many compared"; "no figure" where there is none."""
    if judged.why is Why.NO_FIGURE:
        return why(judged)
    return ": ".join(filter(None, (verdict(judged, metric), why(judged))))


def ratio(judged: Judged) -> str:
    """ "0.63× (0.58–0.92)", "0.63× (no interval)", "–"."""
    if judged.why is Why.NO_FIGURE:
        return units.NOTHING
    return f"{units.ratio(judged.ratio.estimate)} ({units.bounds(judged.ratio)})"


def ratio_with_reason(judged: Judged) -> str:
    """ "0.63× (0.58–0.92), many compared": what stands below a figure in a table."""
    return ", ".join(filter(None, (ratio(judged), why(judged))))


def few_blocks(judged: Iterable[Judged]) -> str:
    """A sentence that there are too few blocks for any verdict; "" if there are enough."""
    counts = [judgement.ratio.count for judgement in judged if judgement.why is Why.FEW_BLOCKS]
    if not counts:
        return ""
    return f"{units.counted(max(counts), 'block')} in all: {FEWEST_PAIRS} are needed for a verdict."


def short(judged: Judged, metric: spec.MetricSpec) -> str:
    """A verdict in one word, for a column of a terminal. Reasons of "undecided" stand below the table."""
    if judged.why is Why.NO_FIGURE:
        return ""
    if judged.verdict is Verdict.SAME:
        return "same"
    return verdict(judged, metric).removesuffix(" memory")


def threshold(share: float) -> str:
    """A threshold rounded up to the printed digits, so that the sentence stays true."""
    if isinf(share):
        return "unknown"
    tenths = -(-share * 1000 // 1) / 10
    return f"{tenths:g} %"


def tone(judged: Judged, metric: spec.MetricSpec) -> str:
    """ "good", "bad", "same" or "open": the class of a verdict in page and terminal."""
    if judged.verdict is Verdict.UNDECIDED:
        return "open"
    if judged.verdict is Verdict.SAME or metric.better == "neither":
        return "same"
    return "good" if (judged.verdict is Verdict.LOWER) == (metric.better == "lower") else "bad"


def listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def shortened(names: Sequence[str], most: int) -> str:
    """ "1.3, 1.2, 1.1 and 4 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def change(ratio: Interval, less: str, more: str) -> str:
    """0.69 -> "31 % less time"."""
    share = ratio.estimate - 1
    if share >= 1:
        return f"{units.ratio(ratio.estimate)} the {more.removeprefix('more ')}"
    return f"{abs(share) * 100:.0f} % {less if share < 0 else more}"


def change_between(ratio: Interval, less: str, more: str) -> str:
    """0.97 to 0.99 -> "1 to 3 % less time". Precondition: the interval does not hold 1."""
    nearest, farthest = (f"{share * 100:.0f}" for share in sorted((abs(ratio.low - 1), abs(ratio.high - 1))))
    between = f"up to {farthest}" if nearest == "0" else f"{nearest} to {farthest}"
    return f"{between} % {less if ratio.high < 1 else more}"


def extent(studies: list[Study], compared: str = "allocator") -> str:
    """The extent of the measurements. Explains cell and block, because readers meet them here first."""
    counts = [len(study.good.get((cell, study.baseline), {})) for study in studies for cell in study.cells]
    fewest, most = min(counts, default=0), max(counts, default=0)
    blocks = f"{fewest} to {most} blocks" if fewest < most else units.counted(most, "block")
    said = f"{blocks}{' in each' if len(counts) > 1 else ''} (a block runs every {compared} once)."
    if len(counts) < 2:
        return said
    experiments = units.counted(len(studies), "experiment")
    setting = "a cell is one setting of an experiment's parameters"
    return f"{experiments} with {units.counted(len(counts), 'cell')} ({setting}), {said}"


def notes_of_cards(analysis: Analysis, kind: str) -> list[str]:
    """The notes on the cards of the workloads, to be read beside an answer."""
    notes = (study.workload.card.note for study in analysis.summarised(kind))
    return list(dict.fromkeys(filter(None, notes)))


def noise(analysis: Analysis, kind: str) -> str:
    """The noise in a sentence, with its consequence for verdicts."""
    known = {
        name: control
        for name, metrics in {"time": TIME_ONLY, "memory": MEMORY_ONLY}.items()
        if not isnan((control := analysis.control(kind, metrics)).estimate)
    }
    if not known:
        return NOISE_UNKNOWN
    told = [
        f"{name} {units.ratio(judgement.estimate)} ({units.bounds(judgement)})"
        for name, judgement in known.items()
    ]
    said = f"{analysis.baseline} against itself: {', '.join(told)}"
    if not all(control.bounded for control in known.values()):
        return f"{said}: too few blocks to know the noise."
    limits = [f"{threshold(threshold_over(judgement))} in {name}" for name, judgement in known.items()]
    return f"{said}; differences below {listed(limits)} count as none."


def run_counts(analysis: Analysis) -> str:
    """ "1160 ok (2 of them disturbed by others), 7 void (7 of them repeated), 1167 in all"."""
    parts = {
        Status.OK: (analysis.disturbed, "disturbed by others"),
        Status.VOID: (analysis.repeated, "repeated"),
    }
    counts = analysis.counts()
    said = []
    for status in filter(counts.__getitem__, Status):
        part, which = parts.get(status, ([], ""))
        of_them = sum(run.status is status for run in part)
        said.append(f"{counts[status]} {status}" + (f" ({of_them} of them {which})" if of_them else ""))
    return ", ".join([*said, f"{counts.total()} in all"])


def how_timed(studies: Iterable[Study]) -> list[str]:
    """A sentence for each way of timing; if there are several, with the names of the experiments."""
    among: dict[str, list[str]] = {}
    for study in {study.experiment.id: study for study in studies}.values():
        if study.timing is None:
            continue
        if study.timing.slices:
            how = "Arms ran at the same time, in turns on the same CPUs"
        else:
            how = f"One arm ran after the other, because {study.timing.why_alone}"
        among.setdefault(f"{how}; {what_decides(study, study.timing)}.", []).append(study.experiment.id)
    if len(among) < 2:
        return list(among)
    return [f"{', '.join(names)}: {continued(text)}" for text, names in among.items()]


def continued(text: str) -> str:
    """The text for the middle of a sentence: with a small letter, unless an abbreviation begins it."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def trimmed(runs: Iterable[Run]) -> list[str]:
    """A sentence on each arm with `trim=`: how often it called malloc_trim, and what that cost."""
    by_arm: dict[str, list[tuple[Trims, Process]]] = {}
    for run in runs:
        if run.trims and run.process and run.status is Status.OK:
            by_arm.setdefault(run.allocator, []).append((run.trims, run.process))
    return [
        f"{name} called malloc_trim {units.counted(fmean(trims.calls for trims, _ in costs), 'time')} a run, "
        f"for {units.percent(sum(trims.cpu_time for trims, _ in costs) / cpu_time(costs))} of its CPU time; "
        f"the longest call took {units.show(max(trims.longest for trims, _ in costs), 's')}."
        for name, costs in by_arm.items()
    ]


def cpu_time(trims: Iterable[tuple[Trims, Process]]) -> float:
    return sum(process.user_time + process.system_time for _, process in trims) or inf


def what_decides(study: Study, timing: Timing) -> str:
    """What verdicts rest on: the main metric, or the clock that was chosen in its place, and why."""
    main = study.main_metric
    if (study.experiment.main_metric or study.workload.main_metric) != WALL:
        title = study.metric(main).title
        why = f": {timing.why_clock}" if main == MAIN_METRIC else ""
        return f"{continued(title)} decides{why}"
    own = " of its own turns" if timing.slices and main == WALL else ""
    return f"{CLOCKS[main]}{own} decides: {timing.why_clock}"


def small_memory(analysis: Analysis, kind: str) -> str:
    """A note on the memory of a user's program that needs hardly any; "" for all others."""
    peaks = [
        study.median(cell, study.baseline, PEAK_WITH_TABLES).estimate
        for study in analysis.summarised(kind)
        if study.workload.is_users
        for cell in study.cells
    ]
    if not peaks or not max(peaks) < SMALL_MEMORY:
        return ""
    return (
        f"Peak memory is {units.show(max(peaks), 'B')} under {analysis.baseline}: differences are mostly "
        "memory that each library needs once for itself. More work would show the memory of the program."
    )


def front(points: dict[str, tuple[float, float]]) -> list[str]:
    """The names on the Pareto front: no other name is better in both coordinates. Sorted by the first."""
    kept, lowest = [], float("inf")
    for name in sorted(points, key=lambda name: points[name]):
        if points[name][1] < lowest:
            kept.append(name)
            lowest = points[name][1]
    return kept
