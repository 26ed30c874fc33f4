"""Tries other ways to use blocks: each is predicted from the recording, and measured under the baseline.

Replays with and without the change take turns. A gain that is not worth a change is called nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

from heaplab.advise.answer import Evidence
from heaplab.advise.census import mean_memory
from heaplab.advise.other_ways import NOTHING, Habit, OtherWay, Savings, died, grown, proposed
from heaplab.advise.replaying import LONG_S, RUNS, Cost, Recording
from heaplab.results.records import Arm
from heaplab.text import units
from heaplab.traces import tool

ROUNDS = 8  # pairs of replays: chance alone makes all agree on a gain of time once in 256
WORTH_TIME = 0.01  # share of the program's run that is worth a change
NO_TIME = 0.0  # s of a run whose time is unknown, or in which no time can be gained
TRIMS = 10  # calls of malloc_trim in a run, unless the user gives their number


def ways_of(
    recording: Recording, evidence: Evidence, arm: Arm, trim_every: float | None
) -> Iterator[OtherWay]:
    """All ways under the baseline `arm`; without times, no gain of time can be worth a change."""
    habits = [Habit(*row) for row in tool.habits(recording.trace, recording.process)]
    paired = PairedReplays(recording, evidence, arm)
    reserve = proposed(habits, evidence.profile, lambda habit: habit.growths)
    stack = proposed(habits, evidence.profile, lambda habit: habit.temporaries)
    yield paired.edited("reserve", "reserved buffers", reserve, grown(reserve))
    yield paired.edited("stack", "temporaries on the stack", stack, died(stack))
    yield from paired.trimmed(trim_every or evidence.profile.seconds / TRIMS)


class PairedReplays:
    """Replays of the program as it is and of other ways, which take turns."""

    def __init__(self, recording: Recording, evidence: Evidence, arm: Arm) -> None:
        self._recording, self._evidence, self._arm = recording, evidence, arm
        self._plain = recording.workload("plain")

    def edited(self, option: str, name: str, habits: Sequence[Habit], calls: str) -> OtherWay:
        if not habits:
            return OtherWay(name, (), "no call site with so many that it matters")
        sites = tuple(habit.site for habit in habits)
        self._recording.told(name)
        other = self._recording.workload(option, f"--{option}", ",".join(map(str, sites)))
        pairs = pairs_of(lambda: self._cost(self._plain.path), lambda: self._cost(other.path))
        call = median(before.seconds for before, _ in pairs) / max(self._plain.calls, 1)
        measured = compared(pairs)
        return OtherWay(
            name,
            sites,
            calls,
            (self._plain.calls - other.calls) * call,
            self._plain.peak_live_bytes - other.peak_live_bytes,
            measured,
            gain(measured, self._evidence.profile.seconds, self._evidence.worth, "peak memory"),
        )

    def trimmed(self, every: float) -> list[OtherWay]:
        """malloc_trim at intervals, if the baseline is the C library; no other allocator has this call."""
        evidence = self._evidence
        plain, trimmed = evidence.base, evidence.replays[1:2]
        if not trimmed or not trimmed[0].name.startswith(f"{plain.name} + ") or every <= 0:
            return []
        name = f"malloc_trim every {units.show(every, 's')}"
        self._recording.told(name)
        pairs = pairs_of(self._census, lambda: self._census("--trim-every", f"{every:.6f}"), RUNS)
        measured = compared(pairs)
        effect = f"with malloc_trim {units.show(median(other.memory for _, other in pairs), 'B')} on average"
        predicted = mean_memory(plain.runs[0]) - mean_memory(trimmed[0].runs[0])
        gained = gain(measured, NO_TIME, evidence.worth, "memory on average")
        return [OtherWay(name, (), effect, None, predicted, measured, gained)]

    def _cost(self, workload: Path) -> Cost:
        return self._recording.cost(workload, self._arm)

    def _census(self, *options: str) -> Cost:
        workload = self._recording.folder / "recorded.workload"  # compiled() has made it
        run, cost = self._recording.census(workload, self._arm, *options)
        return cost._replace(memory=mean_memory(run))


def pairs_of(
    before: Callable[[], Cost], other: Callable[[], Cost], rounds: int = ROUNDS
) -> list[tuple[Cost, Cost]]:
    """Pairs of replays, in which each way is first as often as second; one pair if replays take long.

    A gain is what all pairs agree on: without a common one so far, no further pair is measured.
    """
    pairs: list[tuple[Cost, Cost]] = []
    while len(pairs) < rounds and may_gain(pairs) and not (pairs and pairs[0][0].seconds > LONG_S):
        if len(pairs) % 2 == 0:
            pairs.append((before(), other()))
        else:
            second = other()
            pairs.append((before(), second))
    return pairs


def may_gain(pairs: Sequence[tuple[Cost, Cost]]) -> bool:
    """Whether all pairs so far agree on a gain of time, or on one of memory."""
    return any(all(before[what] > other[what] for before, other in pairs) for what in (0, 1))


def gain(measured: Savings, run: float, worth: float, memory: str) -> str:
    """The gains that are worth a change and that all pairs agree on, and their price, in words.

    `run` is the duration of the program in seconds, or NO_TIME; `worth` the fewest bytes that matter.
    """
    gains = []
    if share := share_of_run(measured, run):
        gains.append(f"{units.percent(share)} of the run's time")
    if measured.memory[0] > 0 and measured.memory[1] >= worth:
        gains.append(f"{units.show(measured.memory[1], 'B')} of {memory}")
    costs = [
        f"{units.show(-most, unit)} {what}".strip()
        for most, unit, what in ((measured.seconds[2], "s", ""), (measured.faults[2], "1", "page faults"))
        if most < 0
    ]
    said = " and ".join(gains) or NOTHING
    return f"{said}, for at least {' and '.join(costs)}" if gains and costs else said


def share_of_run(measured: Savings, run: float) -> float:
    """The saved share of the run's seconds; 0 if that is too little or too uncertain to matter.

    Fewer than ROUNDS pairs show nothing about time. A recording without times (0) has no run to compare with.
    """
    if not run or measured.pairs < ROUNDS or measured.seconds[0] <= 0:
        return 0.0
    share = measured.seconds[1] / run
    return share if share >= WORTH_TIME else 0.0


def compared(pairs: Sequence[tuple[Cost, Cost]]) -> Savings:
    less = [[a - b for a, b in zip(before, other, strict=True)] for before, other in pairs]
    seconds, memory, faults = (
        (min(column), median(column), max(column)) for column in zip(*less, strict=True)
    )
    return Savings(seconds, memory, faults, len(pairs))
