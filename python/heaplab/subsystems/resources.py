"""Monotonic resources that a program uses already: what their chunks tell in a recording.

What is asked of a resource is not recorded, but the chunks that it takes from upstream are. Until it releases
them, none is given back: so the chunks of a life of the resource are an episode.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from heaplab.subsystems.subsystem import Subsystem
from heaplab.text import units

MOST_CHUNKS = 2  # of a life, for which a resource is large enough
FEW_LIVES = 2  # by which nobody sees whether there are rounds


@dataclass(frozen=True)
class Resource:
    kind: str
    of: Subsystem  # its blocks are the chunks, its episodes the lives of the resource

    @property
    def name(self) -> str:
        return f"{self.kind} of {self.of.group.name}"

    @property
    def lives(self) -> int:
        return self.of.episodes + (self.of.open_bytes > 0)

    @property
    def fault(self) -> str:
        """What the chunks say against its use; "" if nothing."""
        of, lives = self.of, self.lives
        if of.acquired.blocks <= MOST_CHUNKS * lives:
            return ""
        chunks = f"{units.counted(of.acquired.blocks, 'chunk')} of {units.show(of.acquired.bytes, 'B')}"
        if lives <= FEW_LIVES:
            return (
                f"never released: {chunks}, all kept to the end; if it serves rounds, call release() after "
                "each, else begin with a chunk of that size"
            )
        each = units.show(of.acquired.blocks / lives, "1")
        room = units.show(of.typical_bytes, "B")
        return f"outgrown: {chunks}, {each} in each of {lives:,} lives; begin with a buffer of {room}"

    @property
    def sentence(self) -> str:
        return f"{self.name}: {self.fault or 'does its work'}"


def told_apart(kind: str, subsystems: Iterable[Subsystem]) -> list[Resource]:
    """Of groups of call sites that overlap, those with the most lives: a release gives all chunks back."""
    kept: list[Resource] = []
    taken: set[int] = set()
    for of in sorted(subsystems, key=lambda of: (-of.episodes, -len(of.group.sites))):
        if taken.isdisjoint(of.group.sites):
            taken.update(of.group.sites)
            kept.append(Resource(kind, of))
    return kept


def plain(resource: Resource) -> dict[str, Any]:
    """For other programs."""
    of = resource.of
    return {
        "resource": resource.name,
        "fault": resource.fault,
        "lives": resource.lives,
        "chunks": of.acquired.blocks,
        "bytes": of.acquired.bytes,
        "life_bytes": of.typical_bytes,
    }
