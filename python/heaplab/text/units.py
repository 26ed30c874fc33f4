"""Numbers for people: the only module that turns values in base units into text."""

from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # units are shown without importing numpy
    from heaplab.stats import Interval

STEPS: dict[str, list[tuple[float, str]]] = {
    "s": [(1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
    "B": [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")],
    "1/s": [(1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1, "/s")],
    "1": [(1e9, "G"), (1e6, "M"), (1e4, "k"), (1, "")],
}
K = 1e3
NOTHING = "–"


@dataclass(frozen=True)
class DisplayUnit:
    """Displayed value = value / `factor`."""

    factor: float
    label: str


def scale(unit: str, largest: float) -> DisplayUnit:
    """The display unit in which the largest value has at least one digit before the point."""
    steps = STEPS.get(unit)
    if steps is None:
        return DisplayUnit(1, unit)
    for threshold, label in steps:
        if abs(largest) >= threshold:
            return DisplayUnit(K if label == "k" else threshold, label)
    return (
        DisplayUnit(*steps[-1])
        if largest
        else DisplayUnit(1, steps[-1][1] if unit == "B" else STEPS[unit][0][1])
    )


def digits(value: float) -> str:
    """Three significant digits, without an exponent."""
    if not isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    places = max(0, 2 - floor(log10(abs(value))))
    return f"{value:,.{min(places, 6)}f}"


def show(value: float, unit: str) -> str:
    """0.01234, "s" -> "12.3 ms"."""
    if not isfinite(value):
        return NOTHING
    step = scale(unit, value)
    if unit == "1" and step.factor == 1 and value == int(value):
        return f"{int(value):,}"
    number = digits(value / step.factor)
    return f"{number}{'' if unit in ('1', '1/s') else ' '}{step.label}".strip()


DURATIONS = ((2 * 86400, 86400, "days"), (2 * 3600, 3600, "h"), (120, 60, "min"), (1, 1, "s"))


def duration(seconds: float) -> str:
    """A duration as people say it: "12.3 ms", "4.2 s", "5 min", "18.8 h", "3 days"."""
    for least, unit, label in DURATIONS:
        if seconds >= least:
            number = seconds / unit
            return f"{number:.3g} {label}" if number < 999.5 else f"{number:,.0f} {label}"
    return f"{seconds * 1e3:.3g} ms"


def ratio(value: float, places: int = 2) -> str:
    """0.7214 -> "0.72×"."""
    return f"{digits(value) if value >= 10 else f'{value:.{places}f}'}×" if isfinite(value) else NOTHING


def bounds(interval: "Interval", places: int = 2) -> str:
    """The interval of a ratio, "0.70–0.74", or the statement that there is none."""
    if not interval.bounded:
        return "no interval"
    return f"{interval.low:.{places}f}–{interval.high:.{places}f}"


def places_for(limit: float) -> int:
    """The places behind the point that show a tenth of a limit, at least two: 0.05 -> 3."""
    return max(2, 1 + ceil(-log10(limit))) if 0 < limit < 1 else 2


def percent(share: float) -> str:
    """0.0123 -> "1.2 %"."""
    if not isfinite(share):
        return NOTHING
    return f"{100 * share:.1f} %" if abs(share) < 0.0995 else f"{100 * share:.0f} %"


def parameter(value: object) -> str:
    """A parameter's value as a person would write it: sizes that are powers of two stay short."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and value >= 4096 and value % 1024 == 0:
        for step, label in ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")):
            if value % step == 0:
                return f"{value // step}{label}"
    return str(value)


def counted(number: float, single: str, several: str = "") -> str:
    """A number with its noun: "1 process", "2 processes". `several` is a plural not formed by a mere s."""
    return f"{show(number, '1')} {single if number == 1 else several or f'{single}s'}"
