"""Results as rows of plain values, for tables outside heaplab: one row for each cell or each run.

Every row names its unit. An unknown value is None: a figure that no run gave, or a bound for which there were
too few blocks. CELL_COLUMNS and RUN_COLUMNS describe the columns.
"""

from collections.abc import Iterator
from typing import Any

from heaplab.analysis.metrics import LATENCY_METRICS, PROCESS_METRICS, value_of
from heaplab.analysis.study import MeasuredCell, Study
from heaplab.analysis.whole_analysis import Analysis
from heaplab.stats import LEVEL, finite

Row = dict[str, Any]

WHERE = {
    "campaign": "id of the campaign, by what was measured and how",
    "experiment": "id of the experiment",
    "cell": "the swept parameters by name; none of a program of the user's",
}
CELL_COLUMNS: dict[str, str] = WHERE | {
    "under": "the allocator, where values of a parameter are compared; else empty",
    "candidate": "what was compared: an allocator, an arm or a value of the compared parameter",
    "reference": "what it was compared with",
    "control": "whether this is the reference once more, which shows the noise",
    "metric": "name of the metric",
    "unit": "s seconds, B bytes, 1/s a rate, 1 a plain count",
    "better": "lower, higher or neither",
    "median": "of the runs, in the unit",
    "runs": "that gave a value",
    "ratio": "how many times the reference it is, from the pairs of all blocks",
    "low": f"lower bound of the ratio's {LEVEL} interval",
    "high": "upper bound",
    "pairs": "blocks that the ratio rests on",
    "verdict": "lower, higher, same or undecided; in a family over all cells of the experiment",
    "threshold": "share that a difference must exceed for lower or higher",
    "why": "why there is no verdict, if undecided",
}
RUN_COLUMNS: dict[str, str] = WHERE | {
    "allocator": "name of the arm; with #again the baseline once more",
    "block": "runs of the same experiment, cell and block are paired",
    "order": "position in the campaign",
    "attempt": "1 if repeated because of foreign load",
    "status": "ok, or why there is no value: void, failed, timeout, skipped",
    "reason": "one line, unless ok",
    "metric": "name of the metric; empty without a value",
    "unit": "s seconds, B bytes, 1/s a rate, 1 a plain count",
    "value": "in the unit",
}


def cell_rows(analysis: Analysis) -> Iterator[Row]:
    """Every metric of every candidate in every cell that was run, with interval and verdict."""
    for study in [*analysis.studies, *analysis.across]:
        for metric in metrics_of_study(study):
            for cell in study.cells_run:
                for candidate in (*study.candidates, study.control):
                    yield cell_row(analysis, study, cell, candidate, metric)


def cell_row(analysis: Analysis, study: Study, cell: MeasuredCell, candidate: str, metric: str) -> Row:
    about, median = study.metric(metric), study.median(cell, candidate, metric)
    row: Row = {
        "campaign": analysis.campaign.id,
        "experiment": study.experiment.id,
        "cell": dict(cell),
        "under": study.under,
        "candidate": candidate,
        "reference": study.baseline,
        "control": candidate == study.control,
        "metric": metric,
        "unit": about.unit,
        "better": about.better,
        "median": finite(median.estimate),
        "runs": median.count,
    }
    if candidate == study.baseline:
        return row | dict.fromkeys(("ratio", "low", "high", "pairs", "verdict", "threshold", "why"))
    ratio = study.ratio(cell, candidate, metric)
    judged = study.judged(metric).get((cell, candidate))
    return row | {
        "ratio": finite(ratio.estimate),
        "low": ratio.low if ratio.bounded else None,
        "high": ratio.high if ratio.bounded else None,
        "pairs": ratio.count,
        "verdict": str(judged.verdict) if judged else None,
        "threshold": finite(judged.threshold) if judged else None,
        "why": str(judged.why) if judged and judged.why else None,
    }


def metrics_of_study(study: Study) -> list[str]:
    """All metrics that any run has, the main metric first."""
    names = dict.fromkeys([study.main_metric, *study.workload.metrics, *PROCESS_METRICS, *LATENCY_METRICS])
    return [name for name in names if any(study.shows(cell, name) for cell in study.cells_run)]


def run_rows(analysis: Analysis) -> Iterator[Row]:
    """Every metric of every run. A run without a figure has one row, with its reason."""
    metrics = {study.experiment.id: (study, metrics_of_study(study)) for study in analysis.studies}
    for run in analysis.results.runs:
        study, names = metrics[run.experiment]
        row = {
            "campaign": analysis.campaign.id,
            "experiment": run.experiment,
            "cell": run.cell,
            "allocator": run.allocator,
            "block": run.block,
            "order": run.order,
            "attempt": run.attempt,
            "status": str(run.status),
            "reason": run.reason,
        }
        values = {name: value_of(run, name, study.workload.metrics) for name in names}
        known = {name: value for name, value in values.items() if value is not None}
        if not known or run.status != "ok":
            yield row | {"metric": "", "unit": "", "value": None}
            continue
        for name, value in known.items():
            yield row | {"metric": name, "unit": study.metric(name).unit, "value": value}
