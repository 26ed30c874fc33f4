"""A profile as the JSON of DHAT, format version 2, which Valgrind's dh_view.html shows."""

import json
from typing import Any

from heaplab.traces.profile import Profile, Site

SHORT_US = 500  # the viewer calls shorter lifetimes short
SHORT_EVENTS = 500


def as_dhat(profile: Profile) -> str:
    """The content of the file. Times are in µs, or in events if stamps only order events; no accesses."""
    places = {address: number for number, address in enumerate(profile.addresses, 2)}
    content = {
        "dhatFileVersion": 2,
        "mode": "heap",
        "verb": "Allocated",
        "bklt": True,
        "bkacc": False,
        **(
            {"tu": "µs", "Mtu": "s", "tuth": SHORT_US}
            if profile.timed
            else {"tu": "calls", "Mtu": "Mcall", "tuth": SHORT_EVENTS}
        ),
        "cmd": " ".join(word for word in profile.of.get("arguments", profile.program).split("\0") if word),
        "pid": int(profile.pid) if profile.pid.isdigit() else 0,
        "te": units_of(profile, profile.last_stamp - profile.origin),
        "tg": units_of(profile, profile.peak_stamp - profile.origin),
        "pps": [point(profile, site, places) for site in profile.sites],
        "ftbl": [
            "[root]",
            "[unknown]",
            *(f"0x{each:X}: {profile.place(each)}" for each in profile.addresses),
        ],
    }
    return json.dumps(content, separators=(",", ":"))


def point(profile: Profile, site: Site, places: dict[int, int]) -> dict[str, Any]:
    return {
        "tb": site.bytes,
        "tbk": site.blocks,
        "tl": units_of(profile, site.lifetimes),
        "mb": site.most_bytes,
        "mbk": site.most_blocks,
        "gb": site.peak_bytes,
        "gbk": site.peak_blocks,
        "eb": site.live_bytes,
        "ebk": site.live_blocks,
        "fs": [places[address] for address in profile.stack(site.number)] or [1],
    }


def units_of(profile: Profile, ticks: int) -> int:
    return ticks * 1_000_000 // profile.ticks_per_second if profile.timed else ticks
