"""Sentences on merged results, which claim no more than the intervals show."""

from collections import Counter
from math import isfinite

from heaplab import stats
from heaplab.analysis import MEMORY
from heaplab.cluster.host_ratios import TIME, RatioOf
from heaplab.cluster.merging import ALL_KINDS, Merged
from heaplab.report.words import wording
from heaplab.stats import HostRatios, Judged, Verdict
from heaplab.text import units

WORDS = {TIME: wording.TIME, MEMORY: wording.MEMORY}
FEWEST_HOSTS = 2
MOST_SHARDS = 20  # largest number of shards that a sentence lists


def answers(merged: Merged) -> list[str]:
    """A sentence for each group of hosts, kind of workload and metric."""
    sentences = []
    for group, kind, metric in merged.questions():
        judged = judged_over(merged, group, kind, metric)
        parts = [part_of(name, ratios, judgement, metric) for name, (ratios, judgement) in judged.items()]
        if parts:
            head = f"{title_of(merged, group)}, {wording.KINDS[kind]}, {WORDS[metric].title}"
            sentences.append(f"{head}: {'; '.join(parts)}.")
    return sentences


def title_of(merged: Merged, group: str) -> str:
    hosts = units.counted(len(merged.groups[group]), "host")
    return f"All kinds together ({hosts})" if group == ALL_KINDS else f"{group} ({hosts})"


def judged_over(merged: Merged, group: str, kind: str, metric: str) -> dict[str, tuple[HostRatios, Judged]]:
    """Every arm over the hosts of a group; the verdicts are one family of comparisons."""
    ratios = merged.ratios[group]
    by_arm = {
        name: ratios[about] for name in merged.others if (about := RatioOf(metric, name, kind)) in ratios
    }
    judged = stats.judge_family([judgement.mean for judgement in by_arm.values()])
    return {name: (by_arm[name], judgement) for name, judgement in zip(by_arm, judged, strict=True)}


def part_of(name: str, ratios: HostRatios, judged: Judged, metric: str) -> str:
    if ratios.disagree:
        lower, higher = (
            wording.verdict(Judged(judged.ratio, verdict), WORDS[metric])
            for verdict in (Verdict.LOWER, Verdict.HIGHER)
        )
        return (
            f"{name}: hosts differ, {lower} on {ratios.lower}, {higher} on {ratios.higher}, "
            "so there is no mean"
        )
    if not isfinite(judged.ratio.estimate):
        return f"{name}: no figure"
    if judged.ratio.count < FEWEST_HOSTS:
        return f"{name} {wording.ratio(judged)} on one host, which speaks for itself alone"
    return f"{name} {wording.verdict(judged, WORDS[metric])}, {wording.ratio(judged)}"


def agreement(merged: Merged, group: str, kind: str, metric: str) -> str:
    """Whether hosts rank the arms alike; "" if fewer than two hosts rank them."""
    rankings = merged.rankings(group, kind, metric)
    if len(rankings) < FEWEST_HOSTS or len(merged.others) < FEWEST_HOSTS:
        return ""
    leader, times = Counter(ranking[0] for ranking in rankings).most_common(1)[0]
    head = f"{title_of(merged, group)}, {wording.KINDS[kind]}, {WORDS[metric].title}"
    agreed = f"Kendall's W {stats.concordance(rankings):.2f} (1: all rank alike)"
    return f"{head}: {leader} is first on {times} of {len(rankings)} hosts; {agreed}."


def agreements(merged: Merged) -> list[str]:
    return [said for question in merged.questions() if (said := agreement(merged, *question))]


def warnings(merged: Merged) -> list[str]:
    """Sentences on missing shards, differences between hosts, and disturbances."""
    sentences = []
    if merged.missing:
        sentences.append(f"Nothing came back of {shards(merged.missing)}.")
    if merged.begun:
        sentences.append(f"Begun and not completed: {shards(merged.begun)}; whole blocks of them count.")
    return sentences + merged.notes + merged.differences + merged.disturbances


def shards(numbers: list[int]) -> str:
    shown = wording.shortened(list(map(str, numbers)), MOST_SHARDS)
    return f"{'shard' if len(numbers) == 1 else 'shards'} {shown}"
