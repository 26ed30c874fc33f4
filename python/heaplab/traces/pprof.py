"""A profile as pprof reads it: profile.proto, packed by gzip.

The writer knows the few fields that a heap profile has. A message is a sequence of fields. A field is its
number and wire type (0: a number, 2: bytes preceded by their length), then a value (protobuf.dev, Encoding).
"""

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path

from heaplab.files.output import replacing
from heaplab.traces import symbols
from heaplab.traces.profile import Profile, Site

# The values that `pprof -sample_index` takes, named as in Go's heap profiles where these have the same value.
SAMPLES = [
    ("alloc_objects", "count"),
    ("alloc_space", "bytes"),
    ("peak_objects", "count"),
    ("peak_space", "bytes"),
    ("inuse_objects", "count"),
    ("inuse_space", "bytes"),
]
DEFAULT = "peak_space"
DEFAULT_OF_SAMPLES = "inuse_space"  # which tell no peak


def write_pprof(profile: Profile, path: Path) -> None:
    """Raises HeaplabError if the file cannot be written."""
    with replacing(path) as beside, gzip.GzipFile(beside, "wb", mtime=0) as file:
        file.write(as_pprof(profile))


def as_pprof(profile: Profile) -> bytes:
    """The message Profile. Every location has a function of its own with the same number."""
    strings = Strings()
    numbers = {address: place for place, address in enumerate(profile.addresses, 1)}
    mapped = mappings(profile)
    whole = b"".join(
        [
            *(message(1, number(1, strings[name]), number(2, strings[unit])) for name, unit in SAMPLES),
            *(sample(site, [numbers[each] for each in profile.stack(site.number)]) for site in profile.sites),
            *(location(profile.place(site), site, place, mapped) for site, place in numbers.items()),
            *(function(profile.place(site), place, strings) for site, place in numbers.items()),
            *(mapping(site, place, strings) for place, site in enumerate(mapped, 1)),
            number(9, int(profile.of.get("start_unix_ns") or 0)),
            number(10, int(profile.seconds * 1e9) if profile.timed else 0),
            number(14, strings[DEFAULT if profile.peak_bytes else DEFAULT_OF_SAMPLES]),
        ]
    )
    return whole + strings.fields()


def sample(site: Site, locations: Sequence[int]) -> bytes:
    """The message Sample of a call site, its values in the order of SAMPLES."""
    values = [site.blocks, site.bytes, site.peak_blocks, site.peak_bytes, site.live_blocks, site.live_bytes]
    return message(2, packed(1, locations), packed(2, values))


class Strings:
    """The table of strings; the first is empty."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def fields(self) -> bytes:
        return b"".join(message(6, text.encode()) for text in self._numbers)


def mappings(profile: Profile) -> list[symbols.Module]:
    """The mapped files, the program first, as pprof expects; the program alone if none are known."""
    program = profile.of.get("executable") or profile.of.get("program", "")
    modules = sorted(profile.modules, key=lambda module: module.path != program)
    return modules or [symbols.Module(0, 0, 0, program)]


def mapping(module: symbols.Module, identity: int, strings: Strings) -> bytes:
    """A message Mapping. Its flags tell pprof that functions are known already."""
    where = number(2, module.start) + number(3, module.end) + number(4, module.offset)
    names = number(5, strings[module.path]) + number(6, strings[module.build_id])
    return message(3, number(1, identity), where, names, number(7, 1))


def location(place: symbols.Place, address: int, identity: int, mapped: Sequence[symbols.Module]) -> bytes:
    """A message Location, in the mapping of the call; `address` comes after the call, maybe outside."""
    inside = (index for index, site in enumerate(mapped, 1) if site.start < address <= site.end)
    within = 1 if mapped[0].end == 0 else next(inside, 0)
    line = message(4, number(1, identity), number(2, place.line))
    return message(4, number(1, identity), number(2, within), number(3, address), line)


def function(place: symbols.Place, identity: int, strings: Strings) -> bytes:
    name = strings[place.function or "?"]
    file = strings[place.file or place.module]
    return message(5, number(1, identity), number(2, name), number(3, name), number(4, file))


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def number(field: int, value: int) -> bytes:
    """A field with a number; no field for 0, because readers take a missing number for 0."""
    return varint(field << 3) + varint(value) if value else b""


def message(field: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def packed(field: int, numbers: Iterable[int]) -> bytes:
    return message(field, *(varint(each) for each in numbers))
