"""The user's budget for all that a gate measures, one campaign after the other."""

import time
from dataclasses import dataclass, field, replace
from math import inf

from heaplab.campaign.begin_or_resume import Request

LEAST_S = 1.0  # of a campaign, whatever is left


@dataclass(frozen=True)
class WholeBudget:
    seconds: float | None  # None: as long as it takes
    began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds; infinite without a budget."""
        return inf if self.seconds is None else max(0.0, self.began + self.seconds - time.monotonic())

    def rest(self, request: Request, part: float = 1.0) -> tuple[Request, float]:
        """The request with this part of what is left as its budget, and which share of its own that is."""
        if request.budget is None:
            return request, 1.0
        budget = part * min(request.budget, max(LEAST_S, self.left))
        return replace(request, budget=budget), budget / request.budget
