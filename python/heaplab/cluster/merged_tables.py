"""Tables of merged results, which the page and the terminal show."""

from collections.abc import Sequence
from math import isfinite

from heaplab import stats
from heaplab.analysis import MEMORY
from heaplab.cluster.host_ratios import TIME, RatioOf
from heaplab.cluster.merged_sentences import WORDS, judged_over, title_of
from heaplab.cluster.merging import Merged
from heaplab.report.tables.ratio_entry import ratio_entry
from heaplab.report.tables.table_parts import Entry, Table
from heaplab.report.words import wording
from heaplab.stats import LEVEL, HostRatios, Judged
from heaplab.text import units

PREDICTION = (
    f"In small print the {LEVEL} interval of the mean over hosts; within ... the interval in which one more "
    "such host lies; I² the part of the spread between hosts that is more than noise."
)


def over_hosts_tables(merged: Merged) -> list[Table]:
    """Time and memory of every arm over the hosts of every group."""
    tables = []
    for kind in merged.kinds():
        for metric in (TIME, MEMORY):
            judged = {group: judged_over(merged, group, kind, metric) for group in merged.groups}
            rows = [
                (name, [entry_of(judged[group].get(name), metric) for group in merged.groups])
                for name in merged.others
            ]
            columns = [title_of(merged, group) for group in merged.groups]
            caption = f"{WORDS[metric].title}, {wording.KINDS[kind]}: ratio to {merged.baseline}"
            tables.append(Table(caption[0].upper() + caption[1:], columns, rows, "arm", notes=[PREDICTION]))
    return tables


def entry_of(judged_ratios: tuple[HostRatios, Judged] | None, metric: str) -> Entry:
    if judged_ratios is None:
        return Entry(units.NOTHING, title="not measured there")
    ratios, judged = judged_ratios
    if ratios.disagree:
        return Entry("hosts differ", small=f"lower on {ratios.lower}, higher on {ratios.higher}", tone="open")
    return ratio_entry(judged, WORDS[metric], remark=remark(ratios))


def remark(ratios: HostRatios) -> str:
    said = ["one host, for itself alone"] if ratios.mean.count == 1 else []
    said += [f"within {units.bounds(ratios.predicted)}"] if ratios.predicted.bounded else []
    if isfinite(ratios.heterogeneity):
        said.append(f"I² {units.percent(ratios.heterogeneity)}")
    return ", ".join(said)


def cell_tables(merged: Merged) -> list[Table]:
    """Every cell over the hosts of each group: a table for each group and metric."""
    tables = []
    for group, ratios in merged.ratios.items():
        cells: dict[str, dict[RatioOf, dict[str, HostRatios]]] = {TIME: {}, MEMORY: {}}
        for about, ratio in ratios.items():
            if about.experiment:
                of_metric = cells[MEMORY if about.metric == MEMORY else TIME]
                of_metric.setdefault(about._replace(allocator=""), {})[about.allocator] = ratio
        for metric, by_arm in cells.items():
            rows = [
                (name_of(about.experiment, about.cell), [cell_entry(own.get(name)) for name in merged.others])
                for about, own in by_arm.items()
            ]
            caption = f"{title_of(merged, group)}: {WORDS[metric].title}, ratio to {merged.baseline}"
            if rows:
                tables.append(Table(caption, merged.others, rows, "cell"))
    return tables


def name_of(experiment: str, cell: Sequence[tuple[str, object]]) -> str:
    return " ".join([experiment, *(f"{name}={units.parameter(value)}" for name, value in cell)])


def cell_entry(ratios: HostRatios | None) -> Entry:
    if ratios is None:
        return Entry(units.NOTHING)
    if ratios.disagree:
        return Entry("differ", small=f"▼ {ratios.lower}, ▲ {ratios.higher}", tone="open")
    return ratio_entry(stats.judge_family([ratios.mean])[0], wording.TIME)


def hosts_table(merged: Merged) -> Table:
    """Every host: its facts, the CPUs of its shards, and how many of its runs count."""
    rows = []
    for host in merged.hosts:
        facts, place = host.facts, host.facts.get("placement") or {}
        nodes = units.counted(len(place.get("nodes", [])), "node")
        where = f"{place.get('where', 'all')}: {len(place.get('cpus', []))} CPUs, {place.get('cores')} cores"
        shards = ", ".join(map(str, host.shards))
        texts = [host.machine, facts.get("cpu"), f"{where}, {nodes}", facts.get("kernel"), shards, host.runs]
        entries = [
            *(Entry(str(text)) for text in texts),
            Entry(str(host.disturbed), tone="open" if host.is_disturbed else ""),
            Entry(str(host.without_figure), tone="failed" if host.without_figure else ""),
        ]
        rows.append((host.node, entries))
    columns = ["kind", "CPU", "CPUs used", "kernel", "shards", "runs", "disturbed", "without figure"]
    return Table("Hosts", columns, rows, "node")
