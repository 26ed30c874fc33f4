"""The records of a results file: one JSON object a line, appended and never changed.

A campaign file begins with one `Campaign` line and one `Host` line, then holds lines of kind "library" (each
arm as it was found: `Arm`), then `Run` lines in the order they happened. Nothing is averaged: everything
heaplab shows is computed from these lines by pure functions.

Units are those of the metric: `s` seconds, `B` bytes, `1/s` operations a second, `1` a plain count.
"""

import json
import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from heaplab.errors import UsageError

SCHEMA: Final = 1

Parameter = bool | int | float | str
Amount = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]


class Record(BaseModel):
    """Base of all records: immutable. An unknown field is an error, and so is a number that is not finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class Metric(Record):
    value: float
    unit: str

    @model_validator(mode="after")
    def _no_time_runs_backwards(self) -> Self:
        if self.unit in ("s", "1/s") and self.value < 0:
            raise ValueError("a time is not below zero")
        return self


class Series(Record):
    """A quantity over time: `points` are (seconds since the clock started, value in `unit`)."""

    unit: str
    points: list[tuple[float, float]]


class ServedBy(Record):
    """The library that really answered: path as the loader knows it, build-id in hex ("" if it has none)."""

    path: str
    build_id: str = ""


class Sample(Record):
    """The line a workload writes for one execution (`--json`)."""

    schema_version: Literal[1] = Field(alias="schema")
    workload: str
    parameters: dict[str, Parameter]
    seed: int
    metrics: dict[str, Metric]
    series: dict[str, Series] = {}
    served_by: dict[Literal["malloc", "operator new"], ServedBy]


class Process(Record):
    """The process as seen from outside, in the same way for every program.

    Of several executions back to back the figures are means, and the peak is the largest.
    """

    executions: Annotated[int, Field(ge=1)] = 1

    wall_time: Positive  # s
    user_time: Amount  # s
    system_time: Amount  # s
    minor_faults: Count
    major_faults: Count
    voluntary_switches: Count
    involuntary_switches: Count
    # B: largest sampled RssAnon + RssShmem + page tables of the process and its children; None: no sample
    peak_memory: Count | None
    mean_memory: Amount | None  # B: mean of the same over the run
    # (s since start, anonymous and shared resident B, page tables B); thinned, peaks survive
    memory: list[tuple[Amount, Count, Count]] = []


class Behaviour(Record):
    """What a program did besides computing, seen from outside while it ran alone: machine/behaviour.py."""

    busy: Amount  # threads that computed or waited for a CPU, mean over the run
    waiting: Annotated[float, Field(ge=0, le=1)]  # part of their lives that working threads waited otherwise
    oddities: list[str] = []  # what a pause, or the same program beside it, may disturb: one line each


class Status(StrEnum):
    OK = "ok"
    VOID = "void"  # ran, but its figures count for nothing: wrong library, too much foreign load
    FAILED = "failed"  # exit status not 0, a signal, or output that is not the contract's
    TIMEOUT = "timeout"
    SKIPPED = "skipped"  # could not be started here


class Input(Record):
    """A file that a program of the user's reads as its standard input."""

    path: str
    sha256: str


class Coverage(Record):
    """What malloc explains of the memory of a process at its peak, and what the rest is: coverage/."""

    program: str
    memory: Count  # B: anonymous and shared, resident
    by_malloc: Count = 0  # B: live and retained memory of malloc
    mapped: Count = 0  # B: anonymous memory in which malloc never handed out a block
    stacks: Count = 0  # B
    files: Count = 0  # B: data of the program's files
    shared: Count = 0  # B: memfd, System V, /dev/shm
    huge: Count = 0  # B of what malloc does not explain that are in huge pages
    unseen: str = ""  # why no library could be preloaded into the process
    mallocs: list[str] = []  # compiled in under names of their own, as the program's file tells

    @property
    def beyond(self) -> int:
        """The memory that malloc does not explain, B."""
        return self.memory - self.by_malloc

    @property
    def is_most_beyond(self) -> bool:
        """Whether malloc explains less than half of memory that is worth a word: no answer is sure then."""
        return self.matters and 2 * self.by_malloc < self.memory

    @property
    def matters(self) -> bool:
        """Whether enough is beyond malloc that an answer must say so."""
        return self.beyond >= max(BEYOND_LEAST, BEYOND_SHARE * self.memory)


class Pilot(Record):
    """What pilot runs of the user's program under the baseline showed before the campaign."""

    wall_time: Positive  # s that one execution took
    executions: Annotated[int, Field(ge=1)]  # number in a run; more than one for a short program
    memory: bool = True  # whether its memory can be seen; decided once, so that all runs are alike
    coverage: list[Coverage] = []  # of its processes, the largest first


class Campaign(Record):
    kind: Literal["campaign"] = "campaign"
    schema_version: Literal[1] = Field(default=SCHEMA, alias="schema")
    id: str  # hash of what is measured and how: a resumed campaign must have the same
    started: str  # ISO 8601, UTC
    heaplab: str  # version
    command: list[str]  # what the user typed, to reproduce it
    scale: Literal["quick", "full"]
    why_scale: str = ""  # why the scale is not larger, if a budget decided; not part of the id
    seed: Count
    budget: Positive | None = None  # s of measuring, or as long as it takes
    # half-width of the interval of a ratio at which a cell is done
    precision: Annotated[float, Field(gt=0, lt=1)] = 0.02
    pinned: bool = False
    # whether a run with N threads is limited to the first N CPUs in the order of machine/topology.py
    placed: bool = False
    # B touched and released before each run; None: by the rule of campaign/warming.py
    warm: Count | None = None
    memory_limit: Count | None = None  # B a run may use before it is killed
    time_limit: Positive | None = None  # s a run may take; None: as plan.time_limit has it
    input: Input | None = None  # of a program of the user's; None: its standard input is empty
    prepare: str = ""  # shell command before each execution of a program of the user's, not measured
    cleanup: str = ""  # shell command after each
    # "callgrind": runs count instructions under valgrind, and their times and memory mean nothing
    instructions: Literal["", "callgrind"] = ""
    fit_blocks: Annotated[int, Field(ge=5)] | None = None  # the number that `lengths` make fit in the budget
    # by experiment: factor of the parameter of its length; from pilot runs, so the id leaves it out
    lengths: dict[str, Positive] = {}
    slices: bool = True  # whether arms may run at the same time, in turns, where that is valid
    pilot: Pilot | None = None  # of a program of the user's; differs each time, so the id leaves it out
    experiments: list[dict[str, Any]]  # as resolved: spec.Experiment.model_dump()
    workloads: dict[str, dict[str, Any]]  # spec.Workload.model_dump() by id
    # names in the order of the user's request; the first is the baseline
    allocators: Annotated[list[str], Field(min_length=1)]


class Host(Record):
    kind: Literal["host"] = "host"
    facts: dict[str, Any]  # see machine/host.py


class Arm(Record):
    """One arm: an allocator as it was found here, with its settings; or a command of the user's.

    `preload` is empty for the C library's own malloc, and for a command, of whose malloc nothing is claimed.
    """

    kind: Literal["library"] = "library"
    allocator: str
    title: str
    version: str
    preload: list[str]
    beside: list[str] = []  # further libraries that are preloaded: none serves malloc but the C library
    environment: dict[str, str]
    sha256: dict[str, str]  # by path
    build_id: dict[str, str]  # by path
    huge_pages: Literal["never", "advised", "always"] | None = None  # None: as the machine has it
    command: list[str] = []  # what an arm that is a command runs; empty: the program of each cell
    runtime: list[str] = []  # of a collector: what runs the mutator of its language, before its options
    levels: dict[str, str] = {}  # of a factorial, by setting; "" where the setting is left alone
    proof: str = ""  # how the settings were seen to take effect, or that nothing shows it; "" without any
    void: str = ""  # why the settings took no effect, in one line: the arm gives no figure


class Warming(Record):
    """Memory that was touched and released before a run, so that the run finds it warm."""

    touched: Count  # B
    seconds: Amount  # s that touching took
    cold: bool  # whether the host had to provide part of it; see campaign/warming.py


class Trims(Record):
    """What the calls of malloc_trim by the thread of `trim=` cost in one run, all processes together."""

    calls: Count
    wall_time: Amount  # s
    cpu_time: Amount  # s
    longest: Amount  # s of wall time


class Run(Record):
    """One fresh process executing one cell under one allocator."""

    kind: Literal["run"] = "run"
    experiment: str
    cell: dict[str, Parameter]  # the swept parameters of this cell; {} for a program of the user's
    allocator: str  # "glibc#again" is the A/A control: the baseline under a second name
    block: Count  # runs of the same experiment, cell and block are paired
    order: Count  # position in the campaign
    seed: Count
    attempt: Count  # 0; 1 when repeated because of foreign load, or when the budget left no room for that
    status: Status
    reason: str = ""  # one line unless the status is ok; with ok only on a disturbed repetition
    environment_bytes: Count  # random padding added to the environment
    foreign_cpu: Amount  # CPU seconds others used while this ran
    warming: Warming | None = None  # None: nothing was touched
    stolen_cpu: Amount = 0.0  # part of it that the hypervisor took, where it tells
    # number of turns beside the other arms of the block, whose sum is the wall time; None: the run was alone
    turns: Count | None = None
    behaviour: Behaviour | None = None  # of the first run of a candidate
    sample: Sample | None = None
    process: Process | None = None
    trims: Trims | None = None  # of an arm with trim=

    @property
    def key(self) -> str:
        """Of the cell that it executes."""
        return key_of(self.experiment, self.cell)

    @property
    def settles(self) -> bool:
        """Whether this attempt completes a planned run. Only a void first attempt is repeated."""
        return self.status is not Status.VOID or self.attempt > 0


def key_of(experiment: str, swept: Mapping[str, Any]) -> str:
    """What tells a cell of an experiment from all others, by its swept parameters."""
    return f"{experiment} {json.dumps(swept, sort_keys=True)}"


class Timing(Record):
    """How an experiment is timed, decided by rule after its first block, or by the pilot of a plan.

    The last of an experiment counts.
    """

    kind: Literal["timing"] = "timing"
    experiment: str
    slices: bool  # arms run at the same time, in turns; a first block without turns does not count then
    one_cpu: bool | None = None  # of a plan: whether turns are on one CPU, from the first block on
    clock: Literal["wall_time", "cpu_time"]  # takes the place of the wall time as main metric
    why_alone: str = ""  # why not in slices, in one line
    why_clock: str  # why this clock, in one line


class End(Record):
    """The last line of a finished campaign. After one with the reason "budget" a later budget adds runs."""

    kind: Literal["end"] = "end"
    reason: Literal["precise", "budget", "blocks"]  # blocks: every comparison has all its blocks


AnyRecord = Annotated[Campaign | Host | Arm | Run | Timing | End, Field(discriminator="kind")]
ANY_RECORD: TypeAdapter[AnyRecord] = TypeAdapter(AnyRecord, config=ConfigDict(defer_build=True))

CONTROL_SUFFIX = "#again"
BEYOND_LEAST, BEYOND_SHARE = 1 << 20, 0.1  # B, and share of the memory, beyond malloc that are worth a word
BETWEEN_S = 0.05  # s between two runs that no record holds: starting, records
# A user's program that takes fewer s is executed several times in a run, and may have no memory.
SHORT_PROGRAM_S = 0.05


def refuse_no_text(words: Iterable[str]) -> None:
    """Raise UsageError for a word that is not UTF-8: no record could hold it."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"{ascii(os.fsencode(word))[1:]} is not UTF-8, which results cannot hold; give a link "
                "to the file, or a script with the command"
            ) from None
