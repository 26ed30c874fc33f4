"""Whether live bytes grow over the whole run, and at which call sites."""

from dataclasses import dataclass
from itertools import pairwise

from heaplab.traces.profile import Profile, Site

STAGES = 8
LAST = 0.98  # part of the run that is examined: the end of a run may free everything
RISE = 1.1  # least factor from the third to the fifth stage, and from the fifth to the last
NEVER_FREED = 0.02  # a site that frees a larger share of its blocks has a cache, not a leak
MOST_SITES = 3


@dataclass(frozen=True)
class Rise:
    """A steady growth of live bytes."""

    bytes: int  # from the third stage to the last
    seconds: float  # between these stages; 0 if the recording has no times
    sites: tuple[Site, ...]  # the call sites that hold most of the growth, the largest first
    released: float  # share of these sites' blocks that were released

    @property
    def leaks(self) -> bool:
        """Whether the program frees next to nothing of the growth: a leak rather than a cache."""
        return self.released <= NEVER_FREED


def growth_of(profile: Profile) -> Rise | None:
    """The growth, if the lows of live bytes rise from stage to stage and hardly fall before the end."""
    stretches = profile.stretches[: max(1, int(len(profile.stretches) * LAST))]
    if len(stretches) < STAGES or not profile.peak_bytes:
        return None
    bounds = [len(stretches) * stage // STAGES for stage in range(STAGES + 1)]
    lows = [min(s.live_bytes for s in stretches[begin:end]) for begin, end in pairwise(bounds)]
    first, middle, last = lows[2], lows[4], lows[-1]
    if not (middle > RISE * first and last > RISE * middle and last * 2 > profile.peak_bytes):
        return None
    seconds = profile.width * len(stretches) * (STAGES - 3) / STAGES / (profile.ticks_per_second or 1)
    holding = sorted(profile.sites, key=held, reverse=True)[:MOST_SITES]
    sites = tuple(site for site in holding if held(site) * 2 * MOST_SITES > last - first)
    blocks = sum(site.blocks for site in sites)
    freed = blocks - sum(site.live_blocks for site in sites)
    return Rise(last - first, seconds if profile.timed else 0.0, sites, freed / max(blocks, 1))


def held(site: Site) -> int:
    return site.live_bytes or site.most_bytes
