"""The description of a server: when it is ready, what drives it, how it ends, and its metrics."""

import re
import signal
from collections.abc import Iterator
from typing import NamedTuple, Self

from pydantic import Field, field_validator, model_validator

from heaplab.results.checked import Spec
from heaplab.results.load_generators import READERS

REQUESTS, THROUGHPUT, ERRORS = "requests", "throughput", "errors"
LATENCIES = {
    "latency_mean": "mean latency",
    "latency_p50": "median latency",
    "latency_p99": "99th percentile of latency",
    "latency_p999": "99.9th percentile of latency",
}
# Units that NAME:UNIT=REGEX takes, each with its base unit and how many of these it is.
UNITS = {
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
    "us": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "B": ("B", 1.0),
    "KiB": ("B", float(1 << 10)),
    "MiB": ("B", float(1 << 20)),
    "GiB": ("B", float(1 << 30)),
    "1/s": ("1/s", 1.0),
    "1": ("1", 1.0),
}
BETTER = {"s": "lower", "B": "lower", "1/s": "higher", "1": "neither"}
MAIN_METRIC = "cpu_per_request"
AFTER_LOAD, GROWTH, LAZILY_FREED = "memory_after_load", "memory_growth", "lazily_freed"
TAKEN = re.compile(r"([a-z][a-z0-9_]*)(?::([^=]+))?=(.+)", re.DOTALL)


class ServerMetric(NamedTuple):
    """A metric of a server, with the fields of a metric declared in the catalog."""

    title: str
    unit: str
    better: str = "lower"


class TakenFigure(NamedTuple):
    """NAME[:UNIT]=REGEX: a figure of the load generator's output."""

    name: str
    pattern: re.Pattern[str]
    unit: str  # base unit
    factor: float  # number of base units in the unit of the output


def taken_figure(text: str) -> TakenFigure:
    """The figure that NAME[:UNIT]=REGEX asks for. Raises ValueError that says what is wrong."""
    match = TAKEN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is neither one of {', '.join(READERS)} nor NAME[:UNIT]=REGEX")
    name, unit, regex = match.groups()
    known = {REQUESTS: "1", ERRORS: "1", THROUGHPUT: "1/s"} | dict.fromkeys(LATENCIES, "s")
    unit = unit or known.get(name, "1")
    if unit not in UNITS or UNITS[unit][0] != known.get(name, UNITS[unit][0]):
        allowed = [each for each, (base, _) in UNITS.items() if base == known.get(name, base)]
        raise ValueError(f"{text!r}: the unit of {name} is one of {', '.join(allowed)}, not {unit!r}")
    try:
        pattern = re.compile(regex, re.MULTILINE)
    except re.error as error:
        raise ValueError(f"{text!r}: not a regular expression: {error}") from None
    if pattern.groups != 1:
        raise ValueError(f"{text!r}: needs one group, around the number: {name}='([0-9.]+) of them'")
    return TakenFigure(name, pattern, *UNITS[unit])


class Server(Spec):
    """Commands are those of a shell. They run outside the allocator, in the server's folder; in them, and in
    the server's arguments, {port} stands for a free port of the loopback interface, another for each run."""

    ready: str  # a command that succeeds as soon as the server is ready, or tcp:PORT
    ready_within_s: float = Field(default=30, gt=0)
    fill: str = ""  # a command that gives the server its data, before the first burst
    load: str  # a command for one burst of load, which ends by itself
    take: list[str] = Field(min_length=1)  # figures in its output: readers, or NAME[:UNIT]=REGEX
    bursts: int = Field(default=1, ge=1, le=1000)
    # s after the last burst at which memory is looked at; the first passes between two bursts, too
    idle_s: list[float] = Field(default=[1.0, 10.0], min_length=1)
    check: str = ""  # a command that writes `output` of the fixture, at the end
    stop: str = "SIGTERM"  # a signal, or a command

    @field_validator("take")
    @classmethod
    def _can_be_taken(cls, take: list[str]) -> list[str]:
        names = [taken_figure(text).name for text in take if text not in READERS]
        if len(names) == len(take) and REQUESTS not in names:
            raise ValueError(f"nothing gives the number of requests: name a reader, or {REQUESTS}=REGEX")
        return take

    @model_validator(mode="after")
    def _idle_times_grow(self) -> Self:
        if min(self.idle_s) <= 0 or sorted(set(self.idle_s)) != self.idle_s:
            raise ValueError("idle times are above zero, and each is longer than the one before")
        return self

    @property
    def stop_signal(self) -> signal.Signals | None:
        """The signal that ends the server; None if a command ends it."""
        name = self.stop if self.stop.startswith("SIG") else f"SIG{self.stop}"
        return signal.Signals.__members__.get(name)

    def taken(self) -> list[TakenFigure]:
        return [taken_figure(text) for text in self.take if text not in READERS]

    def metrics(self) -> dict[str, ServerMetric]:
        """The metrics of a server beside those of every process."""
        return dict(self._metrics())

    def _metrics(self) -> Iterator[tuple[str, ServerMetric]]:
        yield MAIN_METRIC, ServerMetric("server CPU time per request", "s")
        yield THROUGHPUT, ServerMetric("requests a second", "1/s", "higher")
        own = {figure.name: figure for figure in self.taken()}
        given = {name for text in self.take for name in READERS.get(text, ())} | own.keys()
        for name, title in LATENCIES.items():
            if name in given:
                yield name, ServerMetric(title, "s")
        for name, figure in own.items():
            if name not in (REQUESTS, THROUGHPUT, ERRORS, *LATENCIES):
                yield name, ServerMetric(name.replace("_", " "), figure.unit, BETTER[figure.unit])
        yield AFTER_LOAD, ServerMetric("memory at the end of the load", "B")
        for idle in self.idle_s:
            yield idle_memory(idle), ServerMetric(f"memory after {idle:g} s idle", "B")
        for name in (LAZILY_FREED, *(f"{LAZILY_FREED}_{after_idle(idle)}" for idle in self.idle_s)):
            when = f"after {name.rpartition('_')[2]} idle" if "after" in name else "at the end of the load"
            yield name, ServerMetric(f"lazily freed {when}", "B", "neither")
        if self.bursts > 1:
            yield GROWTH, ServerMetric("memory of the last burst over the first", "1")


def after_idle(idle: float) -> str:
    return f"after_{idle:g}s"


def idle_memory(idle: float) -> str:
    """The metric of the memory that a server has `idle` s after its last burst."""
    return f"memory_{after_idle(idle)}"
