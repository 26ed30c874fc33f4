"""The answer by aspect: advice in one sentence, and the table of aspects and allocators."""

from dataclasses import dataclass
from math import isclose, isfinite

from heaplab.analysis import Analysis, AspectStanding, aspect_standings, mixes_aspects
from heaplab.report.tables.ratio_entry import ratio_entry
from heaplab.report.tables.table_parts import Table
from heaplab.report.words import units, wording
from heaplab.report.words.advice import Answer
from heaplab.report.words.next_steps import Step, next_steps
from heaplab.stats import Verdict

METRICS = {"time": wording.TIME, "memory": wording.MEMORY}
BETTER = {"time": "faster", "memory": "leaner"}
# Up to so many allocators are named, of more the number is said.
NAMED = 3


@dataclass(frozen=True)
class AspectAnswer:
    """What a campaign says about several aspects."""

    advice: str
    sure: str
    steps: list[Step]
    standings: list[AspectStanding]
    table: Table


def aspect_answer(analysis: Analysis) -> AspectAnswer | None:
    """None for a campaign that is about fewer than two aspects."""
    standings = aspect_standings(analysis)
    if not standings:
        return None
    kind = next(kind for kind in wording.KINDS if analysis.summarised(kind))
    said = advice(analysis.baseline, standings)
    found = Answer(kind, said, [], [], [], undecided(standings))
    studies = [study for kind in wording.KINDS for study in analysis.summarised(kind)]
    return AspectAnswer(
        said,
        f"{wording.extent(studies)} {noise(analysis.baseline, standings)}",
        next_steps(analysis, kind, found),
        standings,
        table(analysis, standings),
    )


def kinds_with_mean(analysis: Analysis, standings: list[AspectStanding]) -> list[str]:
    """The kinds of workloads with a mean over all cells: none whose cells an answer by aspect tells apart."""
    return [
        kind
        for kind in wording.KINDS
        if analysis.summarised(kind) and not (standings and mixes_aspects(analysis, kind))
    ]


def advice(baseline: str, standings: list[AspectStanding]) -> str:
    """Who is better where, and by how much; then what is undecided.

    "mimalloc is faster where allocation is local (0.50 to 0.60)": the best of those shown to be better. The
    baseline is named where it is shown to be better than others and nothing is shown to be better than it.
    """
    better: dict[tuple[str, str], list[str]] = {}
    same: list[str] = []
    still_open: list[str] = []
    for standing in standings:
        about, word = standing.about, BETTER[standing.about.measure]
        if first := standing.shown(Verdict.LOWER)[:1]:
            span = units.bounds(standing.judged[first[0]].ratio).replace("–", " to ")
            better.setdefault((first[0], word), []).append(f"{about.where} ({span})")
        elif beaten := standing.shown(Verdict.HIGHER):
            better.setdefault((baseline, word + than(beaten, len(standing.judged))), []).append(about.where)
        elif standing.shown(Verdict.SAME):
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
    """Than which of the compared allocators the baseline is better; empty: than all."""
    if len(beaten) == compared:
        return ""
    whom = wording.listed(beaten) if len(beaten) <= NAMED else f"{len(beaten)} of {compared} others"
    return f" than {whom}"


def legend(standings: list[AspectStanding]) -> str:
    """The signs of the table, and why a verdict there needs more than the interval that stands beside it."""
    verdicts = sum(len(standing.judged) for standing in standings)
    return (
        "▼ faster, or less memory; ▲ slower, or more; = no difference above the threshold; ? undecided. The "
        f"{verdicts} verdicts are held to 5 % error together, so that each needs more than its own interval."
    )


def undecided(standings: list[AspectStanding]) -> list[str]:
    """The allocators with an aspect that more measuring may decide."""
    names = dict.fromkeys(name for standing in standings for name in standing.shown(Verdict.UNDECIDED))
    return [name for name in names if any(isfinite(s.judged[name].ratio.estimate) for s in standings)]


def noise(baseline: str, standings: list[AspectStanding]) -> str:
    """What the baseline differs from itself by, over the aspects."""
    ratios = [s.control.estimate for s in standings if isfinite(s.control.estimate)]
    if not ratios:
        return "There is no control, so that the noise is not known."
    low, high = units.ratio(min(ratios)), units.ratio(max(ratios))
    return f"{baseline} against itself: {low} to {high}, by aspect."


def rests_on(standing: AspectStanding) -> str:
    """ "4 cells of equal weight": what a mean is made of."""
    cells = units.counted(standing.cells, "cell")
    if standing.cells == 1:
        return cells
    if isclose(standing.largest_weight * standing.cells, 1):
        return f"{cells} of equal weight"
    return f"{cells}, none of more than {standing.largest_weight * 100:.0f} % of the weight"


def table(analysis: Analysis, standings: list[AspectStanding]) -> Table:
    """Aspects down, allocators across."""
    others = [name for name in analysis.allocators if name != analysis.baseline]
    return Table(
        f"Relative to {analysis.baseline}, by aspect (below 1 is better): means with 95 % intervals",
        others,
        [
            (
                s.about.title,
                [
                    ratio_entry(
                        s.judged[name], METRICS[s.about.measure], "no figure of some cell", colored=True
                    )
                    for name in others
                ],
            )
            for s in standings
        ],
        "aspect",
        notes=[
            legend(standings),
            *(f"{s.about.title}: {s.about.question} ({rests_on(s)})" for s in standings),
        ],
    )
