"""A verdict in one sentence, and what to do next."""

from collections.abc import Sequence

from heaplab.advise.answer import BESIDE_BLOCKS, Evidence, HolderAnswer, Kind
from heaplab.advise.growth import FREED_LAST, SiteGrowth
from heaplab.report.words import beyond_malloc
from heaplab.text import units
from heaplab.traces.profile import Profile

NAMED = 3  # largest number of call sites that a sentence names


def signed(amount: float, unit: str) -> str:
    return units.show(amount, unit) if amount >= 0 else f"-{units.show(-amount, unit)}"


def size(count: float) -> str:
    return signed(count, "B")


def interval(gain: tuple[int, int, int]) -> str:
    """Bytes with the interval of the replays, which is left out if all agree."""
    low, middle, high = (size(amount) for amount in gain)
    return middle if low == high else f"{middle} ({low} to {high})"


def sites_of(profile: Profile, sites: tuple[int, ...]) -> str:
    return " and ".join(profile.chain(site) for site in sites[:NAMED])


def when(evidence: Evidence) -> str:
    census = evidence.census
    if census.why == "end":
        return "at the end"
    if not evidence.profile.timed:
        return f"at the {census.why}"
    return f"{units.show(census.time_us / 1e6, 's')} after the beginning"


def sentence(evidence: Evidence, verdict: HolderAnswer) -> str:
    """The verdict, with its figures and its certainty."""
    said = f"{_SENTENCES[verdict.kind](evidence, verdict)} ({certainty(verdict)})"
    if evidence.replays and evidence.base.hurried and verdict.kind in BESIDE_BLOCKS:
        said += f"; replayed as fast as possible, which leaves {evidence.base.name} no time to purge"
    return said


def hurried(evidence: Evidence) -> list[str]:
    """A line on the allocators that had no time to purge; none without any."""
    if not evidence.hurried:
        return []
    names = ", ".join(evidence.hurried)
    return [
        f"Replayed as fast as possible, without time to purge: {names}. They may hold less in the program; "
        "--pace recorded gives them its time."
    ]


def _held(evidence: Evidence) -> str:
    """The live part of the memory at the moment, in words."""
    census = evidence.census
    return f"{size(census.live)} of the {size(census.memory)} {when(evidence)} under {evidence.base.name}"


def _live(evidence: Evidence, verdict: HolderAnswer) -> str:
    census = evidence.census
    share = units.percent(verdict.bytes / max(census.memory, 1))
    return (
        f"live data: {share} of the {size(census.memory)} that {evidence.base.name} holds {when(evidence)} "
        "are blocks in use, so that only the program can give memory back"
    )


def growth(profile: Profile, verdict: HolderAnswer) -> str:
    """A leak, or data that grows: what, where and how fast."""
    return f"{_growths(profile, verdict)} ({certainty(verdict)})"


def certainty(verdict: HolderAnswer) -> str:
    return "sure" if verdict.sure else "likely"


def _growing(evidence: Evidence, verdict: HolderAnswer) -> str:
    return _growths(evidence.profile, verdict)


def _growths(profile: Profile, verdict: HolderAnswer) -> str:
    growths = verdict.growths
    blocks, acquired = sum(each.blocks for each in growths), sum(each.acquired for each in growths)
    names = " and ".join(each.name for each in growths[:NAMED])
    more = f" and {units.counted(len(growths) - NAMED, 'more call site')}" if len(growths) > NAMED else ""
    last = sum(each.freed_last * each.blocks for each in growths) / max(1, blocks)
    some = f"{units.show(blocks, '1')} of {units.counted(acquired, 'block')}"
    what = f"{size(verdict.bytes)} in {some} of {names}{more}"
    if verdict.kind is Kind.LEAK:
        said = f"a leak: {what} that nobody frees"
    elif last >= FREED_LAST:
        said = f"growing: {what} that only the last act of the program frees"
    else:
        said = f"growing, a cache: {what}, of which old ones are freed too"
    return f"{said}; {rate(profile, growths)}"


def rate(profile: Profile, growths: Sequence[SiteGrowth]) -> str:
    """How fast blocks become more, and how long until live memory has doubled."""
    low, typical, high = (sum(each.of_thousand[place] for each in growths) for place in range(3))
    text = f"{interval((int(low), int(typical), int(high)))} for each 1,000 allocations"
    second = sum(each.of_second for each in growths)
    if second <= 0:
        return text
    doubled = units.show(profile.live_before_last_act / second, "s")
    return f"{size(60 * second)} a minute, {text}; live memory doubles in {doubled}"


def _retained(evidence: Evidence, verdict: HolderAnswer) -> str:
    best = evidence.best
    return (
        f"retained by {evidence.base.name}: {_held(evidence)} are live, and {best.name} holds "
        f"{interval(verdict.gain)} less there"
    )


def _pinned(evidence: Evidence, verdict: HolderAnswer) -> str:
    what_if, census = evidence.what_if, evidence.census
    assert what_if
    blocks = sum(holding.blocks for holding in census.holdings if holding.site in what_if.sites)
    live = sum(holding.bytes for holding in census.holdings if holding.site in what_if.sites)
    sites = sites_of(evidence.profile, what_if.sites)
    what = f"{interval(verdict.gain)} of {size(census.memory)} come back"
    if verdict.gain[1] < evidence.worth:
        what = f"{size(evidence.unpinned)} are pinned no more, but {evidence.base.name} retains them at first"
        if evidence.trimmed_apart >= evidence.worth:
            what += f"; malloc_trim then gives {size(evidence.trimmed_apart)} back"
    return (
        f"pinned by few blocks: {units.counted(blocks, 'block')} of {sites} with {size(live)} keep "
        f"{size(census.pinned)} of pages from the system {when(evidence)} under {evidence.base.name}; "
        f"in a heap of their own {what}"
    )


def _regrown(evidence: Evidence, verdict: HolderAnswer) -> str:
    return (
        f"taken again: {_held(evidence)} are live, and the program's next burst takes the rest again; "
        f"between bursts {interval(verdict.gain)} less could be held, for page faults in each"
    )


def _nothing(evidence: Evidence, _: HolderAnswer) -> str:
    if not evidence.replays:
        return "nothing grows; what else holds memory, only a replay shows"
    return (
        f"nothing to gain: {_held(evidence)} are live, and nothing that was measured gives back more than "
        f"{size(evidence.worth)}"
    )


def _beyond(evidence: Evidence, _verdict: HolderAnswer) -> str:
    assert evidence.coverage
    at = when(evidence) if evidence.replays else "at the end"
    return f"outside malloc: of the process itself {at} {beyond_malloc.sentence(evidence.coverage)}"


_SENTENCES = {
    Kind.LIVE: _live,
    Kind.LEAK: _growing,
    Kind.GROWING: _growing,
    Kind.RETAINED: _retained,
    Kind.PINNED: _pinned,
    Kind.REGROWN: _regrown,
    Kind.BEYOND: _beyond,
    Kind.NOTHING: _nothing,
}
