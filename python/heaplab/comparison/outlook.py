"""What the budget can decide, told in one line once the first blocks show how much runs vary and take.

What cannot be decided within the budget is not measured any further: of a program, as many allocators go on,
the fastest first, as the budget has room for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite

from heaplab import analysis, stats
from heaplab.campaign.pilot import as_option
from heaplab.results.records import CONTROL_SUFFIX
from heaplab.stats import in_percent
from heaplab.text.units import duration

SPARE = 1.1  # factor of a budget that is proposed, because the variation is an estimate


def told_at(precision: float) -> float:
    """The smallest difference that intervals of this precision tell."""
    return stats.THRESHOLD + precision


@dataclass
class BudgetOutlook:
    """Asked before each round, until it tells."""

    tells: float  # the difference that is to be told: 0.05 is 5 %
    budget: float | None  # s
    share: float = 1.0  # of the user's budget
    leaves_out: bool = False  # whether a program's allocators for which there is no room are left out
    left_out: set[str] = field(default_factory=set)  # the allocators that are not run any more
    is_told: bool = False
    _left: float = 0.0  # s of the budget, at the last question

    def look(self, measured: analysis.Analysis, left: float) -> str:
        """The line, "" if it is too early or told. `left` are the seconds that are left of the budget."""
        round_s, self._left = self._left - left, left
        studies = [study for study in measured.between_allocators if study.candidates[1:]]
        if self.is_told or not studies:
            return ""
        noise = analysis.noise_of(studies)
        pace = analysis.paces_of(studies)
        if not any(pace.values()):
            return ""  # no run has ended well
        busy = max(1.0, round_s / sum(pace.values()))  # on a busy machine a round takes longer than its runs
        forecast = BlockForecast(
            deviation=noise.deviation if noise else 0.0,
            precision=measured.campaign.precision,
            done=min(study.blocks_done for study in studies),
            most=min(study.blocks_most for study in studies),
            pace={name: busy * seconds for name, seconds in pace.items()},
            left=left,
        )
        if noise is None and forecast.seconds(forecast.others, stats.FEWEST_PAIRS) <= left:
            return ""  # too early to say more
        self.is_told = True
        may_leave_out = self.leaves_out and len(studies) == 1 and studies[0].workload.is_users
        chosen = forecast.chosen() if may_leave_out else forecast.others
        self.left_out |= {name for name in forecast.others if name not in chosen}
        return self.line(forecast, chosen, measured.compared) if forecast.others else ""

    def line(self, forecast: "BlockForecast", chosen: Sequence[str], what: str) -> str:
        every, whole = len(forecast.others), forecast.seconds(forecast.others, forecast.needed)
        all_of = f"all of {every} {what}s" if every > 1 else forecast.others[0]
        need = (
            f"this machine needs about {duration(whole)} more to tell {in_percent(self.tells)} for {all_of}"
        )
        going_on = f"measuring what fits: {', '.join(chosen)}"
        reach = forecast.reach(chosen)
        said = [need]
        if reach > forecast.precision:
            told = self.tells - forecast.precision + reach
            said = [f"{need}; the budget tells about {100 * told:.2g} %"]
        said += [going_on] if len(chosen) < every else []
        if forecast.needed > forecast.most:
            said += [f"it takes {forecast.needed} blocks, and at most {forecast.most} are measured"]
        elif whole > forecast.left:
            budget = SPARE * ((self.budget or 0) - forecast.left + whole) / self.share
            said += [f"--budget {as_option(budget)} has room for all"]
        return "; ".join(said)


@dataclass(frozen=True)
class BlockForecast:
    deviation: float  # of a run, of the logarithm
    precision: float  # half-width that an interval is to have
    done: int  # blocks
    most: int
    pace: dict[str, float]  # s that one more block takes, by allocator; the baseline is the first
    left: float  # s

    @property
    def others(self) -> list[str]:
        """All but the baseline and its control."""
        return [name for name in list(self.pace)[1:] if not name.endswith(CONTROL_SUFFIX)]

    @property
    def needed(self) -> int:
        return stats.blocks_for(self.precision, self.deviation)

    def seconds(self, others: Sequence[str], blocks: int) -> float:
        """For as many blocks in all of the baseline, its control and these others."""
        apart = set(self.others) - set(others)
        block = sum(seconds for name, seconds in self.pace.items() if name not in apart)
        return max(0, blocks - self.done) * block

    def fitting(self, blocks: int) -> list[str]:
        """As many of the others as so many blocks have room for, the fastest first."""
        order = sorted(self.others, key=self.pace.__getitem__)
        counts = (
            count for count in range(len(order), 0, -1) if self.seconds(order[:count], blocks) <= self.left
        )
        return order[: next(counts, 0)]

    def chosen(self) -> list[str]:
        """What is worth to go on: what can be told, else what can have an interval, else all."""
        return self.fitting(min(self.needed, self.most)) or self.fitting(stats.FEWEST_PAIRS) or self.others

    def reach(self, others: Sequence[str]) -> float:
        """The half-width of intervals at the end of the budget."""
        block = self.seconds(others, self.done + 1)
        blocks = self.done + int(self.left / block) if isfinite(self.left) and block else self.most
        return stats.half_width_after(max(stats.FEWEST_PAIRS, min(blocks, self.most)), self.deviation)
