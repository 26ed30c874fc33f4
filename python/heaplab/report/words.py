"""Verdicts in words. Nothing is said here that the intervals do not carry."""

from dataclasses import dataclass
from math import isnan

from heaplab import spec
from heaplab.analysis import Analysis, Judged, Standing
from heaplab.report import units
from heaplab.stats import THRESHOLD, Interval, Verdict, judge

SYMBOLS = {Verdict.LOWER: "▼", Verdict.HIGHER: "▲", Verdict.SAME: "=", Verdict.UNDECIDED: "?"}
KINDS = {"program": "real programs", "synthetic": "synthetic workloads"}
TIME = spec.MetricSpec(title="time", unit="s")
MEMORY = spec.MetricSpec(title="peak memory", unit="B")


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


def threshold(share: float) -> str:
    """A threshold rounded up to what is printed, so that the sentence stays true."""
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


def change(ratio: Interval, less: str, more: str) -> str:
    """0.69 -> "31 % less time"."""
    share = ratio.estimate - 1
    if share >= 1:
        return f"{units.ratio(ratio.estimate)} the {more.removeprefix('more ')}"
    return f"{abs(share) * 100:.0f} % {less if share < 0 else more}"


@dataclass(frozen=True)
class Answer:
    """What the engineer who asked "which allocator here?" reads first, for one kind of workload."""

    kind: str
    sentences: list[str]
    front: list[str]


def answer(analysis: Analysis, kind: str, standings: list[Standing]) -> Answer:
    ranked = [s for s in standings if s.complete and not isnan(s.time.ratio.estimate)]
    left_out = [s.allocator for s in standings if s not in ranked]
    if not ranked:
        return Answer(kind, ["Nothing here was measured completely enough to name a winner."], [])
    times = {analysis.baseline: Interval(1, 1, 1)} | {s.allocator: s.time.ratio for s in ranked}
    memory = {analysis.baseline: Interval(1, 1, 1)} | {s.allocator: s.memory.ratio for s in ranked}
    sentences = [
        _leaders(analysis, kind, times, None, "fastest", ("less time", "more time")),
        _leaders(analysis, kind, memory, "peak_memory", "leanest", ("less memory", "more memory")),
    ]
    on_front = front({name: (times[name].estimate, memory[name].estimate) for name in times})
    if len(on_front) > 1:
        sentences.append(
            f"No other is both faster and leaner than {listed(on_front)}: the choice is among them."
        )
    if left_out:
        sentences.append(
            f"Not ranked, because some of its cells have no figure: {listed(left_out)}."
            if len(left_out) == 1
            else f"Not ranked, because some of their cells have no figure: {listed(left_out)}."
        )
    return Answer(kind, sentences, on_front)


def _leaders(
    analysis: Analysis,
    kind: str,
    ratios: dict[str, Interval],
    metric: str | None,
    title: str,
    words: tuple[str, str],
) -> str:
    best = min(ratios, key=lambda name: ratios[name].estimate)
    tied = [
        name
        for name in ratios
        if name != best
        and judge(analysis.relative(kind, name, metric, best), THRESHOLD) is not Verdict.HIGHER
    ]
    if not tied:
        if best == analysis.baseline:
            return f"{best} is the {title}."
        amount = change(ratios[best], *words)
        return f"{best} is the {title}: {amount} than {analysis.baseline} ({units.bounds(ratios[best])}×)."
    together = listed([best, *tied])
    others = [name for name in (best, *tied) if name != analysis.baseline]
    amounts = ", ".join(f"{name} {units.ratio(ratios[name].estimate)}" for name in others)
    return f"{together} are the {title} and not told apart by {threshold(THRESHOLD)} ({amounts})."


def noise(analysis: Analysis, kind: str) -> str:
    """The noise floor as a sentence."""
    time, memory = (analysis.noise_floor(kind, metric) for metric in (None, "peak_memory"))
    if isnan(time.estimate):
        return "There is no control: how much of this is noise is not known."
    return (
        f"{analysis.baseline} against itself: time {units.ratio(time.estimate)} ({units.bounds(time)}), "
        f"memory {units.ratio(memory.estimate)} ({units.bounds(memory)})."
    )


def front(points: dict[str, tuple[float, float]]) -> list[str]:
    """The names no other name beats in both coordinates, by the first."""
    kept, lowest = [], float("inf")
    for name in sorted(points, key=lambda name: points[name]):
        if points[name][1] < lowest:
            kept.append(name)
            lowest = points[name][1]
    return kept


def standing_line(standing: Standing, baseline: str) -> str:
    """The verdict line of one allocator."""
    time, memory = standing.time, standing.memory
    line = (
        f"{standing.allocator}: {verdict(time, TIME)} than {baseline}"
        if time.verdict in (Verdict.LOWER, Verdict.HIGHER)
        else f"{standing.allocator}: time {verdict(time, TIME)}"
    )
    line += f", {units.ratio(time.ratio.estimate)} its time ({units.bounds(time.ratio)})"
    line += f"; {units.ratio(memory.ratio.estimate)} its peak memory ({units.bounds(memory.ratio)})"
    return line if standing.complete else f"{line}; only {standing.cells} of {standing.cells_of} cells"
