"""The values of the options that commands which measure share, as one object that modules pass on."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from heaplab.options.arm_options import GivenAllocator, GivenCommand, GivenFactorial
from heaplab.results.manner import Manner


@dataclass(frozen=True, kw_only=True)
class HowOptions(Manner):
    """How arms are measured and what is printed. None: the user gave no value."""

    output: Path | None = None
    quiet: bool
    as_json: bool = False
    automatic: bool = False  # --budget auto: the budget is that of a first look, or the longest
    began: float = field(default_factory=time.monotonic)  # the command, and with it its budget


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What `heaplab compare` runs: a program, a trace, commands, experiments or a suite of them."""

    ASKED: ClassVar = ("program", "suite", "experiments", "scale", "source", "commands")

    program: tuple[str, ...] = ()
    suite: str | None = None
    experiments: tuple[str, ...] = ()  # ids, groups or globs
    scale: Literal["quick", "full"] | None = None
    source: Path | None = None  # the standard input of each run
    commands: tuple[GivenCommand, ...] = ()
    serving: Mapping[str, Any] = field(default_factory=dict)  # the options of a server that the user gave
    replaying: Mapping[str, Any] = field(default_factory=dict)  # the options of a replay that the user gave

    @property
    def is_given(self) -> bool:
        """Whether the user named something to run, or how to run it."""
        named = self.program or self.suite is not None or self.experiments
        return bool(named or self.scale or self.source or self.commands or self.serving or self.replaying)


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(HowOptions):
    """`heaplab compare`: also which arms are measured."""

    allocators: str | None
    own: tuple[GivenAllocator, ...] = ()
    factorial: GivenFactorial | None = None
    show_command: bool = False
    resume: Path | None = None
    no_deep_binding: bool = False
    fits: bool = False


@dataclass(frozen=True, kw_only=True)
class GateOptions(HowOptions):
    """`heaplab gate` and `heaplab bisect`: also what is compared, the limits, and the files to write."""

    suite: str | None
    source: Path | None
    instructions: str
    max_slower: float
    max_memory: float
    max_instructions: float | None
    auto: bool = False
    strict: bool = False
    markdown: Path | None = None
    junit: Path | None = None
    bencher: Path | None = None
    baseline: Path | None = None
    update: bool = False
