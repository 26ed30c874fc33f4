"""Tables of situations: the best candidate of each, and every family over all of them."""

from heaplab.analysis import MEMORY
from heaplab.report.choices.situations import Family, StrategyAnswer
from heaplab.report.tables.heat_map import DIMENSIONS, span
from heaplab.report.tables.ratio_entry import judged_entry
from heaplab.report.tables.table_parts import Entry, Table, diverging
from heaplab.report.words import strategies
from heaplab.stats import Verdict, judge
from heaplab.text import units


def answer_table(answers: list[StrategyAnswer]) -> Table:
    known = any(set(DIMENSIONS) <= answer.situation.study.workload.metrics.keys() for answer in answers)
    dimensions = DIMENSIONS if known else {}
    columns = ["best", "not shown to be worse", "time", "peak memory", "worst", *dimensions.values()]
    rows = []
    for answer in answers:
        study, cells = answer.situation.study, answer.situation.cells
        spans = [
            span(study.median(cell, study.baseline, name).estimate for cell in cells) for name in dimensions
        ]
        rows.append((answer.situation.name, [*_answer(answer), *spans]))
    caption = "Times and peak memory with page tables relative to the reference, geometric means"
    return Table(caption, columns, rows, "situation")


def _answer(answer: StrategyAnswer) -> list[Entry]:
    study, ratio = answer.situation.study, answer.judged.ratio
    small = units.bounds(ratio) if answer.best != study.baseline else ""
    metric, (place, largest) = study.metric(study.main_metric), answer.largest_ratio
    return [
        Entry(strategies.title(answer.best), tone="left"),
        Entry(", ".join(answer.tied) or units.NOTHING, tone="left"),
        judged_entry(units.ratio(ratio.estimate), answer.judged, metric, small, diverging(ratio)),
        Entry(units.ratio(answer.memory.estimate), small=units.bounds(answer.memory)),
        Entry(units.ratio(largest.estimate), small=place),
    ]


def family_table(families: list[Family]) -> Table:
    """Every family over all situations: how often and by how much the family gains and loses."""
    columns = ["faster in", "slower in", "time, mean", "best", "worst", "peak memory, mean"]
    caption = (
        "Families of local allocators against the reference, over all situations they were measured in; "
        "peak memory counts page tables"
    )
    return Table(caption, columns, [(family.name, _family_row(family)) for family in families], "family")


def _family_row(family: Family) -> list[Entry]:
    verdicts = [judge(ratio, where.control) for where, ratio in family.ratios]
    ordered = sorted(family.ratios, key=lambda item: item[1].estimate)
    mean, memory = family.mean(), family.mean(MEMORY)
    return [
        Entry(f"{verdicts.count(Verdict.LOWER)} of {len(verdicts)}"),
        Entry(f"{verdicts.count(Verdict.HIGHER)} of {len(verdicts)}"),
        Entry(units.ratio(mean.estimate), small=units.bounds(mean), color=diverging(mean)),
        *(
            Entry(units.ratio(ratio.estimate), small=where.name, color=diverging(ratio))
            for where, ratio in (ordered[0], ordered[-1])
        ),
        Entry(units.ratio(memory.estimate), small=units.bounds(memory)),
    ]
