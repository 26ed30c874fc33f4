"""The judgement of a subsystem: vetoes, then what a benchmark promises, then what replays confirm."""

from collections.abc import Sequence
from dataclasses import dataclass

from heaplab.advise.other_ways import Amounts, Savings
from heaplab.advise.ways_tried import ROUNDS
from heaplab.subsystems.calibration import Calibration
from heaplab.subsystems.subsystem import Appraised
from heaplab.subsystems.vetoes import SHARE, LocalKind, Veto, strategy_of, vetoes_of

ABOUT = 1.1  # factor within which numbers of calls are about the same
MOST = 4  # subsystems that are told of


@dataclass(frozen=True)
class Confirmed:
    """What replays with the subsystem's calls served by the local allocator take less."""

    allocator: str  # the global one
    savings: Savings

    @property
    def seconds(self) -> Amounts:
        return self.savings.seconds


@dataclass(frozen=True)
class Judgement:
    measured: Appraised
    calibration: Calibration | None = None  # None: forbidden, or not run
    confirmed: tuple[Confirmed, ...] = ()

    @property
    def name(self) -> str:
        return self.measured.of.group.name

    @property
    def vetoes(self) -> list[Veto]:
        return vetoes_of(self.measured)

    @property
    def suits(self) -> LocalKind:
        """What the vetoes leave."""
        return strategy_of(self.measured)

    @property
    def promised(self) -> tuple[float, float] | None:
        """Seconds, capped by the time that the subsystem's calls take."""
        if not self.calibration:
            return None
        whole, accesses = self.measured.allocation_s, self.measured.accesses_s
        least, most = (share * whole for share in self.calibration.calls)
        if self.calibration.accesses > 0:
            most = whole if accesses is None else most + self.calibration.accesses * accesses
        return min(least, whole), min(most, whole)

    @property
    def why_not(self) -> str:
        """Why what suits is not advised; "" if it is, or if vetoes say why."""
        if self.suits is LocalKind.NONE:
            return ""
        if self.promised and self.promised[1] <= 0:
            return "benchmarks like it gain nothing"
        if not self.confirmed:
            return "no replay has confirmed it"
        first = self.confirmed[0]
        if first.savings.pairs < ROUNDS or first.seconds[0] <= 0:
            return f"replays under {first.allocator} do not agree on a gain"
        run = self.measured.run_s
        if run and first.seconds[1] < SHARE * run:
            return f"replays under {first.allocator} gain less than {SHARE:.0%} of the program's time"
        return ""

    @property
    def advice(self) -> LocalKind:
        return LocalKind.NONE if self.why_not else self.suits


def worth_telling(subsystems: Sequence[Appraised]) -> list[Appraised]:
    """Subsystems that share no call site: those that a local allocator suits first, then by their calls.

    Of those with about as many calls as the first one, that with the fewest call sites stands for all.
    """

    def rank(measured: Appraised) -> tuple[bool, int]:
        return strategy_of(measured) is not LocalKind.NONE, measured.of.calls

    kept: list[Appraised] = []
    left = list(subsystems)
    while left and len(kept) < MOST:
        suits, calls = max(map(rank, left))
        alike = [measured for measured in left if rank(measured) >= (suits, calls / ABOUT)]
        kept.append(min(alike, key=lambda measured: len(measured.of.group.sites)))
        taken = kept[-1].of.group.sites
        left = [measured for measured in left if set(taken).isdisjoint(measured.of.group.sites)]
    return kept
