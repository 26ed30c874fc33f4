"""What the comparisons of a gate add up to. A gate that compared nothing, or lost a run, has failed."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from heaplab.analysis.gate_cells import GateCell
from heaplab.results.records import Coverage, Run
from heaplab.stats import GateVerdict


class GateOutcome(StrEnum):
    WORSE = "worse"
    FAILED = "failed"
    COULD_NOT_TELL = "could not tell"
    NOT_WORSE = "not worse"


@dataclass(frozen=True)
class Gate:
    """The comparisons of a gate, and the runs that gave no figure."""

    cells: Sequence[GateCell]
    lost: Sequence[Run] = ()
    coverage: Sequence[Coverage] = ()  # of the program that OLD and NEW serve, as a pilot run showed
    beside: Sequence[GateCell] = ()  # what has no limit
    remarks: Sequence[str] = ()  # sentences about the whole of it

    @property
    def outcome(self) -> GateOutcome:
        """The worst of all: worse; nothing compared or a run without a figure; what could not be told."""
        if any(cell.verdict is GateVerdict.WORSE for cell in self.cells):
            return GateOutcome.WORSE
        if self.lost or not self.cells:
            return GateOutcome.FAILED
        silent = any(cell.is_silent for cell in self.cells)
        return GateOutcome.COULD_NOT_TELL if silent else GateOutcome.NOT_WORSE

    @property
    def why_failed(self) -> str:
        """What was lost, in one line; "" if nothing was."""
        if not self.lost:
            return "" if self.cells else "nothing was compared"
        runs = "1 run" if len(self.lost) == 1 else f"{len(self.lost)} runs"
        nothing = "" if self.cells else "; nothing was compared"
        return f"{runs} gave no figure: {self.lost[0].allocator}: {self.lost[0].reason}{nothing}"
