"""Subsystems: groups of call sites that a local allocator could serve, named by the user or found."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from heaplab.errors import UsageError
from heaplab.traces.profile import Profile, Site
from heaplab.traces.wrappers import is_wrapper, plain, useful_part

LEAST = 0.01  # share of the process's blocks that is worth a look
FEWEST = 100  # blocks that are, too
MOST = 64  # groups whose events are followed
RESOURCES = ("std::pmr::monotonic_buffer_resource", "heaplab::local::monotonic")


@dataclass(frozen=True)
class Group:
    """The call sites below a function, or those that a rule names."""

    name: str
    sites: tuple[int, ...]


def groups_of(profile: Profile, rules: Sequence[str]) -> list[Group]:
    """One for each rule; without rules, all that are worth a look. Raises UsageError."""
    others = [site for site in profile.sites if not resource_of(profile, site)]
    return [by_rule(profile, rule) for rule in rules] or below_functions(profile, others, FEWEST)


def by_rule(profile: Profile, rule: str) -> Group:
    """The call sites with a frame whose function, namespaces included, or file has the text in its name."""
    sites = tuple(
        site.number
        for site in profile.sites
        if any(rule in frame.function or rule in frame.file for frame in profile.frames(site.number))
    )
    if not sites:
        raise UsageError(f"--subsystem {rule}: no call site of {profile.trace} has this below it")
    return Group(rule, sites)


def resource_of(profile: Profile, site: Site) -> str:
    """The type of the resource that takes its chunks at a call site; "" if none does."""
    names = [called(frame.function) for frame in profile.frames(site.number)]
    return next((kind for kind in RESOURCES if any(name.startswith(f"{kind}::") for name in names)), "")


def below_functions(profile: Profile, of: Sequence[Site], fewest: int = 1) -> list[Group]:
    """For each function those of call sites that are below it, with the most blocks first.

    Of functions with the same call sites the innermost names the group.
    """
    below: dict[str, dict[int, int]] = {}  # function, then site: how far out it stands at most
    for site in of:
        frames = useful_part(profile.frames(site.number))
        for depth, frame in enumerate(frames):
            if frame.is_named and not is_wrapper(frame):
                below.setdefault(called(frame.function), {}).setdefault(site.number, depth)
    blocks = {site.number: site.blocks for site in of}
    innermost: dict[frozenset[int], str] = {}
    below.pop("", None)
    for name, sites in sorted(below.items(), key=lambda item: sum(item[1].values())):
        innermost.setdefault(frozenset(sites), name)
    weight = {sites: sum(blocks[site] for site in sites) for sites in innermost}
    kept = sorted(weight, key=lambda sites: (-weight[sites], innermost[sites]))[:MOST]
    fewest = max(fewest, ceil(LEAST * sum(blocks.values())))
    return [Group(innermost[sites], tuple(sorted(sites))) for sites in kept if weight[sites] >= fewest]


def called(function: str) -> str:
    """The name of a function without types, arguments of templates and anonymous namespaces."""
    name = plain(function).replace("(anonymous namespace)::", "")
    while (shorter := re.sub(r"<[^<>]*>", "", name)) != name:
        name = shorter
    return name
