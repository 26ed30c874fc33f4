"""The first screen: the fastest allocator, the leanest, the best trade-off here, and which one to use.

A leader stands alone only if every other allocator is shown to be worse; otherwise those not shown to be
worse stand beside it. This claim is about all comparisons together, so that no comparison needs a correction
for their number. Comparisons with the baseline use the verdicts of the table, so that the page does not
contradict itself.
"""

from dataclasses import dataclass, replace
from math import isfinite

from heaplab.analysis import BOTH, MEMORY_ONLY, TIME_ONLY, Analysis, Judged, Summary
from heaplab.report.words import beyond_malloc, wording
from heaplab.stats import THRESHOLD, Interval, Verdict, Why, judge, threshold_over
from heaplab.text import units

Metrics = tuple[str | None, ...]


@dataclass(frozen=True)
class Leader:
    """The best allocator by one measure, followed by those that cannot be told apart from it."""

    title: str
    names: list[str]
    text: str
    open: bool = False  # no allocator can be told apart from the best

    @property
    def who(self) -> str:
        if self.open:
            return "undecided"
        if len(self.names) > NAMED:
            return f"{len(self.names)} that cannot be told apart"
        return wording.listed(self.names)


@dataclass(frozen=True)
class Answer:
    """The first answer to "which allocator here?", for one kind of workload."""

    kind: str
    advice: str
    leaders: list[Leader]
    notes: list[str]
    use: list[str]  # recommended allocators, the first before others that do as well; empty if it depends
    open: list[str]  # allocators with undecided time or memory

    @property
    def told_apart(self) -> list[Leader]:
        """The leaders; empty if all are undecided, because the advice then says so."""
        return [] if all(leader.open for leader in self.leaders) else self.leaders


NAMED = 3  # largest number of allocators that a sentence names; of more it gives the number
NOTHING_RANKED = "Nothing here was measured completely enough to give advice."
ALONE = "There is nothing to compare with: name another allocator by --allocator."


def answer(analysis: Analysis, kind: str, summaries: list[Summary]) -> Answer:
    """The answer, with what malloc does not explain of the program's memory: of that it says nothing."""
    answered, pilot = measured_answer(analysis, kind, summaries), analysis.campaign.pilot
    if not pilot:
        return answered
    said = " ".join(filter(None, (beyond_malloc.not_sure(pilot.coverage), answered.advice)))
    return replace(answered, advice=said, notes=[*beyond_malloc.sentences(pilot.coverage), *answered.notes])


def measured_answer(analysis: Analysis, kind: str, summaries: list[Summary]) -> Answer:
    ranked = [s for s in summaries if s.complete and isfinite(s.cost.ratio.estimate)]
    left_out = [s.allocator for s in summaries if s not in ranked]
    notes = []
    if left_out:
        whose = "its" if len(left_out) == 1 else "their"
        notes.append(f"Not ranked, because some of {whose} cells have no figure: {wording.listed(left_out)}.")
    if not ranked:
        return Answer(kind, NOTHING_RANKED if summaries else ALONE, [], notes, [], [])
    undecided = [s.allocator for s in ranked if Verdict.UNDECIDED in (s.time.verdict, s.memory.verdict)]
    notes += [few] if (few := wording.few_blocks(s.time for s in ranked)) else []
    if not analysis.shows_memory(kind):
        return _on_time_alone(analysis, kind, ranked, notes)
    notes += [note] if (note := wording.small_memory(analysis, kind)) else []
    leanest = leader(analysis, kind, ranked, "Leanest", MEMORY_ONLY)
    if not analysis.is_timed(kind):
        said = "Nothing here tells times." + (
            "" if leanest.open else f" Leanest: {wording.listed(leanest.names)}."
        )
        return Answer(kind, said, [leanest], notes, [] if leanest.open else leanest.names, undecided)
    leaders = [
        leader(analysis, kind, ranked, "Fastest", TIME_ONLY),
        leanest,
        leader(analysis, kind, ranked, "Best trade-off", BOTH),
    ]
    said, use = advice(analysis.baseline, ranked, leaders), advised(analysis.baseline, ranked, leaders[-1])
    return Answer(kind, said, leaders, notes, use, undecided)


def ordered(summaries: list[Summary]) -> list[Summary]:
    """The summaries in the order of tables: the fastest first, allocators that failed in a cell last."""
    return sorted(summaries, key=lambda s: (not s.complete, s.time.ratio.estimate))


MEASURES: dict[Metrics, tuple[str, str]] = {
    TIME_ONLY: ("less time", "more time"),
    MEMORY_ONLY: ("less memory", "more memory"),
}
COLUMNS = {TIME_ONLY: "time", MEMORY_ONLY: "memory", BOTH: "cost"}  # attributes of Summary


def leader(analysis: Analysis, kind: str, ranked: list[Summary], title: str, metrics: Metrics) -> Leader:
    places = {s.allocator: s for s in ranked}
    judgements: dict[str, Judged] = {s.allocator: getattr(s, COLUMNS[metrics]) for s in ranked}
    ratios = {analysis.baseline: Interval(1, 1, 1)} | {
        name: judged.ratio for name, judged in judgements.items()
    }
    best, *others = sorted(ratios, key=lambda name: ratios[name].estimate)
    control = analysis.control(kind, metrics)

    def worse(name: str) -> bool:
        preferred, direction = (best, Verdict.LOWER) if name == analysis.baseline else (name, Verdict.HIGHER)
        if analysis.baseline in (name, best):
            return judgements[preferred].verdict is direction or (
                metrics == BOTH and _dominates(places[preferred], direction)
            )
        return judge(analysis.relative(kind, name, metrics, best), control) is Verdict.HIGHER

    tied = [name for name in others if not worse(name)]
    if len(tied) == len(others):
        return Leader(
            title, [best, *tied], f"no {analysis.compared} is told apart from the others", open=True
        )
    if tied:
        named = ", ".join(_place(name, ratios[name]) for name in (best, *tied))
        return Leader(
            title, [best, *tied], f"not told apart at {wording.threshold(threshold_over(control))}: {named}"
        )
    if best == analysis.baseline:
        return Leader(title, [best], "every other one is shown to be worse")
    if metrics == BOTH:
        mean = f"{units.ratio(ratios[best].estimate)} of {analysis.baseline} ({units.bounds(ratios[best])})"
        return Leader(title, [best], f"mean of time and memory {mean}")
    change = wording.change(ratios[best], *MEASURES[metrics])
    return Leader(title, [best], f"{change} than {analysis.baseline} ({units.bounds(ratios[best])}×)")


def _place(name: str, ratio: Interval) -> str:
    # the baseline itself has no interval
    interval = f" ({units.bounds(ratio)})" if ratio.low < ratio.high else ""
    return f"{name} {units.ratio(ratio.estimate)}{interval}"


def advice(baseline: str, ranked: list[Summary], leaders: list[Leader]) -> str:
    """The recommendation in a few sentences; "stay" unless a better trade-off is shown."""
    fastest, leanest, balanced = leaders
    if baseline in balanced.names:
        return _stay(baseline, ranked, balanced)
    places = {s.allocator: s for s in ranked}
    pick, *equals = advised(baseline, ranked, balanced)
    said = f"Use {pick}: {_effect(places[pick], baseline)}"
    if not _gains(places[pick]):
        said += f", and {wording.change(places[pick].cost.ratio, 'less', 'more')} of both together"
    said += "."
    for_time = [] if pick in fastest.names or fastest.open else fastest.names
    quicker = [s for s in _as_fast(ranked, places[pick]) if s.allocator not in for_time]
    slower_equals = [name for name in equals if places[name] not in quicker]
    if quicker:
        said += f" {_beside(quicker)}."
    if slower_equals:
        said += f" {wording.listed(slower_equals)} cannot be told apart from {pick}."
    if for_time:
        said += f" Where only time counts, use {wording.listed(for_time)}."
    if pick not in leanest.names and not leanest.open:
        said += f" Where memory is short, use {wording.listed(leanest.names)}."
    return said


def _as_fast(ranked: list[Summary], pick: Summary) -> list[Summary]:
    """The allocators whose time in the table is not above that of the recommended one, the fastest first."""
    as_fast = [s for s in ranked if s is not pick and s.time.ratio.estimate <= pick.time.ratio.estimate]
    return sorted(as_fast, key=lambda s: s.time.ratio.estimate)


def _beside(quicker: list[Summary]) -> str:
    """ "a (0.82× the time, 1.07× the memory) is as fast or faster"."""
    places = [
        f"{s.allocator} ({units.ratio(s.time.ratio.estimate)} the time, "
        f"{units.ratio(s.memory.ratio.estimate)} the memory)"
        for s in quicker
    ]
    if len(places) > NAMED:
        places[NAMED:] = [f"{len(places) - NAMED} more"]
    return f"{wording.listed(places)} {'is' if len(quicker) == 1 else 'are'} as fast or faster"


def _on_time_alone(analysis: Analysis, kind: str, ranked: list[Summary], notes: list[str]) -> Answer:
    """The answer for a program whose memory was not sampled."""
    fastest = leader(analysis, kind, ranked, "Fastest", TIME_ONLY)
    said, use = f"Stay with {analysis.baseline}: nothing is shown to be faster.", [analysis.baseline]
    if analysis.baseline not in fastest.names:
        tied = ", " if len(fastest.names) > 1 else ": "
        said, use = f"Where time counts, use {fastest.who}{tied}{fastest.text}.", fastest.names
    undecided = [s.allocator for s in ranked if s.time.verdict is Verdict.UNDECIDED]
    return Answer(kind, said, [fastest], [*notes, wording.UNSEEN_MEMORY], use, undecided)


def advised(baseline: str, ranked: list[Summary], balanced: Leader) -> list[str]:
    """The recommended allocators; empty if every gain has a price."""
    gaining = [s.allocator for s in ranked if _gains(s)]
    if baseline in balanced.names:
        return [] if gaining and balanced.names != [baseline] else [baseline]
    return [name for name in balanced.names if name in gaining] or balanced.names[:1]


def _dominates(summary: Summary, direction: Verdict) -> bool:
    """Whether time or memory has this verdict, and the other one has it too or shows no difference."""
    verdicts = {summary.time.verdict, summary.memory.verdict}
    return direction in verdicts and verdicts <= {direction, Verdict.SAME}


def _gains(summary: Summary) -> bool:
    return Verdict.LOWER in (summary.time.verdict, summary.memory.verdict)


def _may_gain(judged: Judged) -> bool:
    """Whether a ratio is undecided and its interval includes an improvement beyond the threshold."""
    return judged.verdict is Verdict.UNDECIDED and judged.ratio.low < 1 / (1 + THRESHOLD)


def _stay(baseline: str, ranked: list[Summary], balanced: Leader) -> str:
    gains = "; ".join(f"{s.allocator} has {_effect(s, baseline)}" for s in ranked if _gains(s))
    if balanced.names == [baseline]:
        said = f"Stay with {baseline}: every other one is shown to be a worse trade-off"
        return f"{said}, though {gains}." if gains else f"{said}."
    if gains:
        return f"Nothing is shown to be a better trade-off than {baseline}. It depends: {gains}."
    tied = [s for s in ranked if s.allocator in balanced.names]
    undecided = [s.allocator for s in tied if any(map(_may_gain, (s.time, s.memory, s.cost)))]
    if undecided:
        return (
            f"Stay with {baseline} for now: nothing is shown to be better, but {wording.listed(undecided)} "
            f"{'is' if len(undecided) == 1 else 'are'} undecided. Measuring longer may tell."
        )
    return f"Stay with {baseline}: nothing here is better in time or memory by more than the threshold."


def _effect(summary: Summary, baseline: str) -> str:
    """ "44 % less time and 31 % more peak memory than glibc"."""
    time, memory = _change("time", summary.time), _change("peak memory", summary.memory)
    return f"{time} and {memory}, compared with {baseline}"


def _change(what: str, judged: Judged) -> str:
    """ "44 % less time", "1 to 3 % less time" near the threshold, "time undecided (0.9-1.2x)"."""
    if judged.verdict is Verdict.SAME:
        return f"the same {what} to within {wording.threshold(judged.threshold)}"
    if judged.why is Why.NEAR_THRESHOLD:
        return wording.change_between(judged.ratio, f"less {what}", f"more {what}")
    if judged.verdict is Verdict.UNDECIDED:
        return f"{what} undecided ({units.bounds(judged.ratio)}{'×' if judged.ratio.bounded else ''})"
    return wording.change(judged.ratio, f"less {what}", f"more {what}")
