"""Many campaigns together: their allocators and experiments, and the ratios of one subject over time."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from heaplab.atlas.campaign_ratios import AtlasCampaign, AtlasExperiment, AtlasRatio, read
from heaplab.results.by_processes import by_processes


@dataclass(frozen=True)
class Dated:
    campaign: AtlasCampaign
    ratio: AtlasRatio

    @property
    def version(self) -> str:
        return self.campaign.versions.get(self.ratio.allocator, "")

    @property
    def build(self) -> str:
        return self.campaign.builds.get(self.ratio.allocator, "")


class Atlas:
    """All campaigns, the oldest first; a campaign that is given twice counts once."""

    def __init__(self, campaigns: Iterable[AtlasCampaign]) -> None:
        by_identity = {(campaign.id, campaign.started, campaign.machine): campaign for campaign in campaigns}
        self.campaigns = sorted(by_identity.values(), key=lambda campaign: (campaign.started, campaign.id))

    @cached_property
    def machines(self) -> list[str]:
        return sorted({campaign.machine for campaign in self.campaigns})

    @cached_property
    def allocators(self) -> list[str]:
        """The allocators with figures of their own, and the baselines."""
        named = {dated.ratio.allocator for dated in [*self.ratios, *self.aspects]}
        return sorted(named | {campaign.baseline for campaign in self.campaigns})

    @cached_property
    def experiments(self) -> dict[str, AtlasExperiment]:
        """The experiments by id, each as the last campaign measured it."""
        experiments = {
            name: item for campaign in self.campaigns for name, item in campaign.experiments.items()
        }
        return dict(sorted(experiments.items()))

    @cached_property
    def ratios(self) -> list[Dated]:
        return [Dated(campaign, ratio) for campaign in self.campaigns for ratio in campaign.ratios]

    @cached_property
    def aspects(self) -> list[Dated]:
        return [Dated(campaign, ratio) for campaign in self.campaigns for ratio in campaign.aspects]


def gathered(paths: Sequence[Path]) -> Atlas:
    """Read results files, one process for each CPU. Raises UsageError for a file that is no results file."""
    workers = min(len(paths), len(os.sched_getaffinity(0)))
    if workers < 2:
        return Atlas(map(read, paths))
    return Atlas(by_processes(read, paths, workers))
