"""The user's budget for all that a command does: measuring, one campaign after the other, and the report."""

import time
from dataclasses import dataclass, field, replace
from math import inf
from typing import Self

from heaplab.campaign.begin_or_resume import Request

LEAST_S = 3.0  # of a campaign, whatever is left


@dataclass(frozen=True)
class WholeBudget:
    seconds: float | None  # None: as long as it takes
    began: float = field(default_factory=time.monotonic)
    kept_back: float = 0.0  # s for what follows measuring

    @classmethod
    def with_report(cls, seconds: float | None, began: float) -> Self:
        """A report takes about as long as what went before measuring: both mostly import, on this machine."""
        return cls(seconds, began, kept_back=time.monotonic() - began)

    @property
    def left(self) -> float:
        """Seconds of measuring; infinite without a budget."""
        if self.seconds is None:
            return inf
        return max(0.0, self.began + self.seconds - self.kept_back - time.monotonic())

    def within(self, budget: float) -> float:
        """A campaign's own budget, or what is left if that is less."""
        return min(budget, max(LEAST_S, self.left))

    def rest(self, request: Request, part: float = 1.0) -> tuple[Request, float]:
        """The request with this part of what is left as its budget, and which share of its own that is."""
        if request.budget is None:
            return request, 1.0
        budget = part * self.within(request.budget)
        return replace(request, budget=budget), budget / request.budget
