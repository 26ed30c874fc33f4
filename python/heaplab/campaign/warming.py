"""How much memory is warmed before a run, and whether it has to be warmed at all.

The host of a virtual machine may take back memory that was free for some seconds. A run that gets such memory
pays for it. Therefore as much memory as the run will need is touched and released just before the run starts.
The rule is fixed beforehand, and every run records what was touched, how long that took, and whether it was
cold:

1. The last run of the same candidate says what is needed: its peak, a quarter more, and MARGIN. A candidate
   that did not run yet gets as much by the largest peak of its cell or the workload's own estimate, but at
   least what the workload's card names; and UNSEEN if nothing is known of its cell.
2. A warming is cold if it took COLD times as long per byte as touching memory that was released a moment ago.
3. A cold warming shows that the host takes memory back if no more was touched than by an earlier warming;
   otherwise the memory may never have been used before. After TRIES warmings that could show it and did not,
   only first runs of a candidate are warmed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from heaplab.campaign.plan import Candidate
from heaplab.machine import host
from heaplab.machine.execute import Execution
from heaplab.results.records import Status, Warming

# B. Measured where the host takes memory back: 64 MiB take 3 ms to touch when warm, and 395 ms when cold.
UNSEEN = 256 << 20
MARGIN = 8 << 20
SHARE_MORE = 0.25
COLD = 3.0
TRIES = 20


@dataclass
class Warmer:
    fixed: int | None = None  # B before every run, whatever the rule says
    estimates: dict[str, int] = field(default_factory=dict)  # B, by key of the cell
    touch: Callable[[int], float] = host.warm_memory  # s that touching so many B took
    pace: Callable[[], float] = host.pace_of_warm_memory  # s for each B that was released a moment ago
    _peaks: dict[tuple[str, str], int] = field(default_factory=dict)  # B, of each candidate's last run
    _known: list[Warming] = field(default_factory=list)

    def before(self, *together: Candidate) -> Warming | None:
        """Warm what the next runs of the candidates need at the same time; None if nothing was touched."""
        first = any(candidate.key not in self._peaks for candidate in together)
        size = sum(self.wanted(candidate) if self.fixed is None else self.fixed for candidate in together)
        if size <= 0 or (self.fixed is None and not first and self.is_left_alone):
            return None
        if self.fixed is not None:
            return Warming(touched=size, seconds=self.touch(size), cold=False)
        pace, seconds = self.pace(), self.touch(size)
        self._known.append(Warming(touched=size, seconds=seconds, cold=seconds > COLD * pace * size))
        return self._known[-1]

    def remember(self, candidate: Candidate, execution: Execution, status: Status) -> None:
        """Remember what a run needed. A run that ended well before its memory was sampled needed little."""
        peak = execution.process.peak_memory
        if peak or status is Status.OK:
            self._peaks[candidate.key] = peak or 0

    def wanted(self, candidate: Candidate) -> int:
        cell = candidate.cell
        least = cell.workload.memory_mib << 20
        if (own := self._peaks.get(candidate.key)) is not None:
            return quarter_more(own)
        seen = [peak for (key, _), peak in self._peaks.items() if key == cell.key]
        if known := max([self.estimates.get(cell.key, 0), *seen]):
            return max(quarter_more(known), least)
        return least if seen else max(UNSEEN, least)

    @property
    def is_left_alone(self) -> bool:
        """Whether enough warmings could have shown that the host takes memory back, and none did."""
        telling = [
            warming
            for place, warming in enumerate(self._known)
            if any(warming.touched <= earlier.touched for earlier in self._known[:place])
        ]
        return len(telling) >= TRIES and not any(warming.cold for warming in telling)


def quarter_more(peak: int) -> int:
    return round(peak * (1 + SHARE_MORE)) + MARGIN
