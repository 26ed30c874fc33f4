"""The outcomes of the tests of one library."""

from enum import StrEnum

from pydantic import Field

from heaplab.results.records import Arm, Record


class CheckVerdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed"
    HUNG = "hung"  # exceeded the time limit
    SKIPPED = "skipped"  # this machine cannot run the test
    DEVIATES = "deviates"  # fails, as known of the library
    MENDED = "mended"  # passes, though known to fail: the row of catalog/deviations.toml is out of date
    LEFT_OUT = "left out"  # known to pass or fail by chance
    ABSENT = "absent"  # the library lacks the functions, which are optional


# The verdicts that make the exit status 1.
BAD = frozenset((CheckVerdict.FAILED, CheckVerdict.CRASHED, CheckVerdict.HUNG, CheckVerdict.MENDED))


class Outcome(Record):
    part: str
    test: str
    verdict: CheckVerdict
    time: float  # s
    message: str = ""  # why the test did not pass; may have several lines
    repeat: str = ""  # the command that repeats the test under gdb
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
