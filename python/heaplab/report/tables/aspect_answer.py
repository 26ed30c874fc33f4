"""The answer by aspect: what to do in one sentence, and the table of aspects and allocators."""

from dataclasses import dataclass
from math import isclose, isfinite

from heaplab.analysis import Analysis, AspectSummary, aspect_summaries, mixes_aspects
from heaplab.report.tables.ratio_entry import ratio_entry
from heaplab.report.tables.table_parts import Table
from heaplab.report.words import wording
from heaplab.report.words.advice import Answer, answer
from heaplab.report.words.next_steps import Step, next_steps
from heaplab.stats import FAMILY_ERROR_TEXT, LEVEL, Verdict, noise_floor
from heaplab.text import units

METRICS = {"time": wording.TIME, "memory": wording.MEMORY}
BETTER = {"time": "faster", "memory": "leaner"}
NAMED = 3  # largest number of allocators that a sentence names; of more it gives the number
PROGRAMS = "programs"  # id of the aspect of real programs
PROGRAM = "program"  # their kind of workload


@dataclass(frozen=True)
class AspectAnswer:
    advice: str
    of: str  # the kind of workload whose own advice this is; "" if it weighs aspects
    sure: str
    steps: list[Step]
    summaries: list[AspectSummary]
    table: Table


def aspect_answer(analysis: Analysis) -> AspectAnswer | None:
    """None for a campaign that is about fewer than two aspects."""
    summaries = aspect_summaries(analysis)
    if not summaries:
        return None
    kind = next(kind for kind in wording.KINDS if analysis.summarised(kind))
    said = headline(analysis, summaries)
    answered = Answer(kind, said, [], [], [], undecided(summaries))
    studies = [study for kind in wording.KINDS for study in analysis.summarised(kind)]
    return AspectAnswer(
        said,
        PROGRAM if advises_programs(analysis, summaries) else "",
        f"{wording.extent(studies)} {noise(analysis.baseline, summaries)}",
        next_steps(analysis, kind, answered),
        summaries,
        table(analysis, summaries),
    )


def kinds_with_mean(analysis: Analysis, summaries: list[AspectSummary]) -> list[str]:
    """The kinds of workloads with a mean over all cells: those whose cells are not of several aspects."""
    return [
        kind
        for kind in wording.KINDS
        if analysis.summarised(kind) and not (summaries and mixes_aspects(analysis, kind))
    ]


def advises_programs(analysis: Analysis, summaries: list[AspectSummary]) -> bool:
    """Whether the headline is what is advised for real programs by their own time and memory."""
    return PROGRAM in kinds_with_mean(analysis, summaries)


def headline(analysis: Analysis, summaries: list[AspectSummary]) -> str:
    """The first sentence: about real programs where they have a mean of their own, else by aspect."""
    if not advises_programs(analysis, summaries):
        return lead(analysis.baseline, summaries)
    said = answer(analysis, PROGRAM, analysis.summaries(PROGRAM)).advice
    return f"For real programs, {wording.continued(said)}"


def lead(baseline: str, summaries: list[AspectSummary]) -> str:
    """What to do: which allocator for real programs or, where none was run, for most aspects."""
    real = next((s for s in summaries if s.about.id == PROGRAMS), None)
    memory = next((s for s in summaries if s.about.measure == "memory"), None)
    if real is None:
        return lead_by_most(baseline, summaries)
    faster = real.shown(Verdict.LOWER)
    if not faster:
        elsewhere = "; other kinds of work have other answers, in the table" if any_better(summaries) else ""
        if still_open := real.shown(Verdict.UNDECIDED):
            which = wording.listed(still_open) if len(still_open) <= NAMED else f"{len(still_open)} others"
            return f"Stay with {baseline} for real programs for now: {which} undecided{elsewhere}."
        return f"Stay with {baseline} for real programs: nothing is shown to be faster there{elsewhere}."
    cheap = [name for name in faster if memory is None or not is_dearer(memory, name)]
    pick = (cheap or faster)[0]
    ratio = real.judged[pick].ratio
    quicker = [candidate for candidate in faster if real.judged[candidate].ratio.high < ratio.low]
    alike = [candidate for candidate in faster if real.judged[candidate].ratio.low <= ratio.high]
    alike = [candidate for candidate in alike if candidate not in (pick, *quicker)]
    said = f"{wording.change(ratio, 'less time', 'more time')}{memory_of(memory, pick)}"
    others = units.counted(len(alike), "other")
    more = f" {others} cannot be told apart from it in time." if alike else ""
    if quicker:
        more += (
            f" Faster, with more memory, {'is' if len(quicker) == 1 else 'are'} {wording.listed(quicker)}."
        )
    if cheap:
        return f"Use {pick} for real programs: {said}.{more}"
    return f"Use {pick} for real programs only where memory is not short: {said}.{more}"


def lead_by_most(baseline: str, summaries: list[AspectSummary]) -> str:
    """The allocator that is better in most aspects and worse in none; else that it depends."""
    names = list(summaries[0].judged)
    wins = {name: sum(s.judged[name].verdict is Verdict.LOWER for s in summaries) for name in names}
    safe = [name for name in names if not any(is_dearer(s, name) for s in summaries)]
    best = max(safe, key=wins.__getitem__, default="")
    if best and wins[best]:
        return f"Use {best}: better in {wins[best]} of {len(summaries)} aspects, shown to be worse in none."
    if any_better(summaries):
        return "It depends on what the program does: who is better in one aspect is worse in another."
    if any(summary.shown(Verdict.UNDECIDED) for summary in summaries):
        return f"Stay with {baseline} for now: nothing is shown to be better yet."
    return f"Stay with {baseline}: nothing is shown to be better."


def any_better(summaries: list[AspectSummary]) -> bool:
    return any(summary.shown(Verdict.LOWER) for summary in summaries)


def is_dearer(summary: AspectSummary, name: str) -> bool:
    return summary.judged[name].verdict is Verdict.HIGHER


def memory_of(memory: AspectSummary | None, name: str) -> str:
    """ ", the same memory", ", 12 % more memory", ", memory undecided"."""
    if memory is None:
        return ""
    judged = memory.judged[name]
    plain = {Verdict.SAME: "the same memory", Verdict.UNDECIDED: "memory undecided"}
    return f", {plain.get(judged.verdict) or wording.change(judged.ratio, 'less memory', 'more memory')}"


def by_aspect(baseline: str, summaries: list[AspectSummary]) -> str:
    """Which allocator is better in which aspect, and by how much; then what is undecided.

    "mimalloc is faster where allocation is local (0.50 to 0.60)": the best of those shown to be better. The
    baseline is named where it is shown to be better than others and nothing is shown to be better than it.
    """
    better: dict[tuple[str, str], list[str]] = {}
    same: list[str] = []
    still_open: list[str] = []
    for summary in summaries:
        about, word = summary.about, BETTER[summary.about.measure]
        if first := summary.shown(Verdict.LOWER)[:1]:
            span = units.bounds(summary.judged[first[0]].ratio).replace("–", " to ")
            better.setdefault((first[0], word), []).append(f"{about.where} ({span})")
        elif beaten := summary.shown(Verdict.HIGHER):
            better.setdefault((baseline, word + than(beaten, len(summary.judged))), []).append(about.where)
        elif summary.shown(Verdict.SAME):
            same.append(about.where)
        else:
            still_open.append(about.title.lower())
    parts = [f"{name} is {word} where {wording.listed(where)}" for (name, word), where in better.items()]
    if same:
        parts.append(f"no difference is shown where {wording.listed(same)}")
    said = "; ".join(parts)
    if still_open:
        said += f"{'. ' if said else ''}Undecided: {wording.listed(still_open)}"
    return f"{said}."


def than(beaten: list[str], compared: int) -> str:
    """The allocators that the baseline beats, in words; empty if it beats all that are compared."""
    if len(beaten) == compared:
        return ""
    whom = wording.listed(beaten) if len(beaten) <= NAMED else f"{len(beaten)} of {compared} others"
    return f" than {whom}"


def legend(summaries: list[AspectSummary]) -> str:
    """The signs of the table, and why the interval beside a ratio does not suffice for a verdict."""
    verdicts = sum(len(summary.judged) for summary in summaries)
    return (
        "▼ faster, or less memory; ▲ slower, or more; = no difference above the threshold; ? undecided. The "
        f"{verdicts} verdicts are held to {FAMILY_ERROR_TEXT} error together, so that each needs "
        "more than its own interval."
    )


def undecided(summaries: list[AspectSummary]) -> list[str]:
    """The allocators with an aspect that more measuring may decide."""
    names = dict.fromkeys(name for summary in summaries for name in summary.shown(Verdict.UNDECIDED))
    return [name for name in names if any(isfinite(s.judged[name].ratio.estimate) for s in summaries)]


def noise(baseline: str, summaries: list[AspectSummary]) -> str:
    """By how much the baseline differs from itself, over the aspects."""
    floors = [noise_floor(s.control) for s in summaries if s.control.bounded]
    if not floors:
        return wording.NOISE_UNKNOWN
    low, high = wording.threshold(min(floors)), wording.threshold(max(floors))
    return f"{baseline} may differ from itself by {low} to {high}, by aspect."


def rests_on(summary: AspectSummary) -> str:
    """ "4 cells of equal weight": what a mean is made of."""
    cells = units.counted(summary.cells, "cell")
    if summary.cells == 1:
        return cells
    if isclose(summary.largest_weight * summary.cells, 1):
        return f"{cells} of equal weight"
    return f"{cells}, none of more than {summary.largest_weight * 100:.0f} % of the weight"


def table(analysis: Analysis, summaries: list[AspectSummary]) -> Table:
    """Aspects down, allocators across."""
    others = [name for name in analysis.allocators if name != analysis.baseline]
    caption = f"By aspect, relative to {analysis.baseline} (below 1 is better): means with {LEVEL} intervals"
    rows, missing = [], "no figure of some cell"
    for s in summaries:
        metric = METRICS[s.about.measure]
        entries = [ratio_entry(s.judged[name], metric, missing, colored=True) for name in others]
        rows.append((s.about.title, entries))
    asked = [f"{s.about.question} ({rests_on(s)})" for s in summaries]
    return Table(caption, others, rows, "aspect", remarks=asked, notes=[legend(summaries)])
