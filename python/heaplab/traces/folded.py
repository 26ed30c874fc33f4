"""A profile as collapsed stacks, which flamegraph.pl, inferno, speedscope and others draw."""

from collections import Counter
from collections.abc import Callable
from pathlib import PurePath

from heaplab.traces.profile import Profile, Site
from heaplab.traces.symbols import Place

WEIGHTS: dict[str, Callable[[Site], int]] = {
    "peak": lambda site: site.peak_bytes,
    "end": lambda site: site.live_bytes,
    "allocated": lambda site: site.bytes,
    "calls": lambda site: site.blocks,
}


def as_folded(profile: Profile, weight: str) -> str:
    """A line for each stack with a weight other than 0: the program, then frames, the outermost first."""
    weights: Counter[str] = Counter()
    for site in profile.sites:
        frames = [frame(place) for place in reversed(profile.frames(site.number))]
        weights[";".join([text(profile.program), *(frames or ["[unknown]"])])] += WEIGHTS[weight](site)
    return "".join(f"{stack} {amount}\n" for stack, amount in sorted(weights.items()) if amount)


def frame(place: Place) -> str:
    """The name of the function or, in brackets, the file in which the function has no name."""
    return text(place.function if place.is_named else f"[{PurePath(place.module).name or 'unknown'}]")


def text(name: str) -> str:
    """The name without the characters that end a frame or a line."""
    return name.replace(";", ":").replace("\n", " ")
