"""The findings of a profile, in sentences."""

from heaplab.report.words import units
from heaplab.trace_report.trace_tables import bound, share, size
from heaplab.traces.profile import NOBODY, Profile

SHORT = 1  # the last class of short lifetimes: below 10 µs, or 100 events


def advice(profile: Profile) -> str:
    """The first sentence."""
    when = profile.time(profile.peak_stamp) / (profile.time(profile.last_stamp) or 1)
    return (
        f"At most {size(profile.peak_bytes)} live in {units.counted(profile.peak_blocks, 'block')}, "
        f"{units.percent(when)} of the way through."
    )


def findings(profile: Profile) -> list[tuple[str, str]]:
    """Labels and sentences."""
    found = [
        ("Acquired", _acquired(profile)),
        ("At the end", _at_the_end(profile)),
        ("Short-lived", _short(profile)),
    ]
    blocks, in_bytes = _lived_before(profile)
    if blocks:
        found.insert(0, ("Lived before", f"{size(in_bytes)} in {units.counted(blocks, 'block')}."))
    if passed := _passed(profile):
        found.append(("Threads", passed))
    if profile.growths.calls:
        found.append(("Reallocated", reallocated(profile)))
    return found


def _blocks(profile: Profile) -> int:
    return sum(life.blocks for life in profile.lives)


def _lived_before(profile: Profile) -> tuple[int, int]:
    """Blocks and bytes that lived when the recording began."""
    rows = [row for row in profile.threads if row.lived_before]
    return sum(row.blocks for row in rows), sum(row.bytes for row in rows)


def _acquired(profile: Profile) -> str:
    before = _lived_before(profile)
    blocks = _blocks(profile) - before[0]
    in_bytes = sum(life.bytes for life in profile.lives) - before[1]
    rate = f", {units.show(blocks / profile.seconds, '1/s')}" if profile.seconds > profile.resolution else ""
    per = f", {size(in_bytes / blocks)} on average" if blocks else ""
    return f"{units.counted(blocks, 'block')}{rate}, {size(in_bytes)}{per}."


def _at_the_end(profile: Profile) -> str:
    last = profile.stretches[-1] if profile.stretches else None
    if last is None:
        return "Nothing was acquired."
    return f"{size(last.live_bytes)} live in {units.counted(last.live_blocks, 'block')}."


def _short(profile: Profile) -> str:
    last = max(SHORT, profile.shortest_life)
    blocks = sum(life.blocks for life in profile.lives if life.life <= last)
    return f"{share(blocks, _blocks(profile))} of all blocks live for less than {bound(profile, last)}."


def _passed(profile: Profile) -> str:
    known = {one for row in profile.threads for one in (row.acquirer, row.releaser)} - {NOBODY}
    if len(known) < 2:
        return ""
    remote = sum(row.blocks for row in profile.threads if row.remote)
    return (
        f"{share(remote, _blocks(profile))} of all blocks are released by another thread than acquired them."
    )


def reallocated(profile: Profile) -> str:
    """The number of reallocations, and how many moved their blocks or made them smaller."""
    of = profile.growths
    return (
        f"{units.counted(of.calls, 'reallocation')}; {share(of.moved, of.calls)} moved the block, "
        f"{size(of.bytes_moved)} in all at least; {share(of.shrank, of.calls)} made the block smaller."
    )
