"""The moment at which the most memory is held without use, and whether the program takes it again."""

from collections.abc import Iterator
from dataclasses import dataclass

from heaplab.advise.census import Census, Replays
from heaplab.traces.profile import Profile

LASTS = 0.05  # a low state lasts if it takes at least this share of the run
LOW = 8  # a state is low while its live bytes exceed those of the census by at most 1/LOW of the peak
AGAIN = 0.8  # share of an earlier peak that counts as growing to it again
OFTEN = 2  # after so many troughs that the program grew out of, the end counts as a further trough


@dataclass(frozen=True)
class Moment:
    """A moment, as the index of a census in a replay."""

    place: int
    regrown: bool  # the program took as much again afterwards, or always did before


def unused_bytes(census: Census) -> int:
    return max(0, census.memory - census.live)


def moment_of(profile: Profile, base: Replays) -> Moment:
    """The trough, or the end, with the most memory that is not live; first those without regrowth."""
    moments = list(lasting(profile, base))
    often = sum(moment.regrown for moment in moments[:-1]) >= OFTEN
    moments = [Moment(moment.place, moment.regrown or often) for moment in moments]
    if not moments:
        return Moment(len(base.runs[0]) - 1, regrown=False)
    return max(moments, key=lambda moment: (not moment.regrown, unused_bytes(base.typical(moment.place))))


def lasting(profile: Profile, base: Replays) -> Iterator[Moment]:
    """The troughs and the end whose low state lasts."""
    peaks = [stretch.peak_bytes for stretch in profile.stretches]
    for place, census in enumerate(base.runs[0]):
        if census.why in ("trough", "end"):
            ticks = census.time_us * (profile.ticks_per_second or 10**9) // 10**6
            at = min(ticks // profile.width, len(peaks) - 1)
            if share_of_low(profile, census, at) >= LASTS or not profile.timed:
                regrown = max(peaks[at + 1 :], default=0) >= AGAIN * max(peaks[: at + 1])
                yield Moment(place, regrown)


def share_of_low(profile: Profile, census: Census, at: int) -> float:
    most = census.live_bytes + profile.peak_bytes // LOW
    low = [stretch.live_bytes <= most for stretch in profile.stretches]
    begin = end = at
    while begin > 0 and low[begin - 1]:
        begin -= 1
    while end + 1 < len(low) and low[end + 1]:
        end += 1
    return (end + 1 - begin) / len(low)
