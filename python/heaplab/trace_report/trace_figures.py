"""Figures of a profile over time: live bytes and blocks, and the rate of acquisitions."""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np

from heaplab.report.pictures import canvas
from heaplab.report.pictures.figures import Drawing
from heaplab.report.pictures.palette import CHROME, HUES
from heaplab.report.words import units
from heaplab.traces.profile import Profile

BYTES, BLOCKS = HUES[0][0], HUES[1][0]
MOST_POINTS = 256  # largest number of stretches that are drawn


def drawn(profile: Profile) -> list[Drawing]:
    """Live bytes and blocks: the most in each stretch, so that no peak is lost."""
    return [
        _over_time(profile, [s.peak_bytes for s in profile.stretches], "live bytes", "B", BYTES, max),
        _over_time(profile, [s.peak_blocks for s in profile.stretches], "live blocks", "1", BLOCKS, max),
    ]


def rates(profile: Profile) -> list[Drawing]:
    """Acquisitions and their bytes per second, or per call if stamps only order events."""
    seconds = profile.width / (profile.ticks_per_second or 1)
    per = "1/s" if profile.timed else "1"
    return [
        _over_time(
            profile,
            [s.acquisitions / seconds for s in profile.stretches],
            "blocks acquired",
            per,
            BLOCKS,
            _mean,
        ),
        _over_time(
            profile,
            [s.bytes_acquired / seconds for s in profile.stretches],
            "bytes acquired",
            "B",
            BYTES,
            _mean,
        ),
    ]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _over_time(
    profile: Profile, values: Sequence[float], name: str, unit: str, color: str, joined: Any
) -> Drawing:
    together = -(-len(values) // MOST_POINTS)
    points = np.array([joined(values[at : at + together]) for at in range(0, len(values), together)])
    times = np.arange(len(points) + 1) * together * profile.width / (profile.ticks_per_second or 1)
    step = units.scale(unit, float(points.max(initial=0)))
    clock = units.scale("s", times[-1]) if profile.timed else units.scale("1", times[-1])
    rate = joined is _mean
    label = f"{step.label}/s" if rate and unit == "B" and profile.timed else step.label
    with mpl.rc_context(canvas.STYLE):
        figure, (axis,) = canvas.new(1)
        axis.stairs(points / step.factor, times / clock.factor, color=color, linewidth=1.2)
        axis.stairs(points / step.factor, times / clock.factor, color=color, fill=True, alpha=0.16)
        axis.set_ylim(bottom=0)
        axis.set_xlim(0, times[-1] / clock.factor)
        axis.set_xlabel(
            f"time ({clock.label})" if profile.timed else f"events ({clock.label})".replace(" ()", "")
        )
        axis.set_ylabel(f"{name} ({label})" if label else name)
        axis.spines["bottom"].set_color(CHROME["muted"])
        alt = (
            f"{name} of {profile.program} over time, at most {units.show(float(points.max(initial=0)), unit)}"
        )
        return Drawing(f"{name} over time".capitalize(), canvas.to_svg(figure, alt), alt, ())
