"""Known deviations: the tests that a library fails, and why (catalog/deviations.toml)."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from heaplab.catalog import toml_file
from heaplab.errors import UsageError
from heaplab.results.records import Record


class Deviation(Record):
    """A row of the table. Without `run`, the tests are not run, because chance decides their outcome."""

    libraries: Annotated[list[str], Field(min_length=1)]
    tests: Annotated[list[str], Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1)]
    run: bool = True


class DeviationTable(Record):
    deviation: list[Deviation] = Field(default_factory=list)


def read(file: Path) -> list[Deviation]:
    """Raises UsageError, with the line or the field at fault."""
    return toml_file.checked(DeviationTable, file, toml_file.content_of(file)).deviation


def of_library(rows: list[Deviation], library: str) -> dict[str, Deviation]:
    """The rows of one library by test; a later row wins."""
    return {test: row for row in rows if library in row.libraries for test in row.tests}


def check_names(rows: list[Deviation], known: set[str], file: Path) -> None:
    """Raise UsageError for a test that does not exist: its row would never be used."""
    for row in rows:
        for test in row.tests:
            if test not in known:
                raise UsageError(f"{file}: there is no test {test!r}")
