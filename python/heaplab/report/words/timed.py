"""How experiments were timed and why, in sentences."""

from collections.abc import Iterable

from heaplab.records import Timing

CLOCKS = {"cpu_time": "CPU time", "wall_time": "wall time"}


def how_timed(timings: Iterable[Timing]) -> list[str]:
    """A sentence for each way of timing; if there are several, with the names of the experiments."""
    among: dict[str, list[str]] = {}
    for timing in timings:
        among.setdefault(sentence(timing), []).append(timing.experiment)
    if len(among) < 2:
        return list(among)
    return [f"{', '.join(names)}: {text[0].lower()}{text[1:]}" for text, names in among.items()]


def sentence(timing: Timing) -> str:
    clock = CLOCKS[timing.clock]
    if not timing.slices:
        how = f"One arm ran after the other, because {timing.why_alone}; {clock} decides"
    else:
        own = " of its own turns" if timing.clock == "wall_time" else ""
        how = f"Arms ran at the same time, in turns on the same CPUs; {clock}{own} decides"
    return f"{how}: {timing.why_clock}."
