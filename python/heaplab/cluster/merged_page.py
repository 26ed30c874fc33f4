"""Merged results as one self-contained HTML file, and for other programs."""

import shlex
from pathlib import Path
from typing import Any

from heaplab.cluster import merged_figures, merged_sentences, merged_tables
from heaplab.cluster.host_ratios import RatioOf
from heaplab.cluster.merging import Merged
from heaplab.files.output import write_text
from heaplab.report.page import html_file
from heaplab.stats import HostRatios, Interval, finite
from heaplab.text import units

FILE_NAME = "report.html"
METHOD = (
    "Ratios are to the baseline of the same host, in the same block: no comparison crosses machines. The "
    "hosts of a kind of machine are a sample of it (random effects: Paule and Mandel's variance between "
    "hosts, the interval of Hartung, Knapp, Sidik and Jonkman). Where hosts were shown to differ in "
    "direction there is no mean."
)


def write(merged: Merged, path: Path) -> None:
    """Raises HeaplabError if the file cannot be written."""
    page = {
        "title": "One experiment on many machines",
        "about": about(merged),
        "answers": merged_sentences.answers(merged),
        "warnings": merged_sentences.warnings(merged),
        "command": shlex.join(merged.plan.file.command),
        "over": merged_tables.over_hosts_tables(merged),
        "drawings": merged_figures.drawings(merged),
        "agreements": merged_sentences.agreements(merged),
        "scaling": merged_figures.scaling(merged),
        "cells": merged_tables.cell_tables(merged),
        "hosts": merged_tables.hosts_table(merged),
        "method": METHOD,
    }
    write_text(path, html_file.rendered("merged.html.j2", {}, p=page))


def about(merged: Merged) -> str:
    hosts, runs = units.counted(len(merged.hosts), "host"), f"{merged.runs:,} runs"
    done = len(merged.plan.shards) - len(merged.missing) - len(merged.begun)
    return f"{hosts}, {runs}, {done} of {len(merged.plan.shards)} shards complete; plan {merged.plan.hash}"


def as_plain(merged: Merged) -> dict[str, Any]:
    return {
        "plan": merged.plan.hash,
        "baseline": merged.baseline,
        "shards": {"missing": merged.missing, "begun": merged.begun, "all": len(merged.plan.shards)},
        "runs": merged.runs,
        "warnings": merged_sentences.warnings(merged),
        "hosts": [
            {
                "node": host.node,
                "machine": host.machine,
                "shards": list(host.shards),
                "runs": host.runs,
                "disturbed": host.disturbed,
                "without_figure": host.without_figure,
                "facts": dict(host.facts),
            }
            for host in merged.hosts
        ],
        "ratios": rows(merged.ratios),
        "scaling": rows(merged.scaling),
    }


def rows(groups: dict[str, dict[RatioOf, HostRatios]]) -> list[dict[str, Any]]:
    return [
        {"machine": group or "all", **about._asdict(), "cell": dict(about.cell), **plain(ratios)}
        for group, by_arm in groups.items()
        for about, ratios in by_arm.items()
    ]


def plain(ratios: HostRatios) -> dict[str, Any]:
    return {
        "hosts": ratios.mean.count,
        "ratio": interval(ratios.mean),
        "one_more_host": interval(ratios.predicted),
        "tau": finite(ratios.tau),
        "i_squared": finite(ratios.heterogeneity),
        "lower_on": ratios.lower,
        "higher_on": ratios.higher,
        "hosts_differ": ratios.disagree,
    }


def interval(mean: Interval) -> list[float | None]:
    """Estimate, low and high; null where there is none."""
    bounds = (mean.low, mean.high) if mean.bounded else (None, None)
    return [finite(mean.estimate), *bounds]
