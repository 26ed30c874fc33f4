"""Merged results for other programs: every ratio over hosts, and facts and faults of the hosts."""

from typing import Any

from heaplab.cluster import merged_sentences
from heaplab.cluster.host_ratios import RatioOf
from heaplab.cluster.merging import Merged
from heaplab.stats import HostRatios, Interval, finite


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
        for group, found in groups.items()
        for about, ratios in found.items()
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


def interval(found: Interval) -> list[float | None]:
    """Estimate, low and high; null where there is none."""
    bounds = (found.low, found.high) if found.bounded else (None, None)
    return [finite(found.estimate), *bounds]
