"""The findings of a profile, in sentences."""

from heaplab.text import units
from heaplab.traces.profile import NOBODY, Profile
from heaplab.tracing.trace_tables import bound, share, size

SHORT = 1  # the last class of short lifetimes: below 10 µs, or 100 events


def advice(profile: Profile) -> str:
    when = profile.time(profile.peak_stamp) / (profile.time(profile.last_stamp) or 1)
    return (
        f"At most {size(profile.peak_bytes)} live in {units.counted(profile.peak_blocks, 'block')}, "
        f"{units.percent(when)} of the way through."
    )


def findings(profile: Profile) -> list[tuple[str, str]]:
    """Labels and sentences."""
    every = sum(life.blocks for life in profile.lives)
    before = [row for row in profile.threads if row.lived_before]
    blocks, in_bytes = sum(row.blocks for row in before), sum(row.bytes for row in before)
    rows = [("Lived before", f"{size(in_bytes)} in {units.counted(blocks, 'block')}.")] if blocks else []
    blocks, in_bytes = every - blocks, sum(life.bytes for life in profile.lives) - in_bytes
    rate = f", {units.show(blocks / profile.seconds, '1/s')}" if profile.seconds > profile.resolution else ""
    per = f", {size(in_bytes / blocks)} on average" if blocks else ""
    rows.append(("Acquired", f"{units.counted(blocks, 'block')}{rate}, {size(in_bytes)}{per}."))
    at_end = "Nothing was acquired."
    if profile.stretches:
        last = profile.stretches[-1]
        at_end = f"{size(last.live_bytes)} live in {units.counted(last.live_blocks, 'block')}."
    rows.append(("At the end", at_end))
    short = max(SHORT, profile.shortest_life)
    soon = share(sum(life.blocks for life in profile.lives if life.life <= short), every)
    rows.append(("Short-lived", f"{soon} of all blocks live for less than {bound(profile, short)}."))
    threads = {thread for row in profile.threads for thread in (row.acquirer, row.releaser)} - {NOBODY}
    if len(threads) > 1:
        remote = share(sum(row.blocks for row in profile.threads if row.remote), every)
        rows.append(("Threads", f"{remote} of all blocks are released by another thread than acquired them."))
    if profile.growths.calls:
        rows.append(("Reallocated", reallocated(profile)))
    return rows


def reallocated(profile: Profile) -> str:
    """The number of reallocations, and how many moved their blocks or made them smaller."""
    of = profile.growths
    return (
        f"{units.counted(of.calls, 'reallocation')}; {share(of.moved, of.calls)} moved the block, "
        f"{size(of.bytes_moved)} in all at least; {share(of.shrank, of.calls)} made the block smaller."
    )
