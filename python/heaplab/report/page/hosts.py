"""Several campaigns side by side: the advice and the ratios of each, never pooled."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heaplab.analysis import Analysis
from heaplab.report.tables.ratio_entry import ratio_entry
from heaplab.report.tables.table_parts import Table
from heaplab.report.words import wording
from heaplab.report.words.advice import Answer, answer
from heaplab.text import units

MACHINE = ("cpu", "cpus", "memory")  # facts that stay the same on one machine


def host_name(analysis: Analysis) -> str:
    """The machine and the hour, short enough for the head of a column."""
    facts = analysis.results.facts
    cpus = f", {facts['cpus']} CPUs" if facts.get("cpus") else ""
    return (
        f"{facts.get('cpu') or 'unknown machine'}{cpus}, {analysis.campaign.started[:16].replace('T', ' ')}"
    )


@dataclass(frozen=True)
class Advised:
    number: int  # number of the campaign on the page, from 1
    host: str
    answer: Answer


def beside(analyses: Sequence[Analysis]) -> dict[str, Any] | None:
    """The comparison of several campaigns; None for a single one."""
    if len(analyses) < 2:
        return None
    kinds = []
    for kind, title in wording.KINDS.items():
        advised = [
            Advised(number, host_name(analysis), answer(analysis, kind, analysis.summaries(kind)))
            for number, analysis in enumerate(analyses, 1)
            if analysis.summarised(kind) and not analysis.only_within
        ]
        if advised:
            kinds.append({"title": title, "agreement": agreement(advised), "advised": advised})
    return {"kinds": kinds, "tables": side_by_side(analyses), "warning": warning(analyses)}


def warning(analyses: Sequence[Analysis]) -> str:
    """What campaigns on one machine at different times cannot show; "" if there are none."""
    machines: dict[str, list[str]] = {}
    for number, analysis in enumerate(analyses, 1):
        facts = analysis.results.facts or {"unknown": number}
        same = json.dumps([facts.get(name) for name in (*MACHINE, "unknown")])
        machines.setdefault(same, []).append(str(number))
    twice = [numbers for numbers in machines.values() if len(numbers) > 1]
    if not twice:
        return ""
    which = wording.listed(twice[0])
    return (
        f"Campaigns {which} were measured on one machine at different times. What changed there in between, "
        "such as load, temperature or updates, is in every difference between them, and in none of the "
        "intervals. To compare two versions, make them arms of one campaign: heaplab gate OLD NEW."
    )


def agreement(advised: Sequence[Advised]) -> str:
    """Whether the advice of all campaigns names one allocator, in words."""
    if len(advised) < 2:
        return f"Measured in {_listed(advised)} only."
    silent = [host for host in advised if not host.answer.use]
    if silent:
        said = f"{_listed(silent)} names no single allocator.".capitalize()
        return f"{said} Take the advice of the machine that the program will run on."
    common = [name for name in advised[0].answer.use if all(name in host.answer.use for host in advised)]
    if common:
        said = f"All campaigns agree on {wording.listed(common)}."
    else:
        each = wording.listed([f"{host.answer.use[0]} in campaign {host.number}" for host in advised])
        said = f"The campaigns differ: {each}. Take the advice of the machine that the program will run on."
    undecided = [host for host in advised if host.answer.open]
    return f"{said} Not all is decided in {_listed(undecided)}." if undecided else said


def _listed(advised: Sequence[Advised]) -> str:
    return wording.listed([f"campaign {host.number}" for host in advised])


def side_by_side(analyses: Sequence[Analysis]) -> list[Table]:
    """Time and peak memory of every allocator in every campaign."""
    columns = [
        f"Campaign {number}: {host_name(analysis)}, to {analysis.baseline}"
        for number, analysis in enumerate(analyses, 1)
    ]
    tables = []
    for kind, title in wording.KINDS.items():
        summaries = [{s.allocator: s for s in analysis.summaries(kind)} for analysis in analyses]
        names = list(dict.fromkeys(name for of_host in summaries for name in of_host))
        for metric, what in ((wording.TIME, "time"), (wording.MEMORY, "memory")):
            rows = []
            for name in names:
                judged = [getattr(of_host.get(name), what, None) for of_host in summaries]
                rows.append((name, [ratio_entry(host, metric, "not measured there") for host in judged]))
            if any(entry.text != units.NOTHING for _, entries in rows for entry in entries):
                caption = f"{metric.title}, {title}: ratio to the baseline of the same campaign"
                tables.append(Table(caption[0].upper() + caption[1:], columns, rows, "allocator"))
    return tables
