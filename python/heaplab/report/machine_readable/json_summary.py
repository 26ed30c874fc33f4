"""The summary of a campaign as plain data, for --json."""

from typing import Any

from heaplab.analysis import (
    MEMORY_ONLY,
    TIME_ONLY,
    Analysis,
    AspectSummary,
    Judged,
    Summary,
    aspect_summaries,
    cell_rows,
    effects,
    worst_cells,
)
from heaplab.report.tables.aspect_answer import METRICS, by_aspect, headline, kinds_with_mean
from heaplab.report.tables.interaction import means
from heaplab.report.words import wording
from heaplab.report.words.advice import answer
from heaplab.report.words.causes import Cause, causes, sentences
from heaplab.results import spec
from heaplab.stats import Interval, Why, finite


def as_plain(analysis: Analysis) -> dict[str, Any]:
    """The summary in types that JSON has; an unknown value is null.

    `aspects` and `advice` are the answer by aspect, {} and null without one. `summaries` are means over all
    cells of a kind of workload, for the kinds that have one.
    """
    summaries = aspect_summaries(analysis)
    return {
        "schema": 1,
        "campaign": analysis.campaign.id,
        "baseline": analysis.baseline,
        "runs": {str(status): count for status, count in analysis.counts().items()},
        "advice": headline(analysis, summaries) if summaries else None,
        "where": by_aspect(analysis.baseline, summaries) if summaries else None,
        "aspects": {summary.about.id: _aspect(summary) for summary in summaries},
        "summaries": {kind: _summary(analysis, kind) for kind in kinds_with_mean(analysis, summaries)},
        "cells": list(cell_rows(analysis)),
        "comparisons": [
            {
                "experiment": study.experiment.id,
                "under": study.under,
                "reference": study.baseline,
                study.axis: {name: plain_judged(j, wording.TIME) for name, j in means(study).items()},
            }
            for study in analysis.comparisons
        ],
    }


def _aspect(summary: AspectSummary) -> dict[str, Any]:
    metric = METRICS[summary.about.measure]
    return {
        "question": summary.about.question,
        "measure": summary.about.measure,
        "cells": summary.cells,
        "largest_weight": summary.largest_weight,
        "control": plain(summary.control),
        "allocators": {name: plain_judged(judged, metric) for name, judged in summary.judged.items()},
    }


def _summary(analysis: Analysis, kind: str) -> dict[str, Any]:
    summaries, known = analysis.summaries(kind), causes(analysis, kind)
    answered = answer(analysis, kind, summaries)
    return {
        "advice": answered.advice,
        "use": answered.use,
        "causes": sentences(analysis, kind, summaries),
        "noise_floor": {
            "time": plain(analysis.control(kind, TIME_ONLY)),
            "memory": plain(analysis.control(kind, MEMORY_ONLY)),
        },
        "effects": [
            {
                "settings": dict(zip(time.settings, time.high, strict=True)),
                "time": plain_judged(time.judged, wording.TIME),
                "memory": plain_judged(memory.judged, wording.MEMORY),
            }
            for time, memory in zip(
                effects(analysis, kind, TIME_ONLY), effects(analysis, kind, MEMORY_ONLY), strict=True
            )
        ],
        "allocators": {summary.allocator: _allocator(summary, known) for summary in summaries},
        "worst": {
            name: {
                "ratio": cell.ratio,
                "experiment": cell.experiment,
                "cell": dict(cell.cell),
                "best": cell.best,
            }
            for name, cell in worst_cells(analysis, kind).items()
        },
    }


def _allocator(summary: Summary, known: list[Cause]) -> dict[str, Any]:
    judgements = {cause.metric: cause.judged.get(summary.allocator) for cause in known}
    return {
        "time": plain_judged(summary.time, wording.TIME),
        "memory": plain_judged(summary.memory, wording.MEMORY),
        **{metric: plain_judged(judged, wording.COUNT) for metric, judged in judgements.items() if judged},
        "cells": summary.cells,
        "cells_of": summary.cells_of,
    }


def plain(interval: Interval) -> dict[str, float | int | None]:
    low = interval.low if interval.bounded else None
    return {
        "ratio": finite(interval.estimate),
        "low": low,
        "high": finite(interval.high),
        "pairs": interval.count,
    }


def plain_judged(judged: Judged, metric: spec.MetricSpec) -> dict[str, Any]:
    figures = {
        **plain(judged.ratio),
        "verdict": None,
        "threshold": finite(judged.threshold),
        "why": wording.why(judged),
    }
    return figures if judged.why is Why.NO_FIGURE else figures | {"verdict": wording.verdict(judged, metric)}
