"""A snapshot of samples as a profile: of what samples do not tell, such as peaks, a profile has nothing."""

import platform
from collections.abc import Sequence
from pathlib import Path

from heaplab.traces import symbols
from heaplab.traces.profile import NO_BLOCKS, Growths, Lifetimes, Profile, Site
from heaplab.traces.sample_file import Head, ProcessSamples, SampledSite, Snapshot


def profile_of(
    path: Path, head: Head, snapshot: Snapshot, number: int, names: symbols.Names | None = None
) -> Profile:
    """The profile of process `number` of a snapshot. Site n of the profile is sites[n - 1] of the process."""
    process = snapshot.processes[number]
    modules = process.modules if head.machine == platform.machine() else ""
    names = {} if names is None else names
    addresses = {address for site in process.sites for address in site.stack} - names.keys()
    if addresses:
        names |= symbols.places(addresses, modules, "", process.build_ids)
    return Profile(
        trace=path,
        process=number,
        of=properties(process, snapshot),
        cpu_ns=0,
        ticks_per_second=1_000_000_000,
        origin=0,
        width=1,
        last_stamp=int(snapshot.seconds * 1e9),
        peak_stamp=0,
        peak_bytes=0,
        peak_blocks=0,
        stretches=[],
        lifetime_bounds=[],
        resolution=0.0,
        shortest_life=0,
        lives=[],
        threads=[],
        growths=Growths(0, 0, 0, 0, []),
        kinds={},
        sites=sites_of(process.sites),
        shares=[],
        thread_peaks={},
        lifetimes=Lifetimes(0, 0, [], []),
        stacks=[list(site.stack) for site in process.sites],
        places=names,
        modules=symbols.modules_of(process.modules, process.build_ids),
    )


def properties(process: ProcessSamples, snapshot: Snapshot) -> dict[str, str]:
    return {
        "pid": str(process.pid),
        "program": process.program,
        "executable": process.executable,
        "arguments": process.arguments,
        "allocator": process.allocator,
        "start_unix_ns": str(max(0, snapshot.at_unix_ns - int(snapshot.seconds * 1e9))),
    }


def sites_of(sampled: Sequence[SampledSite]) -> list[Site]:
    return [
        NO_BLOCKS._replace(
            number=number,
            bytes=round(site.acquired.bytes),
            blocks=round(site.acquired.blocks),
            live_bytes=round(site.live.bytes),
            live_blocks=round(site.live.blocks),
        )
        for number, site in enumerate(sampled, 1)
    ]
