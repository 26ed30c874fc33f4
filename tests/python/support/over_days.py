"""Campaigns on one machine on several days, with builds whose truth is known."""

from pathlib import Path

import synthetic

from heaplab.analysis import Analysis
from heaplab.atlas import atlas_files
from heaplab.atlas.campaign_ratios import AtlasCampaign, campaign_of
from heaplab.atlas.many_campaigns import gathered
from heaplab.results import store
from heaplab.results.records import AnyRecord, Arm, Campaign, Host

NAMES = ["glibc", "jemalloc", "mimalloc"]
EXPERIMENT = synthetic.experiment("laws", "acdc", {"threads": [1, 2]}, [])


def records(
    day: int,
    version: str = "1.0",
    slower: float = 1.0,
    kernel: str = "6.1",
    baseline: str = "2.36",
    noise: float = 0.002,
    blocks: int = 8,
) -> list[AnyRecord]:
    """A campaign of one experiment, in which mimalloc has a version and is so much slower than at first."""

    def effect(name: str, cell: dict) -> tuple[float, float]:
        time, memory = synthetic.truth(name, cell)
        return time * (slower if name == "mimalloc" else 1.0), memory

    made = synthetic.campaign(NAMES, [EXPERIMENT], blocks=blocks, noise=noise, seed=day, effect=effect)
    return [changed(record, day, version, kernel, baseline) for record in made]


def changed(record: AnyRecord, day: int, version: str, kernel: str, baseline: str) -> AnyRecord:
    if isinstance(record, Campaign):
        return record.model_copy(update={"started": f"2026-01-{day:02}T03:04:05+00:00"})
    if isinstance(record, Host):
        return record.model_copy(update={"facts": record.facts | {"kernel": kernel}})
    if isinstance(record, Arm) and record.allocator == "mimalloc":
        return record.model_copy(update={"version": version})
    if isinstance(record, Arm) and record.allocator == "glibc":
        return record.model_copy(update={"version": baseline})
    return record


def read(path: Path) -> AtlasCampaign:
    return campaign_of(Analysis(store.load(path, series=False)))


def site_of(paths: list[Path], folder: Path) -> Path:
    atlas_files.write(gathered(paths), folder)
    return folder
