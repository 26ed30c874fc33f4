"""An estimate and its 95 % interval, which contains the true value 95 times in a hundred."""

from dataclasses import dataclass
from math import inf, isfinite, log

CONFIDENCE = 0.95
# The range of n values covers their median with probability 1 - 2^(1-n): 94 % at five, 88 % at four.
FEWEST_PAIRS = 5


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95 % interval. Unknown bounds are 0 and infinity: nothing is excluded."""

    estimate: float
    low: float = 0.0
    high: float = inf
    count: int = 0  # number of values or pairs behind the estimate

    @property
    def bounded(self) -> bool:
        return self.low > 0 and isfinite(self.high)

    @property
    def half_width(self) -> float:
        """Half the width relative to the estimate: 0.02 is "to 2 %"; infinite without bounds."""
        return (log(self.high) - log(self.low)) / 2 if self.bounded else inf

    def inverse(self) -> "Interval":
        """The interval of b/a, computed from that of a/b."""
        return Interval(_reciprocal(self.estimate), _reciprocal(self.high), _reciprocal(self.low), self.count)


def _reciprocal(value: float) -> float:
    return inf if value == 0 else 1 / value


def finite(value: float) -> float | None:
    """The value, or None, which is null in JSON, for infinity and for what is not a number."""
    return value if isfinite(value) else None
