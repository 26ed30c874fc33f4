"""An estimate and its interval, which contains the true value with a probability of CONFIDENCE."""

from dataclasses import dataclass
from math import inf, isfinite, log, log2

CONFIDENCE = 0.95  # the level of every interval
# The range of n values covers their median with probability 1 - 2^(1-n). The n whose error is nearest to that
# of the level, as a factor: of 95 % it is five (94 %), since four has 88 % and six 97 %.
FEWEST_PAIRS = 1 + round(-log2(1 - CONFIDENCE))


def in_percent(share: float) -> str:
    """0.95 -> "95 %"."""
    return f"{100 * share:g} %"


LEVEL = in_percent(CONFIDENCE)  # in texts: "with 95 % intervals"


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval. Unknown bounds are 0 and infinity: nothing is excluded."""

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
