"""What if blocks were used otherwise: buffers reserved, temporaries on the stack, memory trimmed?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from heaplab.text import units
from heaplab.traces.profile import Profile

FEWEST = 0.005  # share of a recording's calls that a call site must have to be tried
MOST_SITES = 3
NOTHING = "nothing"

Amounts = tuple[float, float, float]  # the least, the median, the most


class Habit(NamedTuple):
    """How the blocks of a call site are used (src/trace/profile/block_habits.h)."""

    site: int
    temporaries: int  # blocks that were freed at once
    temporary_bytes: int
    chains: int  # blocks that grew
    growths: int
    bytes_copied: int


@dataclass(frozen=True)
class Savings:
    """The time, memory and page faults that a way takes less than the program as it is; negative: more."""

    seconds: Amounts
    memory: Amounts  # bytes: the peak, or with malloc_trim the mean over time
    faults: Amounts
    pairs: int


@dataclass(frozen=True)
class OtherWay:
    name: str
    sites: tuple[int, ...]
    calls: str  # the calls in the recording that the way would change
    seconds: float | None = None  # predicted s less
    memory: float | None = None
    measured: Savings | None = None  # None: there is nothing to try
    gain: str = NOTHING


def proposed(habits: Sequence[Habit], profile: Profile, amount: Callable[[Habit], int]) -> list[Habit]:
    """The call sites with the most of a habit, unless that is too little to matter."""
    fewest = FEWEST * sum(profile.kinds.values())
    known = [habit for habit in habits if habit.site and amount(habit) >= max(1.0, fewest)]
    return sorted(known, key=lambda habit: (-amount(habit), habit.site))[:MOST_SITES]


def grown(habits: Sequence[Habit]) -> str:
    buffers = units.counted(sum(habit.chains for habit in habits), "buffer")
    growths = units.counted(sum(habit.growths for habit in habits), "time")
    return f"{buffers} grew {growths}, {units.show(sum(habit.bytes_copied for habit in habits), 'B')} copied"


def died(habits: Sequence[Habit]) -> str:
    blocks = sum(habit.temporaries for habit in habits)
    in_bytes = sum(habit.temporary_bytes for habit in habits)
    return f"{units.counted(blocks, 'block')} of {units.show(in_bytes, 'B')} died at once"
