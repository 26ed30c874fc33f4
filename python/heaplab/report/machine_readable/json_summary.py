"""The summary of a campaign as plain data, for --json."""

from math import isfinite
from typing import Any

from heaplab.analysis import (
    MEMORY_ONLY,
    TIME_ONLY,
    Analysis,
    AspectStanding,
    Judged,
    Standing,
    aspect_standings,
    cell_rows,
    effects,
    worst_cells,
)
from heaplab.catalog import spec
from heaplab.report.tables.aspect_answer import METRICS, by_aspect, kinds_with_mean, lead
from heaplab.report.tables.interaction import means
from heaplab.report.words import wording
from heaplab.report.words.advice import answer
from heaplab.report.words.causes import Cause, causes, sentences
from heaplab.stats import Interval, Why


def as_plain(analysis: Analysis) -> dict[str, Any]:
    """The summary in types that JSON has; an unknown value is null.

    `aspects` and `advice` are the answer by aspect, {} and null without one. `summaries` are means over all
    cells of a kind of workload, for the kinds that have one.
    """
    standings = aspect_standings(analysis)
    return {
        "schema": 1,
        "campaign": analysis.campaign.id,
        "baseline": analysis.baseline,
        "runs": {str(status): count for status, count in analysis.counts().items()},
        "advice": lead(analysis.baseline, standings) if standings else None,
        "where": by_aspect(analysis.baseline, standings) if standings else None,
        "aspects": {standing.about.id: _aspect(standing) for standing in standings},
        "summaries": {kind: _summary(analysis, kind) for kind in kinds_with_mean(analysis, standings)},
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


def _aspect(standing: AspectStanding) -> dict[str, Any]:
    metric = METRICS[standing.about.measure]
    return {
        "question": standing.about.question,
        "measure": standing.about.measure,
        "cells": standing.cells,
        "largest_weight": standing.largest_weight,
        "control": plain(standing.control),
        "allocators": {name: plain_judged(judged, metric) for name, judged in standing.judged.items()},
    }


def _summary(analysis: Analysis, kind: str) -> dict[str, Any]:
    standings, known = analysis.standings(kind), causes(analysis, kind)
    found = answer(analysis, kind, standings)
    return {
        "advice": found.advice,
        "use": found.use,
        "causes": sentences(analysis, kind, standings),
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
        "allocators": {standing.allocator: _standing(standing, known) for standing in standings},
        "worst": {
            name: {
                "ratio": it.ratio,
                "experiment": it.experiment,
                "cell": dict(it.cell),
                "best": it.best,
            }
            for name, it in worst_cells(analysis, kind).items()
        },
    }


def _standing(standing: Standing, known: list[Cause]) -> dict[str, Any]:
    found = {cause.metric: cause.judged.get(standing.allocator) for cause in known}
    return {
        "time": plain_judged(standing.time, wording.TIME),
        "memory": plain_judged(standing.memory, wording.MEMORY),
        **{metric: plain_judged(judged, wording.COUNT) for metric, judged in found.items() if judged},
        "cells": standing.cells,
        "cells_of": standing.cells_of,
    }


def plain(interval: Interval) -> dict[str, float | int | None]:
    numbers = {"ratio": interval.estimate, "low": interval.low, "high": interval.high}
    known = {name: value if isfinite(value) else None for name, value in numbers.items()}
    if not interval.bounded:
        known["low"] = None
    return {**known, "pairs": interval.count}


def plain_judged(judged: Judged, metric: spec.MetricSpec) -> dict[str, Any]:
    found = {
        **plain(judged.ratio),
        "verdict": None,
        "threshold": judged.threshold if isfinite(judged.threshold) else None,
        "why": wording.why(judged),
    }
    return found if judged.why is Why.NO_FIGURE else found | {"verdict": wording.verdict(judged, metric)}
