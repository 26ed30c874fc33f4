"""What came of the tests of one library."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from heaplab.records import Arm, Record


class CheckVerdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed"
    HUNG = "hung"  # ran into the time limit
    SKIPPED = "skipped"  # this machine cannot run it
    DEVIATES = "deviates"  # fails, as is known of the library
    MENDED = "mended"  # passes, though it is known to fail: the row is out of date
    LEFT_OUT = "left out"  # known to be left to chance
    ABSENT = "absent"  # the library has not the functions, and need not have them


# What makes the exit status 1.
BAD = frozenset((CheckVerdict.FAILED, CheckVerdict.CRASHED, CheckVerdict.HUNG, CheckVerdict.MENDED))


class Outcome(Record):
    part: str
    test: str
    verdict: CheckVerdict
    time: float  # s
    message: str = ""  # why it is not passed; may have several lines
    repeat: str = ""  # the command that repeats it under gdb
    says: str = ""  # what the test observed
    figures: dict[str, float] = Field(default_factory=dict)

    @property
    def bad(self) -> bool:
        return self.verdict in BAD


class LibraryReport(Record):
    library: Arm
    outcomes: list[Outcome]

    def of_part(self, part: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.part == part]


class Report(Record):
    """What `--json` writes."""

    schema_version: Literal[1] = 1
    heaplab: str
    started: str  # ISO 8601, UTC
    command: list[str]
    host: dict[str, Any]
    libraries: list[LibraryReport]
