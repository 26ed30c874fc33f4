"""Merged results as one self-contained HTML file."""

import shlex
from pathlib import Path

from heaplab.cluster import merged_figures, merged_sentences, merged_tables
from heaplab.cluster.merging import Merged
from heaplab.report.page import html_file
from heaplab.report.words import units

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
    html_file.write(path, html_file.rendered("merged.html.j2", {}, p=page))


def about(merged: Merged) -> str:
    hosts, runs = units.counted(len(merged.hosts), "host"), f"{merged.runs:,} runs"
    done = len(merged.plan.shards) - len(merged.missing) - len(merged.begun)
    return f"{hosts}, {runs}, {done} of {len(merged.plan.shards)} shards complete; plan {merged.plan.hash}"
