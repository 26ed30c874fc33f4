"""What if the blocks of some call sites lived in a heap of their own?"""

from collections.abc import Sequence
from dataclasses import dataclass

from heaplab.advise.census import Census, Holding, Replays
from heaplab.traces.profile import Profile, Site

PAGE = 4096  # B of a page in the estimate
MOST_SITES = 3
WORTH = 0.8  # share of the pinned bytes that the proposed sites are to hold


@dataclass(frozen=True)
class WhatIf:
    """Call sites apart, and their effect at a moment."""

    sites: tuple[int, ...]
    estimated: dict[str, int]  # by treatment: bytes no longer pinned, from the pages of replays together
    replays: list[Replays]  # measured under each treatment, in the order of the replays together

    def less(self, number: int, together: Replays, moment: int) -> tuple[int, int, int]:
        """How many bytes less are held with the sites apart under treatment `number`, as Replays.less."""
        return together.less(self.replays[number], moment)

    def unpinned(self, number: int, together: Replays, moment: int) -> int:
        """Bytes that are pinned no more under treatment `number`: the allocator may still retain them."""
        return together.typical(moment).pinned - self.replays[number].typical(moment).pinned


def proposed(census: Census) -> tuple[int, ...]:
    """The fewest sites, at most three, that hold most of the bytes pinned by blocks of these sites alone."""
    if not census.pinned:
        return ()
    named = [each for each in census.holdings[:MOST_SITES] if each.site]
    for count, holding in enumerate(named, 1):
        if holding.together >= WORTH * census.pinned:
            return tuple(each.site for each in named[:count])
    return tuple(each.site for each in named)


def tried(
    sites: tuple[int, ...], profile: Profile, together: Sequence[Replays], apart: list[Replays], moment: int
) -> WhatIf:
    """The sites apart: estimated from replays together, and measured in replays apart."""
    estimated = {holding.name: estimate(holding.typical(moment), sites, profile) for holding in together}
    return WhatIf(sites, estimated, apart)


def estimate(census: Census, sites: Sequence[int], profile: Profile) -> int:
    """Bytes no longer pinned: pages that only these sites pin, less the pages that their own heap pins."""
    chosen = [holding for holding in census.holdings if holding.site in sites]
    first = census.holdings[: len(chosen)]
    alone = first[-1].together if first and all(holding.site in sites for holding in first) else 0
    known = {site.number: site for site in profile.sites}
    anew = sum(own_heap(holding, known.get(holding.site)) - holding.bytes for holding in chosen)
    return max(0, alone - anew)


def own_heap(holding: Holding, site: Site | None) -> int:
    """Bytes of the pages that the survivors of a site hold in a heap of the site's own.

    The survivors lie anywhere among the most blocks that lived at the same time. A page with one stays.
    """
    most_blocks = max(site.most_blocks if site else 0, holding.blocks)
    most_bytes = max(site.most_bytes if site else 0, holding.bytes)
    of_page = max(1.0, PAGE * most_blocks / max(most_bytes, 1))
    stays = 1 - (1 - holding.blocks / most_blocks) ** of_page
    return max(holding.bytes, int(most_bytes * stays))
